# SPDX-License-Identifier: GPL-2.0
"""Runs a program: exit codes, errors of one line, signals, a closed pipe."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

EXIT_FAILED = 1  # the program ran and failed
EXIT_USAGE = 2  # nothing was done: the command line, a file or the machine does not allow it
EXIT_INTERRUPTED = 130

# Signals that end a program; a closed terminal sends SIGHUP.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class ToolError(Exception):
    """An error of one line: what is wrong, where, what to do. `code` is the program's exit code."""

    code = EXIT_FAILED

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


def run(name: str, action: Callable[[], int], interrupted: str = "interrupted") -> int:
    """Run a program; returns its exit code. An error is one line on stderr that begins with its name."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        # nohup ignores some of them, and shells do for background jobs
        if before[number] != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        code = action()
        sys.stdout.flush()
        return code
    except ToolError as error:
        return _failed(name, str(error), error.code)
    except BrokenPipeError:
        # the reader closed the pipe (`lab list | head -1`): discard the rest
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
    """Raises ToolError if numpy is not installed; called before anything that takes long."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise ToolError("needs numpy: make venv, or install python3-numpy", EXIT_USAGE) from None


def heed_interrupts() -> None:
    """Handle SIGINT even if a shell has started the program in the background, with SIGINT ignored.

    For programs that send SIGINT to their children, which would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def os_error(error: OSError) -> str:
    """The reason of an error, with the file if it has one."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _failed(name: str, message: str, code: int) -> int:
    print(f"{name}: {message}", file=sys.stderr)
    return code


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Handle the first signal only: shell and terminal both send SIGHUP, and the second must not stop the cleanup."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
