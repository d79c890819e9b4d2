# SPDX-License-Identifier: GPL-2.0
"""Modelled rotating disks: presets, devices, and the figures that they are known by.

Exit code 0: done; 1: a figure is not as it should be; 2: something could not be done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from . import check, device, figures, presets
from .errors import DiskError


def _expected(args: argparse.Namespace) -> int:
    preset = presets.load(args.preset)
    presets.change(preset, args.set)
    computed = figures.compute(preset.attributes)
    values = asdict(computed)
    for nbytes, name in ((4096, "4k"), (65536, "64k")):
        values[f"random_{name}_ms"] = computed.random_ms(nbytes)
        values[f"random_{name}_kib_s"] = computed.random_kib_s(nbytes)
    if args.json:
        print(json.dumps({"preset": preset.name, "computed": values, "rated": preset.rated}))
        return 0
    print(f"{preset.title}\n")
    for key, value in values.items():
        rated = f"   rated {preset.rated[key]:g}" if key in preset.rated else ""
        print(f"{key:<18} {value:>16.{0 if isinstance(value, int) else 3}f}{rated}")
    return 0


def _list(args: argparse.Namespace) -> int:
    found = [presets.load(name) for name in presets.names()]
    if args.json:
        print(json.dumps([asdict(preset) for preset in found]))
    for preset in found if not args.json else []:
        print(f"{preset.name:<20} {preset.title}")
    return 0


def _create(args: argparse.Namespace) -> int:
    preset = presets.load(args.preset)
    presets.change(preset, args.set)
    path = device.create(preset.attributes, args.name or preset.name)
    print(json.dumps({"device": str(path)}) if args.json else path)
    return 0


def _remove(args: argparse.Namespace) -> int:
    device.remove(args.device)
    return 0


def _show(args: argparse.Namespace) -> int:
    shown = device.attributes_of(args.device)
    stats = device.stats_of(args.device)
    if args.json:
        print(json.dumps({"attributes": shown, "stats": stats}))
        return 0
    for key, value in shown.items():
        if key.startswith("rot_") or key in ("size", "hw_queue_depth", "max_sectors"):
            print(f"{key:<26} {value}")
    print()
    for key, number in stats.items():
        print(f"{key:<26} {number}")
    return 0


def _check(args: argparse.Namespace) -> int:
    rated = presets.load(args.preset).rated if args.preset else {}
    answers = check.check(args.device, rated, args.reads, check.to_stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if args.json:
        print(json.dumps([answer.as_json() for answer in answers]))
    else:
        print(check.table(answers))
    return 0 if all(answer.ok for answer in answers) else 1


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="disk", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = top.add_subparsers(required=True, metavar="ACTION")

    one = sub.add_parser("list", help="the presets of configs/disks")
    one.set_defaults(action=_list)

    for name, action, text in (
            ("create", _create, "make a device of a preset, print its path"),
            ("expected", _expected, "compute the figures of a preset")):
        one = sub.add_parser(name, help=text)
        one.add_argument("preset", metavar="PRESET")
        one.add_argument("--set", action="append", default=[], metavar="ATTRIBUTE=VALUE",
                         help="another value for an attribute, or one more attribute")
        if name == "create":
            one.add_argument("--name", help="name of the device (default: that of the preset)")
        one.set_defaults(action=action)

    for name, action, text in (
            ("remove", _remove, "remove a device, even one that is in use"),
            ("show", _show, "attributes and counters of a device"),
            ("check", _check, "measure the known answers of a device; it is only read")):
        one = sub.add_parser(name, help=text)
        one.add_argument("device", metavar="DEV")
        if name == "check":
            one.add_argument("--preset", help="compare with the rated figures of this preset, too")
            one.add_argument("--reads", type=int, default=check.READS, metavar="N",
                             help="random reads for each figure (default: %(default)s)")
        one.set_defaults(action=action)

    for one in sub.choices.values():
        one.add_argument("--json", action="store_true", help="for programs")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        code: int = args.action(args)
        sys.stdout.flush()
    except DiskError as error:
        print(f"disk: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # who reads wants no more (disk list | head -1): the rest goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("\ndisk: interrupted", file=sys.stderr)
        return 130
    return code
