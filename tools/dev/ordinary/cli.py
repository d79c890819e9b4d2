# SPDX-License-Identifier: GPL-2.0
"""Run `make run` and `make check` as an ordinary user on ordinary Debian machines.

Makes the root file system of each release by debootstrap, with udev, systemd, lvm2 and mdadm, and runs
both commands there in a clone of what is committed. Needs root. An interrupted run goes on where it was.

Exit codes: 0 nothing failed; 1 something failed; 2 nothing was run; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tools.base import cli
from tools.base.arguments import words
from tools.base.cli import ToolError
from tools.base.paths import BUILD
from tools.base.progress import Progress
from tools.dev.queue.common import Project

from .root import RELEASES, Root, why_not

WAIT_S = 1.0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="ordinary", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--release", type=words, default=list(RELEASES), metavar="A,B",
                     help=f"Debian's releases (default: {','.join(RELEASES)})")
    top.add_argument("--steps", type=words, default=[], metavar="A,B", help="the steps of make check (default: all)")
    top.add_argument("--check-only", action="store_true", help="no make run")
    top.add_argument("--folder", type=Path, default=BUILD / "ordinary", metavar="DIR",
                     help="where the root file systems and the logs are kept (default: build/ordinary)")
    top.add_argument("--quiet", action="store_true", help="no progress")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("ordinary", lambda: ordinary(args))


def ordinary(args: argparse.Namespace) -> int:
    if unknown := [name for name in args.release if name not in RELEASES]:
        raise ToolError(f"no release {', '.join(unknown)}; there are {', '.join(RELEASES)}", cli.EXIT_USAGE)
    if reason := why_not():
        for release in args.release:
            print(f"skip {release}: {reason}")
        return 0
    failed = [release for release in args.release if not try_release(release, args)]
    return cli.EXIT_FAILED if failed else 0


def try_release(release: str, args: argparse.Namespace) -> bool:
    """Each stage until one fails, a line for each."""
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{release}.log").open("w") as log:
        for name, action in stages(Root(folder / release), release, args, log):
            begin = time.monotonic()
            try:
                with watched(f"{release}: {name}", args.quiet):
                    action()
            except ToolError as error:
                print(f"FAIL {release}: {name} ({time.monotonic() - begin:.1f} s)", flush=True)
                print(f"{error}; the log is {log.name}", flush=True)
                return False
            print(f"ok   {release}: {name} ({time.monotonic() - begin:.1f} s)", flush=True)
    return True


def stages(root: Root, release: str, args: argparse.Namespace, log: IO[str]) -> list[tuple[str, Callable[[], None]]]:
    check = f"make check {'STEPS=' + ','.join(args.steps) if args.steps else ''}".strip()
    found: list[tuple[str, Callable[[], None]]] = [
        ("debootstrap", lambda: root.make(release, log)),
        ("packages", lambda: root.install(log)),
        ("git clone", lambda: root.clone(Project.here().cache, log)),
        ("make run", lambda: root.as_user("cd project && make run", log)),
        (check, lambda: root.as_user(f"cd project && {check}", log)),
    ]
    return [stage for stage in found if stage[0] != "make run" or not args.check_only]


@contextmanager
def watched(what: str, quiet: bool) -> Iterator[None]:
    """Show how long something has been running."""
    progress, done = Progress(quiet, every_s=60), threading.Event()

    def tick() -> None:
        while not done.wait(WAIT_S):
            progress.show(f"{what}, {progress.seconds():.0f} s")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        progress.clear()


if __name__ == "__main__":
    sys.exit(main())
