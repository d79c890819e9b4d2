# SPDX-License-Identifier: GPL-2.0
"""Errors of one line."""

from tools.base.cli import EXIT_USAGE, ToolError


class DiskError(ToolError):
    """The command line, a file or the kernel does not allow it: nothing was done."""

    code = EXIT_USAGE
