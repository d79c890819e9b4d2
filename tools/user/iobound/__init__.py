# SPDX-License-Identifier: GPL-2.0
"""What reordering could gain: orders of the requests of a block trace, as lists and replayed on a modelled disk."""
