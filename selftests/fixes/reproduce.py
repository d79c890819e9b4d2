# SPDX-License-Identifier: GPL-2.0
"""Run reproducers of bugs that the queue fixes: each must show its bug in the base kernel, and not in the patched one.

Prints TAP. Exit codes: 0 all results as expected; 1 a result is not; 2 nothing was run; 130 interrupted.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base import cli
from tools.base.arguments import words
from tools.base.cli import ToolError
from tools.base.paths import BUILD, ROOT
from tools.dev.queue.kernel import FLAVOURS, MODULE
from tools.testbed.vm import Result, build_static, parameters, run

HERE = Path(__file__).resolve().parent
PROGRAMS = BUILD / "vm"
PROGRAM_SOURCES = (HERE / "guest/load_module.c", HERE / "guest/sched_files.c", HERE / "guest/trace_cpu.c",
                   ROOT / "selftests/vm/guest/ending_readers.c")
FIXES = FLAVOURS["fixes"]
BROKEN = 3  # exit code of a script that could not run its test


@dataclass(frozen=True)
class Reproducer:
    """A script, and how the base kernel fails in it."""

    name: str
    command: str
    shows: str  # regular expression for the output of console or script with the bug; empty: the base passes
    cpus: int = 2
    timeout: float = 600


REPRODUCERS = (
    Reproducer("rnbd-mq-deadline", "rnbd.sh mq-deadline", r"KASAN: global-out-of-bounds in (dd|deadline)_\w+"),
    # bfq uses the class of the submitting task, which is the server's own
    Reproducer("rnbd-bfq", "rnbd.sh bfq", ""),
    Reproducer("icq", "icq.sh 40", r"(KASAN: .* in|RIP: \S+?:) ?ioc_destroy_icq\+", cpus=8),
    Reproducer("debugfs-mq-deadline", "debugfs.sh mq-deadline 150", r"(KASAN: .* in|RIP: \S+?:) ?(dd|deadline)_\w+"),
    Reproducer("debugfs-kyber", "debugfs.sh kyber 150", r"(KASAN: .* in|RIP: \S+?:) ?(kyber|sbitmap)_\w+"),
    Reproducer("blktrace", "blktrace.sh", r"^BUG: the message is in the trace, blkparse drops it$"),
    # not a bug: blkviz on a kernel without this queue
    Reproducer("blkviz", "blkviz.sh", ""),
    Reproducer("relay", "relay.sh 60", r"(KASAN: .* in|RIP: \S+?:) ?\w*(relay|blktrace|blk_add_trace)\w*\+"),
    Reproducer("cgwb", "cgwb.sh", r"^BUG: a removed group stays as long as the disk is there$"),
)


def problem(reproducer: Reproducer, result: Result, patched: bool) -> str:
    """The difference from the expected result, or an empty string."""
    if result.exit_code == BROKEN and not result.reports:
        return f"could not run: {last_line(result.stdout)}"
    if patched or not reproducer.shows:
        return "" if result.ok else f"fails: {seen(reproducer, result)}"
    if result.ok:
        return "the bug does not occur"
    if not re.search(reproducer.shows, result.console + "\n" + result.stdout, re.M):
        return f"fails in another way: {seen(reproducer, result)}"
    return ""


def seen(reproducer: Reproducer, result: Result) -> str:
    """The failure, in a few words."""
    for text in (result.console, result.stdout):
        if reproducer.shows and (found := re.search(reproducer.shows, text, re.M)):
            return found[0]
    if result.reports:
        return result.reports[0]
    return "timeout" if result.timed_out else last_line(result.stdout)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]


def boot(reproducer: Reproducer, kernel: Path, out: Path) -> Result:
    script, *arguments = shlex.split(reproducer.command)
    env = {"PROGRAMS": str(PROGRAMS), "MODULE": str(kernel / MODULE / "read_with_ioprio.ko")}
    return run([str(HERE / "guest" / script), *arguments], kernel=kernel / FIXES.image, cpus=reproducer.cpus,
               memory="1G", timeout=reproducer.timeout, out=out, append=parameters("plain"), env=env)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="reproduce", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--only", type=words, default=[], metavar="A,B", help="run only these reproducers (default: all)")
    top.add_argument("--base", type=Path, default=BUILD / "kernel-fixes-base", metavar="FOLDER",
                     help="build folder of the base kernel (default: build/kernel-fixes-base)")
    top.add_argument("--patched", type=Path, default=BUILD / FIXES.folder, metavar="FOLDER",
                     help="build folder of the patched kernel (default: build/kernel-fixes)")
    top.add_argument("--kernels", type=words, default=["base", "patched"], metavar="A,B",
                     help="base, patched or both (default: both)")
    top.add_argument("--logs", type=Path, default=BUILD / "runs/fixes", metavar="FOLDER",
                     help="folder for consoles and logs (default: build/runs/fixes)")
    return top


def chosen(only: Sequence[str]) -> list[Reproducer]:
    known = {reproducer.name: reproducer for reproducer in REPRODUCERS}
    if unknown := set(only) - set(known):
        raise ToolError(f"--only: no reproducer {', '.join(sorted(unknown))}; known: {', '.join(known)}",
                        cli.EXIT_USAGE)
    return [known[name] for name in only or known]


def command(args: argparse.Namespace) -> int:
    reproducers = chosen(args.only)
    kernels = {"base": args.base, "patched": args.patched}
    if unknown := set(args.kernels) - set(kernels):
        raise ToolError(f"--kernels: no kernel {', '.join(sorted(unknown))}; known: base, patched", cli.EXIT_USAGE)
    for name in args.kernels:
        if not (kernels[name] / FIXES.image).is_file():
            raise ToolError(f"{kernels[name]}: no kernel; run `make reproducers`", cli.EXIT_USAGE)
    for source in PROGRAM_SOURCES:
        build_static(source, PROGRAMS)
    print(f"1..{len(reproducers) * len(args.kernels)}", flush=True)
    failed = number = 0
    for reproducer in reproducers:
        for name in args.kernels:
            number += 1
            result = boot(reproducer, kernels[name], args.logs / f"{reproducer.name}-{name}")
            why = problem(reproducer, result, name == "patched")
            failed += bool(why)
            outcome = why or ("passes" if result.ok else f"fails: {seen(reproducer, result)}")
            print(f"{'not ok' if why else 'ok'} {number} {reproducer.name} {name} # {outcome}, {result.seconds:.0f} s",
                  flush=True)
    return cli.EXIT_FAILED if failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("reproduce", lambda: command(args))


if __name__ == "__main__":
    sys.exit(main())
