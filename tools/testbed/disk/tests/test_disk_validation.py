# SPDX-License-Identifier: GPL-2.0
"""Arithmetic, parser, lists and errors of the validation, without DiskSim and without a kernel."""

from __future__ import annotations

import os
import subprocess
from math import sqrt
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.testbed.disk import presets
from tools.testbed.disk.cli import main
from tools.testbed.disk.errors import DiskError
from tools.testbed.disk.validation import demerit, derive, document, lists, parameters, plot, replay, simulator
from tools.testbed.disk.validation.parameters import Zone

BUILD = ROOT / "tools/testbed/disk/validation/build"

SPECS = """
disksim_disk TEST_DRIVE {
   Model = source test.model,   # a file
   Immediate buffer read = 1,
   Number of buffer segments = 4,
   Segment size (in blks) = 256,
   Read miss over. after read = 0.2, Read miss over. after write = 0.4,
   Write miss over. after read = 0.5,
   Write miss over. after write = 0.7,
   Scheduler = disksim_ioqueue {
      Scheduling policy = 1
   }
} # end
"""
MODEL = """
dm_disk TEST_MODEL {
   Number of data surfaces = 2,
   Number of cylinders = 1000,
   Block count = 390000,
   Mechanical Model = dm_mech_g1 {
      Seek type = extracted,
      Full seek curve = test.seek,
      Add. write settling delay = 0.1,
      Head switch time = 0.5,
      Rotation speed (in rpms) = 6000
   },
   Layout Model = dm_layout_g1 {
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0,
            Last cylinder number = 498,
            Blocks per track = 220,
            Skew for track switch = 22.0,
            Skew for cylinder switch = 44.0,
            slips = [ 1, 2
               3 ]
         },
         dm_layout_g1_zone {
            First cylinder number = 500,
            Last cylinder number = 999,
            Blocks per track = 180,
            Skew for track switch = 18.0,
            Skew for cylinder switch = 36.0,
            slips = []
         }
      ]
   }
}
"""
SEEKS = "Seek distances measured: 4\n1,\t1.0\n100,\t4.0\n500,\t8.0\n999,\t10.0\n"


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    for name, text in (("diskspecs", SPECS), ("model", MODEL), ("seek", SEEKS)):
        (tmp_path / f"test.{name}").write_text(text)
    return tmp_path


# --- demerit ------------------------------------------------------------------------------


def test_equal_distributions_have_no_demerit_in_whatever_order() -> None:
    assert demerit.demerit([3, 1, 2], [1, 2, 3]) == 0


def test_demerit_is_the_rms_distance_as_a_share_of_disksims_mean() -> None:
    assert demerit.demerit([2, 3], [1, 1]) == pytest.approx(sqrt((1 + 4) / 2))
    assert demerit.demerit([110, 210, 310], [100, 200, 300]) == pytest.approx(10 / 200)


def test_distributions_of_different_sizes_are_no_comparison() -> None:
    with pytest.raises(ValueError):
        demerit.demerit([1, 2], [1])


@pytest.mark.parametrize(("model", "ok"), [
    ([100, 200, 300], True),
    ([104, 204, 304], True),
    ([111, 211, 311], False),  # the mean is off by 5.5%
    ([70, 200, 330], False),  # the mean is right, the demerit 12%
])
def test_both_bounds_must_hold(model: list[int], ok: bool) -> None:
    assert demerit.verdict("d", "l", model, [100, 200, 300]).ok is ok


def test_table_names_what_failed() -> None:
    found = [demerit.verdict("good", "random", [100], [100]), demerit.verdict("bad", "random", [200], [100])]
    lines = demerit.table(found).splitlines()
    assert lines[2].endswith(" ok") and lines[3].endswith("+100.0%          100.0%  FAILED")
    assert demerit.markdown(found).count("FAILED") == 1


# --- parameter files ----------------------------------------------------------------------


def test_blocks_lists_and_numbers_are_read(valid: Path) -> None:
    drive = parameters.load("test", valid)
    assert drive.specs["Read miss over. after write"] == 0.4
    assert drive.specs["Scheduler"] == {"Scheduling policy": 1.0}
    assert drive.model["Layout Model"]["Zones"][0]["slips"] == [1, 2, 3]
    assert drive.seeks == {1: 1.0, 100: 4.0, 500: 8.0, 999: 10.0}
    assert drive.zones == [Zone(500, 220, 22, 44), Zone(500, 180, 18, 36)]


