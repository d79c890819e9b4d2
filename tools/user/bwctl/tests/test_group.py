# SPDX-License-Identifier: GPL-2.0
"""group, run --group, and reservations of control groups in show."""

from __future__ import annotations

import pytest

from tools.user.bwctl.tests.conftest import World, one_line

RESERVE = ["--rate", "16MB", "--delay", "1s"]
SLACK = " ".join(f"slack{part} 1" for part in range(8))


@pytest.fixture
def service(world: World) -> World:
    world.disk("sda", number="8:0")
    world.partition("sda", "sda1", number="8:1")
    world.group("system.slice")
    world.group("system.slice/recorder.service")
    world.group("system.slice/player.service")
    return world


# --- reserve


@pytest.mark.parametrize("group", [
    "recorder", "recorder.service", "system.slice/recorder.service", "/system.slice/recorder.service", "CGROUP",
])
def test_group_is_found_by_what_people_call_it(service: World, group: str) -> None:
    folder = service.cgroup / "system.slice/recorder.service"
    result = service.run("group", *RESERVE, str(folder) if group == "CGROUP" else group, "sda")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert (folder / "io.bw").read_text() == "8:0 bps=16000000 delay=1000000\n"
    assert (service.cgroup / "system.slice/player.service/io.bw").read_text() == ""


@pytest.mark.parametrize(("rate", "delay", "line"), [
    ("3M", "200ms", "bps=3145728 delay=200000"),
    ("4Mbit", "0.5s", "bps=500000 delay=500000"),
    ("32769bit", "1ms", "bps=4097 delay=1000"),  # a rate up, a delay down
    ("4K", "1999us", "bps=4096 delay=1999"),
    ("1024G", "100s", "bps=1099511627776 delay=100000000"),
])
def test_rate_and_delay_are_exact(service: World, rate: str, delay: str, line: str) -> None:
    assert service.run("group", "--rate", rate, "--delay", delay, "recorder", "sda1").code == 0
    assert (service.cgroup / "system.slice/recorder.service/io.bw").read_text() == f"8:0 {line}\n"


def test_streams_are_written_to_the_kernel(service: World) -> None:
    assert service.run("group", *RESERVE, "--streams", "16", "recorder", "sda").code == 0
    written = (service.cgroup / "system.slice/recorder.service/io.bw").read_text()
    assert written == "8:0 bps=16000000 delay=1000000 streams=16\n"


def test_disk_that_cannot_keep_it_is_named(service: World) -> None:
    line = service.cgroup / "system.slice/recorder.service/io.bw"
    line.unlink()
    line.symlink_to("/dev/full")
    said = one_line(service.run("group", *RESERVE, "recorder", "sda"), 1)
    assert said == ("/system.slice/recorder.service: too much of sda is reserved already (see bwctl model sda)")


def test_none_takes_it_away(service: World) -> None:
    assert service.run("group", "--none", "recorder", "sda").code == 0
    assert (service.cgroup / "system.slice/recorder.service/io.bw").read_text() == "8:0 none\n"


def test_stacked_device_means_the_disks_below_it(world: World) -> None:
    world.disk("sda", number="8:0")
    world.stack("dm-0", "sda")
    folder = world.group("recorder")
    assert world.run("group", *RESERVE, "recorder", "dm-0").code == 0
    assert (folder / "io.bw").read_text() == "8:0 bps=16000000 delay=1000000\n"


def test_line_under_another_scheduler_is_written_with_a_warning(world: World) -> None:
    world.disk("sda", "none [mq-deadline] cfq", number="8:0")
    folder = world.group("recorder")
    result = world.run("group", *RESERVE, "recorder", "sda")
    assert result.code == 0 and (folder / "io.bw").read_text()
    assert result.err == ("bwctl: sda: stored, but without effect until its scheduler is cfq instead of mq-deadline "
                          "(see bwctl check sda)\n")
    assert world.run("group", *RESERVE, "--quiet", "recorder", "sda").err == ""


