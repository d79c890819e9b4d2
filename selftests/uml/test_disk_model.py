# SPDX-License-Identifier: GPL-2.0
"""The known answers of the modelled disks, in virtual time: User-Mode Linux with a clock
that jumps measures minutes of the disk in a second, and always the same nanoseconds.

The kernel is build/uml/vmlinux (`make uml`), or the one that LAB_KERNEL names.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

from tools.testbed.disk import presets
from tools.testbed.lab import cli
from tools.testbed.lab.model import catalog
from tools.testbed.lab.model.results import load_result
from tools.testbed.vm import uml

PRESETS = presets.names()

# What the model has to give, whatever the presets say: figure, unit, value, tolerance
PROMISED: dict[str, list[tuple[str, str, float, float]]] = {
    "barracuda-7200.10": [
        ("random read 4 KiB", "ms", 15.4, 0.02),
        ("sequential, outer edge", "MB/s", 70, 0.01),
        ("sequential, inner edge", "MB/s", 35, 0.01),
    ],
    "barracuda-7200.11": [
        ("random read 4 KiB", "ms", 12.9, 0.02),
        ("sequential, outer edge", "MB/s", 105, 0.01),
        ("sequential, inner edge", "MB/s", 52.5, 0.01),
    ],
    "desktop-7200": [
        ("random read 4 KiB", "KiB/s", 301, 0.05),
        ("random read 64 KiB", "KiB/s", 4490, 0.05),
    ],
    "laptop-5400": [
        ("random read 4 KiB", "KiB/s", 203, 0.05),
        ("random read 64 KiB", "KiB/s", 3020, 0.05),
    ],
    "cheetah-15k": [
        ("random read 4 KiB", "KiB/s", 662, 0.05),
        ("random read 64 KiB", "KiB/s", 9600, 0.05),
    ],
    "nearline-20tb": [
        ("sequential, outer edge", "MB/s", 285, 0.01),
    ],
}


def in_virtual_time(commands: str, out: Path) -> str:
    """Run shell commands in the guest, with $OUT to write to; return its console."""
    kernel = Path(os.environ.get("LAB_KERNEL", uml.IMAGE))
    if not kernel.is_file():
        pytest.skip(f"no kernel at {kernel}: `make uml` builds it")
    return uml.run_commands(commands, out, kernel)


def measured(preset: str, out: Path, *settings: str) -> list[dict[str, Any]]:
    """What `disk check` says of a disk of this preset, in a guest of its own."""
    changed = " ".join(f"--set {setting}" for setting in settings)
    console = in_virtual_time(f"""
