# SPDX-License-Identifier: GPL-2.0
"""Working templates for a scenario, a disk, a kselftest or a tool."""
