# SPDX-License-Identifier: GPL-2.0
"""The head of each series by itself: it boots, and its KUnit tests and kselftests pass.

Of the kselftests those that run in a guest in virtual time: all of them run in QEMU with the whole queue. What a
test needs of another series, the modelled disk, it may do without.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from selftests.uml.kselftests import TESTS, run_kselftest
from tools.base.paths import BUILD
from tools.queue.common import Project
from tools.queue.groups import read_groups
from tools.queue.tree import queue_patches
from tools.vm import uml

PROJECT = Project.here()
SERIES = list(read_groups(PROJECT, queue_patches(PROJECT)))
# The KUnit suites of a series and of those that stand on it.
SUITES = {"null_blk": {"null_blk_rotational"}, "cfq": {"cfq-iosched"}, "bandwidth": {"cfq-iosched"},
          "vfs": {"cfq-iosched"}}
SKIPPED = 4


def head(name: str) -> Path:
    folder = BUILD / "heads" / name
    if not (folder / "key").is_file():
        pytest.skip(f"no head of {name}: `tools/queue/queue heads` builds it")
    return folder


@pytest.mark.parametrize("series", SERIES)
def test_head_boots_and_passes_its_kunit_tests(series: str, tmp_path: Path) -> None:
    kernel = head(series) / "linux"
    console = uml.run_commands("""
mount -t debugfs debugfs /sys/kernel/debug
for suite in /sys/kernel/debug/kunit/*/; do
	echo 1 > $suite/run
	cat $suite/results > $OUT/$(basename $suite)
done
echo done > $OUT/done
""", tmp_path, kernel)
    assert (tmp_path / "done").is_file(), console
    results = {path.name: path.read_text() for path in tmp_path.iterdir() if path.name in SUITES.get(series, set())}
    assert set(results) == SUITES.get(series, set()), console
    for name, text in results.items():
        assert "not ok" not in text and f"ok 1 {name}" in text, text


@pytest.mark.parametrize("series", SERIES)
def test_head_passes_its_kselftests(series: str, tmp_path: Path) -> None:
    folder = head(series)
    own = [name for name, target in TESTS.items() if (folder / "selftests" / target / name).is_file()]
    passed = 0
    for name in own:
        code, said = run_kselftest(folder / "selftests", name, folder / "linux", tmp_path / name)
        assert code in (0, SKIPPED), f"{name}: {said}"
        passed += code == 0
    assert passed >= 1 or not own
