# SPDX-License-Identifier: GPL-2.0
"""Results and tables from the lines of a guest; and a guest that measures."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.dev.bench import cost

TOOL = Path(__file__).resolve().parents[1] / "bench"
BUILD = TOOL.parents[3] / "build/kernel-plain"


def measured() -> cost.Result:
    result = cost.Result()
    for line in (
        "@ one mq-deadline 0 13000000 1000",
        "@ one cfq 0 11000000 1000",
        "@ one cfq 1 14000000 1000",
        "@ one cfq 2 12000000 1000",
        "@ groups none 0 12000000 1000",
        "@ groups one 0 12500000 1000",
        "@ batch cfq 0 9000000 1000",
        "@ batch mq-deadline 0 10000000 1000",
        "@ random cfq 0 16 1000000000 400000000 30000 16",
        "@ random cfq 0 256 1000000000 250000000 30000 256",
        "@ cached read off 0 900000 1000",
        "@ cached read vfs 0 2900000 1000",
        "@ cached stat off 0 700000 1000",
        "@ order cfq 0 10 1000000000 400000000 30000 10",
        "@ order cfq 0 1000 1000000000 250000000 30000 990",
        "@ end 0",
    ):
        result.take(line)
    return result


def test_instructions_per_read_are_the_median_of_the_repeats() -> None:
    one = measured().one["cfq"]
    assert one.median == 12000
    assert one.spread_percent == pytest.approx(25)


def test_cost_of_control_groups_is_shown() -> None:
    result = measured()
    assert {whose: series.median for whose, series in result.groups.items()} == {"none": 12000, "one": 12500}
    groups = "100 control groups that have reservations: outside of them 12,000, in one of them 12,500"
    assert groups in cost.table(result, None)


def test_cost_of_messages_is_shown() -> None:
    result = measured()
    assert result.cached["read"]["vfs"].median == 2900
    rows = [line.split() for line in cost.table(result, None).splitlines()]
    assert ["read", "900.0", "2,900.0"] in rows
    assert ["stat", "700.0", "--"] in rows


def test_idle_time_is_not_counted() -> None:
    many = measured().many["order"]["cfq"]
    assert many[10].median == pytest.approx(20000)
    assert many[1000].median == pytest.approx(25000)
    assert cost.growth_percent(many) == pytest.approx(25)


def test_table_compares_with_the_goals() -> None:
    text = cost.table(measured(), 200)
    assert "92.3% of mq-deadline" in text
    assert "90.0% of mq-deadline's instructions in batches" in text
    assert "grows by 25% from 10 to 1,000 processes in order" in text
    assert "grows by 25% from 16 to 256 processes at random" in text
    assert "takes 200 bytes" in text
    assert "note" not in text


def test_table_notes_that_processes_were_not_active() -> None:
    result = measured()
    result.take("@ order cfq 1 1000 1000000000 250000000 30000 128")
    assert "only 128 requests were in flight for 1000 processes" in cost.table(result, None)


def test_json_has_every_repeat() -> None:
    data = json.loads(cost.as_json(measured(), 200))
    assert data["one"]["cfq"]["values"] == [11000, 14000, 12000]
    assert data["batch"]["cfq"]["median"] == 9000
    assert data["many"]["order"]["cfq"]["1000"]["median"] == pytest.approx(25000)
    assert data["cfq_queue_bytes"] == 200


@pytest.mark.parametrize("line", [
    "@ end 1", "@ one cfq", "@ order cfq 0 10 1000 0 0 10", "@ something else"])
def test_a_guest_that_failed_is_no_result(line: str) -> None:
    with pytest.raises(ToolError):
        cost.Result().take(line)


def run_guest(monkeypatch: pytest.MonkeyPatch, *lines: str) -> cost.Result:
    """The result of a guest that prints these lines."""
    monkeypatch.setattr(cost, "guest_lines", lambda _command, _timeout: iter(lines))
    monkeypatch.setattr(cost, "make_root", lambda folder: folder)
    args = argparse.Namespace(schedulers=["cfq"], repeats=1, processes=[10], random=[], reserved=[], window=0,
                              reads=1000, timeout=1)
    return cost.run_guest(Path("bzImage"), args)


def test_kernel_with_a_warning_is_no_result(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["[    0.100000] a message", "@ one cfq 0 11000000 1000", "@ end 0"]
    assert run_guest(monkeypatch, *lines).one["cfq"].median == 11000
    lines[1:1] = ["[    0.200000] WARNING: block/cfq-iosched.c:12 at cfq_dispatch+0x1/0x2, CPU#0: init/1",
                  "[    0.200000] RIP: 0010:cfq_dispatch+0x1/0x2"]
    with pytest.raises(ToolError, match="the kernel reports: .*WARNING: block/cfq-iosched.c:12"):
        run_guest(monkeypatch, *lines)
    assert "RIP: 0010:cfq_dispatch" in capsys.readouterr().err


def test_warnings_are_on_the_guests_console() -> None:
    command = cost.qemu_command(Path("bzImage"), Path("root"), [])
    parameters = command[command.index("-append") + 1].split()
    assert "loglevel=5" in parameters and "quiet" not in parameters


def test_a_missing_kernel_is_an_error_of_one_line(tmp_path: Path) -> None:
    done = subprocess.run([TOOL, "cost", "--build", tmp_path], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "make kernel" in done.stderr


@pytest.mark.skipif(not (BUILD / "arch/x86/boot/bzImage").is_file(), reason="no plain kernel: `make kernel` builds it")
def test_a_scheduler_costs_more_than_none() -> None:
    done = subprocess.run(
        [TOOL, "cost", "--schedulers", "none,mq-deadline", "--reads", "300", "--repeats", "2",
         "--processes", "4", "--random", "3", "--window", "20", "--json"],
        check=True, capture_output=True, text=True)
    data = json.loads(done.stdout)
    assert 1000 < data["one"]["none"]["median"] < data["one"]["mq-deadline"]["median"]
    assert 1000 < data["batch"]["none"]["median"] < data["batch"]["mq-deadline"]["median"]
    assert data["in_flight"]["order"]["mq-deadline"]["4"] > 0
    assert data["in_flight"]["random"]["mq-deadline"]["3"] > 0
