# SPDX-License-Identifier: GPL-2.0
"""Count the CPU instructions of a request under each I/O scheduler.

QEMU runs one guest instruction per guest nanosecond (-icount shift=0), so a clock in the guest
counts instructions, independent of other load on the machine. The kernel is the plain flavour.

measurements:
  one       a synchronous 4 KiB read with O_DIRECT, including system call and null_blk
  batch     the same by io_uring, 16 reads at a time
  order, random, reserved
            such a read while many processes have one request each in the scheduler or the device:
            in order; at random on a rotating disk; in order with a reservation each on a rotating
            disk (cfq only)
  groups    as one, under cfq with 100 control groups that have reservations on the device: outside
            of them, and in one of them
  cached    a read from the page cache, stat(), open() with close(), and a write to a private page
            that is not mapped: without a trace, with one, with VFS messages in it, and with
            messages in the trace of another disk
  size      bytes of a struct cfq_queue
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from tools.base import text
from tools.base.arguments import positive, positives, words
from tools.base.cli import ToolError
from tools.base.paths import BUILD
from tools.testbed.vm import build_static, qemu, scan

HERE = Path(__file__).resolve().parent
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq", "cfq")
QEMU = "qemu-system-x86_64"
# Loads of many processes, and their default numbers.
LOADS = {"order": [10, 100, 1000], "random": [16, 256], "reserved": [10, 1000]}
LOAD_TITLES = {"order": "in order", "random": "at random on a rotating disk",
               "reserved": "in order with a reservation each on a rotating disk"}
GROUPS = {"none": "outside of them", "one": "in one of them"}
CACHED = {"off": "no trace", "trace": "a trace", "vfs": "with messages", "other": "another disk's"}
CALLS = {"read": "read", "stat": "stat", "open": "open and close", "fault": "page fault"}


@dataclass
class Series:
    """The repeats of one measurement, in instructions per I/O."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread_percent(self) -> float:
        """The difference of maximum and minimum, in percent of the median."""
        return 100 * (max(self.values) - min(self.values)) / self.median


Many = dict[str, dict[int, Series]]  # one load, by scheduler and number of processes


@dataclass
class Result:
    """The measurements of one boot."""

    one: dict[str, Series] = field(default_factory=dict)
    batch: dict[str, Series] = field(default_factory=dict)
    cached: dict[str, dict[str, Series]] = field(default_factory=dict)  # by call and state
    groups: dict[str, Series] = field(default_factory=dict)
    # by load
    many: dict[str, Many] = field(default_factory=lambda: {load: {} for load in LOADS})
    # requests in the scheduler and the device at the end of the measurement
    in_flight: dict[str, dict[str, dict[int, int]]] = field(default_factory=lambda: {load: {} for load in LOADS})
    finished: bool = False

    def take(self, line: str) -> None:
        """Parse a line of the guest that begins with "@"."""
        words = line.split()
        match words:
            case ["@", "one", name, _, ns, reads]:
                self.one.setdefault(name, Series()).values.append(int(ns) / int(reads))
            case ["@", "batch", name, _, ns, reads]:
                self.batch.setdefault(name, Series()).values.append(int(ns) / int(reads))
            case ["@", "cached", call, state, _, ns, calls]:
                self.cached.setdefault(call, {}).setdefault(state, Series()).values.append(int(ns) / int(calls))
            case ["@", "groups", whose, _, ns, reads]:
                self.groups.setdefault(whose, Series()).values.append(int(ns) / int(reads))
            case ["@", load, name, _, processes, ns, idle, reads, active] if load in LOADS:
                if not int(reads):
                    raise ToolError(f"{name}: {processes} processes completed no read; use a longer --window")
                cost = (int(ns) - int(idle)) / int(reads)
                number = int(processes)
                series = self.many[load].setdefault(name, {}).setdefault(number, Series())
                series.values.append(cost)
                self.in_flight[load].setdefault(name, {})[number] = int(active)
            case ["@", "end", code]:
                if code != "0":
                    raise ToolError("the guest failed; its last lines are above")
                self.finished = True
            case _:
                raise ToolError(f"the guest printed '{line}', which is not a result")


def make_root(folder: Path) -> Path:
    """The root file system of the guest: one program, and mount points."""
    for name in ("dev", "proc", "sys"):
        (folder / name).mkdir()
    shutil.copy(build_static(HERE / "measure.c", BUILD / "bench"), folder / "init")
    return folder


def qemu_command(image: Path, root: Path, arguments: Sequence[str]) -> list[str]:
    append = ["console=ttyS0", "loglevel=5", "panic=-1", "rootfstype=9p", "root=rootdir",
              "rootflags=trans=virtio,version=9p2000.L", "ro", "init=/init",
              "null_blk.nr_devices=0", "--", *arguments]
    return [
        QEMU, "-smp", "1", "-accel", "tcg", *qemu.ICOUNT, "-m", "512",
        "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
        "-kernel", str(image), "-append", " ".join(append),
        "-virtfs", f"local,path={root},mount_tag=rootdir,security_model=none,readonly=on",
    ]


