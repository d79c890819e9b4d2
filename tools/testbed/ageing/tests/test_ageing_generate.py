# SPDX-License-Identifier: GPL-2.0
"""Lists out of a seed have the published figures."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE
from tools.dev.check.seed import seed
from tools.testbed.ageing import churn, generate
from tools.testbed.ageing.churn import Count, Version
from tools.testbed.ageing.tests.conftest import AGEING, ageing, model


@pytest.fixture(scope="module")
def whole() -> list[Version]:
    return generate.generate(seed(), 1)


@pytest.fixture(scope="module")
def counts(whole: list[Version]) -> list[Count]:
    return churn.counts(whole)


def test_counts_are_exactly_the_published_ones(counts: list[Count]) -> None:
    assert len(counts) == 24
    assert sum(count.created for count in counts) == 60_885
    assert sum(count.deleted for count in counts) == 39_510
    assert counts[-1].files == 60_885 - 39_510
    # "about 22,500 files" are taken as the entries of a tree
    assert counts[-1].files + counts[-1].directories == 22_500


def test_the_mean_size_is_the_published_one_within_a_thousandth(counts: list[Count]) -> None:
    assert counts[-1].bytes / counts[-1].files == pytest.approx(18 * 1024, rel=0.001)


def test_most_changes_are_in_the_versions_that_are_published_as_steep(counts: list[Count]) -> None:
    by_churn = sorted(range(1, 25), key=lambda number: -counts[number - 1].created)
    assert set(by_churn[:4]) == {1, 2, 10, 17}


def test_hardly_a_directory_is_new_or_goes(counts: list[Count]) -> None:
    directories = [count.directories for count in counts]
    assert directories == sorted(directories)
    assert directories[0] > 0.9 * directories[-1]


def test_sizes_and_directories_are_as_unequal_as_sources_are(whole: list[Version]) -> None:
    files = model(whole, 24)
    sizes = list(files.values())
    assert 5 * 1024 < statistics.median(sizes) < 9 * 1024
    assert min(sizes) < 200 and max(sizes) > 500 * 1024
    in_each = statistics.multimode([path.rpartition("/")[0] for path in files])
    assert len(in_each) == 1 and sum(path.startswith(in_each[0] + "/") for path in files) > 100
    assert 3 < max(path.count("/") for path in files) <= generate.DEPTH


def test_some_files_change_often_and_many_never(whole: list[Version]) -> None:
    changes: dict[str, int] = dict.fromkeys(model(whole, 24), 0)
    for version in whole:
        for operation in version.operations:
            if operation.kind == churn.CHANGED and operation.path in changes:
                changes[operation.path] += 1
    assert max(changes.values()) > 12
    assert 0.2 < sum(not number for number in changes.values()) / len(changes) < 0.6


def test_the_same_seed_is_the_same_file_in_any_process(tmp_path: Path) -> None:
    for name, hashing in (("a", "1"), ("b", "2")):
        subprocess.run([AGEING, "churn", "--seed", "5", "--scale", "0.01", tmp_path / name], check=True,
                       env={**os.environ, "PYTHONHASHSEED": hashing}, capture_output=True)
    ageing("churn", "--seed", "6", "--scale", "0.01", tmp_path / "c")
    texts = [(tmp_path / name).read_bytes().partition(b"version")[2] for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("scale", [0.001, 0.0017, 0.01, 0.1])
def test_a_scale_is_of_all_counts(scale: float) -> None:
    counts = churn.counts(generate.generate(seed(), scale))
    assert len(counts) == 24
    assert sum(count.created for count in counts) == round(60_885 * scale)
    assert sum(count.deleted for count in counts) == round(39_510 * scale)
    assert counts[-1].directories == max(1, round(1_125 * scale))
    assert counts[-1].bytes / counts[-1].files == pytest.approx(18 * 1024, rel=0.001)


def test_the_command_reports_what_it_wrote(tmp_path: Path) -> None:
    done = ageing("churn", "--seed", "1", "--scale", "0.01", "--json", tmp_path / "list")
    said = json.loads(done.stdout)
    counts = churn.counts(churn.read(tmp_path / "list"))
    assert said["versions"] == [count._asdict() for count in counts]
    assert (said["created"], said["deleted"], said["files"]) == (609, 395, counts[-1].files)


@pytest.mark.parametrize("scale", ["0", "1000", "nan", "x"])
def test_a_scale_out_of_range_writes_nothing(tmp_path: Path, scale: str) -> None:
    done = ageing("churn", "--seed", "1", "--scale", scale, tmp_path / "list")
    assert done.returncode == EXIT_USAGE and "--scale" in done.stderr
    assert not (tmp_path / "list").exists()
