# SPDX-License-Identifier: GPL-2.0
"""Where files lie on the modelled disk.

The media files lie as the set-up of the published experiments leaves them: 40 files of 8 GiB one after the other from
5% of the disk on; the random readers' 8 GiB file is behind them, and behind that, up to 93% of the disk, the directory
trees. Files are ranges of the raw device.

A directory tree is a list of the reads that walking it makes: directory block, inode table block, file data. A real
ext4 would need the disk's contents in memory and could not be aged as a disk in use is; the list can, is the same on
every machine, and takes the same path through the page cache.
"""

import functools
import itertools
import math
from dataclasses import dataclass

from ..model import filesystems, units
from ..model.errors import BadValue
from ..model.units import GIB, KIB, MIB

MEDIA_FILES = 40
MEDIA_BYTES = 8 * GIB  # smaller on a disk where these do not fit
MEDIA_FROM = 0.05
LEAST_BYTES = GIB  # of a media file
TREES_TO = 0.93
EDGE_BYTES = 64 * MIB

# A directory tree after much use: how much of it lies near its inodes.
BLOCK = 4 * KIB
INODES_PER_BLOCK = 16
FILES_PER_DIRECTORY = 24
NEAR_BYTES = 2 * GIB
FAR_SHARE = 0.6
MEAN_FILE_BYTES = 13 * KIB
TREE_READ = 64 * KIB
TREE_END = 64 * MEAN_FILE_BYTES  # left free: a file that begins before it fits

Range = tuple[int, int]  # offset and length in bytes


class Draw:
    """splitmix64, as in the load generator: the same numbers on every machine."""

    MASK = 2**64 - 1

    def __init__(self, *seed: int) -> None:
        self.state = 0
        for part in seed:
            self.state = (self.next() ^ part) & self.MASK

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & self.MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & self.MASK
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        return self.next() % limit

    def unit(self) -> float:
        return (self.next() >> 11) / 2**53

    def sample(self, population: int, count: int) -> list[int]:
        items = list(range(population))
        for i in range(count):
            j = i + self.below(population - i)
            items[i], items[j] = items[j], items[i]
        return items[:count]


