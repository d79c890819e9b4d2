# SPDX-License-Identifier: GPL-2.0
"""Walks: the order against a model, nothing lost and nothing twice, bounded memory, changes during the walk."""

from __future__ import annotations

import errno
import os
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools.dev.check.seed import seed
from tools.user.sweep.tests.conftest import Builds, in_mounts, make_files, other_user, quoted, run

SEED = seed()
ORDERS = ["none", "inode", "full-inode", "inode+block", "full-inode+block", "name"]
Event = tuple[str, int, str]
LEAST_BYTES_OF_ENTRY, MOST_BYTES_OF_ENTRY = 20, 200


def parse(out: bytes) -> list[Event]:
    found = []
    for record in out.split(b"\0")[:-1]:
        what, number, path = os.fsdecode(record).split(" ", 2)
        found.append((what, int(number), path))
    return found


def walk(builds: Builds, cwd: Path, *args: str | Path, code: int = 0, user: int | None = None,
         **env: Any) -> list[Event]:
    done = run([builds.walker(), *args], cwd, user, **env)
    assert done.code == code, done
    return parse(done.out)


def paths(events: list[Event], what: str) -> list[str]:
    return [path for kind, _, path in events if kind == what]


def on_disk(root: Path) -> tuple[set[str], set[str]]:
    """Directories and files below and with the root, as the walk names them."""
    folders, files = set(), set()
    for folder, _, names in os.walk(root):
        folders.add(os.path.relpath(folder, root.parent))
        files |= {os.path.relpath(Path(folder) / name, root.parent) for name in names}
    return folders, files


def assert_complete(events: list[Event], root: Path) -> None:
    folders, files = on_disk(root)
    assert Counter(paths(events, "directory")) == Counter(folders)
    assert Counter(paths(events, "leave")) == Counter(folders)
    assert Counter(paths(events, "file")) == Counter(files)
    assert Counter(paths(events, "data")) == Counter(files)
    assert paths(events, "error") == []
    done: set[str] = set()
    for what, _, path in events:
        if what in ("data", "leave"):
            assert str(Path(path).parent) not in done, f"{path} comes after its directory was left"
        if what == "leave":
            done.add(path)


# --- order

class FakeDisk:
    """A tree whose inode numbers and places are chosen by chance, and what the orders make of it."""

    def __init__(self, folder: Path, seed: object) -> None:
        chance = random.Random(str(seed))
        self.root = folder / "tree"
        make_files(self.root, chance.randrange(2**32), folders=chance.randrange(12), files=chance.randrange(1, 50),
                   most_bytes=100)
        names = [path.name for path in self.root.rglob("*")]
        self.ino = dict(zip(names, chance.sample(range(10, 10000), len(names)), strict=True))
        self.place = dict(zip(names, chance.sample(range(4096, 10**9), len(names)), strict=True))
        self.file = folder / "disk"
        self.file.write_text("".join(f"{name} {self.ino[name]} {self.place[name]}\n" for name in names))

    def children(self, path: str) -> list[str]:
        return [f"{path}/{found.name}" for found in (self.root.parent / path).iterdir()]

    def is_folder(self, path: str) -> bool:
        return (self.root.parent / path).is_dir()

    def key(self, order: str, path: str, data: bool) -> object:
        name = Path(path).name
        if order == "name":
            return os.fsencode(name)
        if data and order.endswith("block"):
            return self.place[name]
        return self.ino[name] if order != "none" else 0  # sorted() keeps the order of readdir

    def per_directory(self, order: str) -> tuple[list[str], list[str]]:
        """All inodes, and all data, in the order in which they are read."""
        inodes, data = ["tree"], []
        waiting = ["tree"]
        while waiting:
            folder = waiting.pop(0)
            found = sorted(self.children(folder), key=lambda path: self.key(order, path, False))  # type: ignore
            inodes += found
            data += sorted((path for path in found if not self.is_folder(path)),
                           key=lambda path: self.key(order, path, True))  # type: ignore
            waiting = [path for path in found if self.is_folder(path)] + waiting
        return inodes, data

    def whole_tree(self, order: str) -> tuple[list[str], list[str]]:
        inodes, waiting = ["tree"], self.children("tree")
        head = self.root.stat().st_ino
        while waiting:
            above = [path for path in waiting if self.ino[Path(path).name] >= head]
            path = min(above or waiting, key=lambda path: self.ino[Path(path).name])
            waiting.remove(path)
            head = self.ino[Path(path).name]
            inodes.append(path)
            if self.is_folder(path):
                waiting += self.children(path)
        files = [path for path in inodes if not self.is_folder(path)]
        return inodes, sorted(files, key=lambda path: self.key(order, path, True))  # type: ignore


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("round", range(6))
@pytest.mark.parametrize("order", ORDERS)
def test_order_is_that_of_the_model(builds: Builds, tmp_path: Path, order: str, round: int, unknown: bool) -> None:
    disk = FakeDisk(tmp_path, (SEED, round))
    env: dict[str, Any] = {"FAKE_DISK": str(disk.file)} | ({"FAKE_UNKNOWN": "1"} if unknown else {})
    events = walk(builds, tmp_path, "-o", order, "tree", **env)
    inodes, data = (disk.whole_tree if order.startswith("full") else disk.per_directory)(order)
    assert [path for what, _, path in events if what in ("directory", "file")] == inodes
    assert paths(events, "data") == data
    assert_complete(events, disk.root)


