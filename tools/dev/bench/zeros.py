# SPDX-License-Identifier: GPL-2.0
"""How much memory an ext4 full of zeros takes on a memory-backed null_blk disk.

Boots User-Mode Linux, makes an ext4 on a disk of 465 GiB, writes files of zeros past the page
cache, and compares the memory that is available before and after. 400 GiB take four minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path

from tools.base import text
from tools.base.arguments import positive
from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.vm import uml

DISK_MIB = 465 * 1024
FILE_GIB = 10
GUEST = """\
exec > $OUT/said 2>&1
available() {{ sync; echo 3 > /proc/sys/vm/drop_caches; awk '/^MemAvailable:/ {{print "@", $2}}' /proc/meminfo; }}
. tools/testbed/vm/guest/watch.sh
mount -t tmpfs tmpfs /tmp && mkdir /tmp/fs || exit
null_disk zeros size={size} blocksize=4096 memory_backed=1 power=1 || exit
available
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/zeros && mount -t ext4 /dev/zeros /tmp/fs || exit
available
for mib in {files}; do
	dd if=/dev/zero of=/tmp/fs/$((++number)) bs=8M count=$((mib / 8)) oflag=direct status=none || exit
done
available
"""


def measured(gib: int, kernel: Path, limit_s: float) -> dict[str, float]:
    """MiB that the empty file system takes, and what it takes with @gib GiB of zeros in it."""
    files = [min(FILE_GIB, gib - begin) * 1024 for begin in range(0, gib, FILE_GIB)]
    with tempfile.TemporaryDirectory(prefix="zeros-") as name:
        out = Path(name)
        uml.run_commands(GUEST.format(size=DISK_MIB, files=" ".join(map(str, files))), out, kernel, limit_s)
        said = (out / "said").read_text()
    return taken(said)


def taken(said: str) -> dict[str, float]:
    """What a guest that came to its end said, in MiB."""
    kib = [int(value) for value in re.findall(r"^@ (\d+)$", said, re.MULTILINE)]
    if len(kib) != 3:
        last = (said.strip().splitlines() or ["nothing"])[-1]
        raise ToolError(f"the guest did not write all files; it said last: {last}")
    return {"empty_mib": (kib[0] - kib[1]) / 1024, "full_mib": (kib[0] - kib[2]) / 1024}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gib", type=positive, default=400, metavar="N", help="of zeros (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, default=uml.IMAGE, metavar="PATH",
                        help="User-Mode Linux to boot (default: build/uml/vmlinux)")
    parser.add_argument("--timeout", type=float, default=1800, metavar="S",
                        help="for the guest as a whole (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="the figures for a program")


def command(args: argparse.Namespace) -> int:
    if args.gib * 1024 > DISK_MIB * 0.95:
        raise ToolError(f"--gib: {args.gib} GiB do not fit on a disk of {DISK_MIB // 1024} GiB", EXIT_USAGE)
    result = measured(args.gib, args.kernel, args.timeout)
    if args.json:
        print(json.dumps(result))
    else:
        print(text.table(["memory of an ext4 of 465 GiB", "MiB"],
                         [["empty", f"{result['empty_mib']:.1f}"],
                          [f"with {args.gib} GiB of zeros", f"{result['full_mib']:.1f}"]]))
    return 0
