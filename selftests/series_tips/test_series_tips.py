# SPDX-License-Identifier: GPL-2.0
"""The tip of each series by itself: it boots, and its KUnit tests and kselftests pass.

Only the kselftests that run in virtual time are run here: all of them run in QEMU with the whole queue. A test that
requires another series (the modelled disk, the name of a process after exec()) may be skipped.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from selftests.uml.kselftests import TESTS, run_kselftest
from tools.base.paths import BUILD
from tools.dev.queue.common import Project
from tools.dev.queue.groups import read_groups
from tools.dev.queue.tree import queue_patches
from tools.testbed.vm import uml

PROJECT = Project.here()
SERIES = list(read_groups(PROJECT, queue_patches(PROJECT)))
# The KUnit suites that the tip of a series must have.
CFQ = {"cfq-iosched"}
SUITES = {"null_blk": {"null_blk_rotational"}, "cfq": CFQ, "bandwidth": CFQ}
SKIPPED = 4
KUNIT = ["kunit.autorun=1", "kunit_shutdown=halt", "console=tty", "con=null", "con0=null,fd:1", "mem=512M"]


def tip(name: str) -> Path:
    folder = BUILD / "series-tips" / name
    if not (folder / "key").is_file():
        pytest.skip(f"no tip of {name}: `tools/dev/queue/queue series-tips` builds it")
    return folder


@pytest.mark.parametrize("series", SERIES)
def test_tip_passes_its_kunit_tests(series: str, tmp_path: Path) -> None:
    """All tests that are built in run, without a root file system; the suites of the series must be among them."""
    log = tmp_path / "log"
    with log.open("wb") as output:
        subprocess.run([tip(series) / "linux", *KUNIT], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=output,
                       stderr=subprocess.STDOUT, check=True, timeout=300)
    parsed = subprocess.run([PROJECT.linux / "tools/testing/kunit/kunit.py", "parse", log], capture_output=True,
                            text=True, check=False)
    if SUITES.get(series):
        assert parsed.returncode == 0, parsed.stdout
    found = set(re.findall(r"# Subtest: (\S+)", log.read_text(errors="replace")))
    assert SUITES.get(series, set()) <= found


@pytest.mark.parametrize("series", SERIES)
def test_tip_boots(series: str, tmp_path: Path) -> None:
    console = uml.run_commands("echo done > $OUT/done\n", tmp_path, tip(series) / "linux")
    assert (tmp_path / "done").is_file(), console


@pytest.mark.parametrize("series", SERIES)
def test_tip_passes_its_kselftests(series: str, tmp_path: Path) -> None:
    folder = tip(series)
    own = [name for name, target in TESTS.items() if (folder / "selftests" / target / name).is_file()]
    passed = 0
    for name in own:
        code, output = run_kselftest(folder / "selftests", name, folder / "linux", tmp_path / name)
        assert code in (0, SKIPPED), f"{name}: {output}"
        passed += code == 0
    assert passed >= 1 or not own
