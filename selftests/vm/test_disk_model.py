# SPDX-License-Identifier: GPL-2.0
"""The known answers of the modelled disks, in virtual time: User-Mode Linux with a clock
that jumps measures minutes of the disk in a second, and always the same nanoseconds.

The kernel is build/uml/linux (`make uml`), or the one that UML_KERNEL names.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = Path(os.environ.get("UML_KERNEL", ROOT / "build/uml/linux"))
OUT = "/mnt"  # where the guest sees the output folder
LIMIT_S = 300

PRESETS = ["barracuda-7200.11", "cheetah-15k", "desktop-7200", "laptop-5400", "nearline-20tb"]

# What the model has to give, whatever the presets say: figure, unit, value, tolerance
PROMISED: dict[str, list[tuple[str, str, float, float]]] = {
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
    if not KERNEL.is_file():
        pytest.skip(f"no kernel at {KERNEL}: `make uml` builds it")
    script = out / "init.sh"
    # A first process that ends is a panic: the power is switched off before.
    script.write_text(f"""#!/bin/bash
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t configfs configfs /sys/kernel/config
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
mount -t hostfs -o {shlex.quote(str(out))} none {OUT}
export OUT={OUT} PATH={shlex.quote(os.environ["PATH"])}
cd {shlex.quote(str(ROOT))}
{commands}
sync
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
""")
    script.chmod(0o755)
    ran = subprocess.run(
        [KERNEL, "time-travel=inf-cpu", "norandmaps", "seccomp=auto", "root=/dev/root", "rootfstype=hostfs",
         "rootflags=/", "ro", f"init={script}", "con=null", "con0=fd:0,fd:1", "ssl=null",
         "mem=512M", "quiet", "null_blk.nr_devices=0", "kunit.enable=0"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=LIMIT_S, check=False)
    return ran.stdout.decode(errors="replace")


def measured(preset: str, out: Path, *settings: str) -> list[dict[str, Any]]:
    """What `disk check` says of a disk of this preset, in a guest of its own."""
    changed = " ".join(f"--set {setting}" for setting in settings)
    console = in_virtual_time(f"""
tools/disk/disk create {preset} --name d {changed} &&
tools/disk/disk check d --preset {preset} --json > $OUT/answers.json
tools/disk/disk remove d
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


def test_two_runs_are_the_same_to_the_nanosecond(check: Any, tmp_path: Path) -> None:
    assert measured("barracuda-7200.11", tmp_path) == check("barracuda-7200.11")


def test_memory_changes_no_figure(check: Any, tmp_path: Path) -> None:
    """What allocates memory may sleep, so the block layer hands requests over in another
    context, some looks at the clock later: without memory that makes the same difference.
    """
    with_memory = measured("barracuda-7200.11", tmp_path, "memory_backed=1")
    assert with_memory == measured("barracuda-7200.11", tmp_path, "blocking=1")
    for one, other in zip(with_memory, check("barracuda-7200.11"), strict=True):
        assert one["name"] == other["name"]
        assert one["measured"] == pytest.approx(other["measured"], rel=0.0005)


# Blocks of 64 KiB of the Barracuda: the first ones, some in the middle, the last ones
BLOCK = 65536
BLOCKS = 16
PLACES = [0, 3_809_280, 7_618_560 - BLOCKS]


def written_and_read(setting: str, data: Path, out: Path) -> dict[str, Any]:
    """Write data to a disk in a guest of its own and read it back: what the disk counted."""
    out.mkdir()
    console = in_virtual_time(f"""
tools/disk/disk create barracuda-7200.11 --name d --set {setting} || exit
for place in {" ".join(map(str, PLACES))}; do
    dd if={shlex.quote(str(data))} of=/dev/d bs={BLOCK} seek=$place oflag=direct conv=fsync
done
for place in {" ".join(map(str, PLACES))}; do
    dd if=/dev/d of=$OUT/$place bs={BLOCK} skip=$place count={BLOCKS} iflag=direct
done
tools/disk/disk show d --json > $OUT/shown
tools/disk/disk remove d
""", out)
    assert (out / "shown").is_file() and (out / "shown").stat().st_size, console
    stats: dict[str, Any] = json.loads((out / "shown").read_text())["stats"]
    return stats


def test_memory_gives_back_what_was_written_and_takes_no_time(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(random.Random(1).randbytes(BLOCKS * BLOCK))
    with_memory = written_and_read("memory_backed=1", data, tmp_path / "1")
    without = written_and_read("blocking=1", data, tmp_path / "0")
    for place in PLACES:
        assert (tmp_path / "1" / str(place)).read_bytes() == data.read_bytes()
        assert (tmp_path / "0" / str(place)).read_bytes() != data.read_bytes()
    assert with_memory["writes"] == BLOCKS * len(PLACES)
    assert with_memory["reads"] >= BLOCKS * len(PLACES)
    assert with_memory["flushes"] == len(PLACES)
    assert with_memory == without


def test_contradiction_is_refused_with_its_reason(tmp_path: Path) -> None:
    console = in_virtual_time("""
tools/disk/disk create barracuda-7200.11 --name d --set rot_seek_full_us=1 2> $OUT/said
echo $? > $OUT/code
ls /sys/kernel/config/nullb > $OUT/left
""", tmp_path)
    assert (tmp_path / "code").is_file(), console
    assert (tmp_path / "code").read_text().strip() == "2"
    assert "exactly one of rot_seek_avg_us and rot_seek_full_us" in (tmp_path / "said").read_text()
    assert (tmp_path / "left").read_text().split() == ["features"]
