# SPDX-License-Identifier: GPL-2.0
"""File systems that have lived: lists of what was created and deleted, their replay, and where it left the files."""
