# SPDX-License-Identifier: GPL-2.0
"""Generates synthetic recordings for tests and measurements.

`Writer` writes single records in any version and byte order; `Disk` simulates processes
that read from a rotating disk under CFQ, and writes the trace that the kernel would write.
"""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import blktrace_format as fmt
from .blktrace_format import (
    BACKMERGE,
    COMPLETE,
    GETRQ,
    INSERT,
    ISSUE,
    NOTE,
    NOTE_MESSAGE,
    NOTE_PROCESS,
    NOTE_TIMESTAMP,
    QUEUE,
    REMAP,
)

DEVICE = 8 << 20 | 48
TRACED = {QUEUE: 1 << 4, BACKMERGE: 1 << 4, GETRQ: 1 << 4, INSERT: 1 << 4, REMAP: 1 << 4,
          ISSUE: 1 << 6, COMPLETE: 1 << 7}
START_NS = 5_000_000_000


@dataclass
class Writer:
    """Collects the records of each CPU, in the order in which they are added."""

    version: int = 1
    order: str = "<"
    device: int = DEVICE
    files: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    numbers: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def event(self, time: int, action: int, sector: int = 0, length: int = 0, *, pid: int = 100,
              cpu: int = 0, category: int = fmt.READ, error: int = 0, payload: bytes = b"",
              cgroup: int | None = None) -> None:
        """Add an event; `length` in bytes, `time` in ns. Messages are events from NOTE on."""
        is_note = action >= NOTE
        if is_note:
            category, number = fmt.NOTIFY, 0
        else:
            self.numbers[cpu] += 1
            category, number = category | TRACED.get(action, 1 << 4), self.numbers[cpu]
        word = (action - NOTE if is_note else action) | category << fmt.CATEGORY_SHIFT
        if cgroup is not None:
            word |= fmt.CGROUP_BIT
            payload = struct.pack(self.order + "Q", cgroup) + payload
        magic = fmt.MAGIC | self.version + 6
        if self.version == 1:
            head = struct.pack(self.order + "IIQQIIIIIHH", magic, number, time, sector, length,
                               word, pid, self.device, cpu, error, len(payload))
        else:
            head = struct.pack(self.order + "IIQQIIQIIHH12x", magic, number, time, sector, length,
                               pid, word, self.device, cpu, error, len(payload))
        self.files[cpu] += head + payload

    def lose(self, cpu: int, count: int) -> None:
        """Drop the next `count` events of this CPU."""
        self.numbers[cpu] += count

    def message(self, time: int, text: str, *, pid: int = 100, cpu: int = 0,
                cgroup: int | None = None) -> None:
        self.event(time, NOTE_MESSAGE, pid=pid, cpu=cpu, payload=text.encode(), cgroup=cgroup)

    def process(self, time: int, pid: int, name: str, cpu: int = 0) -> None:
        self.event(time, NOTE_PROCESS, pid=pid, cpu=cpu,
                   payload=name.encode()[:15].ljust(16, b"\0"))

    def clock(self, time: int, seconds: int, nanoseconds: int = 0) -> None:
        self.event(time, NOTE_TIMESTAMP, pid=0,
                   payload=struct.pack(self.order + "II", seconds, nanoseconds))

    def request(self, times: tuple[int, int, int], sector: int, length: int, *, pid: int = 100,
                cpu: int = 0, category: int = fmt.READ, cgroup: int | None = None) -> None:
        """Add a request that is queued, dispatched and completed at these times."""
        queued, dispatched, completed = times
        for time, action in ((queued, QUEUE), (queued + 200, GETRQ), (queued + 400, INSERT),
                             (dispatched, ISSUE), (completed, COMPLETE)):
            self.event(time, action, sector, length, pid=0 if action == COMPLETE else pid,
                       cpu=cpu, category=category, cgroup=cgroup)

    def save(self, folder: Path, name: str = "sdx") -> Path:
        """Write a file for each CPU. Returns their common prefix."""
        folder.mkdir(parents=True, exist_ok=True)
        for cpu, data in self.files.items():
            (folder / f"{name}.blktrace.{cpu}").write_bytes(data)
        return folder / name

    def together(self) -> bytes:
        """The records of all CPUs, one CPU after the other, as in a pipe."""
        return b"".join(bytes(data) for data in self.files.values())


# --- a machine with a rotating disk --------------------------------------------------


