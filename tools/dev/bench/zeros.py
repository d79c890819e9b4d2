# SPDX-License-Identifier: GPL-2.0
"""Measure how much memory an ext4 full of zeros takes on a memory-backed null_blk disk.

Boots User-Mode Linux, creates an ext4 on a disk of 465 GiB, writes files of zeros with O_DIRECT,
and compares the available memory before and after. 400 GiB take four minutes.
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
exec > $OUT/output 2>&1
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
    """The memory of the empty file system, and of the one with @gib GiB of zeros, in MiB."""
    files = [min(FILE_GIB, gib - begin) * 1024 for begin in range(0, gib, FILE_GIB)]
    with tempfile.TemporaryDirectory(prefix="zeros-") as name:
        out = Path(name)
        uml.run_commands(GUEST.format(size=DISK_MIB, files=" ".join(map(str, files))), out, kernel, limit_s)
        output = (out / "output").read_text()
    return taken(output)


def taken(output: str) -> dict[str, float]:
    """The memory in MiB, from the output of a guest that has written all files."""
    kib = [int(value) for value in re.findall(r"^@ (\d+)$", output, re.MULTILINE)]
    if len(kib) != 3:
        last = (output.strip().splitlines() or ["nothing"])[-1]
        raise ToolError(f"the guest did not write all files; its last output: {last}")
    return {"empty_mib": (kib[0] - kib[1]) / 1024, "full_mib": (kib[0] - kib[2]) / 1024}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gib", type=positive, default=400, metavar="N", help="GiB of zeros (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, default=uml.IMAGE, metavar="PATH",
                        help="User-Mode Linux to boot (default: build/uml/vmlinux)")
    parser.add_argument("--timeout", type=float, default=1800, metavar="S",
                        help="limit of real time for the guest (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


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
