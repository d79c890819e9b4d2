# SPDX-License-Identifier: GPL-2.0
"""qfind against find; its commands against the order of the disk."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.user.sweep.tests.conftest import Run, make_files, make_odd, make_socket, other_user


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_files(tmp_path / "tree", 5, most_bytes=9000)
    make_odd(tmp_path / "tree/odd")
    make_socket(tmp_path / "tree/socket")
    os.utime(tmp_path / "tree/socket", (2e9, 2e9))
    return tmp_path


def find(cwd: Path, *args: str) -> bytes:
    done = subprocess.run(["find", *args], cwd=cwd, capture_output=True)
    assert done.returncode == 0, done
    return done.stdout


EXPRESSIONS = [
    [], ["-print"], ["-name", "f1*"], ["-name", "[!f]*"], ["-name", "n" * 255], ["-name", "tree"],
    ["-type", "f"], ["-type", "d"], ["-type", "l"], ["-type", "p"], ["-type", "s"], ["-type", "b"], ["-type", "c"],
    ["-type", "f,l"], ["-type", "f", "-name", "*[02468]"], ["-name", "*1*", "-name", "*2"],
    ["-size", "0"], ["-size", "1"], ["-size", "+8"], ["-size", "-3k"], ["-size", "+3k", "-size", "-6k"],
    ["-size", "5c"], ["-size", "+1M"], ["-size", "-1M"], ["-size", "+2000w"], ["-size", "-1G"],
    ["-newer", "tree/odd/mode"], ["-newer", "tree/socket"], ["-type", "f", "-newer", "tree/f1"],
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=" ".join)
def test_what_is_found_is_what_find_finds(tool: Run, tree: Path, expression: list[str]) -> None:
    if "tree/f1" in expression:
        expression = [word.replace("tree/f1", str(next(tree.rglob("f1")))) for word in expression]
    last = [] if expression[-1:] == ["-print"] else ["-print0"]
    ours = tool("qfind", "tree", *expression, *last)
    assert (ours.code, ours.err) == (0, "")
    end = b"\0" if last else b"\n"
    assert sorted(ours.out.split(end)) == sorted(find(tree, "tree", *expression, *last).split(end))


@pytest.mark.parametrize("operands", [[], ["."], ["tree/"], ["tree", "tree/odd"], ["./tree//odd"]])
def test_paths_begin_with_the_operand(tool: Run, tree: Path, operands: list[str]) -> None:
    assert sorted(tool("qfind", *operands).lines) == sorted(find(tree, *operands).splitlines())


def test_links_are_followed_when_asked(tool: Run, tree: Path) -> None:
    ours = tool("qfind", "-L", "tree", "-type", "f,d,l", "-print0").out.split(b"\0")
    assert sorted(ours) == sorted(find(tree, "-L", "tree", "-type", "f,d,l", "-print0").split(b"\0"))


@pytest.mark.parametrize("words", [["echo", "x{}y{}", ";"], ["echo", "before", "{}", "+"],
                                   ["printf", "%s\\n", "{}", "+"]])
def test_commands_get_the_paths(tool: Run, tree: Path, words: list[str]) -> None:
    ours = tool("qfind", "tree", "-type", "f", "-exec", *words)
    theirs = find(tree, "tree", "-type", "f", "-exec", *words)
    assert sorted(ours.out.split()) == sorted(theirs.split())


@pytest.mark.parametrize("end", [";", "+"])
def test_commands_get_files_in_the_order_of_the_disk(tool: Run, tmp_path: Path, end: str) -> None:
    (tmp_path / "tree").mkdir()
    lines = []
    for number in range(50):
        (tmp_path / f"tree/f{number}").write_bytes(b"x")
        lines.append(f"f{number} {100 + number * 7 % 50} {4096 * (number * 31 % 50)}\n")
    (tmp_path / "disk").write_text("".join(lines))
    ours = tool("qfind", "--order=full-inode+block", "tree", "-type", "f", "-exec", "echo", "{}", end,
                FAKE_DISK=str(tmp_path / "disk"))
    expected = sorted((f"f{number}" for number in range(50)), key=lambda name: int(name[1:]) * 31 % 50)
    assert ours.out.decode().split() == [f"tree/{name}" for name in expected]


def test_very_many_paths_are_several_commands(tool: Run, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    for number in range(1500):
        (tmp_path / "tree" / f"{number:0200}").write_bytes(b"")
    ours = tool("qfind", "tree", "-type", "f", "-exec", "sh", "-c", "echo $#", "{}", "+")
    counts = list(map(int, ours.out.split()))
    assert len(counts) > 1 and sum(counts) == 1500 - len(counts)  # the first is $0


def test_exit_codes_of_commands(tool: Run, tree: Path) -> None:
    assert tool("qfind", "tree", "-name", "fifo", "-exec", "false", ";").code == 0
    assert tool("qfind", "tree", "-name", "fifo", "-exec", "false", "{}", "+").code == 1
    done = tool("qfind", "tree", "-name", "fifo", "-exec", "no-such-command", ";")
    assert (done.code, done.err) == (1, "qfind: cannot run 'no-such-command': No such file or directory\n")


def test_unreadable_directory_is_told_once(tool: Run, open_folder: Path) -> None:
    user = other_user()
    make_files(open_folder / "tree", 1)
    (open_folder / "tree/shut").mkdir(mode=0o700)
    done = tool("qfind", "tree", "-type", "f", cwd=open_folder, user=user)
    assert (done.code, len(done.lines)) == (1, 60)
    assert done.err == "qfind: cannot read 'tree/shut': Permission denied\n"


@pytest.mark.parametrize("words, text", [
    (["-name"], "-name requires a value"), (["-type", "x"], "-type: invalid type 'x'"),
    (["-type", "f,"], "-type: invalid type"), (["-type", ""], "-type: invalid type"),
    (["-type", "fd"], "-type: invalid type"), (["-type", "f", "-type", "d"], "given twice with different types"),
    (["-size", "x"], "-size: invalid size 'x'"), (["-size", "+"], "-size: invalid size '+'"),
    (["-size", "1kk"], "-size: invalid size"), (["-size", "99999999999999999999"], "-size: invalid size"),
    (["-newer", "missing"], "cannot read 'missing'"), (["-exec", "echo"], "-exec: the command must end"),
    (["-exec", ";"], "-exec: the command must end"),
    (["-exec", "{}", "+"], "no command before"), (["-print", "-name", "x"], "comes after the action"),
    (["-name", "x", "-maxdepth", "1"], "unknown test or action '-maxdepth'"),
])
def test_bad_expressions_are_refused(tool: Run, tmp_path: Path, words: list[str], text: str) -> None:
    done = tool("qfind", ".", *words)
    assert (done.code, done.out, len(done.complaints)) == (1, b"", 1)
    assert text in done.err
