# SPDX-License-Identifier: GPL-2.0
"""Distances are those that debugfs and xfs_db find in the unmounted image."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE
from tools.testbed.ageing import layout
from tools.testbed.ageing.layout import MIB, STEPS, Layout
from tools.testbed.ageing.tests.conftest import Mount, Mounted, ageing
from tools.testbed.lab.run.layout import Draw

DIRECTORIES = 12
FILES = 15


@dataclass
class Known:
    """Inode numbers: of a directory and of its files, by their sizes."""

    directory: int
    files: dict[int, int]


def populate(folder: Path) -> list[Known]:
    """Directories of files between which large ones take room, so that distances differ."""
    draw = Draw(1)
    folder.mkdir()
    for number in range(DIRECTORIES):
        (folder / str(number)).mkdir()
    for index in range(FILES):
        for number in range(DIRECTORIES):
            (folder / str(number) / f"file{index}").write_bytes(b"x" * draw.below(40_000))
        with (folder.parent / f"large{index}").open("wb") as large:
            os.posix_fallocate(large.fileno(), 0, draw.below(8 * MIB) + 1)
        subprocess.run(["sync", "-f", folder], check=True)
    return [Known(one.stat().st_ino, {path.stat().st_ino: path.stat().st_size for path in one.iterdir()})
            for one in [folder, *(folder / str(number) for number in range(DIRECTORIES))] if one != folder]


def expected(known: Sequence[Known], inode: Callable[[int], int], data: Callable[[int], int]) -> dict[str, list[float]]:
    """All distances, from functions that return the positions of an inode and of its first block, in bytes."""
    found: dict[str, list[float]] = {"data": [], "siblings": [], "directory": []}
    for one in known:
        block = data(one.directory)
        begins = [data(number) for number, size in one.files.items() if size]
        found["directory"] += [abs(inode(number) - block) for number in one.files]
        found["data"] += [abs(inode(number) - data(number)) for number, size in one.files.items() if size]
        found["siblings"] += [statistics.median([abs(begin - other) for at, other in enumerate(begins) if at != index])
                              for index, begin in enumerate(begins)]
    return {kind: sorted(distances) for kind, distances in found.items()}


def measured(folder: Path) -> Layout:
    return layout.measure(folder, None, lambda _text: None)


class Debugfs:
    """debugfs, asked about all inodes at once."""

    def __init__(self, mounted: Mounted, known: Sequence[Known]) -> None:
        mounted.unmount()
        numbers = [number for one in known for number in (one.directory, *one.files)]
        script = mounted.image.with_suffix(".script")
        script.write_text("".join(f"imap <{number}>\nbmap <{number}> 0\n" for number in numbers))
        done = subprocess.run(["debugfs", "-f", script, mounted.image], check=True, capture_output=True, text=True)
        found = re.findall(r"located at block (\d+), offset .*\ndebugfs: bmap.*\n(\d*)", done.stdout)
        dump = subprocess.run(["dumpe2fs", "-h", mounted.image], check=True, capture_output=True, text=True).stdout
        block_bytes = int(re.findall(r"Block size: +(\d+)", dump)[0])
        assert len(found) == len(numbers), done.stdout[:500]
        self.inodes = {number: int(at) * block_bytes for number, (at, _) in zip(numbers, found, strict=True)}
        self.blocks = {number: int(at or 0) * block_bytes for number, (_, at) in zip(numbers, found, strict=True)}


@pytest.mark.parametrize("options", [
    [],
    ["-b", "1024"],
    ["-O", "^flex_bg"],
    ["-O", "^64bit", "-I", "128"],
    ["-O", "meta_bg,^resize_inode", "-b", "1024", "-g", "1024"],
    ["-O", "meta_bg,^resize_inode,^sparse_super,^64bit", "-b", "1024", "-g", "1024"],
    ["-O", "^extent,^huge_file,^64bit"],
    ["-t", "ext2"],
], ids=lambda options: "".join(options) or "default")
def test_ext4_is_as_debugfs_finds_it(options: list[str], mount: Mount) -> None:
    if not shutil.which("debugfs"):
        pytest.skip("no debugfs here")
    mounted = mount("ext4", *options)
    known = populate(mounted.folder / "tree")
    found = measured(mounted.folder / "tree")
    debugfs = Debugfs(mounted, known)
    assert found.distances == expected(known, debugfs.inodes.__getitem__, debugfs.blocks.__getitem__)
    assert len(set(found.distances["data"])) > 20
    empty = sum(not size for one in known for size in one.files.values())
    assert (found.files, found.directories, found.placeless) == (DIRECTORIES * FILES, DIRECTORIES + 1, empty)


@pytest.mark.parametrize("options", [[], ["-b", "size=1024"], ["-i", "size=2048"]],
                         ids=lambda options: "".join(options) or "default")
def test_xfs_is_as_xfs_db_finds_it(options: list[str], mount: Mount) -> None:
    if not shutil.which("xfs_db"):
        pytest.skip("no xfs_db here")
    mounted = mount("xfs", *options)
    known = populate(mounted.folder / "tree")
    # a directory that fits into its inode, and one that does not
    for name, number, width in (("few", 3, 1), ("many", 40, 100)):
        folder = mounted.folder / "tree" / name
        folder.mkdir()
        known.append(Known(folder.stat().st_ino, {}))
        for index in range(number):
            path = folder / f"{index:0{width}}"
            path.write_bytes(b"x" * 5000)
            known[-1].files[path.stat().st_ino] = 5000
    found = measured(mounted.folder / "tree")
    mounted.unmount()

    def ask(*commands: str) -> str:
        words = [word for command in commands for word in ("-c", command)]
        return subprocess.run(["xfs_db", "-r", *words, mounted.image],
                              check=True, capture_output=True, text=True).stdout

    block_bytes, group_blocks = (int(line.split(" = ")[1]) for line in ask(
        "sb 0", "p blocksize", "p agblocks").splitlines())
    numbers = [number for one in known for number in (one.directory, *one.files)]
    # it starts slowly: all questions at once
    found_inodes = [int(number) for number in re.findall(r"\((\d+)\)", ask(*(
        f"convert ino {number} {what}" for number in numbers for what in ("agno", "agbno"))))]
    inodes = {number: (agno * group_blocks + agbno) * block_bytes
              for number, agno, agbno in zip(numbers, found_inodes[::2], found_inodes[1::2], strict=True)}
    maps = ask(*(command for number in numbers for command in (f"echo file {number}", f"inode {number}", "bmap")))

    def inode(number: int) -> int:
        return inodes[number]

    def data(number: int) -> int:
        extent = re.search(rf"^file {number} *\n.*?startblock \d+ \((\d+)/(\d+)\)", maps, re.M)
        return (int(extent[1]) * group_blocks + int(extent[2])) * block_bytes if extent else inode(number)

    few, many = known[-2].directory, known[-1].directory
    assert data(few) == inode(few) and data(many) != inode(many)
    assert found.distances == expected(known, inode, data)


def test_inline_data_empty_files_holes_and_hard_links(mount: Mount) -> None:
    mounted = mount("ext4", "-O", "inline_data")
    tree = mounted.folder / "tree"
    tree.mkdir()
    (tree / "inline").write_bytes(b"x" * 40)
    (tree / "empty").touch()
    (tree / "link").symlink_to("empty")
    os.mkfifo(tree / "pipe")
    with (tree / "hole").open("wb") as hole:
        hole.seek(5 * MIB)
        hole.write(b"x" * 5000)
    with (tree / "only hole").open("wb") as hole:
        hole.truncate(MIB)
    (tree / "other name").hardlink_to(tree / "hole")
    found = measured(tree)
    assert (found.files, found.placeless, found.unreadable) == (4, 3, 0)
    assert len(found.distances["data"]) == 1 and found.distances["data"][0] > 0
    assert found.distances["siblings"] == []
    # the directory is small enough to be in its inode
    assert all(distance < 4096 for distance in found.distances["directory"])


def test_what_is_mounted_inside_is_not_of_the_tree(mount: Mount) -> None:
    outer, inner = mount("ext4"), mount("ext4")
    (outer.folder / "inside").mkdir()
    (inner.folder / "file").write_bytes(b"x" * 5000)
    subprocess.run(["mount", "--bind", inner.folder, outer.folder / "inside"], check=True)
    try:
        assert measured(outer.folder).files == 0
    finally:
        subprocess.run(["umount", outer.folder / "inside"], check=True)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 31, 100, 101])
def test_medians_of_siblings_are_those_of_all_pairs(count: int) -> None:
    for number in range(20):
        draw = Draw(count, number)
        data = [draw.below(10 if number % 2 else 10**12) for _ in range(count)]
        every = [statistics.median(abs(one - other) for at, other in enumerate(data) if at != index)
                 for index, one in enumerate(data)] if count > 1 else []
        assert sorted(layout.sibling_medians(data)) == sorted(every)


def test_shares_and_percentiles_are_of_the_distances() -> None:
    found = Layout("tree", distances={"data": [10.0, 20.0, 30.0, 40.0], "siblings": [], "directory": []})
    assert [found.within("data", limit) for limit in (9, 10, 39, 40)] == [0, 25, 75, 100]
    assert [found.percentile("data", percent) for percent in (0, 25, 26, 50, 100)] == [10, 10, 20, 20, 40]
    assert found.within("siblings", 1) == found.percentile("siblings", 50) == 0


def test_the_command_gives_json_a_table_and_the_same_picture_twice(mount: Mount, tmp_path: Path) -> None:
    mounted = mount("ext4")
    trees = [mounted.folder / "tree", mounted.folder / "tree/3"]
    populate(trees[0])
    pictures = [tmp_path / f"{number}.svg" for number in range(2)]
    texts = [ageing("layout", *trees, "--plot", path, "-q") for path in pictures]
    found = measured(trees[0])
    shown = json.loads(ageing("layout", *trees, "--json", "-q").stdout)
    assert [one["directory"] for one in shown] == [str(tree) for tree in trees]
    assert [one["files"] for one in shown] == [DIRECTORIES * FILES, FILES]
    data = shown[0]["distances"]["data"]
    assert data["percentile_bytes"][100] == found.distances["data"][-1]
    assert data["within_percent"][str(STEPS[4])] == round(found.within("data", STEPS[4]), 3)
    rows = [line.split() for line in texts[0].stdout.splitlines() if line.startswith("1 MiB ")]
    assert [row[2] for row in rows] == [f"{found.within(kind, MIB):.1f}" for kind in layout.KINDS]
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert all(title in pictures[0].read_text() for title in layout.KINDS.values())


def test_a_file_system_without_fiemap_is_one_line(tmp_path: Path) -> None:
    done = ageing("layout", "/proc")
    assert done.returncode == EXIT_USAGE
    assert done.stderr.startswith("ageing: /proc: proc does not say where on a disk its files are (no FIEMAP")
    assert done.stderr.count("\n") == 1
    missing = tmp_path / "missing"
    done = ageing("layout", missing)
    assert (done.returncode, done.stderr) == (EXIT_USAGE, f"ageing: {missing}: No such file or directory\n")


def test_a_device_of_another_file_system_is_refused(mount: Mount, tmp_path: Path) -> None:
    one, other = mount("ext4"), mount("ext4")
    (tmp_path / "nothing").write_bytes(bytes(4096))
    for device, message in ((other.image, "is not the device of"), (tmp_path / "nothing", "is not a device with ext2"),
                         (tmp_path / "missing", "No such file or directory: as root, or with --device FILE")):
        done = ageing("layout", one.folder, "--device", device)
        assert done.returncode == EXIT_USAGE and message in done.stderr and done.stderr.count("\n") == 1
    assert ageing("layout", one.folder, "--device", one.image).returncode == 0


def test_a_picture_of_no_known_format_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    done = ageing("layout", tmp_path, "--plot", tmp_path / "picture.gif")
    assert done.returncode == EXIT_USAGE and ".svg or .png" in done.stderr
