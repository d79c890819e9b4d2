# SPDX-License-Identifier: GPL-2.0
"""`lab pages` and `lab pictures`: the evaluation from committed results, and trace plots."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_if_changed
from tools.base.paths import BUILD, DOCUMENTS
from tools.testbed.vm.uml import Guests

from ..model.catalog import OLDSCHED, RECORDS, SCENARIOS, all_scenarios, find_scenario
from ..model.results import Result
from ..model.scenario import Scenario
from ..report import documents, evaluation, pictures
from ..run import figures, oldsched
from ..run.features import Features, probe
from ..run.loadgen import LOADGEN, build_loadgen, ending
from ..run.plan import Plan, make_plan
from .options import Commands, guest_options

PAGE = DOCUMENTS / "evaluation.md"
OLDSCHED_PAGE = DOCUMENTS / "apex.md"
PAGES = BUILD / "pages"  # of each scenario, and pictures: made, not committed


def records(folder: Path, scenarios: list[Scenario]) -> list[tuple[Result, Scenario]]:
    """The committed results of scenarios, of those that have some."""
    there = [(folder / f"{scenario.name}.json", scenario) for scenario in scenarios]
    return [(figures.load(path, scenario), scenario) for path, scenario in there if path.is_file()]


def cmd_pages(args: argparse.Namespace) -> int:
    """Write evaluation.md and apex.md, fill in the references of documents, and put all other pages in build/pages."""
    found = records(args.records, all_scenarios())
    if not found:
        raise ToolError(f"no results in {args.records}; `lab record` writes them", EXIT_USAGE)
    olds = {scenario.name: result for result, scenario in records(args.records / OLDSCHED, all_scenarios())}
    crosschecks = evaluation.load_crosschecks(args.records)
    missing = [one for one in all_scenarios() if not (args.records / f"{one.name}.json").is_file()]
    evaluation.write(found, crosschecks, args.page, args.out, olds, missing)
    print(args.page)
    own = records(args.records / OLDSCHED, all_scenarios(SCENARIOS / OLDSCHED))
    if own:
        evaluation.write_oldsched(own, (SCENARIOS / OLDSCHED / "head.md").read_text(), OLDSCHED_PAGE)
        print(OLDSCHED_PAGE)
    by_name: dict[str, documents.Found] = {scenario.name: (result, scenario) for result, scenario in found}
    by_name |= {scenario.name: None for scenario in missing}
    for path in documents.DOCUMENTS_WITH_RESULTS:
        if documents.fill_in(path, by_name):
            print(path)
    if write_if_changed(documents.COSTS, documents.costs(by_name).encode()):
        print(documents.COSTS)
    print(args.out)
    return 0


def plan_picture(picture: pictures.Picture, presets: Path, features: Features) -> Plan:
    """The one run of its scenario that a picture shows, as long as it shows it."""
    scenario = dataclasses.replace(find_scenario(picture.scenario), duration_s=picture.end)
    return make_plan(scenario, presets, None, None, None, features, f"^{re.escape(picture.run)}$")


def cmd_pictures(args: argparse.Namespace) -> int:
    wanted = pictures.load(args.list, args.name)
    build_loadgen()
    guests = Guests(args.kernel, LOADGEN, args.limit)
    features = probe(guests)
    for picture in [picture for picture in wanted if picture.oldsched and not oldsched.has_any(features)]:
        print(f"lab: {picture.name} is left out: it requires --kernel build/uml-oldsched/vmlinux", file=sys.stderr)
        wanted.remove(picture)
    plans = [plan_picture(picture, args.disks, features) for picture in wanted]
    args.out.mkdir(parents=True, exist_ok=True)
    with ending(guests):
        for number, (picture, plan) in enumerate(zip(wanted, plans, strict=True), 1):
            print(f"lab: {number}/{len(wanted)} {picture.name}", file=sys.stderr)
            print(args.out / pictures.make(picture, plan, guests, args.out), flush=True)
    return 0


def pages_parser(commands: Commands) -> None:
    what = "write the evaluation from committed results, and fill in the numbers of documents"
    p = commands.add_parser("pages", help=what)
    p.add_argument("--records", type=Path, default=RECORDS, metavar="DIR", help="default: Documentation/queue/results")
    p.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="default: Documentation/queue/evaluation.md")
    p.add_argument("--out", type=Path, default=PAGES, metavar="DIR",
                   help="a page of each scenario and its plots (default: build/pages)")
    p.set_defaults(function=cmd_pages)


def pictures_parser(commands: Commands) -> None:
    what = "trace runs and draw them with blkviz, as pictures.toml says"
    p = commands.add_parser("pictures", help=what, parents=[guest_options()])
    p.add_argument("name", nargs="*", help="only these pictures")
    p.add_argument("--list", type=Path, default=pictures.LIST, metavar="FILE", help="default: pictures.toml")
    p.add_argument("--out", type=Path, default=PAGES, metavar="DIR", help="default: build/pages")
    p.set_defaults(function=cmd_pictures)