def guest_lines(command: Sequence[str], timeout: float) -> Iterator[str]:
    """The lines of the serial console, as they arrive."""
    machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
    timer = threading.Timer(timeout, machine.kill)
    timer.start()
    try:
        assert machine.stdout
        for line in machine.stdout:
            yield line.strip()
        machine.wait()
        if not timer.is_alive():
            raise ToolError(f"the guest did not end within {timeout:.0f} s; use a longer --timeout")
    finally:
        timer.cancel()
        machine.kill()
        machine.wait()


def run_guest(image: Path, args: argparse.Namespace) -> Result:
    schedulers = args.schedulers
    numbers = [args.processes, args.random, args.reserved]
    measured = 2 + (len(args.processes) + len(args.random)) * bool(args.window)
    steps = args.repeats * (len(schedulers) * measured + 3)
    steps += args.repeats * (len(args.reserved) * bool(args.window) + 2) * ("cfq" in schedulers)
    result = Result()
    start = time.monotonic()
    output: list[str] = []
    reports: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        root = make_root(Path(name))
        command = qemu_command(image, root, [
            ",".join(schedulers), str(args.reads), str(args.repeats),
            *(",".join(map(str, number)) for number in numbers), str(args.window)])
        done = 0
        for line in guest_lines(command, args.timeout):
            # the kernel's first line may be part of the firmware's last one
            output.append(line)
            reports += scan(line)
            if not line.startswith("@ "):
                continue
            if reports:
                break
            try:
                result.take(line)
            except ToolError:
                print("\n".join(output[-5:]), file=sys.stderr)
                raise
            done += 1
            print(f"bench: {min(done, steps)}/{steps} {' '.join(line.split()[1:3])}, "
                  f"{time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    if reports:
        print("\n".join(output[-40:]), file=sys.stderr)
        raise ToolError(f"{image}: the kernel reports: {reports[0]}; its last lines are above")
    if not result.finished:
        print("\n".join(output[-15:]), file=sys.stderr)
        raise ToolError(f"{image}: the guest ended before the last result; its last lines are above")
    return result


def size_of_queue(linux: Path, out: Path) -> int | None:
    """The bytes of struct cfq_queue, from an object compiled with debug information; None: no cfq in this build."""
    if not (out / "block/.cfq-iosched.o.cmd").is_file():
        return None
    with tempfile.TemporaryDirectory() as name:
        commands = Path(name) / "commands.json"
        compiled = Path(name) / "cfq.o"
        tool = linux / "scripts/clang-tools/gen_compile_commands.py"
        run([sys.executable, tool, "-d", out, "-o", commands, out / "block"])
        entry = next((e for e in json.loads(commands.read_text())
                      if e["file"].endswith("/cfq-iosched.c")), None)
        if entry is None:
            raise ToolError(f"{out}: no compiler command for block/cfq-iosched.c; build the kernel again")
        words = [w for w in shlex.split(entry["command"]) if not w.startswith("-Wp,-M")]
        words[words.index("-o") + 1] = str(compiled)
        run([*words, "-g"], cwd=Path(entry["directory"]))
        # pahole 1.30 prints the structure and then fails (Invalid argument)
        shown = subprocess.run(["pahole", "-F", "dwarf", "-C", "cfq_queue", compiled], check=False,
                               capture_output=True, text=True)
    found = re.search(r"/\* size: (\d+)", shown.stdout)
    if not found:
        raise ToolError(f"{out}: pahole found no struct cfq_queue in block/cfq-iosched.o")
    return int(found.group(1))


def run(args: Sequence[str | Path], cwd: Path | None = None) -> str:
    done = subprocess.run([str(a) for a in args], cwd=cwd, check=False,
                          capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise ToolError(f"{args[0]}: {last}")
    return done.stdout


def growth_percent(series: dict[int, Series]) -> float:
    least, most = min(series), max(series)
    return 100 * (series[most].median / series[least].median - 1)


def loads_table(many: Many) -> str:
    """The table of one load of many processes."""
    numbers = sorted({number for row in many.values() for number in row})
    several = len(numbers) > 1
    head = ["scheduler", *(f"{number:,} proc." for number in numbers), *(["growth"] * several), "spread"]
    rows = [[name, *(f"{row[number].median:,.0f}" for number in numbers),
             *([f"{growth_percent(row):+.0f}%"] * several),
             f"{max(series.spread_percent for series in row.values()):.1f}%"] for name, row in many.items()]
    return text.table(head, rows, rule=False)


def cached_table(cached: dict[str, dict[str, Series]]) -> str:
    states = [state for state in CACHED if any(state in row for row in cached.values())]
    rows = [[CALLS[call], *(f"{row[state].median:,.1f}" if state in row else "--" for state in states)]
            for call, row in cached.items()]
    return text.table(["call", *(CACHED[state] for state in states)], rows, rule=False)


def table(result: Result, size: int | None) -> str:
    """The results as tables."""
    rows = [[name, f"{one.median:,.0f}", f"{one.spread_percent:.1f}%",
             *([f"{batch.median:,.0f}", f"{batch.spread_percent:.1f}%"] if (batch := result.batch.get(name)) else "--")]
            for name, one in result.one.items()]
    lines = ["Instructions per read of 4 KiB: median of the repeats, and spread from minimum to maximum",
             text.table(["scheduler", "one", "spread", "batch of 16", "spread"], rows, rule=False)]
    for load, many in result.many.items():
        if many:
            lines += ["", f"Many processes, {LOAD_TITLES[load]}", loads_table(many)]
        for name, active in result.in_flight[load].items():
            if name != "none" and (low := [number for number in active if active[number] < 0.9 * number]):
                lines.append(f"note: {name}: only {active[low[0]]} requests were in flight for {low[0]} processes")
    if result.cached:
        lines += ["", "Calls that the page cache serves, by trace", cached_table(result.cached)]
    if result.groups:
        lines.append("a read with 100 control groups that have reservations: " + ", ".join(
            f"{GROUPS[whose]} {series.median:,.0f}" for whose, series in result.groups.items()))
    lines += verdict(result, size)
    return "\n".join(lines)


def verdict(result: Result, size: int | None) -> list[str]:
    """The results compared with the goals of the scheduler."""
    lines = []
    for what, costs in (("", result.one), (" in batches", result.batch)):
        if "cfq" in costs and "mq-deadline" in costs:
            share = costs["cfq"].median / costs["mq-deadline"].median
            lines.append(f"cfq takes {share:.1%} of mq-deadline's instructions{what} (goal: at most 100%)")
    for load, many in result.many.items():
        if len(row := many.get("cfq", {})) > 1:
            lines.append(f"cfq grows by {growth_percent(row):.0f}% from {min(row):,} to {max(row):,} processes "
                         f"{LOAD_TITLES[load]} (goal: at most 30%)")
    if size is not None:
        lines.append(f"a struct cfq_queue takes {size} bytes (goal: at most 512)")
    return lines


def as_json(result: Result, size: int | None) -> str:
    def of(series: dict[str, Series]) -> dict[str, dict[str, object]]:
        return {str(key): asdict(one) | {"median": one.median} for key, one in series.items()}

    many = {load: {name: of({str(number): one for number, one in row.items()}) for name, row in loads.items()}
            for load, loads in result.many.items()}
    cached = {call: of(row) for call, row in result.cached.items()}
    return json.dumps({"one": of(result.one), "batch": of(result.batch), "cached": cached,
                       "groups": of(result.groups), "many": many,
                       "in_flight": result.in_flight, "cfq_queue_bytes": size}, indent=1)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--build", type=Path, default=BUILD / "kernel-plain", metavar="DIR",
                     help="output folder of the kernel build (default: build/kernel-plain)")
    parser.add_argument("--linux", type=Path, default=BUILD / "linux", metavar="DIR",
                     help="kernel source of that build (default: build/linux)")
    parser.add_argument("--schedulers", type=words, default=list(SCHEDULERS), metavar="A,B",
                     help=f"schedulers to measure (default: {','.join(SCHEDULERS)})")
    parser.add_argument("--reads", type=int, default=20000, metavar="N",
                     help="reads of a repeat of `one` (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=3, metavar="N",
                        help="repeats of each measurement (default: %(default)s)")
    for name, load in (("processes", "order"), ("random", "random"), ("reserved", "reserved")):
        numbers = ",".join(map(str, LOADS[load]))
        parser.add_argument(f"--{name}", type=positives, default=LOADS[load], metavar="A,B",
                            help=f"numbers of processes that read {LOAD_TITLES[load]} (default: {numbers})")
    parser.add_argument("--window", type=int, default=1000, metavar="MS",
                     help="guest time of a repeat with many processes; 0: skip these "
                          "(default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=1800, metavar="S",
                     help="limit of real time for the guest (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def check(args: argparse.Namespace, image: Path) -> None:
    if not image.is_file():
        raise ToolError(f"{image}: no kernel; run `make kernel` first")
    for tool in (QEMU, "gcc", "pahole"):
        if not shutil.which(tool):
            raise ToolError(f"{tool} is not installed; run `make setup-bench` as root")
    if args.reads < 10 or args.window < 0:
        raise ToolError("--reads must be 10 or more, --window 0 or more")


def command(args: argparse.Namespace) -> int:
    image = args.build / "arch/x86/boot/bzImage"
    check(args, image)
    size = size_of_queue(args.linux, args.build)
    result = run_guest(image, args)
    print(as_json(result, size) if args.json else table(result, size))
    return 0
