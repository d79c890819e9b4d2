# SPDX-License-Identifier: GPL-2.0
"""The command: lists out, errors in one line, what damage leaves, and the orders replayed on the modelled disk."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools.testbed.disk import presets
from tools.testbed.lab.model.disks import Disk
from tools.testbed.lab.run import loadgen as lab
from tools.testbed.vm import uml
from tools.testbed.vm.programs import of_system
from tools.testbed.vm.uml import Guests
from tools.user.iobound import dependencies, orders, replay, work
from tools.user.iobound.tests.conftest import SCATTERED, Walk, random_story, scattered

TOOL = Path(__file__).resolve().parents[1] / "iobound"


def iobound(*words: object, data: bytes | None = None, cwd: Path | None = None,
            env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([TOOL, *map(str, words)], input=data, capture_output=True, check=False, cwd=cwd,
                          env={**os.environ, **(env or {})})


def said(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stderr.decode().splitlines()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scattered(tmp_path_factory.mktemp("trace"))


def report(kernel: Path, *words: object) -> dict[str, Any]:
    done = iobound("report", "--json", "-q", "--kernel", kernel, *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# --- lists --------------------------------------------------------------------------------


def test_a_list_is_written_whole_or_to_the_standard_output(trace: Path, tmp_path: Path) -> None:
    expected = "".join(f"{one.sector * 512} {one.bytes}\n" for one in orders.sweep(work.read([str(trace)])))
    done = iobound("list", trace, "--order", "sweep", "--format", "lab")
    assert (done.returncode, done.stdout.decode(), said(done)) == (0, expected, [])
    done = iobound("list", trace, "--order", "sweep", "--format", "lab", "-o", tmp_path / "list")
    assert (done.returncode, done.stdout) == (0, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["list"]
    assert (tmp_path / "list").read_text() == expected


def test_fio_is_given_the_device_of_the_trace_or_another_target(trace: Path) -> None:
    for words, target in (([], "/dev/sdx"), (["--target", "/dev/sdb"], "/dev/sdb")):
        for name in (trace, f"{trace}.blktrace.0"):
            done = iobound("list", name, "--order", "file", "--format", "fio", *words)
            assert done.stdout.decode().splitlines()[1] == f"{target} add"


@pytest.mark.parametrize(("words", "text"), [
    (["list", "nowhere", "--order", "sweep", "--format", "fio"], "nowhere: no such file"),
    (["report", "nowhere"], "nowhere: no such file"),
    (["list", "text", "--order", "sweep", "--format", "fio"], "text: not a block trace"),
    (["report", "text"], "text: not a block trace"),
    (["list", "TRACE", "--order", "dependencies", "--format", "lab", "-o", "x"], "no messages of VFS operations"),
    (["list", "TRACE", "--order", "sweep", "--format", "lab", "--device", "sda"], "give MAJOR:MINOR"),
    (["report", "TRACE", "--device", "1:1"], "1:1"),
    (["report", "TRACE", "--disk", "drum"], "no preset 'drum'"),
    (["report", "TRACE", "--set", "size"], "not 'attribute=value'"),
    (["report", "TRACE", "--set", "size=large"], "whole numbers"),
    (["report", "TRACE", "--set", "size=100"], "choose a larger disk, or --set size="),
    (["report", "TRACE", "--set", "blocksize=8192"], "blocks of 8192 bytes"),
    (["report", "TRACE", "--kernel", "none"], "no kernel at none"),
])
def test_what_cannot_be_done_is_one_line_and_exit_2(
    trace: Path, tmp_path: Path, words: list[str], text: str
) -> None:
    (tmp_path / "text").write_text("not a trace\n" * 100)
    kernel = tmp_path / "kernel"
    kernel.write_text("#!/bin/sh\n")
    kernel.chmod(0o755)
    done = iobound(*(trace if word == "TRACE" else word for word in words), cwd=tmp_path,
                   env={"LAB_KERNEL": str(kernel)})
    assert done.returncode == 2, done.stderr
    assert len(said(done)) == 1 and said(done)[0].startswith("iobound: ") and text in said(done)[0]
    assert {path.name for path in tmp_path.iterdir()} == {"text", "kernel"}


def test_what_is_left_of_a_damaged_trace_is_used_and_the_damage_named(trace: Path) -> None:
    whole = Path(f"{trace}.blktrace.0").read_bytes()
    data = bytearray(whole)
    data[1000:1600] = bytes(600)
    done = iobound("list", "-", "--order", "original", "--format", "lab", data=bytes(data[:-13]))
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert 200 < len(lines) < SCATTERED and len(said(done)) >= 2
    assert all(line.startswith("iobound: the pipe at byte") or "lost" in line for line in said(done))
    complete = iobound("list", "-", "--order", "original", "--format", "lab", data=whole)
    assert set(lines) <= set(complete.stdout.decode().splitlines()) and not said(complete)


def test_help_names_orders_and_formats() -> None:
    done = iobound("list", "--help")
    assert done.returncode == 0
    for word in (*orders.ORDERS, "btreplay", "fio", "lab"):
        assert word.encode() in done.stdout


# --- the modelled disk --------------------------------------------------------------------


def test_sweeps_are_faster_than_scattered_requests_and_a_file_is_fastest(kernel: Path, trace: Path) -> None:
    found = report(kernel, trace)
    assert (found["requests"], found["bytes"], found["barriers"]) == (SCATTERED, SCATTERED * 4096, 1)
    assert found["lacking"] == {"dependencies": "no messages of VFS operations"}
    rows = {row["order"]: row for row in found["orders"]}
    assert list(rows) == ["original", "sweep", "barriers", "file"]
    seconds = {name: row["seconds"] for name, row in rows.items()}
    # a barrier in the middle makes two sweeps of one
    assert seconds["file"] < seconds["sweep"] < seconds["barriers"] < 0.9 * seconds["original"]
    assert rows["original"]["percent"] == 100
    for row in rows.values():
        assert row["percent"] == pytest.approx(100 * row["seconds"] / seconds["original"])
    assert rows["file"]["mean_seek_sectors"] == 0 < rows["sweep"]["mean_seek_sectors"]
    assert rows["sweep"]["mean_seek_sectors"] < rows["original"]["mean_seek_sectors"] / 10
    # what the model takes for a read anywhere: see configs/disks
    assert seconds["original"] / SCATTERED == pytest.approx(0.0129, rel=0.15)


def test_an_attribute_that_the_disk_has_not_is_one_line_and_exit_2(kernel: Path, trace: Path) -> None:
    done = iobound("report", trace, "--kernel", kernel, "--set", "rot/speed=1")
    assert done.returncode == 2 and len(said(done)) == 1 and "--set rot/speed: null_blk of kernel" in said(done)[0]


def test_another_disk_has_other_times(kernel: Path, trace: Path) -> None:
    """Half a revolution of 15,000 rpm is 2 ms, of 7200 rpm 4.2 ms."""
    usual = report(kernel, trace)["orders"][0]["seconds"]
    changed = report(kernel, trace, "--set", "rot/rpm=15000")["orders"][0]["seconds"]
    assert (usual - changed) / SCATTERED == pytest.approx(0.0022, abs=0.0003)


def test_a_report_says_the_same_in_a_table(kernel: Path, trace: Path) -> None:
    rows = {row["order"]: row for row in report(kernel, trace)["orders"]}
    done = iobound("report", trace, "--kernel", kernel, "-q")
    assert done.returncode == 0 and said(done) == []
    lines = done.stdout.decode().splitlines()
    for name, row in rows.items():
        (line,) = [line for line in lines if line.startswith(f"{orders.ORDERS[name].title}  ")]
        assert line.split()[-3:] == [f"{row['seconds']:.3f}", f"{row['percent']:.1f}",
                                     f"{row['mean_seek_sectors'] / 2048:.2f}"]
    assert lines[-1] == "within dependencies: not replayed, the trace has no messages of VFS operations"


@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_any_trace_is_faster_than_one_file(kernel: Path, seed: int) -> None:
    lab.build_loadgen()
    guests = Guests(kernel, lab.LOADGEN, 60)
    preset = presets.load("barracuda-7200.11")
    disk = Disk(preset.name, preset.attributes)
    found = random_story(seed, most=30).work()
    times = {name: replay.seconds(name, orders.make(found, name), disk, guests)
             for name, order in orders.ORDERS.items() if not order.lacks(found)}
    assert times["file"] == min(times.values()) and times["sweep"] <= times["original"]


def test_dependencies_are_replayed_between_sweep_and_original(kernel: Path, tmp_path: Path) -> None:
    walk = Walk(place=lambda number: number * 7919 % 97 * 8_000_000)
    walk.call("readdir", 2, "names")
    for number in range(40):
        inode = 1000 * (number + 1)
        walk.call("lookup", 2, f"inode {inode}")
        walk.call("stat", inode)
        walk.call("read", inode, f"data {inode}")
    found = report(kernel, walk.writer.save(tmp_path))
    seconds = {row["order"]: row["seconds"] for row in found["orders"]}
    assert list(seconds) == ["original", "sweep", "dependencies", "file"]
    assert seconds["sweep"] < seconds["dependencies"] < seconds["original"]


# a tree on ext4, read by tar after its pages are gone
TAR = """
mkdir /dev/tmp
mount -t tmpfs none /dev/tmp
d=/sys/kernel/config/nullb/rot0
mkdir $d && echo 4096 > $d/size && echo 1 > $d/memory_backed && echo 1 > $d/power
{mkfs} -q /dev/rot0
mkdir /dev/tmp/m
mount -t ext4 /dev/rot0 /dev/tmp/m
for folder in 1 2 3 4; do
	mkdir /dev/tmp/m/$folder
	for file in $(seq 20); do head -c 20000 /dev/zero > /dev/tmp/m/$folder/$file; done
