# SPDX-License-Identifier: GPL-2.0
"""qtar: what tar extracts from its archives is what was archived."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tools.user.sweep.tests.conftest import (
    INTERRUPTED,
    ORDERS,
    Builds,
    Run,
    fingerprint,
    in_mounts,
    make_attributes,
    make_files,
    make_links,
    make_odd,
    make_socket,
    make_sparse,
    not_ignoring,
    other_user,
    quoted,
)


def extract(archive: Path, to: Path) -> None:
    to.mkdir()
    subprocess.run(["tar", "--xattrs", "--xattrs-include=*", "-xpf", archive, "-C", to], check=True)


def members(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        return opened.getnames()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_files(tmp_path / "tree", 7)
    make_odd(tmp_path / "tree/odd")
    make_links(tmp_path / "tree/links")
    return tmp_path


@pytest.mark.parametrize("order", ORDERS)
def test_extracted_tree_is_the_original(tool: Run, tree: Path, order: str) -> None:
    done = tool("qtar", "-c", "--order", order, "-f", "archive", "tree")
    assert (done.code, done.out, done.err) == (0, b"", "")
    extract(tree / "archive", tree / "out")
    assert fingerprint(tree / "out/tree") == fingerprint(tree / "tree")
    taken, original = ((tree / path / "odd/islands").stat().st_blocks for path in ("out/tree", "tree"))
    assert taken <= original + 64  # XFS takes more than is written
    assert (tree / "archive").stat().st_size < 3_000_000, "holes were written"


def test_short_memory_loses_nothing(tool: Run, tree: Path) -> None:
    assert tool("qtar", "-c", "--memory=64K", "-f", "archive", "tree").code == 0
    extract(tree / "archive", tree / "out")
    assert fingerprint(tree / "out/tree") == fingerprint(tree / "tree")


def test_attributes_and_acls_are_kept(tool: Run, tmp_path: Path) -> None:
    make_attributes(tmp_path / "tree")
    assert tool("qtar", "-cf", "archive", "tree").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    assert fingerprint(tmp_path / "out/tree") == fingerprint(tmp_path / "tree")


@pytest.mark.parametrize("folder, name", [
    (0, 99), (0, 100), (0, 101), (0, 255), (54, 100), (54, 101), (154, 95), (155, 95), (156, 95), (157, 95), (254, 255),
    (200, 3),
])
def test_names_of_every_length_are_kept(tool: Run, tmp_path: Path, folder: int, name: int) -> None:
    """Those that fit a field of ustar, those that are divided at a slash, and longer ones; of links, too."""
    at = tmp_path / "/".join(["d" * folder] if folder else [])
    at.mkdir(exist_ok=True)
    (at / ("n" * name)).write_bytes(b"text")
    (at / "link").symlink_to("t" * name)
    (at / "other").hardlink_to(at / ("n" * name))
    top = "d" * folder if folder else "n" * name
    assert tool("qtar", "-cf", "archive", top).code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    if folder:
        assert fingerprint(tmp_path / "out" / top) == fingerprint(tmp_path / top)
    else:
        assert (tmp_path / "out" / top).read_bytes() == b"text"


@pytest.mark.parametrize("mtime_ns", [0, 1, 1_000_000_000_100_000_000, (1 << 33) * 10**9 - 1, (1 << 33) * 10**9])
def test_times_are_kept_to_the_nanosecond(tool: Run, tmp_path: Path, mtime_ns: int) -> None:
    (tmp_path / "file").write_bytes(b"")
    os.utime(tmp_path / "file", ns=(0, mtime_ns))
    kept = (tmp_path / "file").stat().st_mtime_ns
    assert tool("qtar", "-cf", "archive", "file").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    assert (tmp_path / "out/file").stat().st_mtime_ns == kept


@pytest.mark.parametrize("mtime_ns", [-1, -500_000_000, -1_000_000_000, -1_500_000_000])
def test_times_before_1970_are_kept_to_the_second(tool: Run, tmp_path: Path, mtime_ns: int) -> None:
    (tmp_path / "file").write_bytes(b"")
    os.utime(tmp_path / "file", ns=(0, mtime_ns))
    kept = (tmp_path / "file").stat().st_mtime_ns
    assert tool("qtar", "-cf", "archive", "file").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    assert (tmp_path / "out/file").stat().st_mtime_ns == kept // 10**9 * 10**9


@pytest.mark.parametrize("number", [0, 0o7777777, 0o10000000, 2**32 - 2])
def test_owners_of_every_number_are_kept(tool: Run, tmp_path: Path, number: int) -> None:
    other_user()
    (tmp_path / "file").write_bytes(b"")
    os.chown(tmp_path / "file", number, number)
    assert tool("qtar", "-cf", "archive", "file").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    status = (tmp_path / "out/file").stat()
    assert (status.st_uid, status.st_gid) == (number, number)


def test_names_of_attributes_may_have_any_sign_and_their_lists_be_long(tool: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    try:
        for name in ("a=b", "per%cent", "a%3Db", *(f"{number:02}" + "n" * 100 for number in range(5))):
            os.setxattr(tmp_path / "file", f"user.{name}", name.encode() * 3)
    except OSError:
        pytest.skip("the file system has no room for these attributes")
    assert tool("qtar", "-cf", "archive", "file").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    kept, original = ({key: os.getxattr(path / "file", key) for key in os.listxattr(path / "file")}
                      for path in (tmp_path / "out", tmp_path))
    assert kept == original and len(kept) == 8


def test_file_of_more_than_eight_gib_is_kept(tool: Run, tmp_path: Path) -> None:
    make_sparse(tmp_path / "file", (9 << 30) + 5, [(0, b"first"), (9 << 30, b"last!")])
    assert tool("qtar", "-cf", "archive", "file").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    assert (tmp_path / "out/file").stat().st_size == (9 << 30) + 5
    with (tmp_path / "out/file").open("rb") as file:
        assert file.read(6) == b"first\0"
        file.seek(9 << 30)
        assert file.read() == b"last!"
    assert (tmp_path / "archive").stat().st_size < 1 << 20


def test_names_of_attributes_that_no_archive_can_hold_are_told(tool: Run, tmp_path: Path) -> None:
    """libarchive would write them in a way that tar does not take back; the others are kept."""
    (tmp_path / "file").write_bytes(b"text")
    try:
        for name in ("user.plain", "user.with space", "user.gr\u00f6\u00dfe"):
            os.setxattr(tmp_path / "file", name, b"value")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    done = tool("qtar", "-cf", "archive", "file")
    assert done.code == 2 and sum("cannot be archived" in line for line in done.complaints) == 2
    extract(tmp_path / "archive", tmp_path / "out")
    assert os.listxattr(tmp_path / "out/file") == ["user.plain"]


@pytest.mark.parametrize("name", ["plain", "islands", "hole"])
def test_file_that_takes_fewer_blocks_than_it_has_bytes_is_kept(tool: Run, tmp_path: Path, name: str) -> None:
    """As of file systems that compress, whose files need no holes for that."""
    parts = {"plain": [(0, os.urandom(300_000))], "islands": [(0, b"first"), (200_000, b"second")], "hole": []}[name]
    make_sparse(tmp_path / "file", 300_000, parts)
    assert tool("qtar", "-cf", "archive", "file", FAKE_BLOCKS="1").code == 0
    extract(tmp_path / "archive", tmp_path / "out")
    assert (tmp_path / "out/file").read_bytes() == (tmp_path / "file").read_bytes()


def test_archive_ends_with_a_record(tool: Run, tree: Path) -> None:
    tool("qtar", "-cf", "archive", "tree")
    text = (tree / "archive").read_bytes()
    assert len(text) % 10240 == 0 and text.endswith(bytes(1024))


def test_target_of_a_link_comes_before_it(tool: Run, tree: Path) -> None:
    tool("qtar", "-c", "--order=full-inode+block", "-f", "archive", "tree")
    seen = set()
    links = 0
    with tarfile.open(tree / "archive") as opened:
        for member in opened:
            seen.add(member.name)
            if member.islnk():
                links += 1
                assert member.linkname in seen
    assert links == 15


def test_files_are_archived_in_the_order_of_the_disk(tool: Run, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    lines = []
    for number in range(40):
        (tmp_path / f"tree/f{number}").write_bytes(b"x")
        lines.append(f"f{number} {100 + number} {4096 * (number * 31 % 40)}\n")
    (tmp_path / "disk").write_text("".join(lines))
    tool("qtar", "-cf", "archive", "--order=full-inode+block", "tree", FAKE_DISK=str(tmp_path / "disk"))
    expected = sorted(range(40), key=lambda number: number * 31 % 40)
    assert members(tmp_path / "archive") == [*(f"tree/f{number}" for number in expected), "tree"]


def test_sorted_by_name_two_archives_are_the_same(tool: Run, tree: Path) -> None:
    tool("qtar", "-c", "--sort=name", "-f", "one", "tree")
    subprocess.run(["cp", "-a", "tree", "copy"], cwd=tree, check=True)
    (tree / "tree").rename(tree / "old")
    (tree / "copy").rename(tree / "tree")
    tool("qtar", "-c", "--sort=name", "--memory=64K", "-f", "two", "tree")
    assert (tree / "one").read_bytes() == (tree / "two").read_bytes()
    found = [name for name in members(tree / "one") if name.count("/") == 1 and (tree / name).is_dir()]
    assert found == sorted(found)


def test_list_and_standard_output(tool: Run, tree: Path) -> None:
    done = tool("qtar", "-cv", "tree/links")
    assert done.code == 0
    (tree / "archive").write_bytes(done.out)
    listed = [line.rstrip("/") for line in done.complaints]
    assert listed == members(tree / "archive")
    done = tool("qtar", "-cvf", "other", "tree/links")
    assert [line.rstrip("/") for line in done.out.decode().splitlines()] == members(tree / "other")


def test_folders_are_changed_in_their_order(tool: Run, tree: Path) -> None:
    tool("qtar", "-cf", "archive", "-C", "tree", "links/la", "-C", "odd", "empty", "dir")
    names = members(tree / "archive")
    assert {"links/la", "empty", "dir", "dir/inside"} <= set(names)
    assert (tree / "archive").exists()


def test_names_are_relative(tool: Run, tree: Path) -> None:
    done = tool("qtar", "--order=none", "-cf", "archive", tree / "tree/links/la", "../" + tree.name + "/tree/odd/dir")
    names = members(tree / "archive")
    assert str(tree / "tree/links/la")[1:] in names and f"{tree.name}/tree/odd/dir/inside" in names
    assert all(not name.startswith(("/", "..")) for name in names)
    assert len(done.complaints) == 1 and re.search("removing '[^']+' from the beginning of names", done.err)


@pytest.mark.parametrize("names", ["", "1"])
def test_sockets_and_the_archive_itself_are_left_out(tool: Run, tmp_path: Path, names: str) -> None:
    """The old archive, and the new one where it has a name."""
    (tmp_path / "tree").mkdir()
    make_socket(tmp_path / "tree/socket")
    (tmp_path / "tree/archive").write_bytes(b"old")
    done = tool("qtar", "-cf", "tree/archive", "tree", FAKE_NAMES=names)
    assert done.code == 0
    assert members(tmp_path / "tree/archive") == ["tree"]
    assert any("is a socket" in line for line in done.complaints)
    assert sum("is the archive" in line for line in done.complaints) == (2 if names else 1)


def test_unreadable_file_is_a_failure_and_the_rest_is_archived(tool: Run, open_folder: Path) -> None:
    user = other_user()
    make_files(open_folder / "tree", 1)
    (open_folder / "tree/secret").write_bytes(b"")
    (open_folder / "tree/secret").chmod(0)
    done = tool("qtar", "-cf", "archive", "tree", cwd=open_folder, user=user)
    assert (done.code, done.err) == (2, "qtar: cannot read 'tree/secret': Permission denied\n")
    assert len(members(open_folder / "archive")) == 73


@pytest.mark.parametrize("error, code, text", [(0, 1, "was truncated"), (5, 2, "Input/output error")])
@pytest.mark.parametrize("name", ["islands", "plain"])
def test_file_that_ends_early_is_filled_up(
        tool: Run, tmp_path: Path, error: int, code: int, text: str, name: str) -> None:
    make_odd(tmp_path / "tree")
    (tmp_path / "tree/plain").write_bytes(b"p" * 3_005_000)
    done = tool("qtar", "-cf", "archive", "tree", FAKE_READ=f"{name} 3000500 {error}")
    assert done.code == code
    assert len(done.complaints) == 1 and text in done.err
    extract(tmp_path / "archive", tmp_path / "out")
    found = (tmp_path / "out/tree" / name).read_bytes()
    original = (tmp_path / "tree" / name).read_bytes()
    assert found == original[:3000500] + bytes(len(original) - 3000500)
    rest = fingerprint(tmp_path / "tree")
    assert {path for path, value in fingerprint(tmp_path / "out/tree").items() if rest[path] != value} == {
        f"/{name}".encode()}


def test_first_name_that_cannot_be_read_is_replaced_by_another(builds: Builds, tmp_path: Path) -> None:
    """The first of three names vanishes between the passes: the second is the file, the third a link to it."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a").write_bytes(b"text")
    (tmp_path / "tree/b").hardlink_to(tmp_path / "tree/a")
    (tmp_path / "tree/c").hardlink_to(tmp_path / "tree/a")
    (tmp_path / "tree/last").mkdir()
    disk = tmp_path / "disk"
    disk.write_text("a 10 1\nb 11 1\nc 12 1\nlast 13 1\n")
    with subprocess.Popen([builds.program("qtar"), "-cf", "archive", "--order=full-inode", "tree"], cwd=tmp_path,
                          env={**os.environ, "FAKE_DISK": str(disk), "FAKE_PAUSE": "last"}, stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as running:
        assert running.stdin and running.stderr
        running.stderr.readline()
        (tmp_path / "tree/a").unlink()
        running.stdin.write(b"\n")
        running.stdin.close()
        said = running.stderr.read()
        assert running.wait() == 1, said
    with tarfile.open(tmp_path / "archive") as opened:
        kinds = {member.name: (member.isreg(), member.linkname) for member in opened}
    assert kinds["tree/b"][0] and kinds["tree/c"] == (False, "tree/b") and "tree/a" not in kinds


@INTERRUPTED
def test_interrupted_archive_leaves_what_was_there(builds: Builds, tmp_path: Path, names: str, end: int) -> None:
    make_files(tmp_path / "tree", 1)
    (tmp_path / "archive").write_bytes(b"old")
    with subprocess.Popen([builds.program("qtar"), "-cf", "archive", "tree"], cwd=tmp_path, stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, "FAKE_PAUSE": "f30", "FAKE_NAMES": names},
                          preexec_fn=not_ignoring) as running:
        assert running.stderr
        running.stderr.readline()
        assert len(list(tmp_path.glob(".qtar.*"))) == (1 if names else 0)
        running.send_signal(end)
        assert running.wait(timeout=100) == -end
    assert (tmp_path / "archive").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "tree"]


