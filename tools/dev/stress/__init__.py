# SPDX-License-Identifier: GPL-2.0
"""The stress run: what is turned, how it is run, and what became of it."""