@dataclass
class Player:
    """A process: its access pattern, its class, and its position."""

    pid: int
    name: str
    kind: str  # stream, random, files, writer
    cls: str = "BE4"
    request: int = 131072
    read: int = 1048576
    reserved: int = 0
    sector: int = 0
    inode: int = 0
    files: int = 0
    ready: int = START_NS
    tokens: float = 0.0


def default_players(streams: int = 3, randoms: int = 1, multi: int = 1,
                    reserved: int = 2) -> list[Player]:
    """The default processes: streams, random readers and a reader of small files."""
    players = []
    for number in range(streams):
        bw = number < reserved
        players.append(Player(8590 + number, f"S{number}", "stream", "BW2" if bw else "BE4",
                              reserved=(3 + number) << 20 if bw else 0,
                              sector=(number + 1) * 150_000_000, inode=1000 + number))
    for number in range(randoms):
        players.append(Player(8700 + number, f"R{number}", "random", "BE4", 16384, 16384,
                              inode=2000 + number))
    for number in range(multi):
        players.append(Player(8800 + number, f"MF{number}", "files", "BE4", 65536, 65536,
                              sector=80_000_000, inode=3000))
    players.append(Player(33, "kworker/u4:2", "writer", "BE4", 262144, 262144,
                          sector=20_000_000))
    players.append(Player(8900, "scrub", "stream", "idle7", sector=700_000_000, inode=5000))
    return players


