# SPDX-License-Identifier: GPL-2.0
"""The experiments of `trees run`: commands, the trees that they read, when, and what runs at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from tools.base.paths import BUILD, TOOLS

SWEEP = BUILD / "sweep"
BUILT = BUILD / "trees"
LIVED = "/dev/lived"  # mount point of the file system in the guest
KINDS = ("early", "aged", "clean")
PUBLISHED_KINDS = ("early", "aged")  # Lunde (2009) calls "clean" what is early here
END = "end"  # of the ageing
# Rows that tools/user/iobound computes from a trace of tar, by its name of the order.
BOUNDS = {"sweep": "one sweep", "file": "as one file"}
# By name; TREE stands for the tree. Copies go to a tmpfs.
PROGRAMS = {
    "du": "du -s TREE",
    "qdu": f"{SWEEP}/qdu -s TREE",
    "find -exec cat": "find TREE -type f -exec cat {} +",
    "qfind -exec cat": f"{SWEEP}/qfind TREE -type f -exec cat {{}} +",
    "cp -a": "cp -a TREE /dev/tmp/copy",
    "rsync -a": "rsync -a TREE /dev/tmp/copy",
    "qcp -r": f"{SWEEP}/qcp -r TREE /dev/tmp/copy",
    "tar": "tar -cf - TREE",
    "tar --sort=inode": "tar --sort=inode -cf - TREE",
    "tar (sorted readdir)": f"LD_PRELOAD={BUILT}/sorted_readdir.so tar -cf - TREE",
    "bsdtar": "bsdtar -cf - TREE",
    "read ahead": f"python3 {TOOLS}/testbed/trees/ahead.py TREE",
    "qtar": f"{SWEEP}/qtar -cf - TREE",
    "qtar --order=none": f"{SWEEP}/qtar --order=none -cf - TREE",
}
ORDERS = ("none", "inode", "full-inode", "inode+block", "full-inode+block")
HEADS, SIZED = "heads", "sizes"
SIZES = (100, 250, 500, 1000, 5000)  # files of a directory
NEAR = 1.35  # the number of files may differ from the size by this factor
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq", "cfq")
# Concurrent with players: priority, program, trees.
BESIDE = {
    "tar, best effort": ("ionice -c 2", "tar", ["early"]),
    "qtar, best effort": ("ionice -c 2", "qtar", ["early", "aged"]),
    "qtar, idle": ("ionice -c 3", "qtar", ["early", "aged"]),
}


class Run(NamedTuple):
    """A command whose time is a cell of the experiment's table; the runs of one cell are averaged.

    @after: the version after which it runs, or END
    @beside: `players` that read at the same time, a `trace` of the disk, or `-` for nothing
    With a trace the results are the times of BOUNDS, each in its own row, or the positions of the head (HEADS).
    """

    experiment: str
    row: str
    column: str
    command: str
    after: str = END
    beside: str = "-"


@dataclass(frozen=True)
class Lived:
    """An aged file system: the number of trees of each kind, the bytes of each file, and the number of versions.

    @most: how many directories of a size are read
    """

    trees: int
    files: Mapping[str, int]
    versions: int
    most: int

    def paths(self, kind: str) -> list[str]:
        return [f"{LIVED}/{kind}-{number:02}" for number in range(self.trees)]

    def directories(self, files: int, number: int) -> list[str]:
        """At most @number directories of about @files files, none within another, those nearest to the size first."""
        counts: Counter[str] = Counter()
        for path in self.files:
            counts.update(map(str, PurePosixPath(path).parents))
        del counts["."]
        near = sorted((path for path in counts if 1 / NEAR <= counts[path] / files <= NEAR),
                      key=lambda path: (abs(counts[path] - files), path))
        taken: list[str] = []
        for path in near:
            if not any(PurePosixPath(path).is_relative_to(one) or PurePosixPath(one).is_relative_to(path)
                       for one in taken):
                taken.append(path)
        return taken[:number]

    def some(self, files: int) -> list[str]:
        """Directories of about @files files: as many as are needed for all trees together to have @most."""
        return self.directories(files, -(-self.most // self.trees))

    def parts(self, kind: str, files: int) -> list[str]:
        """The paths of directories of about @files files, in all trees of a kind."""
        return [f"{tree}/{path}" for path in self.some(files) for tree in self.paths(kind)][:self.most]

    def mean_bytes(self, files: int) -> float | None:
        """The mean size of a file in those directories; None if there are none."""
        held = [size for part in self.some(files) for path, size in self.files.items()
                if PurePosixPath(path).is_relative_to(part)]
        return sum(held) / len(held) if held else None


def read(program: str, tree: str) -> str:
    return PROGRAMS[program].replace("TREE", tree)


def programs(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """Each program on a whole tree of each kind, and the bounds from a trace of tar."""
    for kind in KINDS:
        tree = lived.paths(kind)[0]
        for name in names:
            yield Run("programs", name, kind, read(name, tree))
        yield Run("programs", "tar", kind, read("tar", tree), beside="trace")


def bounds(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """What reordering gains, and could gain at most, on directories of 250 files."""
    for kind in PUBLISHED_KINDS:
        for part in lived.parts(kind, 250):
            for program in ("tar", "qtar"):
                yield Run("bounds", program, kind, read(program, part))
            yield Run("bounds", "tar", kind, read("tar", part), beside="trace")


def heads(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """The position of the head while an aged tree is read."""
    for program in ("tar", "qtar"):
        yield Run(HEADS, program, "aged", read(program, lived.paths("aged")[0]), beside="trace")


def orders(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """The orders of libplatter, on directories of 1,000 files."""
    for kind in PUBLISHED_KINDS:
        for part in lived.parts(kind, 1000):
            yield Run("orders", "tar", kind, read("tar", part))
            for order in ORDERS:
                yield Run("orders", f"qtar --order={order}", kind, f"{SWEEP}/qtar --order={order} -cf - {part}")


def ageing(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """A whole tree after each version of the ageing."""
    for version in range(1, lived.versions + 1):
        for program in ("tar", "qtar"):
            yield Run("ageing", str(version), program, read(program, lived.paths("aged")[0]), after=str(version))


def sizes(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """Directories of different sizes."""
    for kind in PUBLISHED_KINDS:
        for size in SIZES:
            for part in lived.parts(kind, size):
                for program in ("tar", "qtar"):
                    yield Run(SIZED, f"{kind}, {size:,}", program, read(program, part))
        for tree in lived.paths(kind):
            for program in ("tar", "qtar"):
                yield Run(SIZED, f"{kind}, {len(lived.files):,}", program, read(program, tree))


def pair(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """Two aged trees with interleaved inodes and data, one after the other and both at the same time."""
    trees = lived.paths("aged")[:2]
    for scheduler in SCHEDULERS:
        choose = f"echo {scheduler} > /sys/block/rot0/queue/scheduler"
        for program in ("tar", "qtar"):
            each = [f"{read(program, tree)} | cat > /dev/null" for tree in trees]
            yield Run("pair", scheduler, f"{program}, in turn", f"{choose}; {'; '.join(each)}")
            yield Run("pair", scheduler, f"{program}, at once", f"{choose}; {' & '.join(each)} & wait")


def players(lived: Lived, names: Sequence[str]) -> Iterator[Run]:
    """tar and qtar alone, and concurrent with players that have reservations."""
    for kind in PUBLISHED_KINDS:
        for program in ("tar", "qtar"):
            yield Run("players", f"{program}, alone", kind, read(program, lived.paths(kind)[0]))
    for name, (rank, program, kinds) in BESIDE.items():
        for kind in kinds:
            yield Run("players", name, kind, f"{rank} {read(program, lived.paths(kind)[0])}", beside="players")


EXPERIMENTS: Mapping[str, Callable[[Lived, Sequence[str]], Iterator[Run]]] = {
    "programs": programs, "bounds": bounds, HEADS: heads, "orders": orders, "ageing": ageing, SIZED: sizes,
    "pair": pair, "players": players,
}
