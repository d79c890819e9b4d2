# SPDX-License-Identifier: GPL-2.0
"""blkviz, a viewer for block traces: see the README."""
