# SPDX-License-Identifier: GPL-2.0
"""What can go wrong in a way that the user should hear of in one line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType

# What ends a command; a closed terminal sends SIGHUP.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class BlkvizError(Exception):
    """One line: what is wrong, where, what to do. `code` is the exit code."""

    code = 1


class NoTraceError(BlkvizError):
    """The input is no block trace at all, or the command line makes no sense."""

    code = 2


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Only the first counts: shell and terminal both send SIGHUP, and the second must not end the cleaning up."""
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def told(action: Callable[[], int]) -> int:
    """The exit code of a command line; what goes wrong is one line on stderr."""
    for number in ENDING:
        # nohup, and shells for what they run in the background, ignore some
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        return action()
    except BlkvizError as error:
        print(f"blkviz: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        return 1
    except OSError as error:
        print(f"blkviz: {error.filename or ''}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("blkviz: interrupted", file=sys.stderr)
        return 130
