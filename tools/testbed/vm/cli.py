# SPDX-License-Identifier: GPL-2.0
"""tools/testbed/vm/vm: run a command in a kernel of the project, as root, in QEMU.

The exit code is the command's own; 3 when the kernel complained in its log, 124 when
the time ran out, 125 when the machine could not be run or died.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli

from .qemu import run


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="vm", description=__doc__)
    sub = top.add_subparsers(dest="action", required=True, metavar="ACTION")
    one = sub.add_parser("run", help="boot, run a command, scan the kernel's log",
                         description=__doc__)
    one.add_argument("--flavour", default="plain", choices=["plain", "debug", "kcsan"])
    one.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="another kernel")
    one.add_argument("--cpus", type=int, default=2)
    one.add_argument("--memory", default="1G")
    one.add_argument("--timeout", type=float, default=300, metavar="SECONDS")
    one.add_argument("--out", type=Path, metavar="DIR",
                     help="the folder that the guest writes to as $VM_OUT; console.log and "
                          "stdout.log are put there too (default: a new one in build/runs)")
    one.add_argument("--append", action="append", default=[], metavar="PARAMETER",
                     help="a kernel parameter")
    one.add_argument("--qemu", action="append", default=[], metavar="ARGUMENTS",
                     help="further arguments of QEMU, as --qemu='-icount shift=0'")
    one.add_argument("--tcg", action="store_true", help="no KVM even where it works")
    one.add_argument("--allow", action="append", default=[], metavar="REGEX",
                     help="a kernel report that is expected")
    one.add_argument("--json", action="store_true", help="the result as JSON on stdout")
    one.add_argument("command", nargs="+", metavar="-- COMMAND",
                     help="one word is a shell text, several are a command line")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("vm", lambda: boot(args))


def boot(args: argparse.Namespace) -> int:
    command = args.command[0] if len(args.command) == 1 else args.command
    result = run(command, flavour=args.flavour, kernel=args.kernel, cpus=args.cpus,
                 memory=args.memory, timeout=args.timeout, out=args.out, append=args.append,
                 qemu=args.qemu, kvm=False if args.tcg else None, allow=args.allow,
                 live=not args.json)
    if args.json:
        print(json.dumps({"exit_code": result.exit_code, "timed_out": result.timed_out,
                          "reports": result.reports, "seconds": round(result.seconds, 1),
                          "out": str(result.out), "stdout": result.stdout}))
    elif not result.ok:
        print(f"vm: {result.why(shown=True)}\nvm: logs are in {result.out}", file=sys.stderr)
    if result.reports:
        return 3
    if result.exit_code is None:
        return 124 if result.timed_out else 125
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
