# SPDX-License-Identifier: GPL-2.0
"""Lists for btreplay, fio and lab, read by parsers of the tests and by the programs themselves."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest

from tools.testbed.lab.run.loadgen import build_loadgen
from tools.testbed.lab.run.stats import FIELDS, read_records
from tools.testbed.vm import uml
from tools.testbed.vm.programs import of_system
from tools.user.blkviz import synth
from tools.user.iobound import formats, orders, work
from tools.user.iobound.tests.conftest import MS, places, random_story
from tools.user.iobound.work import Request

SEEDS = range(8)
DISK_MIB = 64
COUNTS = (1, 7, 8, 9, 40)


def drawn(count: int) -> list[Request]:
    """Requests within the small disk; none at the place of another."""
    draw = random.Random(count)
    return [Request(sector, draw.randrange(8, 65, 8)) for sector in draw.sample(range(0, DISK_MIB << 10, 64), count)]


def parse_btrecord(data: bytes) -> list[list[tuple[int, int, int]]]:
    """Sector, bytes and direction of each packet of each bunch.

    struct io_file_hdr: u64 version, genesis, nbunches, total_pkts; struct bunch_hdr: u64 npkts, time_stamp;
    struct io_pkt: u64 sector, nbytes, u32 rw, aligned to 64 bits.
    """
    version, _, count, total = struct.unpack_from("<4Q", data)
    at, bunches = 32, []
    while at < len(data):
        packets, _ = struct.unpack_from("<2Q", data, at)
        at += 16
        bunches.append([struct.unpack_from("<2QI", data, at + 24 * number) for number in range(packets)])
        at += 24 * packets
    assert at == len(data) and version == 0x010000
    assert (count, total) == (len(bunches), sum(map(len, bunches)))
    return bunches


@pytest.mark.parametrize("count", COUNTS)
def test_btreplay_gets_all_requests_in_order(count: int) -> None:
    requests = drawn(count)
    bunches = parse_btrecord(formats.btreplay(requests, ""))
    assert [packet for bunch in bunches for packet in bunch] == [(one.sector, one.bytes, 1) for one in requests]
    assert all(1 <= len(bunch) <= 8 for bunch in bunches)


@pytest.mark.parametrize("seed", SEEDS)
def test_btrecord_writes_the_same_packets(seed: int, tmp_path: Path) -> None:
    program = of_system("btrecord")
    if not program:
        pytest.skip("no btrecord")
    # one after the other: btrecord has the order in which requests are queued
    writer, requests = synth.Writer(), drawn(9 + seed)
    for number, one in enumerate(requests):
        begin = synth.START_NS + number * 100 * MS
        writer.request((begin, begin + 1000, begin + MS), one.sector, one.bytes)
    writer.save(tmp_path)
    # a bunch for each, since this version leaves the last one out of its count
    subprocess.run([program, "-M", "1", "sdx"], cwd=tmp_path, check=True, capture_output=True)
    theirs = (tmp_path / "sdx.replay.0").read_bytes()
    at, packets = 32, []
    while at < len(theirs):
        packets.append(struct.unpack_from("<2QI", theirs, at + 16))
        at += 40
    assert struct.unpack_from("<Q", theirs) == struct.unpack_from("<Q", formats.btreplay(requests, ""))
    ours = [packet for bunch in parse_btrecord(formats.btreplay(requests, "")) for packet in bunch]
    assert packets == ours[:len(packets)] and len(packets) >= len(ours) - 1


def read_fio_log(path: Path) -> list[tuple[int, int]]:
    """Offset and bytes of each operation of a log of latencies: time, value, direction, bytes, offset, priority."""
    rows = [[int(word, 0) for word in line.split(",")] for line in path.read_text().splitlines()]
    assert all(row[2] == 0 for row in rows), "all are reads"
    return [(row[4], row[3]) for row in rows]


@pytest.mark.parametrize("count", COUNTS)
def test_fio_reads_what_the_list_says(count: int, tmp_path: Path) -> None:
    requests, target = drawn(count), tmp_path / "disk"
    target.touch()
    (tmp_path / "list").write_bytes(formats.fio(requests, str(target)))
    with target.open("r+b") as disk:
        disk.truncate(DISK_MIB << 20)
    done = subprocess.run(
        ["fio", "--name=replay", f"--read_iolog={tmp_path}/list", "--ioengine=psync", "--readonly", "--log_offset=1",
         f"--write_lat_log={tmp_path}/log", "--output-format=terse"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_fio_log(next(tmp_path.glob("log_lat.*"))) == [(one.sector * 512, one.bytes) for one in requests]


@pytest.mark.parametrize("count", COUNTS)
def test_the_load_generator_reads_what_the_list_says(count: int, tmp_path: Path) -> None:
    requests, target = drawn(count), tmp_path / "disk"
    with target.open("wb") as disk:
        disk.truncate(DISK_MIB << 20)
    (tmp_path / "0.list").write_bytes(formats.lab(requests, ""))
    (tmp_path / "job").write_text(f"device {target}\nduration_ns 60000000000\nstream list=0.list\n")
    done = subprocess.run([build_loadgen(), tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(read_records(tmp_path / "0.bin")[FIELDS - 1::FIELDS]) == [one.bytes for one in requests]
    lines = (tmp_path / "0.list").read_text().splitlines()
    assert [tuple(map(int, line.split())) for line in lines] == [(one.sector * 512, one.bytes) for one in requests]


@pytest.mark.parametrize("name", ["original", "sweep", "file"])
def test_each_order_is_read_back_as_it_is(name: str) -> None:
    for seed in SEEDS:
        requests = orders.make(random_story(seed).work(), name)
        text = formats.fio(requests, "/dev/x").decode().splitlines()
        assert text[:3] == ["fio version 2 iolog", "/dev/x add", "/dev/x open"] and text[-1] == "/dev/x close"
        reads = [line.split() for line in text[3:-1]]
        assert all(words[:2] == ["/dev/x", "read"] for words in reads)
        sectors = [(int(words[2]) // 512, int(words[3]) // 512) for words in reads]
        packets = [packet for bunch in parse_btrecord(formats.btreplay(requests, "")) for packet in bunch]
        assert sectors == places(requests) == [(sector, size // 512) for sector, size, _ in packets]


# makes a disk, gives btreplay the list, and counts in its trace what was asked of the disk
REPLAY = """
d=/sys/kernel/config/nullb/rot0
mkdir $d && echo {size} > $d/size && echo 1 > $d/power
mount -t debugfs none /sys/kernel/debug
cd $OUT
{blktrace} -d /dev/rot0 -o - > $OUT/seen.blktrace.0 &
b=$!
sleep 1
{btreplay} -d $OUT rot0
echo "btreplay ended with $?"
kill -INT $b; wait $b
"""


def test_btreplay_reads_what_the_list_says(kernel: Path, tmp_path: Path) -> None:
    programs = {name: of_system(name) for name in ("blktrace", "btreplay")}
    if not all(programs.values()):
        pytest.skip("no blktrace")
    requests = drawn(40)
    (tmp_path / "rot0.replay.0").write_bytes(formats.btreplay(requests, ""))
    console = uml.run_commands(REPLAY.format(size=DISK_MIB, **programs), tmp_path, kernel, 120)
    assert "btreplay ended with 0" in console, console
    seen = work.read([str(tmp_path / "seen")]).requests
    assert sorted(places(seen)) == sorted(places(requests))
