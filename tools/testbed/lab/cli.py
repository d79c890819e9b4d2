# SPDX-License-Identifier: GPL-2.0
"""The command line of the laboratory."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.base import cli, text
from tools.base.arguments import positive, regex, seconds, words
from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError
from tools.base.files import write_json
from tools.base.paths import BUILD, DOCUMENTS, ROOT, TOOLS
from tools.base.progress import Progress
from tools.testbed.vm import build_static, uml
from tools.testbed.vm.uml import Guests, Stopped

from . import (
    cells,
    compare,
    crosscheck,
    disks,
    evaluation,
    job,
    kernels,
    pictures,
    plots,
    result_tables,
    results,
    runner,
    schema,
    unchanged,
)
from .features import Features, probe
from .results import Result, Verdict
from .scenario import Scenario

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TOOL = TOOLS / "testbed/lab"
SCENARIOS = TOOL / "scenarios"
DISKS = ROOT / "configs" / "disks"
KERNEL = uml.IMAGE
# The default of what runs scenarios, and what --help says of it.
KERNEL_HERE = (Path(os.environ.get("LAB_KERNEL", KERNEL)), "$LAB_KERNEL or build/uml/vmlinux")
LOADGEN = BUILD / "lab" / "loadgen"
RESULTS = BUILD / "lab" / "results"
WORKFLOW = BUILD / "lab" / "workflow"
PAGE = DOCUMENTS / "evaluation.md"
GONE = "oldsched"  # below results: of the schedulers that only patches/oldsched has
LAB_PAGE = DOCUMENTS / "apex.md"
PICTURES = DOCUMENTS / "figures"


def depths(text: str) -> list[int]:
    try:
        return schema.depths([int(word) for word in words(text)])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def all_scenarios() -> list[Scenario]:
    """Our own."""
    return [schema.load(path) for path in sorted(SCENARIOS.glob("*.toml"))]


def find_scenario(name: str) -> Scenario:
    """A scenario by its file, or by the name of one of ours."""
    path = Path(name) if name.endswith(".toml") else SCENARIOS / f"{name}.toml"
    if not path.exists():
        raise ToolError(f"no scenario '{name}'; `lab list` names them", EXIT_USAGE)
    return schema.load(path)


def chosen_scenarios(args: argparse.Namespace) -> list[Scenario]:
    """Those named, or all."""
    if bool(args.scenario) == args.all:
        raise ToolError("name scenarios, or give --all", EXIT_USAGE)
    return all_scenarios() if args.all else [find_scenario(name) for name in args.scenario]


@contextlib.contextmanager
def ending(guests: Guests) -> Iterator[None]:
    """An interrupt ends all guests, whether it is noticed here or by one that cannot start any more."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        guests.stop()
        raise KeyboardInterrupt from None


def build_loadgen() -> Path:
    """The load generator, up to date."""
    return build_static(TOOL / "loadgen" / "loadgen.c", LOADGEN.parent)


