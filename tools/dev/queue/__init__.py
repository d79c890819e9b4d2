# SPDX-License-Identifier: GPL-2.0
"""The patch queue: source, tree, export, checks and kernels."""
