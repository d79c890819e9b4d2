# SPDX-License-Identifier: GPL-2.0
"""What can be wrong with a trace."""

from tools.base.cli import EXIT_USAGE, ToolError


class NoTraceError(ToolError):
    """The input is no block trace at all, or the command line makes no sense."""

    code = EXIT_USAGE
