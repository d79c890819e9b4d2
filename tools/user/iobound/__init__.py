# SPDX-License-Identifier: GPL-2.0
"""Measures what reordering could gain: replays a block trace in better orders, or writes these as lists."""
