# SPDX-License-Identifier: GPL-2.0
"""The two commands on an ordinary machine: tools/dev/ordinary/README.md."""
