# SPDX-License-Identifier: GPL-2.0
"""Reading an aged tree is faster in on-disk order; tables, plots and experiments of `trees run`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.testbed.trees import cli, experiments, head_band, players, plot, run
from tools.testbed.trees.experiments import Lived, Run
from tools.testbed.vm import uml
from tools.testbed.vm.programs import build_preloaded

SECOND = 10**9


def options(*words: str) -> argparse.Namespace:
    return cli.parser().parse_args(["run", *words])


def test_times_of_a_cell_are_averaged() -> None:
    found = run.Measured()
    for kind, seconds in (("early", 1.0), ("early", 2.0), ("aged", 2.0)):
        found.add(Run("programs", "tar", kind, "tar"), seconds)
    found.add(Run("programs", "qtar", "early", "qtar"), 0.01)
    assert run.rows(found.times["programs"], ["early", "aged"]) == [
        ["tar", "1.50 (1.00 to 2.00)", "2.00"], ["qtar", "0.01", "-"]]
    assert found.as_json() == {"programs": {"tar": {"early": [1.0, 2.0], "aged": [2.0]}, "qtar": {"early": [0.01]}}}


@pytest.mark.parametrize("words, text", [
    (["--programs", "tar,rar"], "no 'rar'"), (["--experiments", "orders,age"], "no 'age'"),
    (["--experiments", "pair", "--trees", "1"], "--trees 2"), (["--set", "size"], "size"),
])
def test_bad_use_is_refused(words: list[str], text: str) -> None:
    with pytest.raises(ToolError, match=text):
        run.command(options(*words))


@pytest.mark.parametrize("experiment, rows", [("programs", ["tar", "qtar"]), ("ageing", ["1", "2", "3"])])
def test_experiments_are_drawn_and_the_picture_repeats(tmp_path: Path, experiment: str, rows: list[str]) -> None:
    pytest.importorskip("matplotlib")
    times = {row: {"early": [1.0, 2.0], "aged": [3.0]} for row in rows}
    for number in (1, 2):
        plot.write(experiment, times, "ext4", tmp_path / f"{number}.svg")
    text = (tmp_path / "1.svg").read_text()
    assert text == (tmp_path / "2.svg").read_text()
    assert all(word in text for word in ["early", "aged", f"{experiment}, ext4"])


SIZES = {"early, 100": {"tar": [1.0, 3.0], "qtar": [0.5, 1.0]}, "aged, 100": {"tar": [2.0], "qtar": [2.5]}}


def test_factors_are_of_each_directory(tmp_path: Path) -> None:
    assert run.factor_rows(SIZES, {100: 8192.0}) == [
        ["early, 100", "2", "2.00", "2.50", "3.00", "8"], ["aged, 100", "1", "0.80", "0.80", "0.80", "8"]]


@pytest.mark.parametrize("words", [["early, 100", "aged, 100", "tar : qtar"], ["tar, an aged", "qtar, an aged"]])
def test_sizes_and_heads_are_drawn(tmp_path: Path, words: list[str]) -> None:
    pytest.importorskip("matplotlib")
    if words[0] in SIZES:
        plot.write_sizes("sizes", SIZES, "ext4", tmp_path / "1.svg")
    else:
        plot.write_heads({program: BAND for program in ("tar", "qtar")}, "ext4", tmp_path / "1.svg")
    text = (tmp_path / "1.svg").read_text()
    assert all(word in text for word in [*words, "ext4"])


BAND = head_band.Band(0.1, [1.0, None, 3.0], [2.0, None, 6.0])


def test_mean_of_a_band_is_of_the_pieces_in_which_the_head_moved() -> None:
    assert head_band.rows({"tar": BAND}) == [["tar", "0.3", "2.0"]]


# --- programs to compare with

def test_preloaded_readdir_gives_all_entries_by_inode(tmp_path: Path) -> None:
    library = build_preloaded(run.HERE / "sorted_readdir.c", tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number * 7919 % 300}").touch()
    listed = subprocess.run(["ls", "-fi", folder], env={**os.environ, "LD_PRELOAD": str(library)}, check=True,
                            capture_output=True, text=True).stdout.split()
    inodes, names = [int(number) for number in listed[::2]], listed[1::2]
    assert inodes == sorted(inodes)
    assert sorted(names) == sorted([".", "..", *map(str, range(300))])


def test_read_ahead_reads_everything(tmp_path: Path) -> None:
    for name in ("a", "folder/b", "folder/below/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}\n")
    (tmp_path / "link").symlink_to("a")
    command: list[str | Path] = [sys.executable, run.HERE / "ahead.py", tmp_path]
    read = subprocess.run(command, check=True, capture_output=True, text=True)
    assert sorted(read.stdout.splitlines()) == ["text of a", "text of folder/b", "text of folder/below/c"]


# --- experiments

FILES = {**{f"big/{number}/{file}": 1000 for number in range(4) for file in range(100)},
         **{f"small/{file}": 10 for file in range(70)}, **{f"large/{file}": 20 + file % 2 for file in range(1000)},
         **{f"middle/{file}": 30 for file in range(260)}, "Makefile": 7}


def test_directories_are_near_the_size_and_not_in_each_other() -> None:
    lived = Lived(2, FILES, 24, 3)
    assert lived.directories(100, 10) == ["big/0", "big/1", "big/2", "big/3"]
    assert lived.directories(400, 10) == ["big"]
    assert lived.directories(75, 10)[0] == "small"
    assert lived.directories(5000, 10) == []
    assert lived.parts("aged", 100) == [f"/dev/lived/aged-{tree}/big/{part}" for part, tree in (
        (0, "00"), (0, "01"), (1, "00"))]
    assert [lived.mean_bytes(files) for files in (100, 1000, 5000)] == [1000, 20.5, None]


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_every_experiment_reads_trees_that_are_there(name: str) -> None:
    listed = list(experiments.EXPERIMENTS[name](Lived(2, FILES, 24, 3), ["tar", "qtar"]))
    assert listed
    for one in listed:
        assert one.experiment == name and "\t" not in one.command and "TREE" not in one.command
        assert any(f"/dev/lived/{kind}-0{number}" in one.command for kind in experiments.KINDS for number in (0, 1))
    assert {one.after for one in listed} == ({str(number) for number in range(1, 25)} if name == "ageing" else {"end"})


# --- players

def played(folder: Path, waits_ms: list[list[int]], done: bool = True) -> Path:
    """The records of the load generator: for each player how long each of its reads took, one a second."""
    for player in range(players.PLAYERS):
        records = array("Q")
        for number, wait in enumerate(waits_ms[player] if player < len(waits_ms) else [5, 5, 5]):
            due = players.start_ns(player) + number * SECOND
            records.extend([due, due, due + wait * 10**6, players.rate(player)])
        (folder / f"{player}.bin").write_bytes(records.tobytes())
    if done:
        (folder / "done").write_text("1\n")
    return folder


def test_reads_are_late_after_a_second_or_if_they_were_never_made(tmp_path: Path) -> None:
    found = players.reads(played(tmp_path, [[10, 1000, 1001], [5, 5]]), 3)
    assert found == (3 * players.PLAYERS, 2, 1001)


def test_players_that_failed_are_no_result(tmp_path: Path) -> None:
    (tmp_path / "error").write_text("no such device\n")
    with pytest.raises(ToolError, match="no such device"):
        players.reads(played(tmp_path, [], done=False), 3)


def test_players_reserve_what_they_read_and_do_not_share_a_place() -> None:
    size = 465 << 30
    streams = [dict(word.split("=") for word in line.split()[1:]) for line in
               players.job_text(size, 60).splitlines() if line.startswith("stream")]
    assert len(streams) == players.PLAYERS
    assert sum(int(stream["size"]) for stream in streams) == 36 << 20
    places = sorted(tuple(map(int, stream["regions"].split(":"))) for stream in streams)
    assert all(place + length <= other for (place, length), (other, _) in zip(places, places[1:], strict=False))
    assert places[-1][0] + places[-1][1] < 0.69 * size
    assert all(int(stream["ioprio"]) >> 13 == 4 for stream in streams)


# --- in the guest

@pytest.mark.parametrize("fs", ["ext4", "xfs"])
def test_an_aged_tree_is_read_sooner_in_the_order_of_the_disk(fs: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no kernel: `make uml` builds it")
    args = options("--fs", fs, "--scale", "0.01", "--trees", "1", "--programs", "tar,qtar", "--json")
    assert run.command(args) == 0
    found = json.loads(capsys.readouterr().out)["programs"]
    assert set(found) == {"tar", "qtar", "one sweep", "as one file"}
    qtar, tar, sweep, one = (found[name]["aged"][0] for name in ("qtar", "tar", "one sweep", "as one file"))
    assert qtar < tar and 0 < one < sweep < tar


def test_small_directories_and_positions_of_the_head(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no kernel: `make uml` builds it")
    args = options("--scale", "0.08", "--trees", "1", "--directories", "1", "--experiments", "bounds,heads,sizes",
                   "--json", "--plot", str(tmp_path))
    assert run.command(args) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bounds"]["one sweep"]["aged"] < found["bounds"]["tar"]["aged"]
    assert set(found["mean bytes of a file"]) >= {"100", "250"}
    # of_trace() has refused a trace in which the file system itself read
    tar, qtar = (head_band.Band(**found["heads"][program]) for program in ("tar", "qtar"))
    assert qtar.seconds < tar.seconds
    assert {path.name for path in tmp_path.iterdir()} == {
        f"trees-ext4-{name}.png" for name in ("bounds", "heads", "sizes")}


def test_program_that_fails_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no kernel: `make uml` builds it")
    monkeypatch.setitem(experiments.PROGRAMS, "tar", "false TREE")
    with pytest.raises(ToolError, match="'false [^']*' fails"):
        run.command(options("--scale", "0.01", "--trees", "1", "--programs", "tar"))


def test_program_that_is_not_installed_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(experiments.PROGRAMS, "bsdtar", "no-such-program -cf - TREE")
    assert run.there(["tar", "bsdtar"]) == ["tar"]
    assert "trees: no-such-program is not installed: bsdtar is left out" in capsys.readouterr().err


def test_on_flash_ours_take_as_long_as_the_programs_they_replace(capsys: pytest.CaptureFixture[str]) -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no kernel: `make uml` builds it")
    flash = [word for value in ("rotational=0", "irqmode=2", "completion_nsec=80000")
             for word in ("--set", value)]
    args = options("--scale", "0.01", "--trees", "1", "--programs", "du,qdu,tar,qtar", "--json", *flash)
    assert run.command(args) == 0
    found = json.loads(capsys.readouterr().out)["programs"]
    for model, ours in (("du", "qdu"), ("tar", "qtar")):
        assert found[ours]["aged"][0] <= found[model]["aged"][0] * 1.02


def test_beside_players_that_reserve_no_read_is_late(capsys: pytest.CaptureFixture[str]) -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no kernel: `make uml` builds it")
    args = options("--scale", "0.01", "--trees", "1", "--experiments", "players", "--playing", "20", "--json")
    assert run.command(args) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["players"]["qtar, best effort"]["aged"][0] < 20
    late = [one for columns in found["late reads of players"].values() for one in columns.values()]
    assert len(late) == sum(len(kinds) for _, _, kinds in experiments.BESIDE.values())
    assert all(one["late"] == 0 and one["reads"] == 320 for one in late)
