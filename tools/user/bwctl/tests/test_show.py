# SPDX-License-Identifier: GPL-2.0
"""show: processes, devices, reservations; damaged and missing files."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tools.user.bwctl.tests.conftest import DEFAULT_DELAYS, Builds, Result, World, one_line, value

PRIORITY = value(24, 3)
BE4 = 2 << 13 | 4


def line(pid: int = 123, **values: Any) -> str:
    fields = {"pid": pid, "rate": 3145728, "delay_ms": 200, "bucket": 3145728, "tokens": -12345,
              "bytes_in": 123456, "bytes_over": 7, "met": 12, "missed": 3,
              **{f"slack{part}": part // 2 for part in range(8)}} | values
    return " ".join(f"{name} {value}" for name, value in fields.items()) + "\n"


def rows(result: Result) -> list[list[str]]:
    return [text.split() for text in result.out.splitlines()]


# --- processes


def test_nothing_to_show_is_reported(world: World) -> None:
    world.process(100, {100: 0})
    assert world.run("show").out == "no process with a reservation, no device with cfq\n"
    assert world.run("show", "--json").json == {"processes": [], "devices": [], "missing": None}


def test_processes_with_a_reservation_are_listed_by_priority(world: World) -> None:
    world.process(9, {9: PRIORITY, 10: PRIORITY}, b"recorder")
    world.process(100, {100: 0})
    world.process(50, {50: BE4, 51: value(1, 0), 52: value(1, 0)}, b"two words")
    result = world.run("show")
    assert rows(result)[1:] == [
        ["9", "all", "2", "bw", "3", "MiB/s", "200", "ms", "recorder"],
        ["50", "1", "of", "3", "be", "-", "-", "two", "words"],
        ["50", "2", "of", "3", "bw", "128", "KiB/s", "25", "ms", "two", "words"]]


def test_show_pid_lists_each_thread_of_any_class(world: World) -> None:
    world.process(100, {100: 0, 101: BE4, 102: 1 << 13, 103: 3 << 13, 104: PRIORITY, 105: 6 << 13})
    assert [(row[1], row[2]) for row in rows(world.run("show", "100"))[1:]] == [
        ("100", "none"), ("101", "be"), ("102", "rt"), ("103", "idle"), ("104", "bw"), ("105", "unknown")]


def test_json_has_each_thread(world: World) -> None:
    world.process(100, {100: 0, 104: PRIORITY})
    assert world.run("show", "--json", "100").json["processes"] == [{
        "pid": 100, "command": "reader", "threads": [
            {"tid": 100, "ioprio": 0, "class": "none"},
            {"tid": 104, "ioprio": PRIORITY, "class": "bw", "rate": 3145728, "rate_units": 24,
             "delay_level": 3, "delay_ms": 200}]}]


@pytest.mark.parametrize("pid", ["999", "0", "2147483647"])
def test_missing_process_is_reported(world: World, pid: str) -> None:
    assert one_line(world.run("show", pid), 1) == f"process {pid}: no such process"


def test_process_that_ends_meanwhile_is_left_out(world: World) -> None:
    world.process(100, {100: "gone"})
    world.process(101, {101: PRIORITY})
    assert [p["pid"] for p in world.run("show", "--json").json["processes"]] == [101]
    assert "no such process" in one_line(world.run("show", "100"), 1)


def test_delay_is_that_of_the_table_that_all_devices_have(world: World) -> None:
    table = [10, 20, 40, 80, 160, 320, 640, 1280]
    world.disk("sda", delays=table)
    world.process(100, {100: PRIORITY})
    assert world.run("show", "--json", "100").json["processes"][0]["threads"][0]["delay_ms"] == 80


def test_delay_is_a_level_where_tables_differ(world: World) -> None:
    world.disk("sda")
    world.disk("sdb", delays=[10, 20, 40, 80, 160, 320, 640, 1280])
    world.disk("sdc")
    world.process(100, {100: PRIORITY})
    thread = world.run("show", "--json", "100").json["processes"][0]["threads"][0]
    assert (thread["delay_level"], thread["delay_ms"]) == (3, None)
    assert "level 3" in world.run("show", "100").out


@pytest.mark.parametrize("command, text, in_json", [
    (b"a\x1b[2Jb\x7f", "a?[2Jb?", "a\x1b[2Jb\x7f"), (b'q"\\', 'q"\\', 'q"\\'), (b"caf\xc3\xa9", "café", "café"),
    (b"x" * 200, "x" * 63, "x" * 63),
])
def test_command_names_cannot_drive_the_terminal_nor_break_json(world: World, command: bytes, text: str,
                                                                 in_json: str) -> None:
    world.process(100, {100: PRIORITY}, command)
    assert world.run("show").out.splitlines()[1].endswith("  " + text)
    assert world.run("show", "--json").json["processes"][0]["command"] == in_json


@pytest.mark.parametrize("command", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xc3"])
def test_bytes_that_are_no_utf8_are_replaced_in_json(world: World, command: bytes) -> None:
    world.process(100, {100: PRIORITY}, b"a" + command)
    found = world.run("show", "--json").json["processes"][0]["command"]
    assert set(found) == {"a", "\ufffd"}


def test_unreadable_proc_is_reported(world: World) -> None:
    world.env["BWCTL_PROC"] = str(world.root / "none")
    assert "No such file or directory" in one_line(world.run("show"), 1)


# --- devices


def test_device_shows_tunables_reservations_and_counters(world: World) -> None:
    world.disk("sda")
    world.process(123, {123: PRIORITY}, b"player")
    world.sched("sda", line(), "slices 5\nbw_reservations 1\nbw_deadlines_missed 3\n")
    result = world.run("show", "sda")
    assert (result.code, result.err) == (0, "")
    head, counters, titles, row = result.out.splitlines()
    assert head == ("sda: cfq, rotating, delays 25 50 100 200 500 800 1000 2000 ms, bucket 3000 ms, "
                    "seek 64 KiB, share 95 %, depth 1")
    assert counters.split() == ["reservations", "1", "deadlines_missed", "3"]
    assert titles.split() == ["THREAD", "RATE", "DELAY", "TOKENS", "WITHIN", "OVER", "MET", "MISSED", "SLACK",
                              "COMMAND"]
    assert row.split() == ["123", "3", "MiB/s", "200", "ms", "-12.1", "KiB", "120.6", "KiB", "7", "B", "12", "3",
                           "25", "%", "player"]


@pytest.mark.parametrize(("counts", "shown"), [
    ([0] * 8, "-"), ([1] + [0] * 7, "0 %"), ([1] + [0] * 6 + [98], "0 %"), ([1] + [0] * 6 + [99], "87 %"),
    ([0, 0, 5, 0, 0, 400, 0, 0], "25 %"), ([0] * 7 + [3], "87 %"), ([2, 0, 0, 198, 0, 0, 0, 0], "37 %"),
])
def test_slack_is_what_99_of_100_requests_in_time_had_left(world: World, counts: list[int], shown: str) -> None:
    world.disk("sda")
    world.process(123, {123: PRIORITY}, b"player")
    world.sched("sda", line(met=sum(counts), **{f"slack{part}": count for part, count in enumerate(counts)}))
    row = world.run("show", "sda").out.splitlines()[-1]
    assert row.rpartition(" 3  ")[2].strip().split("  ") == [shown, "player"]


def test_device_json(world: World) -> None:
    world.disk("sda", rotational="0")
    world.sched("sda", line() + line(124, tokens=5), "slices 5\nbw_preemptions 2\n")
    assert world.run("show", "--json", "sda").json == {
        "processes": [], "missing": None, "devices": [{
            "name": "sda", "scheduler": "cfq", "rotational": False, "delays_ms": DEFAULT_DELAYS, "bucket_ms": 3000,
            "seek_kb": 64, "share_percent": 95, "depth": 1,
            "reservations": [{
                "pid": pid, "cgroup": None, "rate": 3145728, "delay_ms": 200, "bucket": 3145728, "tokens": tokens,
                "bytes_in": 123456, "bytes_over": 7, "met": 12, "missed": 3, "slack": [0, 0, 1, 1, 2, 2, 3, 3],
            } for pid, tokens in ((123, -12345), (124, 5))],
            "counters": {"slices": 5, "bw_preemptions": 2}}]}


def test_all_shows_the_devices_with_cfq_only(world: World) -> None:
    world.disk("sda")
    world.disk("sdb", "[none] cfq")
    world.disk("sdc")
    world.disk("sdd", None)
    for disk in ("sda", "sdc"):
        world.sched(disk, "")
    result = world.run("show", "--json")
    assert [(device["name"], device["reservations"]) for device in result.json["devices"]] == [("sda", []), ("sdc", [])]
    assert result.err == ""


def test_show_pid_shows_its_own_reservations_only(world: World) -> None:
    for disk in ("sda", "sdb", "sdc"):
        world.disk(disk)
    world.process(100, {100: PRIORITY, 101: PRIORITY})
    world.sched("sda", line(100) + line(7))
    world.sched("sdb", line(7))
    world.sched("sdc", line(101))
    devices = world.run("show", "--json", "100").json["devices"]
    assert [(device["name"], [r["pid"] for r in device["reservations"]]) for device in devices] == [
        ("sda", [100]), ("sdc", [101])]


def test_device_without_cfq_is_shown_as_such(world: World) -> None:
    world.disk("sda", "[mq-deadline] cfq none", rotational=None)
    result = world.run("show", "sda")
    assert (result.code, result.err) == (0, "")
    assert result.out == "sda: mq-deadline, no reservations (bwctl check sda)\n"
    device = world.run("show", "--json", "sda").json["devices"][0]
    assert (device["reservations"], device["counters"], device["rotational"]) == (None, None, None)


def test_cfq_without_the_class_is_shown_with_what_there_is(world: World) -> None:
    world.disk("sda", bw=False)
    world.sched("sda", None, "slices 5\n")
    result = world.run("show", "--json", "sda")
    device = result.json["devices"][0]
    assert (device["delays_ms"], device["bucket_ms"], device["reservations"]) == (None, None, None)
    assert device["counters"] == {"slices": 5}
    assert "tokens and missed deadlines are not shown" in result.json["missing"]


# --- what is damaged or missing


DAMAGED = [
    "garbage", "pid", "pid 123", line(rate="x").strip(), line(rate=-1).strip(), line(tokens="--1").strip(),
    line(tokens="").strip(), line(tokens="1-").strip(), line(met="1.5").strip(), line(bytes_in=2**63).strip(),
    line(bytes_in=10**30).strip(), line(tokens=-2**63).strip(), line().strip() + " pid 123", line().strip() + " odd",
    line().replace("missed 3", "").strip(), "x" * 100000, "\x00", line().strip() + "\x00", "pid 1\x002",
]


@pytest.mark.parametrize("damage", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_line_is_left_out_and_reported(world: World, damage: str) -> None:
    world.disk("sda")
    world.sched("sda", line(1) + damage + "\n" + line(2))
    result = world.run("show", "--json", "sda")
    assert result.code == 0
    assert [entry["pid"] for entry in result.json["devices"][0]["reservations"]] == [1, 2]
    assert result.err.count("\n") == 1
    assert "1 lines of " in result.err and "cannot be parsed and are left out" in result.err
    assert world.run("show", "sda").err == result.err


def test_blank_lines_and_a_missing_last_newline_are_no_damage(world: World) -> None:
    world.disk("sda")
    world.sched("sda", "\n" + line(1) + "\n\n" + line(2).rstrip("\n"))
    result = world.run("show", "--json", "sda")
    assert len(result.json["devices"][0]["reservations"]) == 2 and result.err == ""


def test_names_that_a_newer_kernel_adds_are_skipped(world: World) -> None:
    world.disk("sda")
    world.sched("sda", "colour red " + line().strip() + " music /video\n")
    result = world.run("show", "--json", "sda")
    assert result.json["devices"][0]["reservations"][0]["missed"] == 3 and result.err == ""


@pytest.mark.parametrize("damage", ["bw_x", "bw_x y", "bw_x 1 2", "bw_x 9999999999999999999", "n" * 64 + " 1"])
def test_damaged_counter_is_left_out_and_reported(world: World, damage: str) -> None:
    world.disk("sda")
    world.sched("sda", "", f"bw_a 1\n{damage}\nbw_b -2\n")
    result = world.run("show", "--json", "sda")
    assert result.json["devices"][0]["counters"] == {"bw_a": 1, "bw_b": -2}
    assert "1 lines of " in result.err


def test_rate_that_is_no_multiple_is_shown_in_bytes(world: World) -> None:
    world.disk("sda")
    world.sched("sda", line(rate=1000001) + line(rate=393216) + line(rate=0))
    shown = [row[1:3] for row in rows(world.run("show", "sda"))[-3:]]
    assert shown == [["1000001", "B/s"], ["384", "KiB/s"], ["0", "B/s"]]


@pytest.mark.parametrize("tokens, text", [
    (0, "0 B"), (-1023, "-1023 B"), (1024, "1.0 KiB"), (1048575, "1.0 MiB"), (-3 * 2**30, "-3.0 GiB"),
    (2**63 - 1, "8.0 EiB"), (1023 * 1024, "1023.0 KiB"),
])
def test_tokens_are_shown_with_a_unit(world: World, tokens: int, text: str) -> None:
    world.disk("sda")
    world.sched("sda", line(tokens=tokens))
    assert world.run("show", "sda").out.splitlines()[-1].split()[5:7] == text.split()


@pytest.mark.parametrize("seed", range(5))
def test_drawn_damage_never_ends_the_program(world: World, seed: int) -> None:
    draw = random.Random(seed)
    text = bytearray((line() * 40).encode())
    for _ in range(200):
        at = draw.randrange(len(text))
        text[at:at + draw.randrange(3)] = bytes([draw.randrange(256)])
    world.disk("sda")
    world.sched("sda", bytes(text), text.decode(errors="ignore").replace("\x00", ""))
    result = world.run("show", "--json", "sda")
    assert result.code == 0
    assert len(result.json["devices"][0]["reservations"]) < 40


def test_without_debugfs_the_rest_is_shown(world: World) -> None:
    world.disk("sda")
    world.disk("sdb")
    world.process(100, {100: PRIORITY})
    world.debugfs.rmdir()
    result = world.run("show")
    assert result.code == 0
    assert "3 MiB/s" in result.out and "sda: cfq" in result.out and "sdb: cfq" in result.out
    assert result.err.count("\n") == 1
    assert "sda/sched/reservations: No such file or directory; debugfs is required" in result.err
    found = world.run("show", "--json").json
    assert found["devices"][0]["reservations"] is None and found["missing"] in result.err


def test_debugfs_that_is_not_mounted_is_reported(world: World) -> None:
    world.disk("sda")
    assert "mount -t debugfs" in world.run("show", "sda").err


def test_folder_instead_of_the_file_is_reported(world: World) -> None:
    world.disk("sda")
    (world.debugfs / "block/sda/sched/reservations").mkdir(parents=True)
    assert "reservations: Is a directory" in world.run("show", "sda").err


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_debugfs_of_root_is_reported_to_other_users(builds: Builds) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are for its user only
        root = Path(folder)
        root.chmod(0o755)
        world = World(Path(shutil.copy(builds.tool, root)), root)
        world.disk("sda")
        world.sched("sda", line())
        world.debugfs.chmod(0o700)
        world.tool = Path("/usr/bin/setpriv")
        result = world.run("--reuid=65534", "--regid=65534", "--clear-groups", str(root / "bwctl"), "show", "sda")
    assert result.code == 0, result
    assert result.out.startswith("sda: cfq")
    assert "reservations: Permission denied; run as root" in result.err


def test_show_refuses_a_wrong_command_line(world: World) -> None:
    assert "show: unexpected argument 'b'" in one_line(world.run("show", "a", "b"), 2)
    assert "show: invalid option '--rate' (see" in one_line(world.run("show", "--rate"), 2)


def test_output_that_cannot_be_written_is_a_failure(world: World) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        result = world.run("show", stdout=full)
    assert (result.code, result.err) == (1, "bwctl: cannot write the output\n")
