# SPDX-License-Identifier: GPL-2.0
"""Shows the progress of long work on stderr."""

from __future__ import annotations

import shutil
import sys
import threading
import time

LIVE_S = 0.2


class Progress:
    """One line that is overwritten on a terminal; elsewhere a line from time to time.

    @quiet: show nothing
    @every_s: real seconds between lines, if stderr is not a terminal
    """

    def __init__(self, quiet: bool = False, every_s: float = 10) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty()
        self.every_s = LIVE_S if self.live else every_s
        self.begin = self.shown = time.monotonic()
        self.width = 0
        self.lock = threading.Lock()

    def seconds(self) -> float:
        """Real seconds since the start."""
        return time.monotonic() - self.begin

    def show(self, text: str, now: bool = False) -> None:
        """Show the progress, unless it was shown just before; @now: in any case."""
        with self.lock:
            if self.quiet or (not now and time.monotonic() < self.shown + self.every_s):
                return
            self.shown = time.monotonic()
            if not self.live:
                print(text, file=sys.stderr, flush=True)
                return
            text = text[: shutil.get_terminal_size().columns - 1]
            print("\r" + text.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(text)

    def clear(self) -> None:
        """Clear the line on a terminal for other output."""
        with self.lock:
            if self.width:
                print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)
            self.width = 0

    def finish(self, text: str) -> None:
        """Show the last line, which stays on the terminal."""
        self.show(text, now=True)
        if self.live and not self.quiet:
            print(file=sys.stderr, flush=True)
        self.width = 0
