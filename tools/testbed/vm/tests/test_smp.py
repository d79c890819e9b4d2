# SPDX-License-Identifier: GPL-2.0
"""User-Mode Linux with two CPUs: what goes in, what comes out, and that its detectors report.

Needs the smp kernel; `make check` builds it before.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.testbed.vm import VMError, smp
from tools.testbed.vm.smp import run

pytestmark = pytest.mark.skipif(not smp.IMAGE.is_file(), reason="no smp kernel: `make uml FLAVOUR=smp` builds it")


def test_exit_code_output_environment_and_folder_pass_through(tmp_path: Path) -> None:
    result = run('echo to stdout; echo to stderr >&2; echo "$WORD" > "$VM_OUT/file"; id -u; nproc; '
                 '(echo to its name >> /dev/stdout) | cat; exit 7', out=tmp_path, env={"WORD": "two words"})
    assert result.exit_code == 7, result.why()
    assert result.stdout.splitlines() == ["to stdout", "to stderr", "0", "2", "to its name"]
    assert (tmp_path / "file").read_text() == "two words\n"
    assert result.reports == [] and not result.ok


def test_lockdep_passes_its_own_tests(tmp_path: Path) -> None:
    result = run("true", out=tmp_path, append=["loglevel=7"])
    assert result.ok, result.why()
    assert "testcases passed" in result.console


def test_checkout_is_seen_and_the_machine_of_the_user_is_not_changed(tmp_path: Path) -> None:
    here = Path(__file__).resolve()
    result = run(f"cat {here} && ! touch {here} && ! touch /usr/vm-wrote-this", out=tmp_path)
    assert result.ok, result.why()
    assert not Path("/usr/vm-wrote-this").exists()


def test_kasan_reports_a_write_behind_an_object(tmp_path: Path) -> None:
    result = run("true", out=tmp_path, append=["kunit.autorun=1", "kunit.filter_glob=kasan.kmalloc_oob_right"])
    assert any("BUG: KASAN: slab-out-of-bounds" in line for line in result.reports), result.console
    assert not result.ok


def test_crash_is_reported(tmp_path: Path) -> None:
    result = run("echo c > /proc/sysrq-trigger", out=tmp_path)
    assert result.exit_code is None
    assert any("sysrq triggered crash" in line for line in result.reports), result.console


def test_time_that_runs_out_ends_the_kernel_and_all_its_processes(tmp_path: Path) -> None:
    result = run("sleep 1000", out=tmp_path, timeout=15)
    assert result.timed_out and result.exit_code is None
    assert "vm: still running, this is what is going on:" in result.console
    assert not subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False).stdout


def test_a_watched_command_that_does_not_end_tells_the_state_of_all_disks(tmp_path: Path) -> None:
    disk = "/sys/kernel/config/nullb/d"
    result = run(f"mkdir {disk}; echo 1 > {disk}/power; {ROOT}/selftests/vm/guest/run --watch stuck sleep 1000",
                 out=tmp_path, timeout=240, env={"LIMIT": "2"}, append=["null_blk.nr_devices=0"])
    assert result.exit_code is None and not result.timed_out
    assert "HUNG: no end after 2 s" in (tmp_path / "stuck.log").read_text()
    assert "vm-state: d/" in result.console


def test_no_kernel_is_an_error_that_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(VMError, match="make uml FLAVOUR=smp"):
        run("true", kernel=tmp_path / "none", out=tmp_path)
