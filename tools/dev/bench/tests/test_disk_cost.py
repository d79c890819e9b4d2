# SPDX-License-Identifier: GPL-2.0
"""Commands per CPU time by kernel; and a guest that runs the loads."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.base.paths import TOOLS
from tools.dev.bench import cli, disk_cost
from tools.dev.bench.disk_cost import Cost, Load
from tools.testbed.disk import presets
from tools.testbed.lab.run.features import Features
from tools.testbed.vm import uml

READS = Load("reads", 10, ["random=1 size=4096", "size=65536"])
DISK = {"irqmode": "3", "size": "1024", "rot/rpm": "7200", "rot/write_kb": "8192"}


def test_commands_are_divided_by_the_median_and_compared_with_the_first_kernel() -> None:
    costs = {"reads": {"old": Cost(2000, [2.0, 1.0, 9.0]), "new": Cost(3000, [2.5, 2.0, 1.5])}}
    lines = disk_cost.table(costs).splitlines()
    assert lines[1].split() == ["load", "old", "new"]
    assert lines[-1].split() == ["reads", "1,000", "1,500", "(1.50)"]
    assert json.loads(disk_cost.as_json(costs))["reads"]["new"] == {
        "commands": 3000, "cpu_s": [2.5, 2.0, 1.5], "per_s": 1500}


def test_kernel_gets_the_attributes_that_it_has() -> None:
    assert disk_cost.attributes(DISK, ["size", *DISK]) == DISK
    assert disk_cost.attributes(DISK, ["rot_model", "size", "rot_rpm"]) == {
        "rot_model": "1", "size": "1024", "rot_rpm": "7200"}
    with pytest.raises(ToolError, match="no rotating disk") as error:
        disk_cost.attributes(DISK, ["size", "power"])
    assert error.value.code == 2


def test_each_process_uses_the_whole_disk() -> None:
    lines = disk_cost.job(READS, DISK, 5).splitlines()
    assert "write /sys/block/rot0/queue/scheduler none" in lines
    assert "duration_ns 5" in lines
    assert lines[-2:] == ["stream direct=1 random=1 size=4096 seed=1 regions=0:1073741824",
                          "stream direct=1 size=65536 seed=2 regions=0:1073741824"]


def test_kernels_run_in_turn_and_the_boot_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def played(guests: uml.Guests, _load: Load, _disk: dict[str, str], duration_ns: int) -> tuple[int, float]:
        order.append(guests.kernel.name)
        return duration_ns // 10**9, 0.5 + duration_ns / 1e9

    monkeypatch.setattr(disk_cost, "LOADS", [READS])
    monkeypatch.setattr(disk_cost, "played", played)
    monkeypatch.setattr(disk_cost, "probe", lambda _guests: Features("", [], False, True, frozenset(DISK)))
    monkeypatch.setattr(disk_cost, "LOADGEN", Path("/bin/true"))
    costs = disk_cost.measured([Path("/bin/sh"), Path("/bin/ls")], DISK, 2, 0.5, 1)["reads"]
    shell, ls = (Path(name).resolve().name for name in costs)
    assert order == [shell, shell, ls, ls] * 2
    assert costs["/bin/ls"].commands == 5
    assert costs["/bin/ls"].cpu_s == pytest.approx([5, 5], abs=1e-6)


def test_child_processes_cost_time_and_run_on_one_cpu() -> None:
    allowed, before, begin = os.sched_getaffinity(0), disk_cost.cpu_s(), time.monotonic()
    with disk_cost.one_cpu():
        output = subprocess.run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; nproc"],
                              check=True, capture_output=True, text=True).stdout
    assert output == "1\n"
    assert 0 < disk_cost.cpu_s() - before <= time.monotonic() - begin + 0.1
    assert os.sched_getaffinity(0) == allowed


def test_unknown_disk_is_an_error_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["disk", "--disk", "floppy"]) == 2
    assert "no preset 'floppy'" in capsys.readouterr().err


@pytest.mark.skipif(not uml.IMAGE.is_file(), reason="no User-Mode Linux: `make uml` builds it")
def test_guest_runs_every_load() -> None:
    done = subprocess.run([TOOLS / "dev/bench/bench", "disk", "--repeats", "1", "--scale", "0.01", "--json"],
                          check=True, capture_output=True, text=True)
    costs = {load: Cost(found["commands"], found["cpu_s"])
             for load, kernels in json.loads(done.stdout).items() for found in kernels.values()}
    assert list(costs) == [load.name for load in disk_cost.LOADS]
    for load in disk_cost.LOADS:
        assert costs[load.name].per_s > 100
    # the disk's own speed
    rated = presets.load("barracuda-7200.11").rated
    assert costs["random reads"].commands == pytest.approx(80_000 / rated["random_4k_ms"], rel=0.1)
    assert costs["sequential reads of 64 KiB"].commands == pytest.approx(4e6 * rated["outer_mbps"] / 65536, rel=0.1)
