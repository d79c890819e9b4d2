# SPDX-License-Identifier: GPL-2.0
"""qcp: copies are what cp -a makes of the same tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.testbed.ageing import places
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
    not_ignoring,
    other_user,
    quoted,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_files(tmp_path / "tree", 7)
    make_odd(tmp_path / "tree/odd")
    make_links(tmp_path / "tree/links")
    make_socket(tmp_path / "tree/socket")
    return tmp_path


def same_as_cp(folder: Path, *operands: str) -> None:
    """Copied by cp to the same place elsewhere, times of directories included."""
    target = operands[-1]
    ours = fingerprint(folder / target)
    (folder / target).rename(folder / "ours")
    subprocess.run(["cp", "-a", *operands], cwd=folder, check=True)
    assert fingerprint(folder / target) == ours


@pytest.mark.parametrize("order", ORDERS)
def test_copy_is_that_of_cp(tool: Run, tree: Path, order: str) -> None:
    done = tool("qcp", "-r", "--order", order, "tree", "copy")
    assert (done.code, done.out, done.err) == (0, b"", "")
    same_as_cp(tree, "tree", "copy")
    assert fingerprint(tree / "ours") == fingerprint(tree / "tree")
    for name in ("islands", "hole", "hole-first"):
        copied, original = ((tree / path / "odd" / name).stat().st_blocks for path in ("ours", "tree"))
        assert copied <= original + 8


def test_short_memory_loses_nothing(tool: Run, tree: Path) -> None:
    assert tool("qcp", "-r", "--memory=64K", "tree", "copy").code == 0
    assert fingerprint(tree / "copy") == fingerprint(tree / "tree")


def test_attributes_and_acls_are_kept(tool: Run, tmp_path: Path) -> None:
    make_attributes(tmp_path / "tree")
    assert tool("qcp", "-r", "tree", "copy").code == 0
    assert fingerprint(tmp_path / "copy") == fingerprint(tmp_path / "tree")


def test_acls_of_where_a_copy_comes_to_are_not_its_own(tool: Run, tmp_path: Path) -> None:
    """Those of the folder that it is in, and of folders that were there. cp -a of coreutils 9.7 keeps them."""
    make_attributes(tmp_path / "tree")
    (tmp_path / "tree/sub").mkdir()
    (tmp_path / "tree/sub/file").write_bytes(b"text")
    os.mkfifo(tmp_path / "tree/fifo")
    places = [tmp_path / path for path in ("ours", "ours/tree", "ours/tree/sub")]
    for path in places:
        path.mkdir()
    if not can_set_acls(places):
        pytest.skip("no setfacl, or the file system has no ACLs")
    assert tool("qcp", "-r", "tree", "ours").code == 0
    assert fingerprint(tmp_path / "ours/tree") == fingerprint(tmp_path / "tree")


def test_copy_shares_its_blocks_where_the_file_system_can(tool: Run, tmp_path: Path) -> None:
    """As that of cp; then it takes no room."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(os.urandom(3_000_001))
    if subprocess.run(["cp", "--reflink=always", "tree/file", "other"], cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("the file system shares no blocks")
    assert tool("qcp", "-r", "tree", "copy").code == 0
    assert fingerprint(tmp_path / "copy") == fingerprint(tmp_path / "tree")
    assert first_extent(tmp_path / "copy/file") == first_extent(tmp_path / "tree/file")


def can_set_acls(folders: list[Path]) -> bool:
    set_acl = ["setfacl", "-m", "u:4321:rwx,d:u:4321:rwx"]
    return shutil.which("setfacl") is not None and not subprocess.run([*set_acl, *folders], check=False).returncode


def first_extent(path: Path) -> int:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        place, _ = places.first_extent(file.fileno())
    assert place is not None
    return place


def test_folder_takes_copies_and_keeps_what_it_has(tool: Run, tree: Path) -> None:
    (tree / "to").mkdir()
    (tree / "to/other").write_bytes(b"other")
    (tree / "to/nothing").write_bytes(b"old")
    done = tool("qcp", "-r", "tree/odd/", "tree/odd/nothing", "tree/links", "to")
    assert (done.code, done.err) == (0, "")
    assert fingerprint(tree / "to/odd") == fingerprint(tree / "tree/odd")
    assert fingerprint(tree / "to/links") == fingerprint(tree / "tree/links")
    assert (tree / "to/other").read_bytes() == b"other" and (tree / "to/nothing").read_bytes() == b""


def test_copying_twice_replaces(tool: Run, tree: Path) -> None:
    (tree / "to").mkdir()
    for _ in range(2):
        done = tool("qcp", "-r", "tree", "to")
        assert (done.code, done.err) == (0, "")
    assert fingerprint(tree / "to/tree") == fingerprint(tree / "tree")


@pytest.mark.parametrize("source", [".", "./", "../tree/."])
def test_dot_means_what_is_in_it(tool: Run, tree: Path, source: str) -> None:
    (tree / "to").mkdir()
    assert tool("qcp", "-r", source, "../to", cwd=tree / "tree").code == 0
    assert fingerprint(tree / "to") == fingerprint(tree / "tree")


def test_single_files(tool: Run, tree: Path) -> None:
    files = ["tree/odd/mode", "tree/odd/fifo", "tree/odd/link"]
    assert tool("qcp", *files, "tree/odd/empty/..", "tree/odd/empty").code == 1
    assert sorted(path.name for path in (tree / "tree/odd/empty").iterdir()) == ["fifo", "link", "mode"]
    assert tool("qcp", "tree/odd/mode", "copy").code == 0
    assert (tree / "copy").stat().st_mtime_ns == (tree / "tree/odd/mode").stat().st_mtime_ns


def test_deep_trees(tool: Run, tmp_path: Path) -> None:
    depth = 60
    folder = os.open(tmp_path, os.O_RDONLY)
    for name in ["tree", *["d" * 200] * depth]:
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.link("leaf", "other", src_dir_fd=folder, dst_dir_fd=folder)
    os.close(folder)
    done = tool("qcp", "-r", "tree", "copy")
    assert (done.code, done.err) == (0, "")
    listed = [subprocess.run(["find", ".", "-printf", "%P %n\n"], cwd=tmp_path / name, capture_output=True).stdout
              for name in ("tree", "copy")]
    assert listed[0] == listed[1] and len(listed[0].splitlines()) == depth + 3
    subprocess.run(["rm", "-r", "tree", "copy"], cwd=tmp_path, check=True)


def test_directory_is_not_copied_into_itself_for_ever(tool: Run, tree: Path) -> None:
    before = {path for path in fingerprint(tree / "tree") if not path.startswith(b"/copy")}
    done = tool("qcp", "-r", "tree", "tree/copy")
    assert (done.code, done.err) == (1, "qcp: cannot copy 'tree/copy': it is the copy itself\n")
    assert set(fingerprint(tree / "tree/copy")) == before


@pytest.mark.parametrize("operands, text", [
    (["tree", "."], "it would be its own copy"), (["tree/odd/mode", "tree/odd"], "it would be its own copy"),
    (["tree/.", "tree"], "it would be its own copy"), (["missing", "to"], "No such file"),
    (["tree/odd/dir", "tree/odd/mode"], "replace an existing file"),
    (["tree/odd/mode", "no/such/place"], "create the copy"),
])
def test_what_cannot_be_is_refused(tool: Run, tree: Path, operands: list[str], text: str) -> None:
    before = fingerprint(tree / "tree")
    done = tool("qcp", "-r", *operands)
    assert done.code == 1 and text in done.err and len(done.complaints) == 1
    assert fingerprint(tree / "tree") == before


def test_directory_wants_r(tool: Run, tree: Path) -> None:
    done = tool("qcp", "tree", "copy")
    assert (done.code, done.err) == (1, "qcp: cannot copy 'tree': it is a directory: use -r\n")
    assert not (tree / "copy").exists()


def test_file_does_not_replace_a_directory(tool: Run, tree: Path) -> None:
    (tree / "to/mode/full").mkdir(parents=True)
    done = tool("qcp", "tree/odd/mode", "to")
    assert done.code == 1 and "Is a directory" in done.err
    assert [path.name for path in (tree / "to").iterdir()] == ["mode"]


def test_user_gets_what_he_may_have(tool: Run, open_folder: Path) -> None:
    user = other_user()
    make_files(open_folder / "tree", 1)
    (open_folder / "tree/suid").write_bytes(b"suid")
    (open_folder / "tree/suid").chmod(0o4755)
    (open_folder / "tree/secret").write_bytes(b"")
    (open_folder / "tree/secret").chmod(0)
    done = tool("qcp", "-r", "tree", "copy", cwd=open_folder, user=user)
    assert (done.code, done.err) == (1, "qcp: cannot read 'tree/secret': Permission denied\n")
    assert (open_folder / "copy/suid").stat().st_mode & 0o7777 == 0o755
    assert (open_folder / "copy/suid").stat().st_uid == user
    assert len(list((open_folder / "copy").rglob("f*"))) == 60


@pytest.mark.parametrize("name", ["islands", "plain"])
def test_file_that_cannot_be_read_to_its_end_is_left_out(tool: Run, tmp_path: Path, name: str) -> None:
    make_odd(tmp_path / "tree")
    (tmp_path / "tree/plain").write_bytes(b"p" * 3_005_000)
    done = tool("qcp", "-r", "tree", "copy", FAKE_READ=f"{name} 3000500 5")
    assert (done.code, done.err) == (1, f"qcp: cannot read 'tree/{name}': Input/output error\n")
    missing = set(fingerprint(tmp_path / "tree")) - set(fingerprint(tmp_path / "copy"))
    assert missing == {f"/{name}".encode()}


@INTERRUPTED
def test_interrupted_copy_leaves_no_part_of_a_file(builds: Builds, tmp_path: Path, names: str, end: int) -> None:
    """It is interrupted while a file is written: reading pauses it."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(b"x" * 3_000_000)
    with subprocess.Popen([builds.program("qcp"), "-r", "tree", "copy"], cwd=tmp_path, stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=not_ignoring,
                          env={**os.environ, "FAKE_READ": "file 2000000 -1", "FAKE_NAMES": names}) as running:
        assert running.stderr
        running.stderr.readline()
        assert [path.name[:5] for path in (tmp_path / "copy").iterdir()] == ([".qcp."] if names else [])
        running.send_signal(end)
        assert running.wait(timeout=100) == -end
    assert list((tmp_path / "copy").iterdir()) == []


def test_full_disk_leaves_whole_files_only(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    for number in range(4):
        (tmp_path / f"tree/f{number}").write_bytes(b"x" * 400_000)
    (tmp_path / "small").mkdir()
    script = ("mount -t tmpfs -o size=1m none small; " + quoted(builds.program("qcp"), "-r", "tree", "small/copy")
              + " || echo failed $?; find small -type f -size -400000c; find small -type f | wc -l")
    done = in_mounts(script, tmp_path)
    assert done.out.split() == [b"failed", b"1", b"2"]
    assert len(done.complaints) == 2 and all("No space left" in line for line in done.complaints)


def test_other_file_systems_are_left_out_when_asked(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "tree/other").mkdir(parents=True)
    script = ("mount -t tmpfs none tree/other; touch tree/other/file; "
              + quoted(builds.program("qcp"), "-rx", "tree", "copy") + "; find copy")
    assert in_mounts(script, tmp_path).out.split() == [b"copy", b"copy/other"]


def test_list(tool: Run, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(b"")
    assert tool("qcp", "-rv", "tree", "copy").lines == [b"'tree' -> 'copy'", b"'tree/file' -> 'copy/file'"]