def test_without_places_data_is_read_by_inode_number(builds: Builds, tmp_path: Path) -> None:
    disk = FakeDisk(tmp_path, SEED)
    disk.file.write_text("")
    events = walk(builds, tmp_path, "-o", "full-inode+block", "tree", FAKE_FIEMAP=f"errno {errno.EOPNOTSUPP}",
                  FAKE_FIBMAP=f"errno {errno.EPERM}")
    numbers = [(tmp_path / path).stat().st_ino for path in paths(events, "data")]
    assert numbers and numbers == sorted(numbers)


def test_unless_told_nothing_is_sorted_where_it_does_not_gain(builds: Builds, tmp_path: Path) -> None:
    disk = FakeDisk(tmp_path, SEED)
    events = walk(builds, tmp_path, "tree", FAKE_DISK=str(disk.file), FAKE_FS="1021994")
    assert paths(events, "data") == disk.per_directory("none")[1]
    assert_complete(events, disk.root)


@pytest.mark.parametrize("order", ORDERS)
def test_several_operands_are_one_walk(builds: Builds, tmp_path: Path, order: str) -> None:
    for name in ("one", "two"):
        make_files(tmp_path / name, SEED)
    (tmp_path / "single").write_bytes(b"1")
    events = walk(builds, tmp_path, "-o", order, "two", "single", "missing", "one")
    assert ("error", errno.ENOENT, "missing") in events
    expected = on_disk(tmp_path / "one")[1] | on_disk(tmp_path / "two")[1] | {"single"}
    assert Counter(paths(events, "data")) == Counter(expected)
    if order == "full-inode":
        numbers = [(tmp_path / path).stat().st_ino for path in paths(events, "data")]
        assert numbers == sorted(numbers)


# --- what is asked of the kernel

def statuses(builds: Builds, folder: Path, *args: str, **env: Any) -> int:
    count = folder / "count"
    walk(builds, folder, *args, "-o", "full-inode", "tree", FAKE_COUNT=str(count), **env)
    return int(count.read_text())


def test_type_in_the_directory_saves_a_stat_where_nobody_asks(builds: Builds, tmp_path: Path) -> None:
    make_files(tmp_path / "tree", SEED)
    folders, files = map(len, on_disk(tmp_path / "tree"))
    folders += 1  # the operand, for its device
    assert statuses(builds, tmp_path) == folders
    assert statuses(builds, tmp_path, "-s") == folders + files
    assert statuses(builds, tmp_path, FAKE_UNKNOWN="1") == folders + files


# --- nothing lost

