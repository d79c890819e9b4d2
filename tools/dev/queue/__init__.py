# SPDX-License-Identifier: GPL-2.0
"""The patch queue: its source, its tree, its export, its checks, its kernels."""