@pytest.mark.parametrize(("file", "old", "new", "message"), [
    ("test.diskspecs", "= 1,", "1,", "test.diskspecs:4: name = expected"),
    ("test.diskspecs", "} # end", "", "test.diskspecs:14: '}' expected"),
    ("test.model", "extracted", "hpl", "not a drive with measured seek times"),
    ("test.model", "390000", "300000", "Block count is 300000, but its zones hold 400000"),
    ("test.seek", "1,\t1.0", "", "test.seek: no seek time of one cylinder"),
])
def test_error_names_file_and_place(valid: Path, file: str, old: str, new: str, message: str) -> None:
    path = valid / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DiskError) as error:
        parameters.load("test", valid)
    assert message in str(error.value)


def test_unknown_drive_is_named_with_the_known(valid: Path) -> None:
    with pytest.raises(DiskError) as error:
        parameters.load("none", valid)
    assert str(error.value).endswith("(known: test)")


# --- derivation ---------------------------------------------------------------------------


def test_seek_times_between_two_measured_ones_lie_on_a_line() -> None:
    table = {1: 1.0, 100: 4.0, 500: 8.0}
    assert [derive.seek_ms(table, distance) for distance in (0, 1, 300, 500, 900)] == [0, 1, 6, 8, 8]


def test_line_of_sectors_keeps_the_mean() -> None:
    outer, inner = derive.sector_line([Zone(500, 220, 0, 0), Zone(500, 180, 0, 0)])
    assert (outer + inner) / 2 == pytest.approx(200)
    uneven = [Zone(700, 220, 0, 0), Zone(100, 210, 0, 0), Zone(200, 150, 0, 0)]
    outer, inner = derive.sector_line(uneven)
    assert (outer + inner) / 2 == pytest.approx((700 * 220 + 100 * 210 + 200 * 150) / 1000)


def test_curve_of_the_model_is_found() -> None:
    pairs = derive.random_pairs([Zone(10000, 200, 0, 0)])
    knee, stroke = 3000, 9999

    def law(distance: float) -> float:
        root = 1 + 0.1 * (sqrt(min(distance, knee)) - 1)
        return root + max(0.0, distance - knee) * (12 - root) / (stroke - knee)

    found = derive.seek_law({distance: law(distance) for distance in range(1, 10000)}, pairs, stroke)
    assert (found.track, found.full) == pytest.approx((1, 12))
    assert found.knee_percent == pytest.approx(30, abs=1)
    assert found.error < 0.01
    assert sum(pairs.weights) == pytest.approx(1)
    # the mean distance of two random places is a third of the stroke
    assert pairs.mean(pairs.cylinders) == pytest.approx(10000 / 3, rel=0.001)


def test_attributes_come_from_the_parameters(valid: Path) -> None:
    drive = parameters.load("test", valid)
    found = {one.key: one.value for one in derive.attributes(drive)}
    assert found["size"] == 390000 * 512 // (1 << 20)
    assert found["rot/heads"] == 2 and found["rot/rpm"] == 6000 and found["rot/zones"] == 2
    assert found["rot/head_skew_us"] == 1000 and found["rot/track_skew_us"] == 2000  # a tenth, a fifth of 10 ms
    assert found["rot/overhead_us"] == 300
    assert found["rot/write_settle_us"] == 100 + 300
    assert found["rot/cache_kb"] == 512 and found["rot/cache_segments"] == 4
    assert found["rot/read_on_arrival"] == 1


def test_preset_is_printed_as_presets_are(valid: Path) -> None:
    drive = parameters.load("test", valid)
    assert presets.parse(derive.as_text(drive), "test").attributes == derive.preset(drive)


# --- lists --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", lists.LISTS)
def test_lists_are_the_same_each_time_and_stay_on_the_disk(name: str) -> None:
    capacity = 4_000_001
    requests = lists.LISTS[name](capacity)
    assert requests == lists.LISTS[name](capacity)
    assert all(one.sector >= 0 and one.sector + one.sectors <= capacity for one in requests)
    assert all(one.sector % lists.SMALL == 0 for one in requests)
    assert len(requests) >= 1000


def test_lists_are_what_their_names_say() -> None:
    kinds = {name: lists.kinds(make(4_000_000)) for name, make in lists.LISTS.items()}
    assert set(kinds["random"]) == {"random reads"}
    assert kinds["sequential"].count("sequential reads") == lists.RUNS * (lists.RUN_LENGTH - 1)
    assert set(kinds["mixed"]) == {"random reads", "random writes", "sequential reads", "sequential writes"}
    assert {one.sectors for one in lists.mixed(4_000_000)} == set(lists.SIZES)


def test_kinds_are_of_one_direction() -> None:
    requests = [lists.Request("W", 0, 8), lists.Request("R", 8, 8), lists.Request("R", 16, 8)]
    assert lists.kinds(requests) == ["random writes", "random reads", "sequential reads"]


