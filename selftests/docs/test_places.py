# SPDX-License-Identifier: GPL-2.0
"""Additions that are required in several places: each test names the place where something is missing."""

from __future__ import annotations

import re

import pytest

from selftests.docs.added_files import attributes, disk_attributes, new_file
from selftests.uml.test_ours import LONG, SHOWN
from tools.base.paths import ROOT
from tools.dev.stress import knobs
from tools.testbed.lab.model import catalog
from tools.testbed.lab.model.catalog import RECORDS
from tools.testbed.lab.report import documents, evaluation
from tools.testbed.soak import load


def words(path: str, pattern: str) -> set[str]:
    text = (ROOT / path).read_text() if (ROOT / path).is_file() else new_file(path)
    return set(re.findall(pattern, text, re.MULTILINE))


# The files that list the tunables of cfq, and a pattern for their names.
TUNABLES = {
    "Documentation/block/cfq-iosched.rst": r"^(\w+) {2,}\S.* {2,}\S",
    "Documentation/ABI/testing/sysfs-block-cfq": r"^What:\s+/sys/block/<disk>/queue/iosched/(\w+)$",
    "tools/testing/selftests/cfq/test_tunables.sh": r"(?:^|iosched/)([a-z]+_\w+)\b",
    "selftests/vm/guest/fuzz.c": r'FILE_OF\("(\w+)"',
}


@pytest.mark.parametrize("path", TUNABLES)
def test_every_tunable_is_listed_in(path: str) -> None:
    missing = attributes() - words(path, TUNABLES[path])
    assert not missing, f"{path} lacks {', '.join(sorted(missing))}"


@pytest.mark.parametrize(("where", "known"), [
    ("tools/testbed/soak/load.py: TUNABLES", set(load.TUNABLES)), ("tools/dev/stress/knobs.py: CFQ", set(knobs.CFQ))])
def test_every_tunable_is_changed_under_load(where: str, known: set[str]) -> None:
    assert known == attributes(), f"{where}: {', '.join(sorted(known ^ attributes()))}"


def test_bwctl_knows_the_tunables_of_the_class() -> None:
    listed = (ROOT / "tools/user/bwctl/command_check.c").read_text().split("missing_tunable(const char", 1)[1]
    known = set(re.findall(r'"(bw_\w+)"', listed.split("};", 1)[0]))
    of_the_class = {name for name in attributes() if name.startswith("bw_")}
    assert known == of_the_class, "tools/user/bwctl/command_check.c: missing_tunable()"


def test_every_attribute_of_a_disk_is_described_with_its_default() -> None:
    """In the lines that the patches add to null_blk.rst, which the base has already."""
    added = "".join(path.read_text() for path in (ROOT / "patches").glob("*null_blk*.patch"))
    described = {name: int(default) for name, default in re.findall(r"^\+(\w+) {2,}(\d+)\b", added, re.M)}
    wanted = {name: default for name, (default, _, _) in disk_attributes().items()}
    assert {name: described.get(name) for name in wanted} == wanted, "Documentation/block/null_blk.rst"


def test_every_attribute_of_a_disk_is_fuzzed_in_its_range() -> None:
    text = (ROOT / "selftests/vm/guest/fuzz.c").read_text()
    rows = re.findall(r'FILE_OF\("rot/(\w+)", NUMBER, (\d+), (\d+)(?: << (\d+))?', text)
    known = {name: (int(least), int(most) << int(shift or 0)) for name, least, most, shift in rows}
    ranges = {name: (least, most) for name, (_, least, most) in disk_attributes().items()}
    assert known == ranges, "selftests/vm/guest/fuzz.c: rotating[]"


def test_every_scenario_has_a_row_in_the_evaluation_with_its_results_or_without() -> None:
    scenarios = {path.stem for path in catalog.SCENARIOS.glob("*.toml")}
    records = {path.stem for path in RECORDS.glob("*.json") if not path.stem.startswith("crosscheck-")}
    assert records <= scenarios, "Documentation/queue/results has records of scenarios that do not exist"
    page = (ROOT / "Documentation/queue/evaluation.md").read_text()
    assert page.count(documents.NO_RESULTS) == len(scenarios - records), "`make pages` writes evaluation.md"
    row = r"^\| \[?([a-z-]+)(?:\]\(\S+\))? \| [^|]* \| [^|]* \| (?:all|no|\*|)"
    listed = words("Documentation/queue/evaluation.md", row) - {"scenario"}
    assert listed == scenarios, "Documentation/queue/evaluation.md: `make pages` writes it"


def test_pages_of_the_evaluation_that_are_committed_are_those_that_guides_link() -> None:
    pages = {path.stem for path in (ROOT / "Documentation/queue/evaluation").glob("*.md")}
    assert pages == set(evaluation.COMMITTED)
    guides = "".join(path.read_text() for path in (ROOT / "README.md", *(ROOT / "Documentation/queue").glob("*.md")))
    assert pages == set(re.findall(r"evaluation/([\w-]+)\.md", guides))


def test_six_pictures_are_committed_and_each_is_shown() -> None:
    pictures = {path for kind in ("svg", "png") for path in (ROOT / "Documentation/queue").rglob(f"*.{kind}")}
    assert len(pictures) <= 6
    texts = [ROOT / "README.md", *(ROOT / "Documentation/queue").rglob("*.md"), *(ROOT / "tools").rglob("README.md")]
    shown = {(path.parent / link).resolve() for path in texts
             for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", path.read_text())}
    assert pictures == shown


def test_the_evaluation_is_one_page_whose_links_lead_somewhere() -> None:
    folder = ROOT / "Documentation/queue"
    page = (folder / "evaluation.md").read_text()
    assert len(page.splitlines()) <= 180
    for link, anchor in re.findall(r"\]\(([^)#]+)(?:#([\w-]+))?\)", page):
        assert (folder / link).exists(), link
        heads = re.findall(r"^#+ (.*)$", (folder / link).read_text(errors="replace"), re.M) if anchor else []
        assert not anchor or anchor in {head.lower().replace(" ", "-") for head in heads}, f"{link}#{anchor}"


def test_every_scenario_is_tested_or_excluded_with_a_reason() -> None:
    ours = {path.stem for path in catalog.SCENARIOS.glob("*.toml")}
    assert {name for name, *_ in SHOWN} | set(LONG) == ours, "selftests/uml/test_ours.py: SHOWN or LONG"
    assert not {name for name, *_ in SHOWN} & set(LONG)
