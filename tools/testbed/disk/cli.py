# SPDX-License-Identifier: GPL-2.0
"""Create, check and validate modelled rotating disks.

Exit codes: 0 done; 1 a result is outside of its bounds; 2 nothing was done: bad options or no such device.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tools.base import cli
from tools.base.progress import Progress
from tools.base.text import table
from tools.testbed.vm import uml

from . import capacity, characteristics, check, device, presets
from .validation import demerit, derive, document, parameters, plot, replay, simulator


def _expected(args: argparse.Namespace) -> int:
    preset = presets.load(args.preset)
    presets.change(preset, args.set)
    computed = characteristics.compute(preset.attributes)
    values = asdict(computed)
    for nbytes, name in ((4096, "4k"), (65536, "64k")):
        values[f"random_{name}_ms"] = computed.random_ms(nbytes)
        values[f"random_{name}_kib_s"] = computed.random_kib_s(nbytes)
    values["positioning_ms"] = capacity.positioning_ms(computed)
    if args.json:
        print(json.dumps({"preset": preset.name, "computed": values, "rated": preset.rated}))
        return 0
    print(f"{preset.title}\n")
    print(table(["value", "computed", "rated"], [
        [key, f"{value:.{0 if isinstance(value, int) else 3}f}",
         f"{preset.rated[key]:g}" if key in preset.rated else ""] for key, value in values.items()]))
    return 0


def _list(args: argparse.Namespace) -> int:
    found = [presets.load(name) for name in presets.names()]
    if args.json:
        print(json.dumps([asdict(preset) for preset in found]))
    else:
        print(table(["preset", "disk"], [[preset.name, preset.title] for preset in found], "ll"))
    return 0


def _create(args: argparse.Namespace) -> int:
    preset = presets.load(args.preset)
    presets.change(preset, args.set)
    path = device.create(preset.with_limits(), args.name or preset.name)
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
    print(table(["attribute", "value"], [
        [key, value] for key, value in shown.items()
        if key.startswith("rot/") or key in ("size", "hw_queue_depth", "max_sectors", "max_segments")]))
    print("\n" + table(["counter", "value"], [[key, str(number)] for key, number in stats.items()]))
    return 0


def _check(args: argparse.Namespace) -> int:
    rated = presets.load(args.preset).rated if args.preset else {}
    progress = Progress(quiet=not sys.stderr.isatty())
    answers = check.check(args.device, rated, args.reads, lambda text: progress.show(f"{text} ...", now=True))
    progress.clear()
    if args.json:
        print(json.dumps([answer.as_json() for answer in answers]))
    else:
        print(check.table(answers))
    return 0 if all(answer.ok for answer in answers) else 1


def _validate(args: argparse.Namespace) -> int:
    disksim = simulator.folder(args.disksim)
    names = args.drives or (replay.DRIVES + replay.OTHERS if args.all or args.write else replay.DRIVES)
    if args.presets:
        print("\n\n".join(derive.as_text(parameters.load(name, disksim / "valid")) for name in names))
        return 0
    progress = Progress(quiet=not sys.stderr.isatty())
    kernel = Path(args.kernel or os.environ.get("LAB_KERNEL") or uml.IMAGE)
    times = replay.replay_both(names, disksim, kernel, lambda text: progress.show(f"{text} ...", now=True),
                               args.parameter)
    progress.clear()
    verdicts = [one.verdict() for one in times]
    if args.plot:
        plot.write(times, args.plot)
    if args.write:
        document.write(times)
    shown = [row for one in times for row in one.by_kind()] if args.kinds else verdicts
    print(json.dumps([one.as_json() for one in shown]) if args.json else demerit.table(shown))
    return 0 if all(one.ok for one in verdicts) else 1


def named_value(text: str) -> tuple[str, str]:
    """NAME=VALUE"""
    name, sep, value = text.partition("=")
    if not (sep and name.strip() and value.strip()):
        raise ValueError
    return name.strip(), value.strip()


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="disk", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = top.add_subparsers(required=True, metavar="ACTION")

    one = sub.add_parser("list", help="list the presets of configs/disks")
    one.set_defaults(action=_list)

    for name, action, text in (
            ("create", _create, "create a device from a preset, and print its path"),
            ("expected", _expected, "compute the speeds of a preset")):
        one = sub.add_parser(name, help=text)
        one.add_argument("preset", metavar="PRESET")
        one.add_argument("--set", action="append", default=[], metavar="ATTRIBUTE=VALUE",
                         help="change an attribute, or add one (repeatable)")
        if name == "create":
            one.add_argument("--name", help="name of the device (default: the name of the preset)")
        one.set_defaults(action=action)

    for name, action, text in (
            ("remove", _remove, "remove a device, even if it is in use"),
            ("show", _show, "print attributes and counters of a device"),
            ("check", _check, "measure the speeds of a device, and compare; reads only")):
        one = sub.add_parser(name, help=text)
        one.add_argument("device", metavar="DEV")
        if name == "check":
            one.add_argument("--preset", help="also compare with the rated speeds of this preset")
            one.add_argument("--reads", type=int, default=check.READS, metavar="N",
                             help="random reads of each measurement (default: %(default)s)")
        one.set_defaults(action=action)

    one = sub.add_parser("validate", help="compare the model with DiskSim, in virtual time")
    one.add_argument("drives", nargs="*", metavar="DRIVE",
                     help=f"a drive that DiskSim was validated with (default: {', '.join(replay.DRIVES)})")
    one.add_argument("--all", action="store_true",
                     help=f"also the drives with another kind of read-ahead ({', '.join(replay.OTHERS)})")
    one.add_argument("--kinds", action="store_true", help="show each list by kind of request")
    one.add_argument("--parameter", action="append", default=[], type=named_value, metavar="NAME=VALUE",
                     help="change a parameter of the drive in DiskSim, to see its effect")
    one.add_argument("--write", action="store_true",
                     help="write table and plot of all drives into Documentation/queue/disk-validation.md")
    one.add_argument("--disksim", metavar="PATH",
                     help="folder that tools/testbed/disk/validation/build made (default: $DISKSIM)")
    one.add_argument("--kernel", metavar="FILE",
                     help="User-Mode Linux to boot (default: $LAB_KERNEL, else that of `make uml`)")
    one.add_argument("--plot", metavar="FILE", type=Path, help="draw the distributions into a .svg or .png")
    one.add_argument("--presets", action="store_true",
                     help="only print the presets, each value with its DiskSim parameter")
    one.set_defaults(action=_validate)

    for one in sub.choices.values():
        one.add_argument("--json", action="store_true", help="print the result as JSON")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)

    def action() -> int:
        code: int = args.action(args)
        return code

    return cli.run("disk", action)


if __name__ == "__main__":
    sys.exit(main())