class Runs:
    """How far the runs are, and what they took."""

    def __init__(self, quiet: bool) -> None:
        self.line = Progress(quiet)
        self.tenth = -1
        self.took: list[tuple[float, str]] = []

    def __call__(self, done: int, total: int, name: str, took_s: float) -> None:
        self.took.append((took_s, name))
        elapsed = self.line.seconds()
        left = elapsed / done * (total - done)
        text = f"{done}/{total} runs, {elapsed:.0f} s, {left:.0f} s left ({name}: {took_s:.1f} s)"
        if done == total:
            self.line.finish(text)
        else:
            # a log of hundreds of runs has a line for each tenth of them
            self.line.show(text, now=self.line.live or done * 10 // total != self.tenth)
        self.tenth = done * 10 // total

    def summary(self) -> str:
        """What the runs took, in real time."""
        longest, name = max(self.took)
        if len(self.took) == 1:
            return f"1 run in {longest:.1f} s"
        mean = sum(took for took, _ in self.took) / len(self.took)
        return (
            f"{len(self.took)} runs in {self.line.seconds():.0f} s, {mean:.1f} s each,"
            f" the longest {longest:.1f} s ({name})"
        )


def cmd_run(args: argparse.Namespace) -> int:
    scenarios = chosen_scenarios(args)
    if args.loadgen == LOADGEN:
        build_loadgen()
    guests = Guests(args.kernel, args.loadgen, args.limit)
    features = probe(guests)
    if args.duration:
        scenarios = [dataclasses.replace(scenario, duration_s=args.duration) for scenario in scenarios]
    if args.disk:
        scenarios = [dataclasses.replace(scenario, disk=args.disk) for scenario in scenarios]
    plans = [
        runner.make_plan(scenario, args.disks, args.scheduler, args.depth, args.seed, features, args.cell)
        for scenario in scenarios
    ]
    args.out.mkdir(parents=True, exist_ok=True)  # before the runs, not after them
    progress = Runs(args.quiet)
    verdicts: list[tuple[str, list[Verdict]]] = []

    def finished(plan: runner.Plan, result: Result) -> None:
        write_json(args.out / f"{plan.scenario.name}.json", result)
        verdicts.append((plan.scenario.name, result["expect"]))
        if not args.json:
            progress.line.clear()
            print(result_tables.terminal(result, plan.scenario, args.details) + "\n", flush=True)

    try:
        with ending(guests):
            trace_to = args.out / "traces" if args.trace else None
            failures = runner.run_plans(plans, guests, args.jobs, trace_to, finished, progress)
    except KeyboardInterrupt:
        print("lab: scenarios that were complete are in the results", file=sys.stderr)
        raise
    if args.json:
        print(json.dumps([{"scenario": name, "expect": found} for name, found in verdicts], indent=1))
    for failure in failures:
        print(f"lab: {failure}", file=sys.stderr)
    if not args.quiet:
        print(f"lab: {progress.summary()}; results in {args.out}", file=sys.stderr)
    unmet = any(verdict["status"] == "fail" for _, found in verdicts for verdict in found)
    return EXIT_FAILED if failures or (unmet and args.strict) else 0


def cmd_unchanged(args: argparse.Namespace) -> int:
    scenarios = chosen_scenarios(args)
    build_loadgen()
    both = [Guests(path, LOADGEN, args.limit, unchanged.MEMORY) for path in (args.without, args.kernel)]
    features = unchanged.common(*(probe(guests) for guests in both))
    plans = unchanged.plans_for(scenarios, args.disks, args.scheduler, args.duration, features)

    def results_of(plans: list[runner.Plan], guests: Guests, quiet: bool) -> unchanged.Results:
        with ending(guests):
            return unchanged.results_of(plans, guests, args.jobs, Runs(quiet))

    def again(name: str, cells: list[str], seed: int) -> unchanged.Results:
        plan = next(plan for plan in plans if plan.scenario.name == name)
        plan = dataclasses.replace(plan, runs=[one for one in plan.runs if one.cell.name in cells])
        return results_of([plan], Guests(args.kernel, LOADGEN, args.limit, unchanged.MEMORY, seed), True)

    found = []
    for guests in both:
        if not args.quiet:
            print(f"lab: {guests.kernel}", file=sys.stderr)
        found.append(results_of(plans, guests, args.quiet))
    rows = unchanged.compare(*found)
    unchanged.set_random_aside(rows, found[1], again)
    print(json.dumps(rows, indent=1) if args.json else unchanged_text(rows))
    return EXIT_FAILED if any(row["differ"] for row in rows) else 0


def unchanged_text(rows: list[unchanged.Row]) -> str:
    """A line for each scenario, and one for each run that differs."""
    counts = [(row["runs"], row["operations"], len(row["random"]), len(row["differ"])) for row in rows]
    header = ["scenario", "runs", "operations", "differ by themselves", "runs that differ"]
    lines = [text.table(header, [[row["scenario"], *map(str, n)] for row, n in zip(rows, counts, strict=True)])]
    for row in rows:
        for names, why in ((row["random"], ", as with other random numbers"), (row["differ"], "")):
            lines += [f"{row['scenario']} {name}: {how}{why}" for name, how in names.items()]
    return "\n".join(lines)


def plan_picture(picture: pictures.Picture, presets: Path, features: Features) -> runner.Plan:
    """The one run of its scenario that a picture shows, as long as it shows it."""
    scenario = dataclasses.replace(find_scenario(picture.scenario), duration_s=picture.end)
    return runner.make_plan(scenario, presets, None, None, None, features, f"^{re.escape(picture.run)}$")


def cmd_pictures(args: argparse.Namespace) -> int:
    wanted = pictures.load(args.list, args.name)
    build_loadgen()
    guests = Guests(args.kernel, LOADGEN, args.limit)
    features = probe(guests)
    for picture in [picture for picture in wanted if picture.oldsched and not kernels.has_any(features)]:
        print(f"lab: {picture.name} is left out: it wants --kernel build/uml-oldsched/vmlinux", file=sys.stderr)
        wanted.remove(picture)
    plans = [plan_picture(picture, args.disks, features) for picture in wanted]
    args.out.mkdir(parents=True, exist_ok=True)
    with ending(guests):
        for number, (picture, plan) in enumerate(zip(wanted, plans, strict=True), 1):
            print(f"lab: {number}/{len(wanted)} {picture.name}", file=sys.stderr)
            print(args.out / pictures.make(picture, plan, guests, args.out), flush=True)
    return 0


def cmd_cells(args: argparse.Namespace) -> int:
    kernel, loadgen = cells.sha256(args.kernel), cells.sha256(build_loadgen())
    args.out.mkdir(parents=True, exist_ok=True)
    features = cells.features_of(Guests(args.kernel, LOADGEN, args.limit), kernel, args.out)
    named = sorted(path.stem for path in SCENARIOS.glob("*.toml")) if args.all else args.scenario
    scenarios = dict(zip(named, chosen_scenarios(args), strict=True))
    plans = {name: runner.make_plan(scenario, DISKS, args.scheduler, None, None, features)
             for name, scenario in scenarios.items()}
    changed = cells.write_plan(args.out, plans, kernel, loadgen)
    if not args.quiet:
        total = sum(len(plan.runs) for plan in plans.values())
        said = f"{total} runs of {len(plans)} scenarios in {args.out}, {changed} with other inputs"
        print(f"lab: {said}", file=sys.stderr)
    return 0


def cmd_cell(args: argparse.Namespace) -> int:
    guests = Guests(args.kernel, build_loadgen(), args.limit)
    features = cells.features_of(guests, cells.sha256(args.kernel), args.input.parents[2])

    def plan_of(scenario: str, cell: str) -> runner.Plan:
        only = f"^{re.escape(cell)}$"
        return runner.make_plan(find_scenario(scenario), DISKS, None, None, None, features, only)

    with ending(guests):
        found = cells.run_one(args.input, plan_of, guests, LOADGEN)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(args.out, found)
    return 0


def cmd_assemble(args: argparse.Namespace) -> int:
    kernel = cells.sha256(args.kernel)
    features = cells.features_of(Guests(args.kernel, LOADGEN, args.limit), kernel, args.folder)
    plan = runner.make_plan(find_scenario(args.scenario), DISKS, args.scheduler, None, None, features)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(args.out, cells.assemble(args.folder, plan))
    return 0


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
                value if isinstance(value, str) else "-" if value is None else result_tables.figure(value)
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


def cmd_crosscheck(args: argparse.Namespace) -> int:
    scenario = find_scenario(args.scenario)
    disk = disks.of_scenario(scenario, args.disks)
    path = args.results / f"{scenario.name}.json"
    result = results.load_result(path)
    pairs = []
    for cell in scenario.cells(args.scheduler, args.depth):
        virtual = [entry for entry in result["cells"] if entry["name"] == cell.name and entry["status"] == "ok"]
        if not virtual:
            raise ToolError(f"{path}: has no '{cell.name}'; `lab run {scenario.name}` first", EXIT_USAGE)
        print(f"lab: {cell.name} in QEMU, {scenario.duration_s:g} s", file=sys.stderr)
        folder = args.results / "crosscheck" / cell.name.replace(" ", "-").replace("=", "-")
        same = job.make_run(scenario, cell, disk, result["seed"], bw=True)
        pairs.append((virtual[0], crosscheck.run_fio(scenario, same, disk, args.kernel, folder, args.icount)))
    found = crosscheck.compare(scenario, pairs, result["duration_ns"], args.icount)
    write_json(args.results / f"crosscheck-{found['clock']}.json", found)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        rows = result_tables.crosscheck_rows(found)
        print(text.table(["figure", "virtual", "real", "difference"], rows))
        print(f"{found['status'].upper()} within {found['limit_percent']:g}%")
    return 0 if found["status"] == "pass" else EXIT_FAILED


def cmd_report(args: argparse.Namespace) -> int:
    if args.oldsched:
        return report_lab(args.results, args.page or LAB_PAGE)
    found = []
    missing = []
    for scenario in all_scenarios():
        path = args.results / f"{scenario.name}.json"
        if path.exists():
            found.append((results.load_result(path), scenario))
        else:
            missing.append(scenario.name)
    if not found:
        raise ToolError(f"no results in {args.results}; `lab run --all` makes them", EXIT_USAGE)
    if missing:
        print(f"lab: no results of {', '.join(missing)}: left out", file=sys.stderr)
    crosschecks = evaluation.load_crosschecks(args.results)
    page = args.page or PAGE
    gone = {path.stem: results.load_result(path) for path in sorted((args.results / GONE).glob("*.json"))}
    if not gone:
        print("lab: no results of schedulers of patches/oldsched: left out", file=sys.stderr)
    evaluation.write(found, crosschecks, page, page.parent / page.stem, gone)
    print(page)
    return 0


def report_lab(folder: Path, page: Path) -> int:
    """The page of the scenarios that want a kernel of the laboratory."""
    scenarios = [schema.load(path) for path in sorted((SCENARIOS / GONE).glob("*.toml"))]
    there = [scenario for scenario in scenarios if (folder / f"{scenario.name}.json").exists()]
    if not there:
        raise ToolError(f"no results in {folder}; `lab run lab/{scenarios[0].name}` makes one", EXIT_USAGE)
    for scenario in scenarios:
        if scenario not in there:
            print(f"lab: no results of {scenario.name}: left out", file=sys.stderr)
    found = [(results.load_result(folder / f"{scenario.name}.json"), scenario) for scenario in there]
    evaluation.write_oldsched(found, (SCENARIOS / GONE / "head.md").read_text(), page)
    print(page)
    return 0


def option(*names: str, **settings: Any) -> argparse.ArgumentParser:
    """One that several commands have, as a parent of theirs."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(*names, **settings)
    return parent


def disks_option() -> argparse.ArgumentParser:
    return option("--disks", type=Path, default=DISKS, metavar="DIR", help="disk presets (default: configs/disks)")


def depth_option(otherwise: str) -> argparse.ArgumentParser:
    return option("--depth", type=depths, metavar="N,M", help=f"queue depths of the drive{otherwise}")


def results_option(command: str) -> argparse.ArgumentParser:
    what = f"results of `lab {command}` (default: build/lab/results)"
    return option("--results", type=Path, default=RESULTS, metavar="DIR", help=what)


def json_option(what: str = "as JSON") -> argparse.ArgumentParser:
    return option("--json", action="store_true", help=what)


def guest_options(kernel: Path = KERNEL, otherwise: str = "build/uml/vmlinux") -> argparse.ArgumentParser:
    """What boots, with which disks, and for how long."""
    parent = argparse.ArgumentParser(add_help=False, parents=[disks_option()])
    what = f"User-Mode Linux to boot (default: {otherwise})"
    parent.add_argument("--kernel", type=Path, default=kernel, metavar="PATH", help=what)
    what = "end a guest after this number of seconds of real time (default: 300)"
    parent.add_argument("--limit", type=float, default=300, metavar="S", help=what)
    return parent


def run_options(jobs: bool = True) -> argparse.ArgumentParser:
    """Runs of scenarios, and how they are run."""
    parent = argparse.ArgumentParser(add_help=False)
    what = "a scenario file, or the name of one that `lab list` shows"
    parent.add_argument("scenario", nargs="*", help=what)
    parent.add_argument("--all", action="store_true", help="every scenario")
    what = "only configurations that use these schedulers"
    parent.add_argument("--scheduler", type=words, metavar="A,B", help=what)
    what = "guests that run at once (default: 1)"
    if jobs:
        parent.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help=what)
    parent.add_argument("--quiet", action="store_true", help="no progress")
    return parent


def run_parser(commands: Commands) -> None:
    p = commands.add_parser(
        "run",
        help="run scenarios and show what came out",
        parents=[
            run_options(),
            guest_options(*KERNEL_HERE),
            depth_option(", in place of the scenario's"),
            json_option("print the expectations as JSON and no tables"),
        ],
    )
    what = "only runs whose name it is found in, as 'cfq.* N=24'"
    p.add_argument("--cell", type=regex, default="", metavar="REGEX", help=what)
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds, in place of the scenario's")
    what = "preset in place of the scenario's; give --out too, or its results replace those of the scenario's disk"
    p.add_argument("--disk", metavar="PRESET", help=what)
    p.add_argument("--seed", type=int, help="draws other files and offsets than the scenario's own seed")
    what = "where results go (default: build/lab/results)"
    p.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help=what)
    p.add_argument("--trace", action="store_true", help="record a blktrace of each run under DIR/traces")
    what = "load generator (default: built from loadgen/)"
    p.add_argument("--loadgen", type=Path, default=LOADGEN, metavar="PATH", help=what)
    p.add_argument("--strict", action="store_true", help="exit 1 when an expectation does not hold")
    p.add_argument("--details", action="store_true", help="also print every group of every run")
    p.set_defaults(function=cmd_run)


def cells_parsers(commands: Commands) -> None:
    """Runs one by one, for workflow/Snakefile."""
    what = "write what each run depends on, for `lab cell`"
    p = commands.add_parser("cells", help=what, parents=[run_options(jobs=False), guest_options(*KERNEL_HERE)])
    what = "inputs that have not changed are not written again (default: build/lab/workflow)"
    p.add_argument("--out", type=Path, default=WORKFLOW, metavar="DIR", help=what)
    p.set_defaults(function=cmd_cells)
    p = commands.add_parser("cell", help="the run that an input is of", parents=[guest_options(*KERNEL_HERE)])
    p.add_argument("input", type=Path, metavar="DIR/inputs/SCENARIO/RUN.json", help="written by `lab cells`")
    p.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the result goes")
    p.set_defaults(function=cmd_cell)
    what = "put the runs of a scenario together, as `lab run` does"
    p = commands.add_parser("assemble", help=what, parents=[guest_options(*KERNEL_HERE)])
    p.add_argument("folder", type=Path, metavar="DIR", help="of `lab cells`")
    p.add_argument("scenario")
    p.add_argument("--scheduler", type=words, metavar="A,B", help="as it was given to `lab cells`")
    p.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the result goes")
    p.set_defaults(function=cmd_assemble)


def list_parser(commands: Commands) -> None:
    p = commands.add_parser("list", help="name all scenarios", parents=[json_option()])
    p.set_defaults(function=cmd_list)


def show_parser(commands: Commands) -> None:
    what = "what a scenario runs, without running it"
    p = commands.add_parser("show", help=what, parents=[disks_option(), json_option()])
    p.add_argument("scenario", nargs="+")
    p.set_defaults(function=cmd_show)


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


def crosscheck_parser(commands: Commands) -> None:
    p = commands.add_parser(
        "crosscheck",
        help="repeat a scenario with fio in QEMU, in real time, and compare",
        parents=[results_option("run"), disks_option(), depth_option(" (default: the scenario's)"), json_option()],
    )
    p.add_argument("scenario", nargs="?", default="crosscheck", help="default: crosscheck; it must have been run")
    p.add_argument("--scheduler", type=words, default=["mq-deadline"], metavar="A,B", help="default: mq-deadline")
    what = "the guest's clock counts its instructions: the host's other work does not show"
    p.add_argument("--icount", action="store_true", help=what)
    p.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="default: build/kernel-plain's")
    p.set_defaults(function=cmd_crosscheck)


def unchanged_parser(commands: Commands) -> None:
    what = "run without reservations on two kernels: exit 1 if any operation had another time"
    p = commands.add_parser("unchanged", help=what, parents=[run_options(), guest_options(), json_option()])
    what = "a User-Mode Linux without the patches that --kernel has"
    p.add_argument("--without", type=Path, required=True, metavar="PATH", help=what)
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds at most")
    p.set_defaults(function=cmd_unchanged)


def pictures_parser(commands: Commands) -> None:
    what = "trace runs and draw them with blkviz, as pictures.toml says"
    p = commands.add_parser("pictures", help=what, parents=[guest_options()])
    p.add_argument("name", nargs="*", help="only these pictures")
    p.add_argument("--list", type=Path, default=TOOL / "pictures.toml", metavar="FILE", help="default: pictures.toml")
    p.add_argument("--out", type=Path, default=PICTURES, metavar="DIR", help="default: Documentation/queue/figures")
    p.set_defaults(function=cmd_pictures)


def report_parser(commands: Commands) -> None:
    what = "write the evaluation from results: a page, and one of each scenario"
    p = commands.add_parser("report", help=what, parents=[results_option("run --all")])
    p.add_argument("--page", type=Path, metavar="FILE", help="default: Documentation/queue/evaluation.md, or apex.md")
    p.add_argument("--oldsched", action="store_true", help="of scenarios/oldsched, in Documentation/queue/apex.md")
    p.set_defaults(function=cmd_report)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="lab",
        description="I/O scheduling scenarios in virtual time.",
        epilog="Exit codes: 0 done, 1 something failed, 2 nothing was run.",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        run_parser,
        cells_parsers,
        list_parser,
        show_parser,
        compare_parser,
        plot_parser,
        crosscheck_parser,
        unchanged_parser,
        pictures_parser,
        report_parser,
    ):
        add(commands)
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("lab", lambda: command(args))


def command(args: argparse.Namespace) -> int:
    code: int = args.function(args)
    return code


if __name__ == "__main__":
    sys.exit(main())