RANGE = "out of range: a group can reserve 4 KiB/s to 1 TiB/s"


@pytest.mark.parametrize(("args", "code", "text"), [
    ([], 2, "no control group given"),
    ([*RESERVE], 2, "no control group given"),
    ([*RESERVE, "recorder"], 2, "no device given"),
    (["--rate", "3M", "recorder", "sda"], 2, "--delay is missing"),
    (["--delay", "1s", "recorder", "sda"], 2, "--rate is missing"),
    (["--none", "--rate", "3M", "recorder", "sda"], 2, "--none cannot be combined with"),
    (["--none", "--streams", "3", "recorder", "sda"], 2, "--none cannot be combined with"),
    (["--streams", "3", "recorder", "sda"], 2, "--rate is missing"),
    ([*RESERVE, "--streams", "0", "recorder", "sda"], 2, "streams '0' is not a number from 1 to 10000"),
    ([*RESERVE, "--streams", "10001", "recorder", "sda"], 2, "streams '10001' is not a number"),
    ([*RESERVE, "--json", "recorder", "sda"], 2, "--json only applies when showing reservations"),
    ([*RESERVE, "recorder", "sda", "sdb"], 2, "give one group and one device (see"),
    (["recorder", "sda"], 2, "give one group (see"),
    (["--rate", "3", "--delay", "1s", "recorder", "sda"], 2, RANGE),
    (["--rate", "1025G", "--delay", "1s", "recorder", "sda"], 2, RANGE),
    (["--rate", "x", "--delay", "1s", "recorder", "sda"], 2, "rate 'x'"),
    (["--rate", "3M", "--delay", "1", "recorder", "sda"], 2, "delay '1'"),
    (["--rate", "3M", "--delay", "999us", "recorder", "sda"], 2, "out of range: 1 ms to 100 s"),
    (["--rate", "3M", "--delay", "101s", "recorder", "sda"], 2, "out of range: 1 ms to 100 s"),
    ([*RESERVE, "nobody", "sda"], 1, "no control group nobody"),
    ([*RESERVE, "no/body", "sda"], 1, "no control group no/body"),
    ([*RESERVE, "", "sda"], 1, "no control group"),
    ([*RESERVE, "recorder", "sdz"], 1, "sdz"),
])
def test_what_cannot_be_is_one_line_and_changes_nothing(service: World, args: list[str], code: int, text: str) -> None:
    assert text in one_line(service.run("group", *args), code)
    assert all(not path.read_text() for path in service.cgroup.rglob("io.bw"))


def test_name_that_is_there_twice_is_refused(service: World) -> None:
    service.group("user.slice/recorder.service")
    line = one_line(service.run("group", *RESERVE, "recorder", "sda"), 1)
    assert "/system.slice/recorder.service" in line and "/user.slice/recorder.service" in line
    assert line.startswith("recorder is ambiguous (") and line.endswith("): give a path")


@pytest.mark.parametrize("place", ["docker/{}", "system.slice/docker-{}.scope"])
def test_container_is_found_by_its_id(service: World, place: str) -> None:
    """docker's, by its driver for cgroupfs and for systemd."""
    container = "0123456789abcdef" * 4
    folder = place.format(container)
    service.group("system.slice/other-cutter.service")
    service.group(folder)
    assert service.run("group", "--rate", "16MB", "--delay", "500ms", container, "/dev/sda").code == 0
    assert (service.cgroup / folder / "io.bw").read_text() == "8:0 bps=16000000 delay=500000\n"
    refused = service.run("group", "--rate", "16MB", "--delay", "1s", "cutter", "/dev/sda")
    assert "no control group cutter" in refused.err


def test_group_without_the_file_gets_advice(service: World) -> None:
    service.group("old", None)
    for args in ([*RESERVE, "old", "sda"], ["old"]):
        assert "has no io.bw" in one_line(service.run("group", *args), 1)


# --- run