# --- the program --------------------------------------------------------------------------


def test_without_disksim_the_error_names_the_fix(monkeypatch: pytest.MonkeyPatch,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("DISKSIM", raising=False)
    assert main(["validate"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "tools/testbed/disk/validation/build FOLDER" in error


def test_folder_that_is_not_built_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--disksim", str(tmp_path)]) == 2
    assert "not a folder of DiskSim: it has no valid/" in capsys.readouterr().err
    (tmp_path / "valid").mkdir()
    assert main(["validate", "--disksim", str(tmp_path)]) == 2
    assert "DiskSim is not built" in capsys.readouterr().err


def stand_in(folder: Path, script: str) -> Path:
    """A folder like DiskSim's, with a shell script that takes the place of its program."""
    (folder / "valid").mkdir()
    (folder / "replay").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "replay").chmod(0o755)
    return folder


def test_times_of_the_simulator_are_those_it_prints(tmp_path: Path) -> None:
    disksim = stand_in(tmp_path, 'echo "DiskSim"; while read -r kind sector rest; do echo "$sector"; done')
    requests = [lists.Request("R", 8, 8), lists.Request("W", 16, 8)]
    assert simulator.replay(disksim, "d", requests) == [8, 16]


def test_simulator_that_stops_early_is_an_error(tmp_path: Path) -> None:
    disksim = stand_in(tmp_path, "echo 5; echo 'assertion failed' >&2; exit 3")
    with pytest.raises(DiskError) as error:
        simulator.replay(disksim, "d", [lists.Request("R", 8, 8)] * 2)
    assert "1 of 2 requests were served; last output: assertion failed" in str(error.value)


def test_parameters_reach_the_simulator(tmp_path: Path) -> None:
    disksim = stand_in(tmp_path, f'echo "$@" > {tmp_path}/arguments; cat > /dev/null; echo 1')
    simulator.replay(disksim, "d", [lists.Request("R", 8, 8)], [("Some time", "0.5")])
    assert (tmp_path / "arguments").read_text().startswith("d.parv output disk0 Bulk sector transfer time 0.0128 bus* ")
    assert (tmp_path / "arguments").read_text().endswith("disk0 Some time 0.5\n")


def test_preset_of_a_drive_is_printed(valid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disksim = valid / "disksim"
    disksim.mkdir()
    stand_in(disksim, "exit 1")
    for path in valid.glob("test.*"):
        os.link(path, disksim / "valid" / path.name)
    assert main(["validate", "test", "--presets", "--disksim", str(disksim)]) == 0
    assert "rot/rpm = 6000                  # Rotation speed (in rpms)" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "message"), [
    ([], "build: usage: tools/testbed/disk/validation/build FOLDER"),
    (["{}"], "build: {}: no DiskSim in this folder"),
    (["{}/new"], "build: {}/nowhere cannot be cloned; is there a network?"),
])
def test_build_names_the_error_and_ends_with_2(tmp_path: Path, words: list[str], message: str) -> None:
    done = subprocess.run([BUILD, *(word.format(tmp_path) for word in words)], capture_output=True, text=True,
                          env={**os.environ, "DISKSIM_URL": f"{tmp_path}/nowhere"})
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, message.format(tmp_path))


# --- page and plot ------------------------------------------------------------------------


TIMES = [replay.Times("d", "mixed", ["random reads", "random writes"], [1000000, 3000000], [1000000, 2900000])]


def test_page_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "page.md"
    path.write_text(f"before\n{document.BEGIN}old\n{document.END}after\n")
    document.write(TIMES, path, tmp_path / "one.svg")
    text = path.read_text()
    assert text.startswith(f"before\n{document.BEGIN}Of drivers/block/null_blk of the patches ")
    assert text.endswith(f"{document.END}after\n")
    assert "| d | mixed | 1.950 | 2.000 | +2.6% | 3.6% | ok |" in document.figures(text)
    document.write(TIMES, path, tmp_path / "two.svg")
    assert path.read_text() == text
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("by hand\n")
    with pytest.raises(DiskError):
        document.write(TIMES, path, tmp_path / "one.svg")
    assert path.read_text() == "by hand\n"


def test_plot_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"ends in \.svg or \.png"):
        plot.write(TIMES, tmp_path / "one.gif")


def test_kinds_have_means_of_their_own() -> None:
    assert [(one.requests, one.disksim_ms) for one in TIMES[0].by_kind()] == [
        ("mixed: random reads", 1.0), ("mixed: random writes", 2.9)]
