# SPDX-License-Identifier: GPL-2.0
"""A replayed tree is the model's, at every version, however often it was interrupted."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tools.base.cli import EXIT_INTERRUPTED, EXIT_USAGE
from tools.testbed.ageing import churn, replay
from tools.testbed.ageing.churn import Operation, Version
from tools.testbed.ageing.plan import GROWN, Fill, Plan, Setup, Turn
from tools.testbed.ageing.replay import Replay
from tools.testbed.ageing.tests.conftest import AGEING, TREES, Mount, ageing, found_in, model

TWO = Setup(trees=2, early=0, clean=1, media=0, levels=(0, 1, 1), allocate=True)
NEAR = 0.3  # per cent of an image's blocks: a few files' metadata


def replay_of(versions: Sequence[Version], folder: Path, setup: Setup = TWO) -> Replay:
    return Replay(Plan(versions, setup), folder, folder.with_suffix(".journal"), "list")


@pytest.fixture
def to(tmp_path: Path) -> Path:
    path = tmp_path / "to"
    path.mkdir()
    return path


@pytest.fixture
def unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the files does not depend on it, and it takes most of the time."""
    monkeypatch.setattr(replay, "flush", lambda _folder: None)


@pytest.mark.usefixtures("unflushed")
def test_every_version_is_the_models_tree(versions: list[Version], to: Path) -> None:
    for number in range(1, len(versions) + 1):
        one = replay_of(versions, to, replace(TWO, early=1))
        one.run(one.plan.until(number), lambda _text: None)
        assert found_in(to / "aged-00") == found_in(to / "aged-01") == model(versions, number)
        assert found_in(to / "early-00") == model(versions, 24)
        assert not (to / "clean-00").exists()


def test_the_command_continues_after_a_version_and_reports_the_result(
        versions: list[Version], listed: Path, to: Path) -> None:
    command: list[str | Path] = ["apply", listed, to, *TREES, "--trees", "2", "--clean", "1", "--json"]
    part = json.loads(ageing(*command, "--until", "2").stdout)
    assert list(part["used_percent"]) == ["1 v1", "2 v2"]
    assert found_in(to / "aged-01") == model(versions, 2)
    whole = json.loads(ageing(*command).stdout)
    assert found_in(to / "clean-00") == found_in(to / "aged-01") == model(versions, 24)
    each = sum(len(version.operations) for version in versions)
    assert 0 < part["done"] < whole["done"] == whole["steps"] == part["steps"]
    assert whole["operations"] == 2 * each + len(model(versions, 24))
    assert [*whole["used_percent"]] == [*(f"{number} v{number}" for number in range(1, 25)), "full", "clean"]