@dataclass(frozen=True)
class Layout:
    """Byte ranges (offset, length) of everything on the disk."""

    disk_bytes: int

    def media(self, index: int) -> Range:
        return _align(int(self.disk_bytes * MEDIA_FROM)) + index * self.file_bytes, self.file_bytes

    @property
    def file_bytes(self) -> int:
        """Of a media file, and of the database behind them; where they are smaller, a gibibyte is left for trees."""
        room = int(self.disk_bytes * (TREES_TO - MEDIA_FROM))
        if room >= (MEDIA_FILES + 1) * MEDIA_BYTES:
            return MEDIA_BYTES
        return _align((room - GIB) // (MEDIA_FILES + 1))

    @property
    def database(self) -> Range:
        return self.media(MEDIA_FILES)

    @property
    def trees(self) -> Range:
        start = sum(self.database)
        return start, _align(int(self.disk_bytes * TREES_TO)) - start

    def check(self) -> None:
        if self.file_bytes < min(MEDIA_BYTES, LEAST_BYTES):
            need = int(((MEDIA_FILES + 1) * LEAST_BYTES + GIB) / (TREES_TO - MEDIA_FROM)) // GIB + 1
            raise BadValue(f"the media files do not fit a disk of {self.disk_bytes // GIB} GiB: it takes {need} GiB")


def _align(value: int) -> int:
    return value // MIB * MIB


def regions_of(file: str, disk_bytes: int) -> list[Range]:
    """The byte ranges that a group's 'file' names, one process's worth."""
    layout = Layout(disk_bytes)
    if file == "db":
        layout.check()
        return [layout.database]
    if file == "tree":
        layout.check()
        return [layout.trees]
    if file == "disk":
        return [(0, _align(disk_bytes))]
    if file == "outer":
        return [(0, EDGE_BYTES)]
    if file == "inner":
        return [(_align(disk_bytes) - EDGE_BYTES, EDGE_BYTES)]
    if file == "edges":
        return regions_of("outer", disk_bytes) + regions_of("inner", disk_bytes)
    if file.startswith("at:"):
        offset, plus, length = file.removeprefix("at:").partition("+")
        if not plus:
            raise BadValue(f"'{file}' is not at:OFFSET+LENGTH")
        return [(units.parse_size(offset, 0), units.parse_size(length))]
    raise BadValue(
        f"'{file}' is not media, media:LIST, block:SIZE, block:OFFSET+SIZE, at:OFFSET+LENGTH, db, tree, disk, outer, "
        "inner or edges"
    )


def media_files(file: str) -> list[int] | None:
    """The numbers in 'media:3,1,4'; None for plain 'media', drawn by the seed."""
    if file == "media":
        return None
    try:
        indices = [int(part) for part in file.removeprefix("media:").split(",")]
    except ValueError:
        raise BadValue(f"'{file}' is not media:LIST with numbers and commas") from None
    for index in indices:
        if not 0 <= index < MEDIA_FILES:
            raise BadValue(f"media file {index} is not in 0..{MEDIA_FILES - 1}")
    return indices


def places(file: str, count: int, layout: Layout, drawn: list[Range]) -> list[list[Range]]:
    """The byte ranges of each of a group's processes; plain 'media' takes from those drawn."""
    if file.startswith("media"):
        layout.check()
        listed = media_files(file)
        if listed is not None and len(listed) != count:
            raise BadValue(f"{count} processes but {len(listed)} media files")
        if listed is not None:
            return [[layout.media(index)] for index in listed]
        if count > len(drawn):
            raise BadValue(f"more than {2 * MEDIA_FILES} processes that read media files")
        return [[drawn.pop(0)] for _ in range(count)]
    if file == filesystems.NEW:
        return [[(0, filesystems.ENDLESS)]] * count
    if file.startswith(filesystems.OWN):
        return [[(0, units.parse_size(file.removeprefix(filesystems.OWN)))]] * count
    if file.startswith("block:"):
        start, plus, size = file.removeprefix("block:").rpartition("+")
        first, length = units.parse_size(start, 0) if plus else layout.media(0)[0], units.parse_size(size)
        return [[(first + member * length, length)] for member in range(count)]
    return [regions_of(file, layout.disk_bytes)] * count


def tree_files(region: Range, files: int, draw: Draw) -> list[list[str]]:
    """The reads of a walk over an aged tree, 'offset length' each, file by file.

    A file's first read of its inode block brings it into the page cache, so
    its neighbours find it there; directories lie beside their inodes.
    """
    start, length = region
    reads_of_files = []
    span = length - TREE_END
    directories = math.ceil(files / FILES_PER_DIRECTORY)
    for directory in range(directories):
        group = start + draw.below(span // MIB) * MIB
        lines = [f"{group} {BLOCK}"]
        table = group + BLOCK
        for index in range(min(FILES_PER_DIRECTORY, files - directory * FILES_PER_DIRECTORY)):
            lines.append(f"{table + index // INODES_PER_BLOCK * BLOCK} {BLOCK}")
            # exponentially distributed sizes, in whole blocks
            size = math.ceil(-math.log(1 - draw.unit()) * MEAN_FILE_BYTES / BLOCK) * BLOCK
            if draw.unit() < FAR_SHARE:
                data = start + draw.below(span // BLOCK) * BLOCK
            else:
                data = min(group + draw.below(NEAR_BYTES // BLOCK) * BLOCK, start + span)
            while size > 0:
                lines.append(f"{data} {min(size, TREE_READ)}")
                data += TREE_READ
                size -= TREE_READ
            reads_of_files.append(lines)
            lines = []
    return reads_of_files


@functools.lru_cache(maxsize=8)
def walk(region: Range, files: int, state: int) -> tuple[list[str], list[int]]:
    """The reads of a tree, and how many are made when each file is read: the same in many runs."""
    draw = Draw()
    draw.state = state
    by_file = tree_files(region, files, draw)
    return [line for reads in by_file for line in reads], list(itertools.accumulate(map(len, by_file)))
