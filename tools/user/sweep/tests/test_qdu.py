# SPDX-License-Identifier: GPL-2.0
"""qdu against du."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.user.sweep.tests.conftest import (
    Builds,
    Run,
    in_mounts,
    make_files,
    make_links,
    make_odd,
    make_sparse,
    other_user,
    quoted,
)

ORDERS = ["none", "inode", "full-inode", "inode+block", "full-inode+block"]


def du(cwd: Path, *args: str) -> list[bytes]:
    done = subprocess.run(["du", *args], cwd=cwd, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    return done.stdout.split(b"\0" if "-0" in args else b"\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_files(tmp_path / "tree", 3)
    make_odd(tmp_path / "tree/odd")
    (tmp_path / "tree/names").mkdir()
    (tmp_path / "tree/names/one").write_bytes(b"x" * 100_000)
    (tmp_path / "tree/names/two").hardlink_to(tmp_path / "tree/names/one")
    return tmp_path


@pytest.mark.parametrize("options", [[], ["-s"], ["-a"], ["-h"], ["-ah"], ["-c"], ["-sc"], ["-x"], ["-L"], ["-sx"],
                                     ["-sL", "-c"]])
@pytest.mark.parametrize("order", ORDERS)
def test_output_is_that_of_du(tool: Run, tree: Path, options: list[str], order: str) -> None:
    ours = tool("qdu", "-0", "--order", order, *options, "tree")
    theirs = du(tree, "-0", *options, "tree")
    # which of two names counts, or of a directory and a link to it, is up to the order
    twice = (b"names/", b"odd/dir", b"odd/link")

    def counted(lines: list[bytes]) -> list[bytes]:
        return sorted(line for line in lines if not any(name in line for name in twice))
    assert counted(ours.out.split(b"\0")) == counted(theirs)
    # du -L reports links without a target too
    follows = "L" in "".join(options)
    assert (ours.code, len(ours.complaints)) == ((1, 2) if follows else (0, 0))


@pytest.mark.parametrize("options", [["-b"], ["--apparent-size"], ["-bs"], ["-ba"]])
def test_apparent_sizes_are_those_of_files_and_links(tool: Run, tree: Path, options: list[str]) -> None:
    ours = tool("qdu", "-0", *options, "tree/odd").out.split(b"\0")[:-1]
    apparent = {os.fsdecode(path): int(size) for size, path in (line.split(b"\t", 1) for line in ours)}
    total = 0
    for folder, folders, files in os.walk(tree / "tree/odd"):
        for name in files + [name for name in folders if (Path(folder) / name).is_symlink()]:
            path = Path(folder) / name
            if path.is_symlink() or path.is_file():
                total += path.lstat().st_size
    assert apparent["tree/odd"] == (total if "b" in options[0] else -(-total // 1024))
    if "-ba" in options:
        assert apparent["tree/odd/islands"] == 6_000_001
        assert apparent["tree/odd/fifo"] == apparent["tree/odd/empty"] == 0


def test_file_with_several_names_counts_once(tool: Run, tmp_path: Path) -> None:
    make_links(tmp_path / "tree")
    for options in (["-s"], ["-sc"]):
        for operands in (["tree"], ["tree/la", "tree/lb"], ["tree", "tree"], ["tree", "tree/la"]):
            ours = tool("qdu", *options, *operands)
            assert ours.code == 0
            total = sum(int(line.split()[0]) for line in ours.lines if not line.endswith(b"total"))
            theirs = du(tmp_path, *options, *operands)
            assert total == sum(int(line.split()[0]) for line in theirs if line and not line.endswith(b"total"))


def test_operands_may_be_files_and_missing(tool: Run, tree: Path) -> None:
    ours = tool("qdu", "-s", "tree/names/one", "missing", "tree/odd/fifo")
    assert sorted(ours.lines) == sorted(du(tree, "-s", "tree/names/one", "tree/odd/fifo"))[1:]
    assert ours.code == 1
    assert ours.err == "qdu: cannot read 'missing': No such file or directory\n"


def test_without_operand_it_is_the_working_directory(tool: Run, tree: Path) -> None:
    assert tool("qdu", "-s", cwd=tree / "tree").lines == du(tree / "tree", "-s")[:-1]


def test_unreadable_directory_is_told_and_counted_itself(tool: Run, open_folder: Path) -> None:
    user = other_user()
    make_files(open_folder / "tree", 1)
    (open_folder / "tree/shut").mkdir(mode=0o700)
    ours = tool("qdu", "tree", cwd=open_folder, user=user)
    theirs = subprocess.run(["du", "tree"], cwd=open_folder, user=user, capture_output=True)
    assert (ours.code, theirs.returncode) == (1, 1)
    assert sorted(ours.lines) == sorted(theirs.stdout.splitlines())
    assert ours.err == "qdu: cannot read 'tree/shut': Permission denied\n"


def test_other_file_systems_are_left_out_when_asked(builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "tree/other").mkdir(parents=True)
    (tmp_path / "tree/bound").write_bytes(b"")
    script = ("mount -t tmpfs none tree/other; head -c 100000 /dev/zero > tree/other/file; "
              "mount --bind tree/other/file tree/bound; " + quoted(builds.program("qdu"), "-x", "tree")
              + "; echo; du -x tree")
    ours, theirs = in_mounts(script, tmp_path).out.split(b"\n\n")
    assert ours.strip() == theirs.strip()


def test_sparse_files_take_what_they_take(tool: Run, tmp_path: Path) -> None:
    make_sparse(tmp_path / "file", 1 << 30, [(500_000_000, b"x")])
    assert tool("qdu", "file").lines == du(tmp_path, "file")[:-1]
    assert tool("qdu", "-b", "file").lines == [b"1073741824\tfile"]


def test_all_and_summarize_are_opposites(tool: Run) -> None:
    done = tool("qdu", "-as")
    assert (done.code, done.err) == (1, "qdu: -a and -s cannot be combined\n")
