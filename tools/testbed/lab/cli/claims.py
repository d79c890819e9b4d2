# SPDX-License-Identifier: GPL-2.0
"""`lab matrix`: claims over settings, tags, depths, disks and seeds. `lab hunt`: loads that break a promise."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.base import text
from tools.base.arguments import positive, seconds, words
from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError
from tools.base.files import write_json, write_whole
from tools.base.paths import BUILD

from ..model import disks, schema
from ..model.catalog import find_scenario
from ..model.errors import ScenarioError
from ..model.results import Result
from ..run import expect, hunt, matrix, runner
from ..run.loadgen import ending
from ..run.metrics import figure, with_unit
from ..run.plan import Plan, make_plan
from .options import (
    KERNEL_HERE,
    Commands,
    Runs,
    cache_options,
    guest_options,
    json_option,
    kernels_and_cache,
    run_options,
)

MATRIX = BUILD / "lab" / "matrix"
HEAD = ["claim", "cells that hold", "median: cfq, best baseline", "worst: cfq, best baseline", "where"]
ABOUT = """\
Each claim is a scenario of the [evaluation](evaluation.md). A cell is a disk, the settings of its queue, its tags and
queue depth (@1, @32), a seed and a variant of the scenario. In each cell cfq is compared with all baselines of
[baselines.toml](../../tools/testbed/lab/baselines.toml), and the best of them counts. All cells are some 60,000 runs,
or three days. With `--draw N` they are drawn at random, N for each claim.

