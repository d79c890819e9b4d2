# SPDX-License-Identifier: GPL-2.0
"""The knobs cover what the documentation describes."""

from __future__ import annotations

import re

import pytest

from tools.base.paths import ROOT
from tools.dev.stress import knobs

RST = (ROOT / "Documentation/block/cfq-iosched.rst").read_text()
FUZZ = (ROOT / "selftests/vm/guest/fuzz.c").read_text()
ROW = re.compile(r"^(\w+) +(\S+) +(\d+)\.\.(\d+)", re.MULTILINE)


def documented() -> dict[str, tuple[int, int]]:
    section = RST[RST.index("\nTunables\n"):RST.index("\nWatching it\n")]
    found = {name: (int(low), int(high)) for name, _, low, high in ROW.findall(section)}
    assert set(found) == set(knobs.CFQ) - {"bw_delays_ms"}
    return found


def test_every_documented_tunable_is_turned_within_its_range() -> None:
    for name, (low, high) in documented().items():
        for value in knobs.CFQ[name]:
            for number in re.split(r"\.\.| ", value):
                assert low <= int(number) <= high, name


def test_no_other_tunable_is_turned_as_one_of_cfq() -> None:
    assert set(knobs.CFQ) - set(documented()) == {"bw_delays_ms"}


def test_fuzzer_knows_the_documented_ranges() -> None:
    for name, (low, high) in documented().items():
        assert re.search(rf'FILE_OF\("{name}", DECIMAL, {low}, {high}\)', FUZZ), name
    assert 'FILE_OF("bw_delays_ms",' in FUZZ


def test_fuzzer_knows_every_operation_of_the_mask() -> None:
    text = (ROOT / "Documentation/trace/blktrace-vfs.rst").read_text()
    names = next(line.strip() for line in text.splitlines() if line.strip().startswith("read,write,lookup"))
    listed = FUZZ[FUZZ.index("operations[] = {"):FUZZ.index("/* Documentation/trace/blktrace-vfs.rst")]
    assert re.findall(r'"(\w+)"', listed) == names.split(",")


@pytest.mark.parametrize("injected", [True, False])
def test_lines_are_what_knobs_reads(injected: bool) -> None:
    for name, table in knobs.tables(injected).items():
        first, *lines = table.text(3).splitlines()
        assert first == f"# {table.mean_ms * 3}", name
        assert len(lines) == len(set(line.split("\t")[0] for line in lines)), "a path twice"
        for line in lines:
            path, allowed, *values = line.split("\t")
            assert path.startswith("/sys/")
            assert allowed == "-" or all(word.startswith("E") for word in allowed.split(","))
            assert 0 < len(values) <= 32


def test_faults_meet_one_disk_only() -> None:
    for knob in knobs.faults(True).knobs:
        assert "faulty" in knob.path or re.search(r"/fail_\w+/probability$", knob.path)
