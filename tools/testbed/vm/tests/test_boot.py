# SPDX-License-Identifier: GPL-2.0
"""One machine, booted: what goes in, what comes out, and how it ends.

Needs the plain kernel; `make check` builds it before.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.testbed import vm
from tools.testbed.vm import cli

WATCHED = f"{ROOT}/selftests/vm/guest/run --watch"


def test_exit_code_output_environment_and_folder_pass_through(tmp_path: Path) -> None:
    result = vm.run('echo to stdout; echo to stderr >&2; echo "$WORD" > "$VM_OUT/file"; id -u; exit 7',
                    out=tmp_path, env={"WORD": "two words"}, timeout=240)
    assert result.exit_code == 7, result.why()
    assert result.stdout.splitlines() == ["to stdout", "to stderr", "0"]
    assert (tmp_path / "file").read_text() == "two words\n"
    assert result.reports == [] and not result.ok
    assert "Linux version 7" in (tmp_path / "console.log").read_text()


def test_checkout_is_seen_and_the_machine_of_the_user_is_not_changed(tmp_path: Path) -> None:
    probe = Path(__file__).resolve()
    result = vm.run(f"cat {probe} && touch /usr/vm-wrote-this && ! touch {probe}", out=tmp_path,
                    timeout=240)
    assert result.ok, result.why()
    assert not Path("/usr/vm-wrote-this").exists()


def test_a_crash_is_reported_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["run", "--out", str(tmp_path), "--timeout", "240", "--",
                     "echo c > /proc/sysrq-trigger"])
    assert code == 3
    assert "Kernel panic - not syncing: sysrq triggered crash" in capsys.readouterr().err


def test_time_that_runs_out_ends_the_machine_and_shows_what_hung(tmp_path: Path) -> None:
    said = "vm: still running, this is what is going on:"
    # the second time where a machine is so busy that it has not booted by then
    for timeout in (30, 120):
        result = vm.run("sleep 1000", out=tmp_path, timeout=timeout)
        assert result.timed_out and result.exit_code is None
        assert f"no end after {result.seconds:.0f} s" in result.why() and result.seconds >= timeout
        if said in result.console:
            return
    raise AssertionError(f"it does not say what is going on: {result.console}")


def test_a_watched_command_passes_its_words_and_its_exit_code(tmp_path: Path) -> None:
    result = vm.run(f"{WATCHED} well sh -c 'echo said; exit 3'", out=tmp_path, timeout=240)
    assert result.exit_code == 3, result.why()
    assert (tmp_path / "well.log").read_text() == "said\n"


def test_a_watched_command_that_does_not_end_tells_the_state_of_all_disks(tmp_path: Path) -> None:
    disk = "/sys/kernel/config/nullb/d"
    result = vm.run(f"mkdir {disk}; echo 1 > {disk}/power; {WATCHED} stuck sleep 1000", out=tmp_path,
                    timeout=240, env={"LIMIT": "2"}, append=["null_blk.nr_devices=0"])
    assert result.exit_code is None and not result.timed_out
    assert "HUNG: no end after 2 s" in (tmp_path / "stuck.log").read_text()
    assert "vm-scenario: stuck: no end after 2 s; stacks of blocked tasks" in result.console
    assert "vm-state: d/" in result.console


def test_no_kernel_and_no_image_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--kernel", str(tmp_path / "none"), "--", "true"]) == 125
    assert "none: no such kernel image" in capsys.readouterr().err
    bad = tmp_path / "bad"
    bad.write_bytes(b"no kernel")
    assert cli.main(["run", "--kernel", str(bad), "--out", str(tmp_path / "o"), "--", "true"]) == 125
    assert "the kernel did not boot" in capsys.readouterr().err