Tags are requests that a scheduler can choose from, as Linux sets them: 2 for a drive that takes one command at a time.
There cfq asks the kernel for 64. With the recommended settings each scheduler has 64."""
HUNT = BUILD / "lab" / "hunt"
BATCH = 4  # loads of which all runs are known before the first is made


def _chosen(given: list[str] | None, known: dict[str, Any] | tuple[Any, ...], what: str) -> list[Any]:
    """The values of an axis that were asked for, or all."""
    by_name = {str(value): value for value in known}
    if given and (unknown := [name for name in given if name not in by_name]):
        raise ToolError(f"--{what}: there is no '{unknown[0]}', only {'; '.join(by_name)}", EXIT_USAGE)
    return [by_name[name] for name in given] if given else list(by_name.values())


def cmd_matrix(args: argparse.Namespace) -> int:
    """Run the cells of claims; print the worst and the median beside the best baseline."""
    claims = matrix.load()
    if args.list:
        print(text.table(["claim", "scenario", "says"], [[one.name, one.scenario, one.says]
                                                         for one in claims.values()], "lll"))
        return 0
    wanted = _chosen(args.scenario or None, tuple(claims), "claim")
    points = list(matrix.points(
        _chosen(args.on, matrix.DISKS, "on"), _chosen(args.settings, matrix.SETTINGS, "settings"),
        _chosen(args.tags, matrix.TAGS, "tags"), _chosen(args.seeds, matrix.SEEDS, "seeds")))
    kernels, cache, features = kernels_and_cache(args)
    asked: dict[int, tuple[matrix.Claim, matrix.Point]] = {}  # by the plan's id()
    plans = []
    for name in wanted:
        scenario = find_scenario(claims[name].scenario)
        if args.duration:
            scenario = dataclasses.replace(scenario, duration_s=args.duration)
        for point, there in matrix.scenarios(claims[name], scenario, points, args.disks, args.draw):
            plans.append(make_plan(there, args.disks, args.scheduler, None, point.seed, features, args.cell))
            asked[id(plans[-1])] = claims[name], point
    seen: dict[int, list[matrix.Cell]] = {}

    def finished(plan: Plan, result: Result) -> None:
        seen[id(plan)] = matrix.cells(*asked[id(plan)], result)

    with ending(kernels):
        failures = runner.run_plans(plans, kernels, args.jobs, None, finished, Runs(args.quiet), cache)
    found = {name: [cell for plan, (claim, _) in asked.items() if claim.name == name for cell in seen.get(plan, [])]
             for name in wanted}
    summaries = [matrix.summary(claims[name], cells) for name, cells in found.items() if cells]
    for name, cells in found.items():
        if not cells:
            continue  # failures are told below
        write_json(args.out / f"{name}.json", [dataclasses.asdict(cell) for cell in cells])
    write_whole(args.page or args.out / "matrix.md", page(claims, args.out, command_of(args)))
    print(json.dumps(summaries, indent=1) if args.json else shown(summaries))
    for failure in failures:
        print(f"lab: {failure}", file=sys.stderr)
    broken = len(summaries) < len(wanted) or any(one["hold"] < one["cells"] for one in summaries)
    return EXIT_FAILED if failures or (broken and args.strict) else 0


def command_of(args: argparse.Namespace) -> str:
    """The command, with the options that leave out cells or change the time of a run."""
    given = {"--on": args.on, "--settings": args.settings, "--tags": args.tags, "--seeds": args.seeds,
             "--draw": args.draw, "--cell": args.cell, "--duration": args.duration, "--scheduler": args.scheduler}
    options = [f"{name} {','.join(value) if isinstance(value, list) else value}" for name, value in given.items()
               if value]
    return " ".join(["lab matrix", *(args.scenario or ["--all"]), *options])


def page(claims: Mapping[str, matrix.Claim], folder: Path, command: str) -> str:
    """Of all claims whose cells are in a folder: worst and median beside the best baseline, and cells that fail."""
    there = {name: [matrix.Cell(**cell) for cell in json.loads((folder / f"{name}.json").read_text())]
             for name in claims if (folder / f"{name}.json").is_file()}
    told = [matrix.summary(claims[name], cells) for name, cells in there.items() if cells]
    parts = ["# Claims at random points",
             ABOUT, f"Written by `{command}`.",
             text.markdown(HEAD, rows_of(told), "lllll")]
    for name, cells in there.items():
        failing = [[cell.where, *(with_unit(claims[name].metric, value) for value in (cell.ours, cell.theirs)),
                    cell.baseline] for cell in cells if not cell.holds]
        if failing:
            table = text.markdown(["where", "cfq", "best baseline", "which"], failing, "lrrl")
            parts.append(f"## {name}: {claims[name].says}\n\n{len(failing)} of {len(cells)} cells fail.\n\n{table}")
    return "\n\n".join(parts) + "\n"


def shown(summaries: list[dict[str, Any]]) -> str:
    """A line for each claim."""
    return text.table(HEAD, rows_of(summaries), "lllll")


def _compared(metric: str, cell: dict[str, Any]) -> str:
    ratio = f" ({figure(cell['ratio'])} times as bad)" if cell["ours"] and cell["theirs"] and cell["ratio"] != 1 else ""
    return f"{with_unit(metric, cell['ours'])}, {with_unit(metric, cell['theirs'])} under {cell['baseline']}{ratio}"


def rows_of(summaries: list[dict[str, Any]]) -> list[list[str]]:
    return [[one["claim"], f"{one['hold']} of {one['cells']}", _compared(one["metric"], one["median"]),
             _compared(one["metric"], one["worst"]), one["worst"]["where"]] for one in summaries]


def matrix_parser(commands: Commands) -> None:
    what = "test a claim over settings, tags, queue depths, disks and seeds, beside the best baseline"
    p = commands.add_parser("matrix", help=what, parents=[run_options(), guest_options(*KERNEL_HERE), cache_options(),
                                                          json_option("print the summaries as JSON")])
    p.set_defaults(function=cmd_matrix)
    p.add_argument("--list", action="store_true", help="name the claims")
    p.add_argument("--on", type=words, metavar="A,B", help=f"only these disks: {', '.join(matrix.DISKS)}")
    p.add_argument("--settings", type=settings_names, metavar="A;B", help=f"only these: {'; '.join(matrix.SETTINGS)}")
    p.add_argument("--tags", type=words, metavar="N,M", help=f"only these: {', '.join(map(str, matrix.TAGS))}")
    p.add_argument("--seeds", type=words, metavar="N,M", help=f"only these: {', '.join(map(str, matrix.SEEDS))}")
    p.add_argument("--draw", type=positive, metavar="N", help="only N cells of each claim, drawn at random; those "
                   "of a smaller N are among those of a larger one")
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds, instead of the scenario's")
    p.add_argument("--cell", default="", metavar="REGEX", help="only runs whose name matches")
    p.add_argument("--strict", action="store_true", help="exit 1 when a claim does not hold in each cell")
    p.add_argument("--out", type=Path, default=MATRIX, metavar="DIR", help="where cells go (default: build/lab/matrix)")
    p.add_argument("--page", type=Path, metavar="FILE", help="where the page goes (default: DIR/matrix.md)")


def settings_names(given: str) -> list[str]:
    """Names of settings, which may have a comma."""
    return [name.strip() for name in given.split(";")]


class Hunter:
    """Runs loads on a kernel, through the cache."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.kernels, self.cache, self.features = kernels_and_cache(args)
        if not self.features.bw:
            raise ToolError(f"kernel {self.features.release} has no bandwidth class: `make uml` builds one", EXIT_USAGE)
        self.failures: list[str] = []
        self.runs = 0

    def run(self, loads: Mapping[str, hunt.Load], progress: Runs,
            only: Collection[str] | None = None) -> dict[str, Result]:
        """The results of loads by their names; of those that did not fail."""
        plans = []
        for name, load in loads.items():
            scenario = hunt.scenario_of(load, name, only)
            plans.append(make_plan(scenario, self.args.disks, None, None, None, self.features))
        found: dict[str, Result] = {}
        self.runs += sum(len(plan.runs) for plan in plans)
        self.failures += runner.run_plans(plans, self.kernels, self.args.jobs, None,
                                          lambda plan, result: found.update({plan.scenario.name: result}), progress,
                                          self.cache)
        return found

    def shrunk(self, load: hunt.Load, finding: hunt.Finding, most: int) -> tuple[hunt.Load, hunt.Finding]:
        """The simplest load found that still has a finding of this kind, after at most @most tries."""
        quiet = Runs(True)
        again, tries = True, 0
        while again and tries < most:
            again = False
            for smaller in hunt.smaller(load):
                if not hunt.admitted(smaller, disks.load_disk(self.args.disks, smaller.top["disk"])):
                    continue
                tries += 1
                only = [finding.baseline] if finding.baseline else []
                try:
                    result = self.run({"smaller": smaller}, quiet, only).get("smaller")
                except ScenarioError:
                    continue  # what is left is no load, as a file that is too small
                kept = [one for one in hunt.findings(smaller, result) if one.kind == finding.kind] if result else []
                if kept:
                    load, finding, again = smaller, kept[0], True
                    break
                if tries >= most:
                    break
        return load, finding