done
umount /dev/tmp/m
mount -t ext4 /dev/rot0 /dev/tmp/m
mount -t debugfs none /sys/kernel/debug
echo 1 > /sys/block/rot0/trace/vfs
{blktrace} -d /dev/rot0 -o - > $OUT/rot0.blktrace.0 &
b=$!
sleep 1
tar cf - -C /dev/tmp/m . | wc -c
echo barrier > /sys/kernel/debug/block/rot0/msg
cat /dev/rot0 | head -c 100000 | wc -c
kill -INT $b; wait $b
umount /dev/tmp/m
"""


def test_messages_of_this_kernel_tell_that_directories_lead_to_inodes_and_these_to_data(
    kernel: Path, tmp_path: Path
) -> None:
    programs = {"blktrace": of_system("blktrace"), "mkfs": of_system("mkfs.ext4")}
    if not all(programs.values()):
        pytest.skip("no blktrace")
    console = uml.run_commands(TAR.format(**programs), tmp_path, kernel, 300)
    found = work.read([str(tmp_path / "rot0")])
    assert found.barriers == 1 and found.requests[-1].segment == 1, console
    graph, calls = dependencies.of_work(found), found.model.calls
    assert set(calls.operations) >= {"vfs_lookup", "vfs_readdir", "vfs_read", "vfs_open"}

    @functools.cache
    def depth(number: int) -> int:
        """Requests that must be served one after the other before this one is."""
        below = max(map(depth, graph.first[number]), default=0)
        return below + (number < graph.requests)

    depths = Counter(depth(number) for number in range(graph.requests))
    # the root's names, inodes of the folders, their names (which come with inodes of the files), data
    assert sum(count for deep, count in depths.items() if deep >= 4) >= 80
    assert depths[1] >= 1 and max(depths) <= 8