tools/testbed/disk/disk create {preset} --name d {changed} &&
tools/testbed/disk/disk check d --preset {preset} --json > $OUT/answers.json
tools/testbed/disk/disk remove d
""", out)
    told = out / "answers.json"
    assert told.is_file() and told.stat().st_size, console
    answers: list[dict[str, Any]] = json.loads(told.read_text())
    return answers


@pytest.fixture(scope="session")
def check(tmp_path_factory: pytest.TempPathFactory) -> Any:
    @functools.cache
    def once(preset: str) -> list[dict[str, Any]]:
        return measured(preset, tmp_path_factory.mktemp("disk"))

    return once


@pytest.mark.parametrize("preset", PRESETS)
def test_measured_is_computed_and_rated(check: Any, preset: str) -> None:
    off = [answer for answer in check(preset) if not answer["ok"]]
    assert not off
    assert len(check(preset)) > 5


@pytest.mark.parametrize(("preset", "figure", "unit", "value", "tolerance"), [
    (preset, *promise) for preset, promises in PROMISED.items() for promise in promises])
def test_promised(check: Any, preset: str, figure: str, unit: str, value: float,
                  tolerance: float) -> None:
    found = [answer["measured"] for answer in check(preset)
             if (answer["name"], answer["unit"]) == (figure, unit)]
    assert found
    assert found[0] == pytest.approx(value, rel=tolerance)


@pytest.mark.parametrize("preset", PRESETS)
def test_rpo_at_depth_32_is_twice_as_fast_as_fcfs(check: Any, preset: str) -> None:
    gains = [answer["measured"] for answer in check(preset)
             if answer["name"] == "gain of rpo at depth 32"]
    assert gains[0] >= 2


def where_it_may_be_written(text: str, preset: str) -> str:
    """A scenario, its files in the zones of the disk that may be written anywhere, which are the first ones.

    The others are written one request at a time, whatever is asked for: see scenario zones.
    """
    attributes = presets.load(preset).attributes
    if attributes.get("zoned", "0") == "0":
        return text
    conventional = int(attributes["zone_nr_conv"]) * int(attributes["zone_size"])
    for old, new in (('"block:2GiB"', '"block:0+2GiB"'), ('"disk"', f'"at:0+{conventional}MiB"')):
        assert f"file = {old}" in text
        text = text.replace(f"file = {old}", f"file = {new}")
    return text


@pytest.mark.parametrize("queue", ["rpo", "fcfs"])
@pytest.mark.parametrize("preset", PRESETS)
def test_reader_beside_cached_writers_gets_a_quarter(tmp_path: Path, preset: str, queue: str) -> None:
    kernel = Path(os.environ.get("LAB_KERNEL", uml.IMAGE))
    if not kernel.is_file():
        pytest.skip(f"no kernel at {kernel}: `make uml` builds it")
    text = where_it_may_be_written((catalog.SCENARIOS / "reader-beside-writers.toml").read_text(), preset)
    scenario = tmp_path / "reader.toml"
    scenario.write_text(text.replace('"rot/sched" = "rpo"', f'"rot/sched" = "{queue}"'))
    cli.main(["run", str(scenario), "--disk", preset, "--duration", "5", "--quiet", "-j2", "--kernel", str(kernel),
              "--out", str(tmp_path)])
    result = load_result(tmp_path / "reader.json")
    assert result["disk"]["preset"] == preset and result["disk"]["attributes"]["rot/sched"] == queue
    assert [verdict["status"] for verdict in result["expect"]] == ["pass", "pass"], result["expect"]


def test_two_runs_are_the_same_to_the_nanosecond(check: Any, tmp_path: Path) -> None:
    assert measured("barracuda-7200.11", tmp_path) == check("barracuda-7200.11")


def test_memory_changes_no_figure(check: Any, tmp_path: Path) -> None:
    """What allocates memory may sleep, so the block layer hands requests over in another
    context, some looks at the clock later: without memory that makes the same difference.
    A little later, another reader of 32 is the next; that the order of a mean of 4,000
    random reads has changed is seen in it by a percent or two.
    """
    with_memory = measured("barracuda-7200.11", tmp_path, "memory_backed=1")
    assert with_memory == measured("barracuda-7200.11", tmp_path, "blocking=1")
    for one, other in zip(with_memory, check("barracuda-7200.11"), strict=True):
        assert one["name"] == other["name"]
        at_depth = "at depth" in one["name"]
        assert one["measured"] == pytest.approx(other["measured"], rel=0.03 if at_depth else 0.0005)


# Blocks of 64 KiB of the Barracuda: the first ones, some in the middle, the last ones
BLOCK = 65536
BLOCKS = 16
PLACES = [0, 3_809_280, 7_618_560 - BLOCKS]


def written_and_read(setting: str, scheduler: str, data: Path, out: Path) -> dict[str, Any]:
    """Write data to a disk in a guest of its own and read it back: what the disk counted."""
    out.mkdir()
    console = in_virtual_time(f"""
tools/testbed/disk/disk create barracuda-7200.11 --name d --set {setting} || exit
echo {scheduler} > /sys/block/d/queue/scheduler || exit
for place in {" ".join(map(str, PLACES))}; do
    dd if={shlex.quote(str(data))} of=/dev/d bs={BLOCK} seek=$place oflag=direct conv=fsync
done
for place in {" ".join(map(str, PLACES))}; do
    dd if=/dev/d of=$OUT/$place bs={BLOCK} skip=$place count={BLOCKS} iflag=direct
done
tools/testbed/disk/disk show d --json > $OUT/shown
tools/testbed/disk/disk remove d
""", out)
    assert (out / "shown").is_file() and (out / "shown").stat().st_size, console
    stats: dict[str, Any] = json.loads((out / "shown").read_text())["stats"]
    return stats


@pytest.mark.parametrize("scheduler", ["none", "cfq"])
def test_memory_gives_back_what_was_written_and_takes_no_time(tmp_path: Path, scheduler: str) -> None:
    data = tmp_path / "data"
    data.write_bytes(random.Random(1).randbytes(BLOCKS * BLOCK))
    with_memory = written_and_read("memory_backed=1", scheduler, data, tmp_path / "1")
    without = written_and_read("blocking=1", scheduler, data, tmp_path / "0")
    for place in PLACES:
        assert (tmp_path / "1" / str(place)).read_bytes() == data.read_bytes()
        assert (tmp_path / "0" / str(place)).read_bytes() != data.read_bytes()
    assert with_memory["writes"] == BLOCKS * len(PLACES)
    assert with_memory["reads"] >= BLOCKS * len(PLACES)
    assert with_memory["flushes"] == len(PLACES)
    assert with_memory == without


def test_contradiction_is_refused_with_its_reason(tmp_path: Path) -> None:
    console = in_virtual_time("""
tools/testbed/disk/disk create barracuda-7200.11 --name d --set rot/seek_full_us=1 2> $OUT/said
echo $? > $OUT/code
ls /sys/kernel/config/nullb > $OUT/left
""", tmp_path)
    assert (tmp_path / "code").is_file(), console
    assert (tmp_path / "code").read_text().strip() == "2"
    assert "seek_avg_us (8500) is larger than seek_full_us (1)" in (tmp_path / "said").read_text()
    assert (tmp_path / "left").read_text().split() == ["features"]
