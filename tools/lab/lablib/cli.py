# SPDX-License-Identifier: GPL-2.0-only
"""The command line of the laboratory."""

import argparse
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import compare, disks, job, pictures, plots, report, results, run, tables, unchanged
from . import scenario as sc
from .errors import EXIT_FAILED, EXIT_USAGE, LabError, output_closed
from .guest import Features, Guests, Stopped

TOOL = Path(__file__).resolve().parent.parent
TOP = TOOL.parent.parent
SCENARIOS = TOOL / "scenarios"
DISKS = TOP / "configs" / "disks"
KERNEL = TOP / "build" / "uml" / "vmlinux"
LOADGEN = TOP / "build" / "lab" / "loadgen"
RESULTS = TOP / "build" / "lab" / "results"
PAGE = TOP / "Documentation" / "queue" / "evaluation.md"
PICTURES = TOP / "Documentation" / "queue" / "figures"
EXIT_INTERRUPTED = 130


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def numbers(text: str) -> list[int]:
    try:
        return sc.depths([int(word) for word in words(text)])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1e6:
        raise ValueError
    return value


def regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression ({error})") from None
    return text


def find_scenarios(named: list[str], everything: bool) -> list[sc.Scenario]:
    """Scenarios by file or by the name of one of ours."""
    if everything:
        paths = sorted(SCENARIOS.glob("*.toml"))
    else:
        paths = [Path(name) if name.endswith(".toml") else SCENARIOS / f"{name}.toml" for name in named]
    for path, name in zip(paths, named or map(str, paths), strict=True):
        if not path.exists():
            raise LabError(f"no scenario '{name}'; `lab list` names them", EXIT_USAGE)
    return [sc.load(path) for path in paths]


