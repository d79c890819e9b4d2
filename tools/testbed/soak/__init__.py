# SPDX-License-Identifier: GPL-2.0
"""The host's side of the soak: the load, the guests and the judge."""