def cmd_hunt(args: argparse.Namespace) -> int:
    """Draw loads, run them under cfq and the baselines, and shrink the worst of each kind."""
    hunter = Hunter(args)
    loads: dict[int, hunt.Load] = {}
    found: list[tuple[int, hunt.Finding]] = []
    with ending(hunter.kernels):
        for batch in _batches(args):
            drawn = {number: hunt.draw_load(args.seed, number, lambda name: disks.load_disk(args.disks, name))
                     for number in batch}
            if args.duration:
                drawn = {number: dataclasses.replace(load, top=load.top | {"duration_s": args.duration})
                         for number, load in drawn.items()}
            loads |= drawn
            names = {f"hunt-{args.seed}-{number}": number for number in drawn}
            results = hunter.run({name: drawn[number] for name, number in names.items()}, Runs(args.quiet))
            for name, result in results.items():
                found += [(names[name], one) for one in hunt.findings(drawn[names[name]], result)]
            _write(args, len(loads), found)
        found.sort(key=lambda one: (list(hunt.Kind).index(one[1].kind), -one[1].score, one[0]))
        told = _write(args, len(loads), found)
        files = {kind: _keep(hunter, args, *next(one for one in found if one[1].kind == kind), loads)
                 for kind in dict.fromkeys(one.kind for _, one in found)}
    print(json.dumps(told, indent=1) if args.json else _hunted(args, len(loads), found, files))
    for failure in hunter.failures:
        print(f"lab: {failure}", file=sys.stderr)
    return EXIT_FAILED if hunter.failures or (found and args.strict) else 0


