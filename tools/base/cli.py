# SPDX-License-Identifier: GPL-2.0
"""How a program runs and how it ends: exit codes, errors of one line, signals, a closed pipe."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

EXIT_FAILED = 1  # something was run and went wrong
EXIT_USAGE = 2  # nothing was run: the command line, a file or the machine is not fit for it
EXIT_INTERRUPTED = 130

# What ends a program; a closed terminal sends SIGHUP.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class ToolError(Exception):
    """One line: what is wrong, where, what to do. `code` is the program's exit code."""

    code = EXIT_FAILED

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


def run(name: str, action: Callable[[], int], interrupted: str = "interrupted") -> int:
    """The exit code of a program; what goes wrong is one line on stderr that begins with its name."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        # nohup, and shells for what they run in the background, ignore some
        if before[number] != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        code = action()
        sys.stdout.flush()
        return code
    except ToolError as error:
        return _failed(name, str(error), error.code)
    except BrokenPipeError:
        # the reader closed the pipe (`lab list | head -1`): the rest goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        return _failed(name, os_error(error), EXIT_FAILED)
    except KeyboardInterrupt:
        return _failed(name, interrupted, EXIT_INTERRUPTED)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def need_numpy() -> None:
    """Raises ToolError where it is not installed; called before anything is done that takes time."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise ToolError("needs numpy: make venv, or install python3-numpy", EXIT_USAGE) from None


def heed_interrupts() -> None:
    """SIGINT counts although a shell that started the program in the background ignores it.

    For programs that end their own children with it: they would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def os_error(error: OSError) -> str:
    """The file, if the error is one of a file, and the reason."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _failed(name: str, message: str, code: int) -> int:
    print(f"{name}: {message}", file=sys.stderr)
    return code


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Only the first counts: shell and terminal both send SIGHUP, and the second must not end the cleaning up."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
