# SPDX-License-Identifier: GPL-2.0
"""Ages file systems: lists of created and deleted files, their replay, and the resulting layout."""
