# SPDX-License-Identifier: GPL-2.0
"""`lab list`, `show`, `keys`, `compare` and `plot`: scenarios and results, without running anything."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tools.base import text
from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError

from ..model import disks, keys, results, schema
from ..model.catalog import SCENARIOS, all_scenarios, find_scenario
from ..report import compare, plots
from ..run import job
from ..run.metrics import figure
from .options import Commands, disks_option, json_option


def cmd_list(args: argparse.Namespace) -> int:
    scenarios = all_scenarios()
    if args.json:
        print(json.dumps([{"name": s.name, "title": s.title, "runs": len(s.cells())} for s in scenarios], indent=1))
        return 0
    rows = [[s.name, str(len(s.cells())), s.source, s.title] for s in scenarios]
    print(text.table(["scenario", "runs", "source", "title"], rows, "lrll"))
    return 0


def cmd_show(args: argparse.Namespace) -> int:
    for scenario in map(find_scenario, args.scenario):
        disk = disks.of_scenario(scenario, args.disks)
        cells = scenario.cells()
        if args.json:
            shown = {"name": scenario.name, "title": scenario.title, "cells": [c.name for c in cells]}
            print(json.dumps(shown, indent=1))
            continue
        print(f"{scenario.name}: {scenario.title}\n\n{scenario.about}\n")
        print(f"disk {disk.name}, {scenario.duration_s:g} s, seed {scenario.seed}, {len(cells)} runs\n")
        for cell in cells:
            print(f"  {cell.name} (priorities: {cell.config.policy})")
        print(f"\nprocesses of {cells[0].name}:")
        for stream in job.make_run(scenario, cells[0], disk, scenario.seed, bw=True).streams:
            where = ", ".join(f"{offset / 2**30:.1f} GiB" for offset, _ in stream.regions)
            print(f"  {stream.name:16} {stream.kind:7} {stream.priority:22} from {where}")
        for expect in scenario.expects:
            needs = f" (needs {', '.join(expect.needs)})" if expect.needs else ""
            print(f"must show: {expect.says}{needs}")
    return 0


def cmd_keys(_args: argparse.Namespace) -> int:
    print(keys.reference(), end="")
    return 0


def cmd_compare(args: argparse.Namespace) -> int:
    old, new = results.load_result(args.old), results.load_result(args.new)
    found = compare.changes(old, new, args.percent)
    if args.json:
        print(json.dumps(found, indent=1))
    elif not found:
        print("no difference")
    else:
        rows = []
        for change in found:
            values = [
                value if isinstance(value, str) else "-" if value is None else figure(value)
                for value in (change["old"], change["new"])
            ]
            percent = "" if change["percent"] is None else f"{change['percent']:+.1f}%"
            rows.append([change["cell"], change["group"], change["metric"], *values, percent])
        print(text.table(["run", "group", "figure", "old", "new", "change"], rows))
    return EXIT_FAILED if found else 0


def cmd_plot(args: argparse.Namespace) -> int:
    for path in args.result:
        result = results.load_result(path)
        source = args.scenarios / f"{result['scenario']}.toml"
        if not source.exists():
            raise ToolError(f"no scenario '{result['scenario']}' here; name its folder with --scenarios", EXIT_USAGE)
        for made in plots.plot_result(result, schema.load(source), args.out or path.parent, args.format):
            print(made)
    return 0


def list_parser(commands: Commands) -> None:
    p = commands.add_parser("list", help="name all scenarios", parents=[json_option()])
    p.set_defaults(function=cmd_list)


def show_parser(commands: Commands) -> None:
    what = "what a scenario runs, without running it"
    p = commands.add_parser("show", help=what, parents=[disks_option(), json_option()])
    p.add_argument("scenario", nargs="+")
    p.set_defaults(function=cmd_show)


def keys_parser(commands: Commands) -> None:
    p = commands.add_parser("keys", help="print the reference of scenario files, as Markdown")
    p.set_defaults(function=cmd_keys)


def compare_parser(commands: Commands) -> None:
    what = "what changed between two results: exit 1 if anything did"
    p = commands.add_parser("compare", help=what, parents=[json_option()])
    p.add_argument("old", type=Path, metavar="A.json")
    p.add_argument("new", type=Path, metavar="B.json")
    what = "leave out changes of up to P percent (default: 0)"
    p.add_argument("--percent", type=float, default=0, metavar="P", help=what)
    p.set_defaults(function=cmd_compare)


def plot_parser(commands: Commands) -> None:
    p = commands.add_parser("plot", help="draw results")
    p.add_argument("result", type=Path, nargs="+", metavar="RESULT.json")
    p.add_argument("--out", type=Path, metavar="DIR", help="where pictures go (default: beside the result)")
    p.add_argument("--format", choices=plots.FORMATS, default="svg", help="default: svg")
    p.add_argument("--scenarios", type=Path, default=SCENARIOS, metavar="DIR", help="where the scenario files are")
    p.set_defaults(function=cmd_plot)
