# SPDX-License-Identifier: GPL-2.0-only
"""The one exception that the command line turns into a message and a code."""

import os
import sys

EXIT_FAILED = 1  # something ran and went wrong, or an expectation does not hold
EXIT_USAGE = 2  # nothing was run: bad scenario, missing scheduler, bad option


class LabError(Exception):
    """A message of one line that says what is wrong, where, and what to do."""

    def __init__(self, message: str, code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.code = code


def output_closed() -> int:
    """The exit code when who reads our output wants no more of it (`lab list | head -1`); the rest goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_FAILED


class ScenarioError(LabError):
    """A scenario file that cannot be run as it stands."""

    def __init__(self, where: str, line: int | None, key: str, what: str) -> None:
        place = f"{where}:{line}" if line else where
        super().__init__(f"{place}: {key}: {what}" if key else f"{place}: {what}", EXIT_USAGE)
        self.line = line
        self.key = key


class BadValue(ValueError):
    """A value of a scenario file; the reader adds where it stands."""
