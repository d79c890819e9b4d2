# SPDX-License-Identifier: GPL-2.0
"""Boot the kernel, run players and a recorder under each I/O scheduler, and print the results as tables.

They run in User-Mode Linux with virtual time, so that their results do not depend on what else the machine does. Six
players read 3 MiB once a second through the page cache, concurrent with two sequential readers of class BE. Under cfq
each player has a reservation of 3 MiB/s with a deadline of one second; mq-deadline and bfq have them in class RT, the
nearest that they have; none has no classes.

The recorder has 16 cameras on ext4 that append 4 Mbit/s each and sync every two seconds, beside a backup and a copy.
Cameras and the others have a control group each. Under cfq the cameras have reserved twice what they write (io.bw),
bfq has weights of 1,000 and 10.

With --fio, fio runs before them in QEMU, on a null_blk disk: the modelled disk --disk, where the kernel has rotating
disks, else one that completes each request after 1 ms. QEMU counts the guest's instructions as its clock. A process
then reads with a reservation (class BW).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli
from tools.base.arguments import positive
from tools.base.cli import ToolError
from tools.base.paths import BUILD
from tools.testbed import vm
from tools.testbed.disk import presets
from tools.testbed.lab.model import settings
from tools.testbed.vm import qemu, uml

from . import results, virtual
from .results import ran

HERE = Path(__file__).resolve().parent


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="demo", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(top)
    return top


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fio", action="store_true", help="boot the kernel of `make kernel` in QEMU, too, and run fio")
    parser.add_argument("--schedulers", default="all", metavar="A,B", help="of fio (default: all of the kernel)")
    parser.add_argument("--seconds", type=positive, default=6, metavar="S",
                        help="run time of the mixed jobs under each scheduler (default: %(default)s)")
    parser.add_argument("--flavour", default="plain", choices=["plain", "debug"],
                        help="kernel that QEMU boots (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="another kernel that QEMU boots")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="preset of configs/disks (default: %(default)s); none: a disk without seeks")
    parser.add_argument("--uml", type=Path, default=uml.IMAGE, metavar="PATH",
                        help="User-Mode Linux of players and recorder (default: build/uml/vmlinux)")
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N",
                        help="guests of User-Mode Linux that run at once (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def command(args: argparse.Namespace) -> int:
    if args.disk == "none" and not args.fio:
        raise ToolError("--disk none: players and recorder need a disk; name one, or add --fio", cli.EXIT_USAGE)
    disk = None if args.disk == "none" else presets.load(args.disk)
    guests = virtual.guests_of(args.uml) if disk else ()
    mixed, reserved, rotates = in_qemu(args, disk) if args.fio else ({}, {}, True)
    tables = virtual.run(*guests, args.disk, args.jobs, args.json) if guests else {}
    if args.json:
        print(json.dumps({"schedulers": mixed, "reserved": reserved, **tables}))
        return 0
    print(f"\n{results.about_disk(disk, settings.recommended())}" if disk and rotates else "")
    if mixed:
        print(results.table(mixed))
    if reserved:
        print(f"\nclass BW: of {sum(reserved.values())} requests with a reservation {reserved['missed']} missed their "
              "deadline")
    for name, table in (("players", results.player_table), ("cameras", results.camera_table)):
        if name in tables:
            print(f"\n{virtual.scenario(name, args.disk).title}\n{table(tables[name])}")
    return 0


def in_qemu(args: argparse.Namespace, disk: presets.Preset | None) -> tuple[results.Rows, dict[str, int], bool]:
    """fio's results by scheduler, what became of requests with a reservation (empty without cfq), and whether the
    kernel has rotating disks."""
    vm.build_bwctl()
    words = ["bash", str(HERE / "guest.sh"), str(args.seconds), str(HERE), "-" if args.disk == "none" else args.disk,
             str(BUILD / "bwctl/bwctl"),
             " ".join(f"{name}={value}" for name, value in settings.recommended().items()), *args.schedulers.split(",")]
    with tempfile.TemporaryDirectory(prefix="fio-") as work:
        print("demo: booting the kernel, then running fio under each scheduler", file=sys.stderr, flush=True)
        result = vm.run(shlex.join(words), flavour=args.flavour, kernel=args.kernel, timeout=300 + 60 * args.seconds,
                        out=Path(work), append=["null_blk.nr_devices=0"], live=not args.json, cpus=1, qemu=qemu.ICOUNT,
                        kvm=False)
        if not result.ok:
            raise ToolError(result.why())
        try:
            mixed = results.load(Path(work), ran(result.stdout, "run: "))
            rotates = bool(ran(result.stdout, results.ROTATING))
            if disk and rotates:
                results.add_expected(mixed, disk)
            counters = Path(work) / "counters"
            reserved = results.served(counters.read_text()) if counters.is_file() else {}
        except (ValueError, KeyError) as error:
            raise ToolError(str(error)) from None
    return mixed, reserved, rotates


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("demo", lambda: command(args))


if __name__ == "__main__":
    sys.exit(main())
