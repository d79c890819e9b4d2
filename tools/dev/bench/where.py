# SPDX-License-Identifier: GPL-2.0
"""Count the instructions of a read by kernel function, in the guest of `bench cost`.

The reads have 4 KiB and come in batches of 16 by io_uring. QEMU logs each translated block that
it runs; the length of a block, up to the next branch, comes from the disassembled vmlinux. Code
that the kernel patches at run time is counted as it was before, so the sums are 2 or 3% off.
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

# The instructions that end a block of code when QEMU translates it.
BRANCH = re.compile(r"j|call|ret|loop|syscall|sysret|iret|hlt|int3")
LABEL = re.compile(r"^[0-9a-f]+ <(?P<name>.*)>:$")
CODE = re.compile(r"^ *(?P<address>[0-9a-f]+):\t(?P<mnemonic>\S+)")
# "Trace 0: 0x7f54c25240c0 [0000000000000000/ffffffff814e0152/0040c2b0/ff020200]"
TRACE = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/(?P<address>[0-9a-f]+)/")
# A tenth of the reads is a warm-up, which the log has, too.
WARM = 1.1

Blocks = dict[int, tuple[str, int]]  # by address: the function, and the instructions to the next branch


def blocks(lines: Iterable[str]) -> Blocks:
    """The blocks of a program, from the output of `objdump -d --no-show-raw-insn`."""
    code: list[tuple[int, str, bool]] = []
    function = ""
    for line in lines:
        if label := LABEL.match(line):
            function = label["name"]
        elif found := CODE.match(line):
            code.append((int(found["address"], 16), function, bool(BRANCH.match(found["mnemonic"]))))
    result: Blocks = {}
    length = 0
    for address, function, branches in reversed(code):
        length = 1 if branches else length + 1
        result[address] = function, length
    return result


def instructions(log: Iterable[str], known: Blocks) -> Counter[str]:
    """The instructions by function, from QEMU's log of `-d exec,nochain`."""
    counts: Counter[str] = Counter()
    for line in log:
        if (found := TRACE.match(line)) and (block := known.get(int(found["address"], 16))):
            counts[block[0]] += block[1]
    return counts


def send(monitor: Path, command: str) -> None:
    """Send a command to QEMU's monitor, and wait until it is done."""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(10)
        talk.connect(str(monitor))
        prompt(talk)
        talk.sendall(command.encode() + b"\n")
        prompt(talk)


def prompt(talk: socket.socket) -> None:
    output = b""
    while not output.rstrip().endswith(b"(qemu)"):
        more = talk.recv(4096)
        if not more:
            raise ToolError("QEMU ended while its monitor was in use")
        output += more


def measure(scheduler: str, args: argparse.Namespace, known: Blocks) -> dict[str, float]:
    """Boot a guest; returns the instructions per read, by function."""
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
            if line.startswith("@ one"):  # the batches follow
                send(monitor, "log exec,nochain")
            elif line.startswith("@ batch"):
                send(monitor, "log none")
                break
        else:
            raise ToolError(f"{scheduler}: the guest ended before the last result")
        with log.open(errors="replace") as lines:
            counts = instructions(lines, known)
    return {function: count / (args.reads * WARM) for function, count in counts.items()}


def rows(found: dict[str, dict[str, float]], least: float) -> Iterator[list[str]]:
    """The functions that differ by @least instructions or more, those that differ most first."""
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
                        help="schedulers to compare (default: mq-deadline,cfq)")
    parser.add_argument("--reads", type=positive, default=1600, metavar="N",
                        help="reads to log; each takes a tenth of a megabyte of log (default: 1600)")
    parser.add_argument("--least", type=float, default=3, metavar="N",
                        help="show functions that differ by N instructions per read or more (default: 3)")
    parser.add_argument("--timeout", type=positive, default=600, metavar="S",
                        help="limit of real time for a guest (default: 600)")
    parser.add_argument("--json", action="store_true", help="print all functions as JSON")


def command(args: argparse.Namespace) -> int:
    vmlinux = args.build / "vmlinux"
    if not vmlinux.is_file():
        raise ToolError(f"{vmlinux}: no kernel; run `make kernel` first")
    known = blocks(run(["objdump", "-d", "--no-show-raw-insn", vmlinux]).splitlines())
    found: dict[str, dict[str, float]] = {}
    for scheduler in args.schedulers:
        found[scheduler] = measure(scheduler, args, known)
    if args.json:
        print(json.dumps(found, indent=1, sort_keys=True))
        return 0
    print("Instructions per read of 4 KiB, in batches of 16, by function of the kernel")
    print(text.table(["function", *args.schedulers], list(rows(found, args.least))))
    return 0
