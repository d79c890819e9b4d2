# SPDX-License-Identifier: GPL-2.0
"""Scenario files, the guest that runs them, and what is made of the results."""
