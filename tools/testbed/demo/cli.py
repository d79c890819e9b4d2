# SPDX-License-Identifier: GPL-2.0
"""Run fio under each I/O scheduler in a booted kernel, and print the results as tables.

QEMU counts the guest's instructions as its clock, so other load of this machine does not change the results.

The jobs of mixed.fio run on a null_blk disk: the modelled disk --disk, where the kernel has
rotating disks, else one that completes each request after 1 ms.

A second table shows six players, which read 3 MiB once a second through the page cache, concurrent with
two sequential readers of class BE. Under cfq each player has a reservation (class BW) of 3 MiB/s
with a deadline of one second; mq-deadline and bfq have them in class RT, the nearest that they
have; none has no classes.

The last table shows a video recorder on ext4: 16 cameras that append 4 Mbit/s each and sync every
two seconds, beside a backup of the disk and a copy. Cameras and the others have a control group
each. Under cfq the cameras have reserved twice what they write (io.bw), bfq has weights of 1,000
and 10.
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
from tools.testbed.vm import qemu

from . import results
from .results import ran

HERE = Path(__file__).resolve().parent


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="demo", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(top)
    return top


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schedulers", default="all", metavar="A,B", help="default: all of the kernel")
    parser.add_argument("--seconds", type=positive, default=6, metavar="S",
                        help="run time of the mixed jobs under each scheduler (default: %(default)s)")
    parser.add_argument("--player-seconds", type=int, default=12, metavar="S",
                        help="run time of the players under each scheduler; 0: skip them (default: %(default)s)")
    parser.add_argument("--camera-seconds", type=int, default=20, metavar="S",
                        help="run time of the cameras under cfq, mq-deadline and bfq; 0: skip them "
                             "(default: %(default)s)")
    parser.add_argument("--flavour", default="plain", choices=["plain", "debug"],
                        help="kernel to boot (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="another kernel to boot")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="preset of configs/disks (default: %(default)s); none: a disk without seeks")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def command(args: argparse.Namespace) -> int:
    disk = None if args.disk == "none" else presets.load(args.disk)
    needs_bwctl = args.player_seconds or args.camera_seconds
    if needs_bwctl:
        vm.build_bwctl()
    words = ["bash", str(HERE / "guest.sh"), str(args.seconds), str(args.player_seconds),
             str(args.camera_seconds), str(HERE), "-" if args.disk == "none" else args.disk,
             str(BUILD / "bwctl/bwctl") if needs_bwctl else "-",
             " ".join(f"{name}={value}" for name, value in settings.recommended().items()), *args.schedulers.split(",")]
    with tempfile.TemporaryDirectory(prefix="fio-") as work:
        print("demo: booting the kernel, then running fio under each scheduler", file=sys.stderr, flush=True)
        timeout = 240 + 60 * args.seconds + 30 * (args.player_seconds + args.camera_seconds)
        result = vm.run(shlex.join(words), flavour=args.flavour, kernel=args.kernel, timeout=timeout, out=Path(work),
                        append=["null_blk.nr_devices=0"], live=not args.json, cpus=1, qemu=qemu.ICOUNT, kvm=False)
        if not result.ok:
            raise ToolError(result.why())
        try:
            mixed = results.load(Path(work), ran(result.stdout, "run: "))
            players = results.load_players(Path(work), ran(result.stdout, "players: "))
            cameras = results.load_cameras(Path(work), ran(result.stdout, "cameras: "), args.camera_seconds)
            if not ran(result.stdout, results.ROTATING):
                disk = None
            if disk:
                results.add_expected(mixed, disk)
        except (ValueError, KeyError) as error:
            raise ToolError(str(error)) from None
    if args.json:
        print(json.dumps({"schedulers": mixed, "players": players, "cameras": cameras}))
    else:
        print(f"\n{results.about_disk(disk, settings.recommended())}" if disk else "")
        print(results.table(mixed))
        if players:
            print(results.player_table(players))
        if cameras:
            print(results.camera_table(cameras))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("demo", lambda: command(args))


if __name__ == "__main__":
    sys.exit(main())
