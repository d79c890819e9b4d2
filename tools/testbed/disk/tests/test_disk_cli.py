# SPDX-License-Identifier: GPL-2.0
"""The command line: output for programs, and errors of one line with exit code 2."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tools.testbed.disk import check, device
from tools.testbed.disk.cli import main
from tools.testbed.disk.errors import DiskError

TOOL = Path(__file__).resolve().parents[1] / "disk"


def test_list_and_expected_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    assert "barracuda-7200.11" in {disk["name"] for disk in json.loads(capsys.readouterr().out)}
    assert main(["expected", "barracuda-7200.11", "--json"]) == 0
    computed = json.loads(capsys.readouterr().out)["computed"]
    assert computed["random_4k_ms"] == pytest.approx(12.9, rel=0.02)


def test_expected_follows_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expected", "barracuda-7200.11", "--json", "--set", "rot/seek_avg_us=4500"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["computed"]["random_4k_ms"] == pytest.approx(8.9, rel=0.02)
    assert found["rated"] == {}


@pytest.mark.parametrize("words", [
    ["expected", "no-such-disk"],
    ["expected", "barracuda-7200.11", "--set", "rot/rpm"],
    ["create", "no-such-disk"],
])
def test_error_is_one_line_and_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("disk: ") and error.count("\n") == 1


def test_a_pipe_that_its_reader_closes_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([TOOL, "list"], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_missing_configfs_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="mount configfs"):
        device.create({}, "d", tmp_path / "nowhere")


def test_device_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(DiskError, match="device 'd' exists already"):
        device.create({}, "d", tmp_path)
    assert (tmp_path / "d").is_dir()


def test_failed_create_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="CONFIG_BLK_DEV_NULL_BLK_ROTATIONAL"):
        device.create({"irqmode": "3"}, "d", tmp_path)
    assert not (tmp_path / "d").exists()


def test_attribute_that_is_refused_is_named_with_its_group(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="^rot/rpm = 1: No such file"):
        device._write(tmp_path, "rot/rpm", "1")


@pytest.mark.parametrize("name", ["", "a/b", "x" * 32])
def test_bad_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="is not a valid name"):
        device.create({}, name, tmp_path)


def test_unknown_device_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(DiskError, match="no device 'two' .*existing: one"):
        device.remove("two", tmp_path)


def test_attributes_of_leaves_out_what_belongs_to_one_device(tmp_path: Path) -> None:
    (tmp_path / "d/rot").mkdir(parents=True)
    for key, value in {"irqmode": 3, "rot/rpm": 7200, "power": 1, "index": 4}.items():
        (tmp_path / "d" / key).write_text(f"{value}\n")
    assert device.attributes_of("/dev/d", tmp_path) == {"irqmode": "3", "rot/rpm": "7200"}


def test_answer_has_a_tolerance_or_is_a_limit() -> None:
    close = check.Answer("a", "ms", 10.1, 10, 0.02, "computed")
    far = check.Answer("a", "ms", 10.3, 10, 0.02, "computed")
    gain, loss = (check.Answer("g", "x", value, 2, 0, "computed") for value in (2.4, 1.9))
    assert [a.ok for a in (close, far, gain, loss)] == [True, False, True, False]
    assert "FAILED" in check.table([far]) and "FAILED" not in check.table([close, gain])


def test_show_has_the_attributes_of_the_model(monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(device, "attributes_of", lambda name: {"rot/rpm": "7200", "size": "64", "discard": "0"})
    monkeypatch.setattr(device, "stats_of", lambda name: {"seeks": 3})
    assert main(["show", "d"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines() if line] == [
        ["attribute", "value"], ["---------", "-----"], ["rot/rpm", "7200"], ["size", "64"],
        ["counter", "value"], ["-------", "-----"], ["seeks", "3"]]
