# SPDX-License-Identifier: GPL-2.0
"""What the user is told in one line."""

from tools.base.cli import EXIT_USAGE, ToolError


class DiskError(ToolError):
    """Something that cannot be done."""

    code = EXIT_USAGE