def test_run_starts_the_command_in_the_group(service: World) -> None:
    result = service.run("run", "--group", "recorder", "--", "echo", "--group", "x")
    assert (result.code, result.out, result.err) == (0, "--group x\n", "")
    assert (service.cgroup / "system.slice/recorder.service/cgroup.procs").read_text() == "0"
    assert not list(service.state.iterdir())  # no priority is set


@pytest.mark.parametrize(("args", "code", "text"), [
    (["--group", "nobody", "true"], 1, "no control group nobody"),
    (["--group", "recorder", "--rate", "3M", "true"], 2, "cannot be combined with --rate"),
    (["--group", "recorder"], 2, "run: no command given"),
])
def test_run_in_a_group_that_cannot_be(service: World, args: list[str], code: int, text: str) -> None:
    assert text in one_line(service.run("run", *args), code)


# --- show


LINES = "8:0 bps=16000000 delay=1000000 burst=48000000 streams=16\n259:3 bps=5000 delay=1500 burst=15000\n"
STAT = ("8:0 rbytes=1 wbytes=2 rios=3 wios=4 bw.entitled=1048576 bw.surplus=0 bw.met=10 bw.missed=1 "
        "bw.slack_us=-1500\n8:16 rbytes=1\n259:3 rbytes=1 wbytes=2\n")


def test_shows_what_a_group_has(service: World) -> None:
    service.group("films", LINES, STAT)
    head, first, second = service.run("group", "films").out.splitlines()
    assert head.split() == ["DEVICE", "RATE", "DELAY", "BURST", "WITHIN", "OVER", "MET", "MISSED", "MIN", "SLACK"]
    assert first.split() == ["sda", "15625", "KiB/s", "1000", "ms", "45.8", "MiB", "1.0", "MiB", "0", "B",
                             "10", "1", "-1.5", "ms"]
    assert second.split()[:5] == ["259:3", "5000", "B/s", "1.5", "ms"]
    assert second.endswith("not served by cfq yet")
    assert service.run("group", "recorder").out == "/system.slice/recorder.service has no reservation of its own\n"


def test_shows_it_as_json(service: World) -> None:
    service.group("films", LINES, STAT)
    shown = service.run("group", "--json", "films").json
    assert shown["group"] == "/films"
    first, second = shown["reservations"]
    assert first == {"device": "sda", "number": "8:0", "bps": 16000000, "delay_us": 1000000, "burst": 48000000,
                     "streams": 16, "served": True, "entitled": 1048576, "surplus": 0, "met": 10, "missed": 1,
                     "slack_us": -1500}
    assert (second["device"], second["served"], second["slack_us"]) == ("259:3", False, None)
    assert second["streams"] == 1
    assert service.run("group", "--json", "recorder").json["reservations"] == []


def test_line_that_cannot_be_parsed_is_reported(service: World) -> None:
    service.group("films", "8:0 rate=7\n")
    result = service.run("group", "films")
    assert result.code == 0 and "cannot parse '8:0 rate=7'" in result.err


def test_show_names_the_group_of_a_reservation(service: World) -> None:
    folder = service.cgroup / "system.slice/recorder.service"
    rest = f"rate 16000000 delay_ms 1000 bucket 48000000 tokens 5 bytes_in 1 bytes_over 2 met 3 missed 4 {SLACK}\n"
    ino = folder.stat().st_ino
    service.process(100, {100: 0})
    service.sched("sda", f"pid 100 cgroup {ino} {rest}pid 0 cgroup {ino} {rest}pid 100 cgroup 1 {rest}pid 100 {rest}")
    rows = service.run("show", "sda").out.splitlines()[-4:]
    assert [row.split("%", 1)[1].strip() for row in rows] == [
        "reader (group /system.slice/recorder.service)",
        "writeback (group /system.slice/recorder.service)",
        "reader (group 1, removed)",
        "reader",
    ]
    entries = service.run("show", "--json", "sda").json["devices"][0]["reservations"]
    assert [entry["cgroup"] for entry in entries] == [ino, ino, 1, None]
