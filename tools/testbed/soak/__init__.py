# SPDX-License-Identifier: GPL-2.0
"""Random load on CFQ in virtual time: the load, the guests and the check of the invariants."""
