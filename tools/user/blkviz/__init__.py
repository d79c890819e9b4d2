# SPDX-License-Identifier: GPL-2.0
"""The viewer of block traces: see cli.py and the README."""