def test_full_disk_leaves_no_archive(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 2_000_000)
    (tmp_path / "small").mkdir()
    script = ("mount -t tmpfs -o size=1m none small; " + quoted(builds.program("qtar"), "-cf", "small/archive", "file")
              + " || echo failed $?; ls -A small")
    done = in_mounts(script, tmp_path)
    assert done.out == b"failed 2\n"
    assert len(done.complaints) == 1 and "No space left" in done.err


def test_mode_is_as_usual_and_a_link_stays(tool: Run, tree: Path) -> None:
    (tree / "link").symlink_to("real")
    (tree / "real").write_bytes(b"")
    (tree / "real").chmod(0o640)
    assert tool("qtar", "-cf", "link", "tree/links").code == 0
    assert (tree / "link").is_symlink() and "tree/links" in members(tree / "real")
    assert (tree / "real").stat().st_mode & 0o777 == 0o640
    before = os.umask(0o027)
    try:
        tool("qtar", "-cf", "new", "tree/links")
    finally:
        os.umask(before)
    assert (tree / "new").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("args, text", [
    (["-f", "x", "tree"], "-c is missing"), (["-cf", "x"], "no path"), (["-cf"], "-f requires a value"),
    (["-c", "--sort=size", "-f", "x", "t"], "--sort: unknown order 'size'"), (["-xf", "x"], "-c is missing"),
])
def test_bad_use_is_refused(tool: Run, tmp_path: Path, args: list[str], text: str) -> None:
    done = tool("qtar", *args)
    assert (done.code, len(done.complaints)) == (2, 1)
    assert text in done.err
    assert list(tmp_path.iterdir()) == []


def test_missing_operand_and_folder_are_failures(tool: Run, tree: Path) -> None:
    done = tool("qtar", "-cf", "archive", "missing", "tree/links")
    assert (done.code, done.err) == (2, "qtar: cannot read 'missing': No such file or directory\n")
    assert "tree/links" in members(tree / "archive")
    done = tool("qtar", "-cf", "other", "-C", "missing", "x")
    assert done.code == 2 and not (tree / "other").exists()