def build_loadgen() -> None:
    """The load generator is a few hundred lines: make knows if it is up to date."""
    made = subprocess.run(
        ["make", "-s", "-C", str(TOOL / "loadgen"), f"OUT={LOADGEN.parent}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise LabError(f"the load generator does not build: {made.stderr.strip()}", EXIT_USAGE)


class Progress:
    """A bar on a terminal, a line now and then elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.bar = sys.stderr.isatty() and not quiet
        self.clock = run.Clock()
        self.said = -1
        self.took: list[tuple[float, str]] = []

    def __call__(self, done: int, total: int, name: str, took_s: float) -> None:
        self.took.append((took_s, name))
        if self.quiet:
            return
        elapsed = self.clock.seconds()
        if self.bar:
            width = 30
            filled = width * done // total
            left = elapsed / done * (total - done)
            bar = "#" * filled + "." * (width - filled)
            print(
                f"\r[{bar}] {done}/{total} {elapsed:.0f} s, {left:.0f} s left  {name[:40]:40}",
                end="",
                file=sys.stderr,
            )
            if done == total:
                print(file=sys.stderr)
        elif done * 10 // total != self.said or done == total:
            self.said = done * 10 // total
            print(f"{done}/{total} runs, {elapsed:.0f} s ({name}: {took_s:.1f} s)", file=sys.stderr)

    def summary(self) -> str:
        """What the runs took, in real time."""
        longest, name = max(self.took)
        if len(self.took) == 1:
            return f"1 run in {longest:.1f} s"
        mean = sum(took for took, _ in self.took) / len(self.took)
        return (
            f"{len(self.took)} runs in {self.clock.seconds():.0f} s, {mean:.1f} s each,"
            f" the longest {longest:.1f} s ({name})"
        )

    def clear(self) -> None:
        if self.bar:
            print("\r" + " " * 110 + "\r", end="", file=sys.stderr)


def cmd_run(args: argparse.Namespace) -> int:
    if bool(args.scenario) == args.all:
        raise LabError("name scenarios, or give --all", EXIT_USAGE)
    scenarios = find_scenarios(args.scenario, args.all)
    schedulers = args.scheduler
    if args.loadgen == LOADGEN:
        build_loadgen()
    guests = Guests(args.kernel, args.loadgen, args.limit)
    features = guests.probe()
    if args.duration:
        scenarios = [dataclasses.replace(scenario, duration_s=args.duration) for scenario in scenarios]
    plans = [
        run.make_plan(scenario, args.disks, schedulers, args.depth, args.seed, features, args.cell)
        for scenario in scenarios
    ]
    progress = Progress(args.quiet)
    unmet = 0
    summary: list[dict[str, Any]] = []

    def finished(plan: run.Plan, result: dict[str, Any]) -> None:
        nonlocal unmet
        run.write_json(args.out / f"{plan.scenario.name}.json", result)
        unmet += sum(verdict["status"] == "fail" for verdict in result["expect"])
        summary.append({"scenario": plan.scenario.name, "expect": result["expect"]})
        if not args.json:
            progress.clear()
            print(tables.terminal(result, plan.scenario, args.details) + "\n", flush=True)

    try:
        failures = run.run_plans(
            plans,
            features,
            guests,
            args.jobs,
            args.out / "traces" if args.trace else None,
            finished,
            progress,
        )
    except (KeyboardInterrupt, Stopped):
        guests.stop()
        print("lab: interrupted; scenarios that were complete are in the results", file=sys.stderr)
        return EXIT_INTERRUPTED
    if args.json:
        print(json.dumps(summary, indent=1))
    for failure in failures:
        print(f"lab: {failure}", file=sys.stderr)
    if not args.quiet:
        print(f"lab: {progress.summary()}; results in {args.out}", file=sys.stderr)
    return EXIT_FAILED if failures or (unmet and args.strict) else 0


def differing(row: unchanged.Row) -> tuple[dict[str, str], dict[str, str]]:
    return row["random"], row["differ"]


def cmd_unchanged(args: argparse.Namespace) -> int:
    if bool(args.scenario) == args.all:
        raise LabError("name scenarios, or give --all", EXIT_USAGE)
    build_loadgen()
    scenarios = find_scenarios(args.scenario, args.all)
    kernels = [
        Guests(path, LOADGEN, args.limit, unchanged.MEMORY) for path in (args.without, args.kernel)
    ]
    features = unchanged.common(*(guests.probe() for guests in kernels))
    plans = unchanged.plans_for(scenarios, args.disks, args.scheduler, args.duration, features)

    def results_of(plans: list[run.Plan], guests: Guests, quiet: bool) -> dict[str, dict[str, Any]]:
        try:
            return unchanged.results_of(plans, features, guests, args.jobs, Progress(quiet))
        except (KeyboardInterrupt, Stopped):
            guests.stop()
            raise KeyboardInterrupt from None

    found = []
    for guests in kernels:
        if not args.quiet:
            print(f"lab: {guests.kernel}", file=sys.stderr)
        found.append(results_of(plans, guests, args.quiet))
    rows = unchanged.compare(*found)

    def again(name: str, cells: list[str], seed: int) -> dict[str, dict[str, Any]]:
        plan = next(plan for plan in plans if plan.scenario.name == name)
        plan = dataclasses.replace(plan, cells=[cell for cell in plan.cells if cell.name in cells])
        return results_of([plan], Guests(args.kernel, LOADGEN, args.limit, unchanged.MEMORY, seed), True)

    unchanged.set_random_aside(rows, found[1], again)
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print(
            tables.text_table(
                ["scenario", "runs", "operations", "differ by themselves", "runs that differ"],
                [
                    [row["scenario"], str(row["runs"]), str(row["operations"]), *map(str, map(len, differing(row)))]
                    for row in rows
                ],
            )
        )
        for row in rows:
            for names, why in zip(differing(row), (", as with other random numbers", ""), strict=True):
                for name, how in names.items():
                    print(f"{row['scenario']} {name}: {how}{why}")
    return EXIT_FAILED if any(row["differ"] for row in rows) else 0


def plan_picture(picture: pictures.Picture, presets: Path, features: Features) -> run.Plan:
    """The one run of its scenario that a picture shows, as long as it shows it."""
    (scenario,) = find_scenarios([picture.scenario], False)
    scenario = dataclasses.replace(scenario, duration_s=picture.end)
    return run.make_plan(scenario, presets, None, None, None, features, f"^{re.escape(picture.run)}$")


def cmd_pictures(args: argparse.Namespace) -> int:
    wanted = pictures.load(args.list, args.name)
    build_loadgen()
    guests = Guests(args.kernel, LOADGEN, args.limit)
    features = guests.probe()
    plans = [plan_picture(picture, args.disks, features) for picture in wanted]
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        for number, (picture, plan) in enumerate(zip(wanted, plans, strict=True), 1):
            print(f"lab: {number}/{len(wanted)} {picture.name}", file=sys.stderr)
            print(args.out / pictures.make(picture, plan, features, guests, args.out), flush=True)
    except (KeyboardInterrupt, Stopped):
        guests.stop()
        raise KeyboardInterrupt from None
    return 0


def cmd_list(args: argparse.Namespace) -> int:
    scenarios = find_scenarios([], True)
    if args.json:
        print(json.dumps([{"name": s.name, "title": s.title, "runs": len(s.cells())} for s in scenarios], indent=1))
        return 0
    rows = [[s.name, str(len(s.cells())), s.source, s.title] for s in scenarios]
    for name, runs, source, title in [["scenario", "runs", "source", "title"], *rows]:
        print(f"{name:24} {runs:>5}  {source:22} {title}")
    return 0


def cmd_show(args: argparse.Namespace) -> int:
    for scenario in find_scenarios(args.scenario, False):
        disk = disks.of_scenario(scenario, args.disks)
        cells = scenario.cells()
        if args.json:
            print(
                json.dumps(
                    {"name": scenario.name, "title": scenario.title, "cells": [c.name for c in cells]},
                    indent=1,
                )
            )
            continue
        print(f"{scenario.name}: {scenario.title}\n\n{scenario.about}\n")
        print(f"disk {disk.name}, {scenario.duration_s:g} s, seed {scenario.seed}, {len(cells)} runs\n")
        for cell in cells:
            print(f"  {cell.name} (priorities: {cell.config.policy})")
        cell = cells[0]
        print(f"\nprocesses of {cell.name}:")
        for stream in job.processes(scenario, cell, disk, scenario.seed, cell.config.policy):
            where = ", ".join(f"{offset / 2**30:.1f} GiB" for offset, _ in stream.regions)
            print(f"  {stream.name:16} {stream.kind:7} {stream.priority:22} from {where}")
        for expect in scenario.expects:
            needs = f" (needs {', '.join(expect.needs)})" if expect.needs else ""
            print(f"must show: {expect.says}{needs}")
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
                value if isinstance(value, str) else "-" if value is None else tables.figure(value)
                for value in (change["old"], change["new"])
            ]
            percent = "" if change["percent"] is None else f"{change['percent']:+.1f}%"
            rows.append([change["cell"], change["group"], change["metric"], *values, percent])
        print(tables.text_table(["run", "group", "figure", "old", "new", "change"], rows))
    return EXIT_FAILED if found else 0


def cmd_plot(args: argparse.Namespace) -> int:
    for path in args.result:
        result = results.load_result(path)
        scenario = results.scenario_of(result, args.scenarios)
        for made in plots.plot_result(result, scenario, args.out or path.parent, args.format):
            print(made)
    return 0


def cmd_crosscheck(args: argparse.Namespace) -> int:
    from . import crosscheck

    (scenario,) = find_scenarios([args.scenario], False)
    disk = disks.of_scenario(scenario, args.disks)
    path = args.results / f"{scenario.name}.json"
    result = results.load_result(path)
    pairs = []
    for cell in scenario.cells(args.scheduler, args.depth):
        virtual = [entry for entry in result["cells"] if entry["name"] == cell.name and entry["status"] == "ok"]
        if not virtual:
            raise LabError(f"{path}: has no '{cell.name}'; `lab run {scenario.name}` first", EXIT_USAGE)
        print(f"lab: {cell.name} in QEMU, {scenario.duration_s:g} s", file=sys.stderr)
        folder = args.results / "crosscheck" / cell.name.replace(" ", "-").replace("=", "-")
        real = crosscheck.run_fio(scenario, cell, disk, result["seed"], args.kernel, folder, args.icount)
        pairs.append((virtual[0], real))
    found = crosscheck.compare(scenario, pairs, result["duration_ns"], args.icount)
    run.write_json(args.results / f"crosscheck-{found['clock']}.json", found)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        rows = [
            [
                row["what"],
                tables.figure(row["virtual"]),
                tables.figure(row["real"]),
                f"{row['percent']:+.1f}%",
            ]
            for row in found["rows"]
        ]
        print(tables.text_table(["figure", "virtual", "real", "difference"], rows))
        print(f"{found['status'].upper()} within {found['limit_percent']:g}%")
    return 0 if found["status"] == "pass" else EXIT_FAILED


def cmd_report(args: argparse.Namespace) -> int:
    found = []
    missing = []
    for scenario in find_scenarios([], True):
        path = args.results / f"{scenario.name}.json"
        if path.exists():
            found.append((results.load_result(path), scenario))
        else:
            missing.append(scenario.name)
    if not found:
        raise LabError(f"no results in {args.results}; `lab run --all` makes them", EXIT_USAGE)
    if missing:
        print(f"lab: no results of {', '.join(missing)}: left out", file=sys.stderr)
    crosschecks = report.load_crosschecks(args.results)
    report.write(found, crosschecks, args.page, args.page.parent / args.page.stem)
    print(args.page)
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="lab",
        description="I/O scheduling scenarios in virtual time.",
        epilog="Exit codes: 0 done, 1 something failed, 2 nothing was run.",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    p = commands.add_parser("run", help="run scenarios and show what came out")
    p.add_argument("scenario", nargs="*", help="a scenario file, or the name of one that `lab list` shows")
    p.add_argument("--all", action="store_true", help="every scenario")
    p.add_argument("--scheduler", type=words, metavar="A,B", help="only configurations that use these schedulers")
    p.add_argument("--depth", type=numbers, metavar="N,M", help="queue depths of the drive, in place of the scenario's")
    p.add_argument(
        "--cell", type=regex, default="", metavar="REGEX", help="only runs whose name it is found in, as 'cfq.* N=24'"
    )
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds, in place of the scenario's")
    p.add_argument("--seed", type=int, help="draws other files and offsets than the scenario's own seed")
    p.add_argument(
        "--out",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="where results go (default: build/lab/results)",
    )
    p.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="guests that run at once (default: 1)")
    p.add_argument("--trace", action="store_true", help="record a blktrace of each run under DIR/traces")
    p.add_argument(
        "--kernel",
        type=Path,
        default=Path(os.environ.get("LAB_KERNEL", KERNEL)),
        metavar="PATH",
        help="User-Mode Linux to boot (default: $LAB_KERNEL or build/uml/vmlinux)",
    )
    p.add_argument(
        "--loadgen",
        type=Path,
        default=LOADGEN,
        metavar="PATH",
        help="load generator (default: built from loadgen/)",
    )
    p.add_argument("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")
    p.add_argument(
        "--limit",
        type=float,
        default=300,
        metavar="S",
        help="end a guest after so many seconds of real time (default: 300)",
    )
    p.add_argument("--strict", action="store_true", help="exit 1 when an expectation does not hold")
    p.add_argument("--details", action="store_true", help="also print every group of every run")
    p.add_argument("--json", action="store_true", help="print the expectations as JSON and no tables")
    p.add_argument("--quiet", action="store_true", help="no progress")
    p.set_defaults(function=cmd_run)

    p = commands.add_parser("list", help="name all scenarios")
    p.add_argument("--json", action="store_true", help="as JSON")
    p.set_defaults(function=cmd_list)

    p = commands.add_parser("show", help="what a scenario runs, without running it")
    p.add_argument("scenario", nargs="+")
    p.add_argument("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")
    p.add_argument("--json", action="store_true", help="as JSON")
    p.set_defaults(function=cmd_show)

    p = commands.add_parser("compare", help="what changed between two results: exit 1 if anything did")
    p.add_argument("old", type=Path, metavar="A.json")
    p.add_argument("new", type=Path, metavar="B.json")
    p.add_argument(
        "--percent",
        type=float,
        default=0,
        metavar="P",
        help="leave out changes of up to P percent (default: 0)",
    )
    p.add_argument("--json", action="store_true", help="as JSON")
    p.set_defaults(function=cmd_compare)

    p = commands.add_parser("plot", help="draw results")
    p.add_argument("result", type=Path, nargs="+", metavar="RESULT.json")
    p.add_argument("--out", type=Path, metavar="DIR", help="where pictures go (default: beside the result)")
    p.add_argument("--format", choices=plots.FORMATS, default="svg", help="default: svg")
    p.add_argument("--scenarios", type=Path, default=SCENARIOS, metavar="DIR", help="where the scenario files are")
    p.set_defaults(function=cmd_plot)

    p = commands.add_parser("crosscheck", help="repeat a scenario with fio in QEMU, in real time, and compare")
    p.add_argument("scenario", nargs="?", default="crosscheck", help="default: crosscheck; it must have been run")
    p.add_argument("--scheduler", type=words, default=["mq-deadline"], metavar="A,B", help="default: mq-deadline")
    p.add_argument("--depth", type=numbers, metavar="N,M", help="queue depths of the drive (default: the scenario's)")
    p.add_argument(
        "--icount",
        action="store_true",
        help="the guest's clock counts its instructions: the host's other work does not show",
    )
    p.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="default: build/kernel-plain's")
    p.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="results of `lab run` (default: build/lab/results)",
    )
    p.add_argument("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")
    p.add_argument("--json", action="store_true", help="as JSON")
    p.set_defaults(function=cmd_crosscheck)

    p = commands.add_parser(
        "unchanged", help="run without reservations on two kernels: exit 1 if any operation had another time"
    )
    p.add_argument("scenario", nargs="*", help="as for run")
    p.add_argument("--all", action="store_true", help="every scenario")
    p.add_argument("--without", type=Path, required=True, metavar="PATH", help="a User-Mode Linux without the patches")
    p.add_argument("--kernel", type=Path, default=KERNEL, metavar="PATH", help="with them (default: build/uml/vmlinux)")
    p.add_argument("--scheduler", type=words, metavar="A,B", help="only configurations that use these schedulers")
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds at most")
    p.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="guests that run at once (default: 1)")
    p.add_argument("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")
    p.add_argument("--limit", type=float, default=300, metavar="S", help="end a guest after so many seconds")
    p.add_argument("--json", action="store_true", help="as JSON")
    p.add_argument("--quiet", action="store_true", help="no progress")
    p.set_defaults(function=cmd_unchanged)

    p = commands.add_parser("pictures", help="trace runs and draw them with blkviz, as pictures.toml says")
    p.add_argument("name", nargs="*", help="only these pictures")
    p.add_argument("--list", type=Path, default=TOOL / "pictures.toml", metavar="FILE", help="default: pictures.toml")
    p.add_argument("--out", type=Path, default=PICTURES, metavar="DIR", help="default: Documentation/queue/figures")
    p.add_argument("--kernel", type=Path, default=KERNEL, metavar="PATH", help="default: build/uml/vmlinux")
    p.add_argument("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")
    p.add_argument("--limit", type=float, default=300, metavar="S", help="end a guest after so many seconds")
    p.set_defaults(function=cmd_pictures)

    p = commands.add_parser("report", help="write the evaluation page from results")
    p.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="results of `lab run --all` (default: build/lab/results)",
    )
    p.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="default: Documentation/queue/evaluation.md")
    p.set_defaults(function=cmd_report)
    return top


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        code: int = args.function(args)
        sys.stdout.flush()
        return code
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        return output_closed()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