class Disk:
    """Serves the players one time slice after the other, and writes the trace."""

    DISK_SECTORS = 976_773_168
    SLICE_NS = 100_000_000
    TRACK_NS = 4_000_000

    def __init__(self, writer: Writer, players: list[Player], *, cpus: int = 4, seed: int = 1,
                 messages: bool = True, vfs: bool = True) -> None:
        self.writer = writer
        self.players = players
        self.random = random.Random(seed)
        self.cpus = cpus
        self.messages, self.vfs = messages, vfs
        self.now = START_NS
        self.head = 0
        self.events = 0

    def play(self, events: int) -> None:
        """Simulate until there are at least this many events."""
        writer = self.writer
        writer.clock(self.now, 1_700_000_000)
        for player in self.players:
            writer.process(self.now, player.pid, player.name, player.pid % self.cpus)
        while self.events < events:
            busy = [player for player in self.players if player.cls != "idle7"]
            for player in busy:
                self.slice(player, events)
            if self.random.random() < 0.3:
                self.slice(self.players[-1], events, self.SLICE_NS // 4)

    def slice(self, player: Player, limit: int, length: int = SLICE_NS) -> None:
        """Simulate one time slice of a process."""
        if self.events >= limit:
            return
        mode = "A" if player.kind == "writer" else "S"
        self.cfq(player, mode, f"slice start length_us {length // 1000} queued 1")
        end, dispatched = self.now + length, 0
        while self.now < end and self.events < limit:
            if player.reserved and dispatched and dispatched * player.request > player.reserved / 5:
                break
            dispatched += self.operation(player, mode)
            if player.kind == "writer" and dispatched >= 8:
                break
            self.now += self.random.randrange(20_000, 200_000)
        if self.random.random() < 0.2:
            self.cfq(player, mode, "idle window_us 8000 think_us 120 seek 0")
            self.now += self.random.randrange(1_000_000, 8_000_000)
        why = "time" if self.now >= end else self.random.choice(("empty", "idle", "preempt"))
        left = max(0, end - self.now) // 1000
        self.cfq(player, mode, f"slice end {why} dispatched {dispatched} residual_us {left}")

    def operation(self, player: Player, mode: str) -> int:
        """Simulate one system call. Returns the number of its requests."""
        if player.kind == "random":
            player.sector = self.random.randrange(0, self.DISK_SECTORS - 4096, 8)
        if player.kind == "files":
            self.open_file(player)
        cpu = self.random.randrange(self.cpus)
        if player.kind != "writer":
            self.enter(player, cpu, f"vfs_read ino {player.inode} off 0 len {player.read}")
        count = max(1, player.read // player.request)
        for _ in range(count):
            self.serve(player, cpu, mode)
        if player.kind != "writer":
            self.leave(player, cpu, f"vfs_read ret {player.read}")
        return count

    def open_file(self, player: Player) -> None:
        cpu = self.random.randrange(self.cpus)
        player.inode += 1
        player.files += 1
        player.sector += self.random.randrange(0, 60000, 8)
        self.enter(player, cpu, f"vfs_open ino {player.inode}")
        if self.random.random() < 0.3:
            self.serve(player, cpu, "S", 4096)
        self.now += 5000
        self.leave(player, cpu, "vfs_open ret 0")

    def enter(self, player: Player, cpu: int, text: str) -> None:
        if self.vfs:
            self.note(player.pid, cpu, f"enter {text}")

    def leave(self, player: Player, cpu: int, text: str) -> None:
        if self.vfs:
            self.note(player.pid, cpu, f"leave {text}")

    def note(self, pid: int, cpu: int, text: str) -> None:
        self.writer.message(self.now, text, pid=pid, cpu=cpu)
        self.events += 1
        self.now += 300

    def cfq(self, player: Player, mode: str, text: str) -> None:
        if not self.messages:
            return
        self.note(player.pid, 0, f"cfq {player.pid}{mode} {player.cls} {text}")
        if player.cls.startswith("BW") and text.startswith("dispatch"):
            deadline = self.random.randrange(-8_000, 90_000)
            self.cfq(player, mode, f"tokens {int(player.tokens)} rate {player.reserved} deadline_us {deadline}")

    def serve(self, player: Player, cpu: int, mode: str, length: int = 0) -> None:
        """Simulate one request, from queueing to completion."""
        writer, pid, sector = self.writer, player.pid, player.sector
        length = length or player.request
        category = fmt.WRITE if mode == "A" else fmt.READ | fmt.SYNC
        kw: dict[str, Any] = {"pid": pid, "cpu": cpu, "category": category}
        writer.event(self.now, REMAP, sector, length, **kw,
                     payload=struct.pack(">IIQ", DEVICE + 1, DEVICE, max(0, sector - 63)))
        for delay, action in ((150, QUEUE), (700, GETRQ), (800, INSERT)):
            self.now += delay
            writer.event(self.now, action, sector, length, **kw)
        self.now += self.random.randrange(2_000, 20_000)
        if player.reserved:
            player.tokens = min(player.tokens + player.reserved * 0.02, player.reserved) - length
        self.cfq(player, mode, f"dispatch {sector}+{length // 512} queued 0 in drive 1")
        self.now += 500
        writer.event(self.now, ISSUE, sector, length, **kw)
        self.now += self.service(sector, length)
        writer.event(self.now, COMPLETE, sector, length, category=category, pid=0,
                     cpu=self.random.randrange(self.cpus))
        self.events += 6
        self.now += 4_000
        player.sector = self.head = sector + length // 512

    def service(self, sector: int, length: int) -> int:
        """Service time of the drive: transfer, and a seek if there is one."""
        transfer = int(length / 100e6 * 1e9) + self.random.randrange(50_000)
        distance = abs(sector - self.head)
        if not distance:
            return transfer // 3 if self.random.random() < 0.5 else transfer
        way = 1_000_000 + int(14_000_000 * (distance / self.DISK_SECTORS) ** 0.5)
        return transfer + way + self.random.randrange(2 * self.TRACK_NS)


def make(events: int, *, version: int = 1, order: str = "<", players: list[Player] | None = None,
         seed: int = 1, messages: bool = True, vfs: bool = True) -> Writer:
    """Generate a recording of about this many events."""
    writer = Writer(version, order)
    disk = Disk(writer, players or default_players(), seed=seed, messages=messages, vfs=vfs)
    disk.play(events)
    return writer


def paced(*, begin_s: float, streams: int = 5, seconds: int = 12) -> Writer:
    """Generate streams that read 3 MiB each second, with reservations and different start offsets.

    @begin_s: what of the recording is empty before
    """
    writer, second, length = Writer(), 10**9, 512 << 10
    writer.clock(0, 1_700_000_000)
    for number in range(streams):
        pid, first = 100 + number, int((begin_s + number / streams) * second)
        writer.process(first, pid, f"hd.{number}", cpu=number)
        for burst in range(seconds):
            begin = first + burst * second
            writer.message(begin, f"enter vfs_read ino 7 off 0 len {6 * length}", pid=pid, cpu=number)
            for part in range(6):
                sent = begin + 1000 + part * second // 100
                writer.request((begin + 1000, sent + 1000, sent + second // 100), 6000 * burst + part * length // 512,
                               length, pid=pid, cpu=number)
            writer.message(begin + second // 15, f"cfq {pid}S BW2 tokens 0 rate {6 * length} deadline_us 900", pid=pid,
                           cpu=number)
            writer.message(begin + second // 15, f"leave vfs_read ret {6 * length}", pid=pid, cpu=number)
    return writer
