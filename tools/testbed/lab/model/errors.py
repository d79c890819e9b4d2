# SPDX-License-Identifier: GPL-2.0
"""What is wrong with a scenario file, and where."""

from tools.base.cli import EXIT_USAGE, ToolError


class ScenarioError(ToolError):
    """A scenario file that cannot be run as it stands."""

    def __init__(self, where: str, line: int | None, key: str, what: str) -> None:
        place = f"{where}:{line}" if line else where
        super().__init__(f"{place}: {key}: {what}" if key else f"{place}: {what}", EXIT_USAGE)
        self.line = line
        self.key = key


class BadValue(ValueError):
    """A value of a scenario file; @path leads from the value that was read to the part that is wrong."""

    def __init__(self, what: str, *path: str | int) -> None:
        super().__init__(what)
        self.path = path
