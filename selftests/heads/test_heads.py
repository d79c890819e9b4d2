# SPDX-License-Identifier: GPL-2.0
"""The head of each series by itself: it boots, and its KUnit tests and kselftests pass.

Of the kselftests those that run in a guest in virtual time: all of them run in QEMU with the whole queue. What a
test needs of another series (the modelled disk, the name of a process after exec()) it may do without.
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
# The KUnit suites of a series and of those that stand on it.
CFQ = {"cfq-iosched"}
SUITES = {"null_blk": {"null_blk_rotational"}, "cfq": CFQ, "bandwidth": CFQ}
SKIPPED = 4
KUNIT = ["kunit.autorun=1", "kunit_shutdown=halt", "console=tty", "con=null", "con0=null,fd:1", "mem=512M"]


def head(name: str) -> Path:
    folder = BUILD / "heads" / name
    if not (folder / "key").is_file():
        pytest.skip(f"no head of {name}: `tools/dev/queue/queue heads` builds it")
    return folder


@pytest.mark.parametrize("series", SERIES)
def test_head_passes_its_kunit_tests(series: str, tmp_path: Path) -> None:
    """All that are built in, those of its own among them; without a root file system."""
    said = tmp_path / "said"
    with said.open("wb") as output:
        subprocess.run([head(series) / "linux", *KUNIT], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=output,
                       stderr=subprocess.STDOUT, check=True, timeout=300)
    parsed = subprocess.run([PROJECT.linux / "tools/testing/kunit/kunit.py", "parse", said], capture_output=True,
                            text=True, check=False)
    if SUITES.get(series):
        assert parsed.returncode == 0, parsed.stdout
    found = set(re.findall(r"# Subtest: (\S+)", said.read_text(errors="replace")))
    assert SUITES.get(series, set()) <= found


@pytest.mark.parametrize("series", SERIES)
def test_head_boots(series: str, tmp_path: Path) -> None:
    console = uml.run_commands("echo done > $OUT/done\n", tmp_path, head(series) / "linux")
    assert (tmp_path / "done").is_file(), console


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
