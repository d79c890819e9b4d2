# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of a read go that `bench cost` counts: a table by function of the kernel.

Reads of 4 KiB by io_uring, 16 at a time, in the guest of `bench cost`. While they are made
QEMU tells each piece of code that it runs; how long a piece is, to the next branch, is read
from the disassembled vmlinux. What the kernel patches in itself while it runs is counted as
it was before, so the sums are 2 or 3% off.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.base import text
from tools.base.arguments import positive, words
from tools.base.cli import ToolError
from tools.base.paths import BUILD

from .cost import guest_lines, make_root, qemu_command, run

# What ends a piece of code, as QEMU translates it.
BRANCH = re.compile(r"j|call|ret|loop|syscall|sysret|iret|hlt|int3")
LABEL = re.compile(r"^[0-9a-f]+ <(?P<name>.*)>:$")
CODE = re.compile(r"^ *(?P<address>[0-9a-f]+):\t(?P<mnemonic>\S+)")
# "Trace 0: 0x7f54c25240c0 [0000000000000000/ffffffff814e0152/0040c2b0/ff020200]"
TRACE = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/(?P<address>[0-9a-f]+)/")
# A tenth of the reads goes before those that are counted.
WARM = 1.1

Pieces = dict[int, tuple[str, int]]  # by address: the function, and instructions to the next branch


def pieces(lines: Iterable[str]) -> Pieces:
    """Of a disassembled program, from `objdump -d --no-show-raw-insn`."""
    code: list[tuple[int, str, bool]] = []
    function = ""
    for line in lines:
        if label := LABEL.match(line):
            function = label["name"]
        elif found := CODE.match(line):
            code.append((int(found["address"], 16), function, bool(BRANCH.match(found["mnemonic"]))))
    result: Pieces = {}
    length = 0
    for address, function, branches in reversed(code):
        length = 1 if branches else length + 1
        result[address] = function, length
    return result


def instructions(log: Iterable[str], known: Pieces) -> Counter[str]:
    """By function, from what QEMU's `-d exec,nochain` says."""
    counts: Counter[str] = Counter()
    for line in log:
        if (found := TRACE.match(line)) and (piece := known.get(int(found["address"], 16))):
            counts[piece[0]] += piece[1]
    return counts


def tell(monitor: Path, command: str) -> None:
    """Has QEMU do something, before the guest's next line is read."""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(10)
        talk.connect(str(monitor))
        prompt(talk)
        talk.sendall(command.encode() + b"\n")
        prompt(talk)


def prompt(talk: socket.socket) -> None:
    said = b""
    while not said.rstrip().endswith(b"(qemu)"):
        more = talk.recv(4096)
        if not more:
            raise ToolError("QEMU's monitor has ended")
        said += more


def measure(scheduler: str, args: argparse.Namespace, known: Pieces) -> dict[str, float]:
    """Instructions for each read, by function."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "root").mkdir()
        command = qemu_command(args.build / "arch/x86/boot/bzImage", make_root(folder / "root"),
                               [scheduler, str(args.reads), "1", "1", "1", "1", "0"])
        append = command.index("-append") + 1
        command[append] = f"nokaslr {command[append]}"
        monitor, log = folder / "monitor", folder / "log"
        command += ["-monitor", f"unix:{monitor},server=on,wait=off", "-D", str(log)]
        for line in guest_lines(command, args.timeout):
            if line.startswith("@ one"):  # what comes next are batches
                tell(monitor, "log exec,nochain")
            elif line.startswith("@ batch"):
                tell(monitor, "log none")
                break
        else:
            raise ToolError(f"{scheduler}: the guest ended early")
        with log.open(errors="replace") as lines:
            counts = instructions(lines, known)
    return {function: count / (args.reads * WARM) for function, count in counts.items()}


def rows(found: dict[str, dict[str, float]], least: float) -> Iterator[list[str]]:
    """Functions that differ by so many instructions, those that differ most first."""
    names = {name for counts in found.values() for name in counts}

    def spread(name: str) -> float:
        values = [counts.get(name, 0) for counts in found.values()]
        return max(values) - min(values) if len(values) > 1 else values[0]

    for name in sorted(names, key=lambda name: (-spread(name), name)):
        if spread(name) >= least:
            yield [name, *(f"{counts.get(name, 0):,.1f}" for counts in found.values())]
    yield ["all", *(f"{sum(counts.values()):,.0f}" for counts in found.values())]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--build", type=Path, default=BUILD / "kernel-plain", metavar="DIR",
                        help="output folder of the kernel build (default: build/kernel-plain)")
    parser.add_argument("--schedulers", type=words, default=["mq-deadline", "cfq"], metavar="A,B",
                        help="default: mq-deadline,cfq")
    parser.add_argument("--reads", type=positive, default=1600, metavar="N",
                        help="a tenth of a megabyte of trace each (default: 1600)")
    parser.add_argument("--least", type=float, default=3, metavar="N",
                        help="functions that differ by so many instructions a read (default: 3)")
    parser.add_argument("--timeout", type=positive, default=600, metavar="S", help="for a guest (default: 600)")
    parser.add_argument("--json", action="store_true", help="all functions, for a program")


def command(args: argparse.Namespace) -> int:
    vmlinux = args.build / "vmlinux"
    if not vmlinux.is_file():
        raise ToolError(f"{vmlinux}: no kernel was built there: `make kernel` does")
    known = pieces(run(["objdump", "-d", "--no-show-raw-insn", vmlinux]).splitlines())
    found: dict[str, dict[str, float]] = {}
    for scheduler in args.schedulers:
        found[scheduler] = measure(scheduler, args, known)
    if args.json:
        print(json.dumps(found, indent=1, sort_keys=True))
        return 0
    print("Instructions per read of 4 KiB, in batches of 16, by function of the kernel")
    print(text.table(["function", *args.schedulers], list(rows(found, args.least))))
    return 0
