# SPDX-License-Identifier: GPL-2.0
"""run and set: which threads get which priority, and how failures are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.user.bwctl.tests.conftest import World, one_line, value

RESERVE = ["--rate", "3M", "--delay", "200ms"]
PRIORITY = value(24, 3)
BE4 = 2 << 13 | 4


# --- run


def test_run_sets_the_priority_of_the_process_that_becomes_the_command(world: World) -> None:
    # the fake kernel leaves it in a file named by the process that asked
    result = world.run("run", *RESERVE, "--", "sh", "-c", 'echo $$; cat "$BWCTL_FAKE_STATE/$$"')
    assert (result.code, result.err) == (0, "")
    pid, ioprio = result.out.split()
    assert int(ioprio) == PRIORITY and world.ioprio(int(pid)) == PRIORITY


def test_run_leaves_the_options_of_the_command_alone(world: World) -> None:
    for dashes in ([], ["--"]):
        result = world.run("run", *RESERVE, *dashes, "echo", "--rate", "x", "--help", "--", "-q")
        assert result.out == "--rate x --help -- -q\n"


def test_run_ends_as_its_command_does(world: World) -> None:
    assert world.run("run", *RESERVE, "sh", "-c", "exit 42").code == 42


def test_run_reports_a_missing_command(world: World) -> None:
    line = one_line(world.run("run", *RESERVE, "no-such-command-here"), 127)
    assert line == "run: no-such-command-here: No such file or directory"


def test_run_reports_a_command_that_cannot_be_started(world: World) -> None:
    (world.root / "data").write_text("no program")
    assert "Permission denied" in one_line(world.run("run", *RESERVE, "./data"), 126)


@pytest.mark.parametrize("kernel, text", [
    ("EPERM", "not permitted: run as root, or with CAP_SYS_NICE or CAP_SYS_ADMIN"),
    ("EINVAL", "this kernel has no bandwidth class (try bwctl check)"),
    ("ENOSYS", "this kernel has no I/O priorities"),
    ("EIO", "Input/output error"),
])
def test_run_does_not_start_the_command_when_the_kernel_refuses(world: World, kernel: str, text: str) -> None:
    result = world.run("run", *RESERVE, "touch", "started", kernel=kernel)
    assert text in one_line(result, 1)
    assert not (world.root / "started").exists()


@pytest.mark.parametrize("args, text", [
    ([], "run: no command given"),
    (RESERVE, "run: no command given"),
    (["--rate", "3M", "true"], "run: --delay is missing"),
    (["--delay", "1s", "true"], "run: --rate is missing"),
    (["--delay", "1s", "--rate"], "run: --rate needs an argument"),
    (["--bogus", "true"], "run: invalid option '--bogus' (see"),
    (["-r", "3M", "true"], "run: invalid option '-r' (see"),
    (["--quiet=yes", "true"], "run: invalid option '--quiet=yes' (see"),
    (["--none", "true"], "run: invalid option '--none' (see"),
    (["--rate", "3X", "--delay", "1s", "true"], "rate '3X' has no valid unit: use B, K, M,"),
    (["--rate", "-3M", "--delay", "1s", "true"], "rate '-3M' is negative"),
    (["--rate", "", "--delay", "1s", "true"], "rate '' is empty"),
    (["--rate", "NaN", "--delay", "1s", "true"], "rate 'NaN' is not a number with a unit"),
    (["--rate", "3M", "--delay", "200", "true"], "delay '200' has no valid unit: use us, ms or s"),
    (["--rate", "3M", "--delay", "", "true"], "delay '' is empty"),
])
def test_run_refuses_a_wrong_command_line(world: World, args: list[str], text: str) -> None:
    assert text in one_line(world.run("run", *args), 2)
    assert not list(world.state.iterdir())


def test_run_reports_a_missing_device(world: World) -> None:
    line = one_line(world.run("run", *RESERVE, "--device", "sdq", "true"), 1)
    assert line == "no device, file or directory 'sdq': No such file or directory"


# --- set


def test_set_means_every_thread(world: World) -> None:
    world.process(100, {100: 0, 101: BE4, 102: 0})
    world.process(200, {200: 0})
    world.process(300, {300: 0})
    result = world.run("set", *RESERVE, "100", "200")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert [world.ioprio(tid) for tid in (100, 101, 102, 200, 300)] == [PRIORITY] * 4 + [0]


def test_set_takes_options_behind_the_processes(world: World) -> None:
    world.process(100, {100: 0})
    assert world.run("set", "100", *RESERVE).code == 0
    assert world.ioprio(100) == PRIORITY


def test_set_thread_means_only_this_one(world: World) -> None:
    world.process(100, {100: 0, 101: 0})
    assert world.run("set", "--thread", *RESERVE, "101").code == 0
    assert (world.ioprio(100), world.ioprio(101)) == (0, PRIORITY)


def test_set_none_takes_the_reservation_away(world: World) -> None:
    world.process(100, {100: PRIORITY, 101: PRIORITY})
    assert world.run("set", "--none", "100").code == 0
    assert (world.ioprio(100), world.ioprio(101)) == (0, 0)


def test_set_goes_on_after_a_process_that_does_not_exist(world: World) -> None:
    world.process(100, {100: 0})
    world.process(300, {300: 0})
    line = one_line(world.run("set", *RESERVE, "100", "200", "300"), 1)
    assert line == "process 200: no such process"
    assert (world.ioprio(100), world.ioprio(300)) == (PRIORITY, PRIORITY)


def test_set_thread_reports_a_missing_thread(world: World) -> None:
    assert one_line(world.run("set", "--thread", *RESERVE, "77"), 1) == "thread 77: no such thread"


def test_set_ignores_a_thread_that_ends_meanwhile(world: World) -> None:
    world.process(100, {100: 0, 101: "gone", 102: 0})
    assert world.run("set", *RESERVE, "100").code == 0
    assert world.ioprio(102) == PRIORITY


def test_set_finds_a_thread_that_starts_meanwhile(world: World) -> None:
    world.process(100, {100: 0, 105: 0})
    late = world.proc / "100/task/105"
    late.rmdir()
    world.env["BWCTL_FAKE_SPAWN"] = str(late)
    assert world.run("set", *RESERVE, "100").code == 0
    assert (world.ioprio(100), world.ioprio(105)) == (PRIORITY, PRIORITY)


def test_set_reports_a_process_whose_threads_all_ended(world: World) -> None:
    world.process(100, {100: "gone"})
    assert "no such process" in one_line(world.run("set", *RESERVE, "100"), 1)


@pytest.mark.parametrize("args, kernel, text", [
    (RESERVE, "EPERM", "process 100: not permitted: run as root, or with CAP_SYS_NICE or CAP_SYS_ADMIN "
                       "(for another user's process, with CAP_SYS_NICE)"),
    (["--thread", *RESERVE], "EPERM", "thread 100: not permitted"),
    (["--none"], "EPERM", "process 100: not permitted: run as root, or with CAP_SYS_NICE for processes of other users"),
    (RESERVE, "EINVAL", "process 100: this kernel has no bandwidth class"),
])
def test_set_reports_what_the_kernel_refuses(world: World, args: list[str], kernel: str, text: str) -> None:
    world.process(100, {100: 0})
    assert text in one_line(world.run("set", *args, "100", kernel=kernel), 1)


@pytest.mark.parametrize("args, text", [
    ([], "set: no process ID given"),
    (RESERVE, "set: no process ID given"),
    (["100"], "set: --rate is missing"),
    (["--rate", "3M", "100"], "set: --delay is missing"),
    (["--none", "--rate", "3M", "100"], "set: --none cannot be combined with"),
    (["--none", "--device", "sda", "100"], "set: --none cannot be combined with"),
    ([*RESERVE, "100", "0"], "set: '0' is not a process ID"),
    ([*RESERVE, "100", "x"], "set: 'x' is not a process ID"),
    ([*RESERVE, "100", ""], "set: '' is not a process ID"),
    ([*RESERVE, "100", "12a"], "set: '12a' is not a process ID"),
    ([*RESERVE, "100", "2147483648"], "set: '2147483648' is not a process ID"),
    ([*RESERVE, "100", "--", "-5"], "set: '-5' is not a process ID"),
    ([*RESERVE, "--json", "100"], "set: invalid option '--json' (see"),
])
def test_set_refuses_a_wrong_command_line_before_it_does_anything(world: World, args: list[str], text: str) -> None:
    world.process(100, {100: 0})
    assert text in one_line(world.run("set", *args), 2)
    assert world.ioprio(100) == 0


def test_set_lists_the_threads_of_the_moved_proc(world: World, tmp_path: Path) -> None:
    world.process(100, {100: 0})
    world.env["BWCTL_PROC"] = str(tmp_path / "elsewhere")
    assert "no such process" in one_line(world.run("set", *RESERVE, "100"), 1)