@pytest.mark.parametrize("memory", ["1", "5000", "70000"])
@pytest.mark.parametrize("order", ORDERS)
def test_nothing_is_lost_or_twice_when_memory_is_short(builds: Builds, tmp_path: Path, order: str, memory: str) -> None:
    make_files(tmp_path / "tree", SEED, folders=60, files=900, most_bytes=10)
    assert_complete(walk(builds, tmp_path, "-o", order, "-m", memory, "tree"), tmp_path / "tree")


@pytest.mark.parametrize("order", ["none", "full-inode+block"])
def test_wide_directory_is_read_in_parts_when_memory_is_short(builds: Builds, tmp_path: Path, order: str) -> None:
    (tmp_path / "tree").mkdir()
    for number in range(3000):
        (tmp_path / f"tree/d{number}").mkdir()
    events = walk(builds, tmp_path, "-o", order, "-m", "20000", "tree")
    assert_complete(events, tmp_path / "tree")
    left = [number for number, event in enumerate(events) if event[0] == "leave"]
    found = [number for number, event in enumerate(events) if event[0] == "directory"]
    assert left[0] < found[1000], "directories were read before all were known"


@pytest.mark.parametrize("order", ["none", "full-inode"])
def test_deep_trees_and_few_descriptors(builds: Builds, tmp_path: Path, order: str) -> None:
    """Deeper than a path can be long, and with branches far above, which have to be come back to."""
    depth = 1500
    folder = os.open(tmp_path, os.O_RDONLY)
    for name in ["tree", *["deeper"] * depth]:
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    done = subprocess.run(["sh", "-c", f"ulimit -n 24; exec {builds.walker()} -o {order} tree"], cwd=tmp_path,
                          capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    events = parse(done.stdout)
    assert len(paths(events, "data")) == len(paths(events, "leave")) == depth + 1
    assert paths(events, "error") == []
    assert max(map(len, paths(events, "data"))) > 4096 * 2
    subprocess.run(["rm", "-r", "tree"], cwd=tmp_path, check=True)


def test_directory_that_is_not_wanted_is_not_entered(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "tree/not").mkdir(parents=True)
    (tmp_path / "tree/not/file").write_bytes(b"")
    (tmp_path / "tree/file").write_bytes(b"")
    events = walk(builds, tmp_path, "-d", "not", "tree")
    assert paths(events, "data") == ["tree/file"]
    assert paths(events, "leave") == ["tree"]


@pytest.mark.parametrize("order", ORDERS)
def test_callback_ends_the_walk_and_all_is_freed(builds: Builds, tmp_path: Path, order: str) -> None:
    make_files(tmp_path / "tree", SEED)
    whole = walk(builds, tmp_path, "-o", order, "tree")
    middle = paths(whole, "data")[20]
    events = walk(builds, tmp_path, "-o", order, "-S", Path(middle).name, "tree", code=6)
    assert paths(events, "data") == [] if order.startswith("full") else len(paths(events, "data")) <= 20
    assert len(paths(events, "leave")) == len(paths(events, "directory"))


@pytest.mark.parametrize("order", ORDERS)
def test_callback_ends_the_walk_while_data_is_read_and_all_is_freed(builds: Builds, tmp_path: Path, order: str) -> None:
    """What was still to be read is forgotten."""
    make_files(tmp_path / "tree", SEED)
    read = paths(walk(builds, tmp_path, "-o", order, "tree"), "data")
    events = walk(builds, tmp_path, "-o", order, "-D", Path(read[20]).name, "tree", code=6)
    assert paths(events, "data") == read[:21]
    assert len(paths(events, "leave")) == len(paths(events, "directory"))


# --- memory

def entries(folder: Path, count: int) -> None:
    """That many names of files, as files have them, in directories of a thousand."""
    for number in range(count // 1000):
        below = folder / f"tree/directory-{number}"
        below.mkdir(parents=True)
        at = os.open(below, os.O_RDONLY)
        os.close(os.open("some-name-of-a-file-0.extension", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        for file in range(1, 1000):
            os.link("some-name-of-a-file-0.extension", f"some-name-of-a-file-{file}.extension", src_dir_fd=at,
                    dst_dir_fd=at)
        os.close(at)


def peak_bytes(builds: Builds, folder: Path, *args: str) -> tuple[int, int]:
    """Most memory that a walk without sanitizers had, and its events."""
    done = run([builds.walker(sanitized=False), "-q", *args], folder)
    assert done.code == 0, done
    events, kib = map(int, done.out.split())
    return kib * 1024, events


def base_bytes(builds: Builds, folder: Path) -> int:
    (folder / "empty").mkdir()
    return peak_bytes(builds, folder, "empty")[0]


def judge_memory(builds: Builds, folder: Path, count: int) -> None:
    entries(folder, count)
    base = base_bytes(builds, folder)
    everything = 2 * count + 2 * (count // 1000 + 1)
    taken, events = peak_bytes(builds, folder, "-o", "full-inode+block", "-m", str(1 << 40), "tree")
    assert events == everything
    each = (taken - base) / count
    assert LEAST_BYTES_OF_ENTRY < each < MOST_BYTES_OF_ENTRY
    limit = 4 << 20
    taken, events = peak_bytes(builds, folder, "-o", "full-inode+block", "-m", str(limit), "tree")
    assert events == everything
    assert taken - base < 2 * limit


def test_entry_takes_200_bytes_at_most_and_the_limit_is_kept(builds: Builds, tmp_path: Path) -> None:
    judge_memory(builds, tmp_path, 200_000)


@pytest.mark.skipif("VM_FULL" not in os.environ, reason="slow: a million files; VM_FULL=1 runs it")
def test_limit_is_kept_with_a_million_files(builds: Builds, tmp_path: Path) -> None:
    judge_memory(builds, tmp_path, 1_000_000)


# --- links, mounts, permissions

def test_symbolic_links_are_followed_only_when_asked(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_bytes(b"")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/link").symlink_to("../other")
    (tmp_path / "tree/dangling").symlink_to("nowhere")
    assert sorted(paths(walk(builds, tmp_path, "tree"), "file")) == ["tree/dangling", "tree/link"]
    followed = walk(builds, tmp_path, "-L", "tree")
    assert sorted(paths(followed, "file")) == ["tree/dangling", "tree/link/file"]
    assert ("directory", 0, "tree/link") in followed


def test_loop_of_links_is_told_once(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "tree/below").mkdir(parents=True)
    (tmp_path / "tree/below/up").symlink_to("..")
    events = walk(builds, tmp_path, "-L", "tree")
    assert [event for event in events if event[0] == "error"] == [("error", errno.ELOOP, "tree/below/up")]


def test_cycle_of_mounts_is_told_once_and_other_file_systems_are_left_out_when_asked(
        builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "tree/up").mkdir(parents=True)
    (tmp_path / "tree/other").mkdir()
    script = ("mount --bind tree tree/up; mount -t tmpfs none tree/other; touch tree/other/file; "
              + quoted(builds.walker()) + " {} tree")
    events = parse(in_mounts(script.format(""), tmp_path).out)
    assert [event for event in events if event[0] == "error"] == [("error", errno.ELOOP, "tree/up")]
    assert paths(events, "file") == ["tree/other/file"]
    kept = parse(in_mounts(script.format("-x"), tmp_path).out)
    assert paths(kept, "file") == []
    assert paths(kept, "directory").count("tree/other") == paths(kept, "leave").count("tree/other") == 1


@pytest.mark.parametrize("order", ["none", "full-inode+block"])
def test_what_cannot_be_read_is_told_once_and_the_rest_is_done(
        builds: Builds, open_folder: Path, order: str) -> None:
    user = other_user()
    make_files(open_folder / "tree", SEED)
    shut = open_folder / "tree/shut"
    shut.mkdir()
    (shut / "file").write_bytes(b"")
    unlisted = open_folder / "tree/no-search"
    unlisted.mkdir()
    (unlisted / "file").write_bytes(b"")
    secret = open_folder / "tree/secret"
    secret.write_bytes(b"")
    for path, mode in ((shut, 0o000), (unlisted, 0o744), (secret, 0o000)):
        path.chmod(mode)
    events = walk(builds, open_folder, "-s", "-o", order, "tree", user=user)
    assert [event for event in events if event[0] == "error"] == [("error", errno.EACCES, "tree/shut")]
    assert sorted(paths(events, "gone")) == ["tree/no-search/file", "tree/secret"]
    assert len(paths(events, "data")) == 60
    assert len(paths(events, "leave")) == len(paths(events, "directory"))


# --- changes during the walk

@pytest.mark.parametrize("order", ["none", "full-inode+block"])
@pytest.mark.parametrize("unknown", [False, True])
def test_files_that_vanish_are_gone_and_the_rest_is_done(
        builds: Builds, tmp_path: Path, order: str, unknown: bool) -> None:
    make_files(tmp_path / "tree", SEED, folders=0)
    disk = tmp_path / "disk"
    disk.write_text("".join(f"f{number} {10 + number} {4096 * number}\n" for number in range(60)))
    env: dict[str, Any] = {"FAKE_DISK": str(disk)} | ({"FAKE_UNKNOWN": "1"} if unknown else {})
    first = "f0" if order != "none" else next((tmp_path / "tree").iterdir()).name
    victims = [name for name in (f"f{number}" for number in range(40, 50)) if name != first]
    removing = f"{first}=rm {quoted(*(f'tree/{name}' for name in victims))}"
    events = walk(builds, tmp_path, "-o", order, "-e", removing, "tree", **env)
    lost = {path for what, _, path in events if what in ("gone", "error")}
    assert lost == {f"tree/{name}" for name in victims}
    assert len(paths(events, "data")) == 60 - len(victims)


def test_files_that_appear_are_no_trouble(builds: Builds, tmp_path: Path) -> None:
    make_files(tmp_path / "tree", SEED)
    before = on_disk(tmp_path / "tree")[1]
    making = f"{Path(min(before)).name}=touch tree/new tree/d0/new; mkdir tree/newer; touch tree/newer/file"
    events = walk(builds, tmp_path, "-o", "full-inode+block", "-e", making, "tree")
    assert Counter(paths(events, "data")) >= Counter(before)
    assert set(Counter(paths(events, "data")).values()) == {1}


@pytest.mark.parametrize("count", [300, 3000])
def test_what_callbacks_make_in_a_directory_that_is_read_is_not_found(
        builds: Builds, tmp_path: Path, count: int) -> None:
    """It is known whole, or as much as memory takes, before they are called; else they might go on for ever."""
    (tmp_path / "tree").mkdir()
    for number in range(count):
        (tmp_path / f"tree/some-file-{number}").touch()
    before = on_disk(tmp_path / "tree")[1]
    first = walk(builds, tmp_path, "-o", "none", "tree")[1][2]
    replacing = (f"{Path(first).name}=cd tree; ls | sed 's/file/new/' > ../new; ls > ../old; "
                 "xargs rm < ../old; xargs touch < ../new")
    events = walk(builds, tmp_path, "-o", "none", "-e", replacing, "tree")
    assert Counter(paths(events, "file")) == Counter(before)


def test_directory_that_became_a_link_is_not_followed(builds: Builds, tmp_path: Path) -> None:
    """It was known before, and comes to be read when another process has replaced it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"")
    for number in range(3):
        (tmp_path / f"tree/d{number}").mkdir(parents=True)
        (tmp_path / f"tree/d{number}/file").write_bytes(b"")
    replacing = "tree=rm -r tree/d2; ln -s ../outside tree/d2"
    for order in ("none", "full-inode"):
        events = walk(builds, tmp_path, "-o", order, "-e", replacing, "tree", FAKE_UNKNOWN="")
        assert "tree/d2/secret" not in paths(events, "data")
        (tmp_path / "tree/d2").unlink()
        (tmp_path / "tree/d2").mkdir()
        (tmp_path / "tree/d2/file").write_bytes(b"")
    replacing = "d2=mv tree/d2 gone; ln -s ../outside tree/d2"
    events = walk(builds, tmp_path, "-o", "none", "-e", replacing, "tree")
    assert "tree/d2/secret" not in paths(events, "data")
