# SPDX-License-Identifier: GPL-2.0
"""Short soaks of a real kernel."""

import json
from pathlib import Path

import pytest

from tools.dev.check.seed import seed
from tools.testbed.soak.tests.conftest import soak

REQUESTS = 60_000  # of which some share their slices


def short(kernel: Path, tmp_path: Path, *args: str) -> list[str | Path]:
    return ["--kernel", kernel, "--requests", str(REQUESTS), "--report", tmp_path / "report", "-q", "--json", *args]


def test_short_soak_holds_exercises_everything_and_repeats_exactly(kernel: Path, tmp_path: Path) -> None:
    chosen = short(kernel, tmp_path, "--seed", "3")
    first = soak(*chosen)
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert found["requests"] >= REQUESTS
    assert found["samples"] > 20 and found["guests"][0]["rests"] >= 8
    for name in ("RT", "BW", "BE", "idle"):
        assert found["counters"][f"dispatched_{name}"] > 0, name
    for name in ("aged", "shared", "bw_reservations", "expired_debt", "expired_tokens", "expired_preempt"):
        assert found["counters"][name] > 0, name
    assert set(found["guests"][0]["slab"]) == {"cfq_queue", "cfq_io_cq", "groups"}
    assert soak(*chosen).stdout == first.stdout


def test_control_groups_reserve_and_nothing_is_left_of_them(kernel: Path, tmp_path: Path) -> None:
    """Their writeback, and requests of two groups from one process, occur a few times in a million requests."""
    done = soak(*short(kernel, tmp_path, "--seed", "3", "--requests", "100000"))
    assert done.returncode == 0, done.stderr
    guest = json.loads(done.stdout)["guests"][0]
    assert guest["spenders"]["group"] > 50 and guest["spenders"]["process"] > 50
    assert guest["slab"] == {"cfq_queue": 0, "cfq_io_cq": 0, "groups": 0}


def test_writeback_keeps_no_group_that_was_removed(kernel: Path, tmp_path: Path) -> None:
    """With this seed it once did: a clean inode that was moved from the root's writeback was on no list."""
    done = soak(*short(kernel, tmp_path, "--seed", "855116", "--requests", "60000"))
    assert done.returncode == 0, done.stderr


def test_load_of_a_new_seed_holds(kernel: Path, tmp_path: Path) -> None:
    done = soak(*short(kernel, tmp_path, "--seed", str(seed()), "--requests", "60000"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", ["7", "8"])
def test_run_with_waits_for_tags_repeats_exactly(kernel: Path, tmp_path: Path, number: str) -> None:
    first, second = (soak(*short(kernel, tmp_path, "--seed", number, "--requests", "60000")) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert second.stdout == first.stdout


def test_other_seed_is_another_load(kernel: Path, tmp_path: Path) -> None:
    digests = {
        json.loads(soak(*short(kernel, tmp_path, "--seed", number, "--requests", "2000")).stdout)["guests"][0]["digest"]
        for number in "56"
    }
    assert len(digests) == 2


def test_bound_that_is_too_small_is_exceeded_in_the_same_way_each_time(kernel: Path, tmp_path: Path) -> None:
    runs = [soak(*short(kernel, tmp_path, "--bound-ms", "1")) for _ in range(2)]
    for done in runs:
        assert done.returncode == 1
        assert "no request too old" in done.stderr and "seed 1: at" in done.stderr
    assert runs[0].stderr == runs[1].stderr
    assert "@operations" in (tmp_path / "report").read_text()


def test_virtual_time_is_limited(kernel: Path, tmp_path: Path) -> None:
    done = soak(*short(kernel, tmp_path, "--requests", "1000000000", "--hours", "0.002", "--guests", "1"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["virtual_hours"] < 0.02


def test_scheduler_that_the_kernel_lacks_is_bad_use_or_left_out(kernel: Path, tmp_path: Path) -> None:
    done = soak(*short(kernel, tmp_path, "--schedulers", "elevator9"))
    assert done.returncode == 2
    assert "does not have the scheduler" in done.stderr
    done = soak(*short(kernel, tmp_path, "--schedulers", "cfq,elevator9", "--requests", "2000"))
    assert done.returncode == 0, done.stderr
    # set once for each of the four disks, and taken away at the end
    assert json.loads(done.stdout)["guests"][0]["switches"] == 8
