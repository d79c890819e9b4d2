# SPDX-License-Identifier: GPL-2.0
"""What can go wrong in a way that the user should hear of in one line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable


class BlkvizError(Exception):
    """One line: what is wrong, where, what to do. `code` is the exit code."""

    code = 1


class NoTraceError(BlkvizError):
    """The input is no block trace at all, or the command line makes no sense."""

    code = 2


def told(action: Callable[[], int]) -> int:
    """The exit code of a command line; what goes wrong is one line on stderr."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
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
