# SPDX-License-Identifier: GPL-2.0
"""How fast programs read a tree of files: on an aged file system, and from memory."""
