# SPDX-License-Identifier: GPL-2.0
"""The stress test: knobs, runner and result."""