@pytest.mark.usefixtures("unflushed")
def test_a_replay_goes_on_after_an_interruption_anywhere(
        versions: list[Version], to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = replay.Contents.write
    writes = itertools.count(1)
    interrupted = {1, 2, 30, 31, 32, 100, 230, 300}

    def write(self: replay.Contents, handle: int, name: str, begin: int, length: int) -> None:
        if next(writes) in interrupted:
            whole(self, handle, name, begin, length // 2)
            raise KeyboardInterrupt
        whole(self, handle, name, begin, length)

    monkeypatch.setattr(replay.Contents, "write", write)
    monkeypatch.setattr("tools.testbed.ageing.plan.TURN", 20)
    plan = Plan(versions[:4], replace(TWO, clean=0))
    interruptions = 0
    while True:
        one = Replay(plan, to, to.with_suffix(".journal"), "list")
        try:
            one.run(plan.until(None), lambda _text: None)
            break
        except KeyboardInterrupt:
            interruptions += 1
    assert interruptions == len(interrupted)
    assert found_in(to / "aged-00") == found_in(to / "aged-01") == model(versions, 4)


def test_steps_that_are_done_again_change_nothing(versions: list[Version], to: Path) -> None:
    """After a power failure the journal may be older than the file system."""
    one = replay_of(versions, to)
    one.run(one.plan.until(3), lambda _text: None)
    older = one.journal.path.read_bytes()
    one.run(one.plan.until(9), lambda _text: None)
    one.journal.path.write_bytes(older)
    again = replay_of(versions, to)
    again.run(again.plan.until(9), lambda _text: None)
    assert found_in(to / "aged-00") == found_in(to / "aged-01") == model(versions, 9)


def test_a_signal_interrupts_the_command_which_can_continue(
        versions: list[Version], listed: Path, to: Path) -> None:
    command: list[str | Path] = [AGEING, "apply", listed, to, *TREES, "--trees", "10", "--clean", "0"]
    journal = listed.with_name("list.journal")
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        while not journal.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == EXIT_INTERRUPTED
    assert errors == "ageing: interrupted; the same command continues\n"
    assert not (to / "aged-09").exists() or found_in(to / "aged-09") != model(versions, 24)
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert all(found_in(to / f"aged-{tree:02}") == model(versions, 24) for tree in range(10))


def test_a_changed_file_is_a_new_one_and_a_directory_goes_with_its_last_file(to: Path) -> None:
    versions = [Version("1", [Operation("+", "a/b/c", 10), Operation("+", "a/d", 10), Operation("+", "e/f", 1)]),
                Version("2", [Operation("-", "a/b/c"), Operation("-", "e/f"), Operation("=", "a/d", 20),
                              Operation("+", "e", 3)])]
    one = replay_of(versions, to)
    one.run(one.plan.until(1), lambda _text: None)
    with (to / "aged-00/a/d").open("rb") as before:
        one.run(one.plan.until(2), lambda _text: None)
        assert (os.fstat(before.fileno()).st_nlink, os.fstat(before.fileno()).st_size) == (0, 10)
    assert found_in(to / "aged-00") == {"a/d": 20, "e": 3}


def test_contents_are_nothing_that_is_left_out_or_compressed(versions: list[Version], to: Path) -> None:
    one = replay_of(versions, to)
    one.run(one.plan.until(1), lambda _text: None)
    for name, size in model(versions, 1).items():
        data = (to / "aged-00" / name).read_bytes()
        assert len(zlib.compress(data)) >= size
        assert data == (to / "aged-01" / name).read_bytes()
        blocks = [data[begin:begin + 4096] for begin in range(0, size, 4096)]
        assert len(set(blocks)) == len(blocks)


def test_zeros_are_written_and_are_no_holes(versions: list[Version], to: Path) -> None:
    one = replay_of(versions, to, replace(TWO, zeros=True))
    one.run(one.plan.until(1), lambda _text: None)
    for name, size in model(versions, 1).items():
        path = to / "aged-00" / name
        assert not path.read_bytes().strip(b"\0")
        assert path.stat().st_blocks * 512 >= size


def test_trees_take_turns_and_large_files_grow_between_them() -> None:
    versions = [Version("1", [Operation("+", str(number), 1) for number in range(1000)]),
                Version("2", []), Version("3", [Operation("-", "0")])]
    plan = Plan(versions, Setup(trees=3, early=1, clean=2, media=4, levels=(60, 80, 90)))
    turns = [step.action for step in plan.steps if isinstance(step.action, Turn)]
    fills = [step.action for step in plan.steps if isinstance(step.action, Fill)]
    aged = [turn for turn in turns if turn.folder.startswith("aged")]
    assert [turn.folder for turn in aged] == [f"aged-{tree:02}" for tree in range(3)] * 5
    for tree in range(3):
        pieces = [range(turn.begin, turn.end) for turn in aged if turn.folder == f"aged-{tree:02}" and not turn.version]
        assert [number for piece in pieces for number in piece] == list(range(1000))
    between = [type(step.action) for step in plan.steps if step.stage == "1 1"]
    assert between[:-1] == [Turn, Fill] * 12
    assert [fill.level for fill in fills] == sorted(fill.level for fill in fills)
    assert [fill.level for fill in fills if fill.file.startswith("media")] == [15, 30, 45, 60]
    assert len({fill.file for fill in fills if fill.file.startswith("grown")}) == GROWN
    assert turns[0] == Turn("early-00", 3, 0, 999)
    assert [step.action for step in plan.steps[-2:]] == [Turn("clean-00", 3, 0, 999), Turn("clean-01", 3, 0, 999)]
    assert plan.until(2) > plan.until(1)


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_file_system_is_filled_to_the_levels(
        kind: str, versions: list[Version], listed: Path, mount: Mount) -> None:
    mounted = mount(kind)
    done = ageing("apply", listed, mounted.folder, "--trees", "2", "--early", "1", "--clean", "2", "--media", "4",
                  "--json", "-q")
    assert done.returncode == 0, done.stderr
    used = json.loads(done.stdout)["used_percent"]
    assert used["media"] == pytest.approx(69, abs=NEAR)
    assert used["24 v24"] == pytest.approx(80, abs=NEAR)
    assert used["full"] == pytest.approx(93, abs=NEAR)
    rising = [used[stage] for stage in used]
    assert all(after >= before - NEAR for before, after in zip(rising, rising[1:], strict=False))
    state = os.statvfs(mounted.folder)
    assert replay.used_percent(state) == pytest.approx(used["clean"], abs=NEAR)
    media = [path.stat().st_size for path in sorted((mounted.folder / "media").iterdir())]
    # the first one has what mkfs took less
    assert len(media) == 4 and max(media[1:]) - min(media[1:]) < (state.f_blocks * state.f_frsize) * NEAR / 100
    assert found_in(mounted.folder / "clean-01") == found_in(mounted.folder / "early-00") == \
        found_in(mounted.folder / "aged-01") == model(versions, 24)


def test_an_interrupted_filling_ends_at_the_same_level(listed: Path, mount: Mount) -> None:
    mounted = mount("ext4")
    plan = Plan(churn.read(listed), Setup(trees=1, early=1, clean=1, media=3))
    one = Replay(plan, mounted.folder, listed.with_name("j"), "list")
    one.run(2, lambda _text: None)
    begun = mounted.folder / "media/02"
    begun.write_bytes(b"x" * 5_000_000)
    again = Replay(plan, mounted.folder, listed.with_name("j"), "list")
    again.run(3, lambda _text: None)
    assert again.journal.used["media"] == pytest.approx(69, abs=NEAR)
    assert begun.stat().st_size > 50_000_000


def test_a_folder_in_use_is_refused_and_left_alone(listed: Path, to: Path) -> None:
    (to / "mine").write_text("x")
    done = ageing("apply", listed, to, *TREES)
    assert done.returncode == EXIT_USAGE
    assert done.stderr == f"ageing: {to} is not empty (mine): use a new file system\n"
    assert found_in(to) == {"mine": 1}


def test_a_journal_is_for_one_replay(listed: Path, to: Path) -> None:
    other = ["--trees", "1", "--clean", "0"]
    assert ageing("apply", listed, to, *TREES, *other, "--until", "1").returncode == 0
    done = ageing("apply", listed, to, *TREES, "--trees", "3", "--clean", "0")
    assert done.returncode == EXIT_USAGE and "another replay (setup differ)" in done.stderr
    to.rename(to.parent / "unmounted")
    to.mkdir()
    done = ageing("apply", listed, to, *TREES, *other)
    assert done.returncode == EXIT_USAGE and "is empty, but" in done.stderr
    done = ageing("apply", listed, to, *TREES, "--journal", listed)
    assert done.returncode == EXIT_USAGE and "is not a journal" in done.stderr
    done = ageing("apply", listed, to, *TREES, "--journal", to / "journal")
    assert done.returncode == EXIT_USAGE and "must be outside of" in done.stderr


def test_trees_that_do_not_fit_are_refused_before_anything_is_written(listed: Path, mount: Mount) -> None:
    mounted = mount("ext4", mebibytes=64)
    for options, message in ((["--trees", "8", "--early", "1", "--clean", "0"], "9 early and aged trees take"),
                          (["--trees", "1", "--early", "0", "--clean", "9"], "9 clean trees take")):
        done = ageing("apply", listed, mounted.folder, *options)
        assert done.returncode == EXIT_USAGE and message in done.stderr and done.stderr.count("\n") == 1
    few = mount("ext4", "-N", "128")
    done = ageing("apply", listed, few.folder, "--trees", "2", "--clean", "2")
    assert done.returncode == EXIT_USAGE and "inodes" in done.stderr
    assert found_in(mounted.folder) == found_in(few.folder) == {"lost+found/": 0}


def test_a_version_that_is_not_there_is_refused(listed: Path, to: Path) -> None:
    done = ageing("apply", listed, to, *TREES, "--until", "25")
    assert done.returncode == EXIT_USAGE and done.stderr == "ageing: --until 25: the list has 24 versions\n"
