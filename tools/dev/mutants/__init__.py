# SPDX-License-Identifier: GPL-2.0
"""Mutation tests: injects small bugs one by one, and reports the test that detects each."""
