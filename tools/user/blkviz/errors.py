# SPDX-License-Identifier: GPL-2.0
"""Errors of blkviz."""

from tools.base.cli import EXIT_USAGE, ToolError


class NoTraceError(ToolError):
    """The input is not a block trace, or the command line is wrong."""

    code = EXIT_USAGE
