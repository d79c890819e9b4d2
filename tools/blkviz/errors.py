# SPDX-License-Identifier: GPL-2.0
"""What can go wrong in a way that the user should hear of in one line."""


class BlkvizError(Exception):
    """One line: what is wrong, where, what to do. `code` is the exit code."""

    code = 1


class NoTraceError(BlkvizError):
    """The input is no block trace at all, or the command line makes no sense."""

    code = 2
