# SPDX-License-Identifier: GPL-2.0
"""model: the model of a disk, what groups take of it, and what is left."""

from __future__ import annotations

import re

import pytest

from tools.user.bwctl.tests.conftest import World, one_line

MODEL = ["--rate", "50MB", "--seek", "10ms"]
FIRST = "8:0 bps=20000000 delay=500000 burst=60000000 streams=15\n"  # 40% and 30 seeks of 10 ms a second
SECOND = "8:16 bps=1000000 delay=1000000 burst=1 streams=1\n8:0 bps=5000000 delay=1000000 burst=1 streams=2\n"  # 12%


@pytest.fixture
def disk(world: World) -> World:
    world.disk("sda", number="8:0")
    (world.cgroup / "io.bw.model").write_text("")
    return world


def written(world: World) -> str:
    return (world.cgroup / "io.bw.model").read_text()


@pytest.mark.parametrize(("args", "line"), [
    (MODEL, "bps=50000000 seek=10000"),
    ([*MODEL, "--share", "70"], "bps=50000000 seek=10000 share=70"),
    (["--rate", "419430399bit", "--seek", "0.0085s"], "bps=52428799 seek=8500"),  # a rate down
    (["--none"], "none"),
])
def test_model_is_written_for_the_disk(disk: World, args: list[str], line: str) -> None:
    result = disk.run("model", *args, "sda")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert written(disk) == f"8:0 {line}\n"


def test_disk_that_is_too_small_is_not_measured(disk: World) -> None:
    (disk.dev / "sda").write_bytes(bytes(1 << 20))
    assert "smaller than 1 GiB" in one_line(disk.run("model", "--measure", "sda"), 1)
    assert written(disk) == ""


def test_measured_model_is_printed_and_written(disk: World) -> None:
    """Of a file that stands for a disk; measurements of modelled disks are checked in selftests/uml."""
    with (disk.dev / "sda").open("wb") as file:
        file.truncate(1 << 30)
    result = disk.run("model", "--measure", "--share", "70", "sda")
    if "Invalid argument" in result.err:
        pytest.skip("the file system has no direct I/O")
    assert re.fullmatch(r"sda: rate \S+ \S+/s at its slowest, seek \S+ ms\n", result.out)
    assert re.fullmatch(r"8:0 bps=\d+ seek=\d+ share=70\n", written(disk))


def test_model_of_a_stack_is_that_of_its_disks(disk: World) -> None:
    disk.stack("dm-0", "sda")
    assert disk.run("model", *MODEL, "dm-0").code == 0
    assert written(disk) == "8:0 bps=50000000 seek=10000\n"


@pytest.mark.parametrize(("args", "code", "text"), [
    ([], 2, "no device given"),
    (["sda", "sdb"], 2, "give one device"),
    (["--rate", "50MB", "sda"], 2, "--seek is missing"),
    (["--seek", "10ms", "sda"], 2, "--rate is missing"),
    (["--share", "10", "sda"], 2, "--rate is missing"),
    (["--none", "--share", "10", "sda"], 2, "--none cannot be combined with"),
    ([*MODEL, "--json", "sda"], 2, "--json only applies when showing a model"),
    (["--rate", "x", "--seek", "10ms", "sda"], 2, "rate 'x'"),
    (["--rate", "1", "--seek", "10ms", "sda"], 2, "out of range: 4 KiB/s to 1 TiB/s"),
    (["--rate", "50MB", "--seek", "10", "sda"], 2, "seek '10'"),
    (["--rate", "50MB", "--seek", "1.1s", "sda"], 2, "out of range: at most 1 s"),
    ([*MODEL, "--share", "0", "sda"], 2, "share '0' is not a number from 1 to 100"),
    ([*MODEL, "--share", "101", "sda"], 2, "share '101' is not a number"),
    ([*MODEL, "--measure", "sda"], 2, "--measure cannot be combined with --rate or --seek"),
    (["--none", "--measure", "sda"], 2, "--none cannot be combined with"),
    (["--measure", "--share", "0", "sda"], 2, "share '0' is not a number from 1 to 100"),
    (["--measure", "sda"], 1, "sda: cannot be read: No such file or directory"),
    ([*MODEL, "sdz"], 1, "sdz"),
    (["sda"], 1, "sda: has no model: the kernel accepts any reservation"),
])
def test_what_cannot_be_is_one_line_and_changes_nothing(disk: World, args: list[str], code: int, text: str) -> None:
    assert text in one_line(disk.run("model", *args), code)
    assert written(disk) == ""


def test_kernel_without_the_file_gets_advice(world: World) -> None:
    world.disk("sda", number="8:0")
    for args in ([*MODEL, "sda"], ["sda"]):
        assert "has no io.bw.model" in one_line(world.run("model", *args), 1)


@pytest.fixture
def full(disk: World) -> World:
    (disk.cgroup / "io.bw.model").write_text("8:16 bps=1 seek=1 share=1\n8:0 bps=50000000 seek=10000 share=85\n")
    disk.group("films", FIRST)
    disk.group("system.slice", "")
    disk.group("system.slice/recorder.service", SECOND)
    disk.group("other", "8:16 bps=1000000 delay=1000000 burst=1 streams=1\n")
    return disk


def test_shows_what_each_group_takes_and_what_is_left(full: World) -> None:
    first, *groups, last = full.run("model", "sda").out.splitlines()
    assert first == "sda: rate 50000000 B/s, seek 10 ms, 85% of its time may be reserved"
    assert sorted(groups) == [" 12.0%  /system.slice/recorder.service", " 70.0%  /films"]
    # of 1 MiB/s takes 3.1% each
    assert last == " 82.0%  reserved; room for 0 more groups of 1 MiB/s (1 stream, delay 1 s)"
    (full.cgroup / "films/io.bw").write_text("")
    assert full.run("model", "sda").out.splitlines()[-1].startswith(" 12.0%  reserved; room for 23 more")


def test_shows_it_as_json(full: World) -> None:
    shown = full.run("model", "--json", "sda").json
    assert {key: shown[key] for key in ("device", "bps", "seek_us", "share")} == {
        "device": "sda", "bps": 50000000, "seek_us": 10000, "share": 85}
    assert {entry["group"]: entry["ppm"] for entry in shown["groups"]} == {
        "/films": 700000, "/system.slice/recorder.service": 120000}
    assert (shown["class_ppm"], shown["reserved_ppm"], shown["streams_left"]) == (0, 820000, 0)


def test_what_processes_use_within_reservations_of_their_own_counts(full: World) -> None:
    (full.cgroup / "films/io.bw").write_text("")
    (full.cgroup / "io.stat").write_text("8:16 bw.class_us=900000\n8:0 rbytes=1 bw.class_us=130000\n7:0 \n")
    *_, use, last = full.run("model", "sda").out.splitlines()
    assert use == " 13.0%  used recently by processes with a reservation of their own"
    assert last.startswith(" 25.0%  reserved; room for 19 more")
    shown = full.run("model", "--json", "sda").json
    assert (shown["class_ppm"], shown["reserved_ppm"], shown["streams_left"]) == (130000, 250000, 19)


def test_who_asks_for_little_is_charged_no_more_seeks_than_requests(disk: World) -> None:
    (disk.cgroup / "io.bw.model").write_text("8:0 bps=50000000 seek=10000 share=85\n")
    disk.group("films", "8:0 bps=655360 delay=1000 burst=1 streams=1000\n")  # ten of 64 KiB
    assert disk.run("model", "--json", "sda").json["reserved_ppm"] == pytest.approx(113107, abs=1)
