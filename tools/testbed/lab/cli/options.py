# SPDX-License-Identifier: GPL-2.0
"""Options that several commands of `lab` share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, TypeAlias

from tools.base.arguments import positive, words
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import BUILD
from tools.base.progress import Progress
from tools.testbed.vm import uml
from tools.testbed.vm.uml import Guests

from ..model import schema
from ..model.catalog import DISKS, all_scenarios, find_scenario
from ..model.scenario import Scenario
from ..run.cache import Cache
from ..run.features import Features
from ..run.kernels import Kernels
from ..run.loadgen import LOADGEN, build_loadgen

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
KERNEL = uml.IMAGE
# The default of commands that run scenarios, and what --help says of it.
KERNEL_HERE = (Path(os.environ.get("LAB_KERNEL", KERNEL)), "$LAB_KERNEL or build/uml/vmlinux")
RESULTS = BUILD / "lab" / "results"
CACHE = Path(os.environ.get("LAB_CACHE", BUILD / "lab" / "cache"))


def depths(text: str) -> tuple[int, ...]:
    try:
        return schema.depths([int(word) for word in words(text)])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def chosen_scenarios(args: argparse.Namespace) -> list[Scenario]:
    """Those named, or all."""
    if bool(args.scenario) == args.all:
        raise ToolError("name scenarios, or give --all", EXIT_USAGE)
    return all_scenarios() if args.all else [find_scenario(name) for name in args.scenario]


class Runs:
    """Progress of the runs, and how long they took."""

    def __init__(self, quiet: bool) -> None:
        self.line = Progress(quiet)
        self.tenth = -1
        self.took: list[tuple[float, str]] = []

    def __call__(self, done: int, total: int, name: str, took_s: float) -> None:
        self.took.append((took_s, name))
        elapsed = self.line.seconds()
        left = elapsed / done * (total - done)
        text = f"{done}/{total} runs, {elapsed:.0f} s, {left:.0f} s left ({name}: {took_s:.1f} s)"
        if done == total:
            self.line.finish(text)
        else:
            # a log of hundreds of runs has a line for each tenth of them
            self.line.show(text, now=self.line.live or done * 10 // total != self.tenth)
        self.tenth = done * 10 // total

    def summary(self) -> str:
        """The real time of the runs."""
        longest, name = max(self.took)
        if len(self.took) == 1:
            return f"1 run in {longest:.1f} s"
        mean = sum(took for took, _ in self.took) / len(self.took)
        return (
            f"{len(self.took)} runs in {self.line.seconds():.0f} s, {mean:.1f} s each,"
            f" the longest {longest:.1f} s ({name})"
        )


def option(*names: str, **settings: Any) -> argparse.ArgumentParser:
    """An option as a parent of the commands that have it."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(*names, **settings)
    return parent


def disks_option() -> argparse.ArgumentParser:
    return option("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")


def depth_option(otherwise: str) -> argparse.ArgumentParser:
    return option("--depth", type=depths, metavar="N,M", help=f"queue depths of the drive{otherwise}")


def results_option(command: str) -> argparse.ArgumentParser:
    what = f"results of `lab {command}` (default: build/lab/results)"
    return option("--results", type=Path, default=RESULTS, metavar="DIR", help=what)


def json_option(what: str = "as JSON") -> argparse.ArgumentParser:
    return option("--json", action="store_true", help=what)


def guest_options(kernel: Path = KERNEL, otherwise: str = "build/uml/vmlinux") -> argparse.ArgumentParser:
    """The kernel to boot, the disks, and the limit of real time."""
    parent = argparse.ArgumentParser(add_help=False, parents=[disks_option()])
    what = f"User-Mode Linux to boot (default: {otherwise})"
    parent.add_argument("--kernel", type=Path, default=kernel, metavar="PATH", help=what)
    what = "end a guest after this number of seconds of real time (default: 300)"
    parent.add_argument("--limit", type=float, default=300, metavar="S", help=what)
    return parent


def cache_options() -> argparse.ArgumentParser:
    """Results of runs that need not be run again."""
    parent = argparse.ArgumentParser(add_help=False)
    what = "User-Mode Linux for other schedulers than cfq: with that of `queue uml --without cfq` their results last " \
        "when cfq changes (default: $LAB_WITHOUT_CFQ or that of --kernel)"
    default = os.environ.get("LAB_WITHOUT_CFQ")
    parent.add_argument("--without-cfq", type=Path, default=default, metavar="PATH", help=what)
    what = "results of runs by all that they depend on (default: $LAB_CACHE or build/lab/cache)"
    parent.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help=what)
    parent.add_argument("--again", action="store_true", help="run also those whose results are in the cache")
    return parent


def kernels_and_cache(args: argparse.Namespace, loadgen: Path = LOADGEN) -> tuple[Kernels, Cache, Features]:
    """Guests of the kernels that were asked for, the cache, and what the kernel under test has."""
    if loadgen == LOADGEN:
        build_loadgen()
    kernels = Kernels(*(Guests(path, loadgen, args.limit) for path in (args.kernel, args.without_cfq) if path))
    cache = Cache(args.cache, args.again)
    return kernels, cache, cache.features(kernels.tested)


def run_options(jobs: bool = True) -> argparse.ArgumentParser:
    """Which runs of which scenarios, and how many at once."""
    parent = argparse.ArgumentParser(add_help=False)
    what = "a scenario file, or the name of one that `lab list` shows"
    parent.add_argument("scenario", nargs="*", help=what)
    parent.add_argument("--all", action="store_true", help="every scenario")
    what = "only configurations that use these schedulers"
    parent.add_argument("--scheduler", type=words, metavar="A,B", help=what)
    what = "guests that run at once (default: 1)"
    if jobs:
        parent.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help=what)
    parent.add_argument("--quiet", action="store_true", help="no progress")
    return parent
