# SPDX-License-Identifier: GPL-2.0
"""How far long work is, on stderr."""

from __future__ import annotations

import shutil
import sys
import threading
import time

LIVE_S = 0.2


class Progress:
    """One line that is written over on a terminal, a line now and then elsewhere.

    @quiet: nothing at all
    @every_s: real seconds between lines that are not on a terminal
    """

    def __init__(self, quiet: bool = False, every_s: float = 10) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty()
        self.every_s = LIVE_S if self.live else every_s
        self.begin = self.told = time.monotonic()
        self.width = 0
        self.lock = threading.Lock()

    def seconds(self) -> float:
        """Real time since it began."""
        return time.monotonic() - self.begin

    def show(self, text: str, now: bool = False) -> None:
        """Say how far it is, unless that was just said; @now: in any case."""
        with self.lock:
            if self.quiet or (not now and time.monotonic() < self.told + self.every_s):
                return
            self.told = time.monotonic()
            if not self.live:
                print(text, file=sys.stderr, flush=True)
                return
            text = text[: shutil.get_terminal_size().columns - 1]
            print("\r" + text.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(text)

    def clear(self) -> None:
        """Make room on a terminal for what is printed next."""
        with self.lock:
            if self.width:
                print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)
            self.width = 0

    def finish(self, text: str) -> None:
        """The last line, which stays."""
        self.show(text, now=True)
        if self.live and not self.quiet:
            print(file=sys.stderr, flush=True)
        self.width = 0