def _write(args: argparse.Namespace, count: int, found: list[tuple[int, hunt.Finding]]) -> list[dict[str, Any]]:
    """What has been found so far: an interrupted hunt keeps it."""
    told = [{"load": number, **dataclasses.asdict(one)} for number, one in found]
    write_json(args.out / f"seed-{args.seed}.json", {"seed": args.seed, "loads": count, "findings": told})
    return told


def _batches(args: argparse.Namespace) -> Iterator[range]:
    """The numbers of loads to run: as many as asked for, or until the time is over."""
    if args.load is not None:
        yield range(args.load, args.load + 1)
        return
    begin = time.monotonic()
    for first in range(0, args.runs, BATCH):
        if args.minutes and time.monotonic() - begin > 60 * args.minutes:
            return
        yield range(first, min(first + BATCH, args.runs))


def _keep(hunter: Hunter, args: argparse.Namespace, number: int, finding: hunt.Finding,
          loads: dict[int, hunt.Load]) -> Path:
    """The scenario file of a finding, shrunk."""
    load, finding = hunter.shrunk(loads[number], finding, args.tries)
    about = f"Found by `lab hunt --seed {args.seed} --load {number}`: {finding.says()}."
    path: Path = args.out / f"seed-{args.seed}-{finding.kind.replace(' ', '-')}.toml"
    only = [finding.baseline] if finding.baseline else ["mq-deadline"]
    result = hunter.run({"shrunk": load}, Runs(True), only).get("shrunk")
    ours = next((cell for cell in result["cells"] if cell["config"] == hunt.OURS), None) if result else None
    if result is None or ours is None:
        raise ToolError(f"load {number}: {finding.says()}, but the shrunk load does not run")
    text_of = hunt.text_of(load, f"{finding.kind}: load {number} of seed {args.seed}", about,
                           [hunt.expect_of(finding, load, ours)], only)
    (verdict,) = expect.evaluate(result, schema.parse(path, text_of))
    if verdict["status"] != "fail":
        print(f"lab: {path}: its expectation holds; compare with load {number}", file=sys.stderr)
    write_whole(path, text_of)
    return path


def _hunted(args: argparse.Namespace, count: int, found: list[tuple[int, hunt.Finding]],
            files: dict[hunt.Kind, Path]) -> str:
    rows = []
    for kind, path in files.items():
        of_kind = [(number, one) for number, one in found if one.kind == kind]
        number, worst = of_kind[0]
        rows.append([kind, str(len(of_kind)), str(min(number for number, _ in of_kind) + 1), str(number),
                     figure(worst.score), worst.says(), str(path)])
    head = ["kind", "loads", "first after", "worst load", "score", "what is wrong", "shrunk"]
    said = f"seed {args.seed}: {count} loads, {len(found)} findings"
    return said + ("\n\n" + text.table(head, rows, "lrrrrll") if rows else "")


def hunt_parser(commands: Commands) -> None:
    what = "draw loads at random, and find those under which cfq breaks a promise or a baseline is much better"
    p = commands.add_parser("hunt", help=what, parents=[guest_options(*KERNEL_HERE), cache_options(),
                                                        json_option("print the findings as JSON")])
    p.set_defaults(function=cmd_hunt)
    p.add_argument("--seed", type=int, default=1, metavar="N", help="of the loads (default: 1)")
    p.add_argument("--runs", type=positive, default=100, metavar="M", help="number of loads (default: 100)")
    p.add_argument("--minutes", type=float, metavar="T", help="begin no more loads after this real time")
    p.add_argument("--load", type=int, metavar="K", help="only load K of the seed")
    p.add_argument("--duration", type=seconds, metavar="S", help=f"virtual seconds (default: {hunt.DURATION_S})")
    p.add_argument("--tries", type=int, default=40, metavar="N",
                   help="most simpler loads to try for each kind of finding (default: 40; 0: do not shrink)")
    p.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="guests that run at once (default: 1)")
    p.add_argument("--quiet", action="store_true", help="no progress")
    p.add_argument("--strict", action="store_true", help="exit 1 when there is a finding")
    p.add_argument("--out", type=Path, default=HUNT, metavar="DIR",
                   help="findings and shrunk scenario files (default: build/lab/hunt)")
