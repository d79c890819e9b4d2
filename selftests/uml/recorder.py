#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A video recorder on ext4 on a modelled disk, in virtual time: recorder.c is what runs.

The disk is memory-backed, so that a file system works on it; what is written to files is
zeros, which take no memory there.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.base import cli  # noqa: E402
from tools.base.arguments import positive  # noqa: E402
from tools.base.paths import BUILD  # noqa: E402
from tools.vm import uml  # noqa: E402
from tools.vm.programs import build_static  # noqa: E402

Json = dict[str, Any]

PRESET = "barracuda-7200.11"
# The lab's 256 would hide who keeps others from a tag; 64 is what a SATA disk has by default.
NR_REQUESTS = 64
LIMIT_S = 900
# Of the guest alone: all else but its results is the host's, and the checkout may be anywhere there.
MOUNTED = "/dev/disk"
# The same each time, so that two runs are the same.
UUID = "6d5f1c1e-0d3a-4c0e-9a51-0a0b0c0d0e0f"

# A mistake ends the script early, and the run with it.
COMMANDS = """\
set -e
mkdir -p {disk}
tools/disk/disk create {preset} --name rot0 --set memory_backed=1 --set hw_queue_depth={depth}
queue=/sys/block/rot0/queue
mkfs.ext4 -q -F -U {uuid} -E hash_seed={uuid},lazy_itable_init=0,nodiscard /dev/rot0
mount -t ext4 /dev/rot0 {disk}
echo none > $queue/scheduler
{program} {disk} prepare {settings}
sync
echo 3 > /proc/sys/vm/drop_caches
echo {scheduler} > $queue/scheduler
[ {scheduler} = none ] || echo {nr_requests} > $queue/nr_requests
{program} {disk} run {settings} > $OUT/outcome
"""


def setting(text: str) -> tuple[str, int]:
    """KEY=N"""
    key, _, value = text.partition("=")
    return key, int(value)


def run(
    scheduler: str, settings: Mapping[str, int], *, kernel: Path = uml.IMAGE, depth: int = 1, preset: str = PRESET,
    nr_requests: int = NR_REQUESTS,
) -> Json:
    """One run: of each kind of process what recorder.c prints (times in ms, sizes in bytes).

    @settings: as recorder.c has them; @depth: of the drive's queue.
    """
    program = build_static(Path(__file__).with_name("recorder.c"), BUILD / "uml-programs")
    commands = COMMANDS.format(
        disk=MOUNTED, preset=preset, depth=depth, uuid=UUID,
        program=shlex.quote(str(program)), settings=" ".join(f"{key}={value}" for key, value in settings.items()),
        scheduler=scheduler, nr_requests=nr_requests)
    with uml.scratch() as folder:
        uml.run_commands(commands, folder, kernel, LIMIT_S)
        found: Json = json.loads((folder / "outcome").read_text())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("schedulers", nargs="+", metavar="SCHEDULER")
    parser.add_argument("--kernel", type=Path, default=uml.IMAGE)
    parser.add_argument("--depth", type=positive, default=1, help="1: without NCQ (default)")
    parser.add_argument("--set", type=setting, nargs="*", default=[], metavar="KEY=N", help="settings of recorder.c")
    parser.add_argument("--json", action="store_true", help="print all that was seen")
    args = parser.parse_args()
    return cli.run("recorder", lambda: command(args))


def command(args: argparse.Namespace) -> int:
    for scheduler in args.schedulers:
        seen = run(scheduler, dict(args.set), kernel=args.kernel, depth=args.depth)
        if args.json:
            print(json.dumps({"scheduler": scheduler, **seen}))
            continue
        others = sum(seen[kind]["bytes"] for kind in ("copy", "reader")) / seen["secs"] / 1e6
        cameras, players, database = seen["cameras"], seen["players"], seen["database"]
        print(f"{scheduler}: {cameras['lost']} of {cameras['frames']} frames lost, longest sync"
              f" {cameras['longest_sync_ms']} ms, {players['late']} late reads, {others:.1f} MB/s copied and read,"
              f" {database['syncs']} commits of {database['longest_sync_ms']} ms at most", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
