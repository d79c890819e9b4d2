# SPDX-License-Identifier: GPL-2.0
"""Builds of libplatter and its programs with gcc's sanitizers, and trees for them."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1]
TESTS = TOOL / "tests"
LIBRARY = ["order", "extent", "device", "directory", "entry", "walk"]
COMMON = ["program", "size"]
PROGRAMS = {
    "qdu": ["qdu", "links"],
    "qfind": ["qfind", "match", "command"],
    "qcp": ["qcp", "copy", "destination", "attributes", "data", "links", "output"],
    "qtar": ["qtar", "member", "attributes", "data", "links", "output"],
}
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"]
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FAKED = ["ioctl", "getdents64", "fstatfs", "fstatat", "pread", "copy_file_range", "openat", "fstat"]
WRAPPED = [f"-Wl,--wrap={name}" for name in FAKED]
BAD_USE = {"qdu": 1, "qfind": 1, "qcp": 1, "qtar": 2}
NOBODY = 65534


ORDERS = ["none", "inode", "full-inode", "inode+block", "full-inode+block"]


def compile_c(output: Path, sources: Sequence[Path], flags: Sequence[str] = (), sanitized: bool = True) -> Path:
    command = ["gcc", *WARNINGS, *(SANITIZED if sanitized else ["-O2"]), '-DSWEEP_VERSION="test"', "-o", str(output),
               *map(str, sources), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


def parts(names: Sequence[str]) -> list[Path]:
    return [TOOL / f"{name}.c" for name in names]


@dataclass
class Result:
    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[bytes]:
        return self.out.splitlines()

    @property
    def complaints(self) -> list[str]:
        return self.err.splitlines()


class Builds:
    """Programs, each built for the first test that requires it, with the fake disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _built(self, name: str, sources: Sequence[Path], flags: Sequence[str] = (), sanitized: bool = True) -> Path:
        path = self.folder / name
        if not path.exists():
            compile_c(path, sources, flags, sanitized)
        return path

    def program(self, name: str) -> Path:
        fake = [TESTS / "fake_disk.c", *parts(LIBRARY), *parts(COMMON)]
        flags = [*WRAPPED, *(["-larchive"] if name == "qtar" else [])]
        return self._built(name, [*parts(PROGRAMS[name]), *fake], flags)

    def walker(self, sanitized: bool = True) -> Path:
        name = "walker" if sanitized else "walker-plain"
        return self._built(name, [TESTS / "walker.c", TESTS / "fake_disk.c", *parts(LIBRARY)], WRAPPED, sanitized)

    def harness(self) -> Path:
        sources = [TESTS / "harness.c", TESTS / "fake_disk.c", *parts([*LIBRARY, "size"])]
        return self._built("harness", sources, WRAPPED)


@pytest.fixture(scope="session")
def builds() -> Iterator[Builds]:
    """In a folder that every user can read; what was built before is in SWEEP_BUILDS, where that is set."""
    if "SWEEP_BUILDS" in os.environ:
        yield Builds(Path(os.environ["SWEEP_BUILDS"]))
        return
    with tempfile.TemporaryDirectory(prefix="sweep-") as folder:
        Path(folder).chmod(0o755)
        yield Builds(Path(folder))


def run(command: Sequence[str | bytes | Path], cwd: Path | None = None, user: int | None = None,
        **env: str) -> Result:
    done = subprocess.run(command, capture_output=True, cwd=cwd, user=user, timeout=600,
                          env={**os.environ, "LC_ALL": "C", **env})
    err = done.stderr.decode(errors="surrogateescape")
    assert "Sanitizer" not in err and "runtime error" not in err, err
    return Result(done.returncode, done.stdout, err)


Run = Callable[..., Result]


@pytest.fixture
def tool(builds: Builds, tmp_path: Path) -> Run:
    """Run a program in the test's folder: tool("qdu", "-s", "tree")."""
    def call(name: str, *args: str | bytes | Path, cwd: Path | None = None, user: int | None = None,
             **env: str) -> Result:
        return run([builds.program(name), *args], cwd or tmp_path, user, **env)
    return call


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach and write to."""
    with tempfile.TemporaryDirectory(prefix="sweep-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def other_user() -> int:
    if os.geteuid():
        pytest.skip("becomes another user")
    return NOBODY


def not_ignoring() -> None:
    """For a child that is to be interrupted: the tests may run where SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_mounts(script: str, cwd: Path) -> Result:
    """Run a script that mounts things, where nobody else sees them."""
    command = ["unshare", "-m" if not os.geteuid() else "-rm", "sh", "-ec"]
    if run([*command, "mount -t tmpfs none /mnt"]).code:
        pytest.skip("nothing can be mounted here")
    return run([*command, script], cwd)


def quoted(*words: str | Path) -> str:
    return shlex.join(map(str, words))


# --- trees

def make_files(root: Path, seed: int, folders: int = 12, files: int = 60, most_bytes: int = 20000) -> None:
    """Plain files in nested folders."""
    chance = random.Random(seed)
    below = [root]
    root.mkdir(exist_ok=True)
    for number in range(folders):
        folder = chance.choice(below) / f"d{number}"
        folder.mkdir()
        below.append(folder)
    for number in range(files):
        (chance.choice(below) / f"f{number}").write_bytes(chance.randbytes(chance.randrange(most_bytes)))


def make_sparse(path: Path, size: int, parts: Sequence[tuple[int, bytes]]) -> None:
    with path.open("wb") as file:
        file.truncate(size)
        for at, text in parts:
            file.seek(at)
            file.write(text)


def make_odd(root: Path) -> None:
    """One of each thing that is no plain file with a plain name."""
    root.mkdir()
    (root / "empty").mkdir()
    (root / "nothing").write_bytes(b"")
    (root / "dir").mkdir()
    (root / "dir/inside").write_bytes(b"inside")
    for name in ("new\nline", "-dash", " blank ", "tab\t", "quote'\"", "{}", "star*"):
        (root / name).write_bytes(name.encode())
    Path(os.fsdecode(os.fsencode(root) + b"/not-utf8-\xff\xfe")).write_bytes(b"bytes")
    (root / ("n" * 255)).write_bytes(b"long")
    long = root / "/".join(["l" * 200] * 6)
    long.mkdir(parents=True)
    (long / "leaf").write_bytes(b"leaf")
    (root / "link").symlink_to("dir")
    (root / "dangling").symlink_to("nowhere")
    (root / "far").symlink_to("x" * 200)
    os.mkfifo(root / "fifo", 0o640)
    make_sparse(root / "hole", 5_000_000, [])
    make_sparse(root / "islands", 6_000_001, [(0, b"first"), (3_000_000, b"second" * 1000), (6_000_000, b"x")])
    make_sparse(root / "hole-first", 4_000_000, [(3_999_000, b"y" * 1000)])
    (root / "mode").write_bytes(b"m")
    (root / "mode").chmod(0o4751)
    os.utime(root / "mode", ns=(1_000_000_000_123_456_789, 987_654_321_987_654_321))
    (root / "dir").chmod(0o2711)
    if not os.geteuid():
        os.mknod(root / "device", 0o660 | 0o020000, os.makedev(1, 3))
        os.mknod(root / "block", 0o600 | 0o060000, os.makedev(7, 200))
        os.chown(root / "nothing", 1234, 5678)


def make_links(root: Path) -> None:
    """Files with several names."""
    root.mkdir(exist_ok=True)
    (root / "la").mkdir()
    (root / "lb").mkdir()
    for number in range(5):
        (root / f"la/one{number}").write_bytes(b"linked" * 1000 * number)
        for other in ("la/two", "lb/three", "four"):
            (root / f"{other}{number}").hardlink_to(root / f"la/one{number}")


# A file that is written has no name until it is complete, or a temporary one where the file system requires one; and
# how who writes it is ended.
INTERRUPTED = pytest.mark.parametrize("names, end", [
    pytest.param("", signal.SIGKILL, id="killed"), pytest.param("", signal.SIGINT, id="interrupted"),
    pytest.param("1", signal.SIGINT, id="named"),
])


def make_attributes(root: Path) -> None:
    """Extended attributes, where the file system has them."""
    root.mkdir(exist_ok=True)
    (root / "with").write_bytes(b"with")
    (root / "folder").mkdir()
    try:
        os.setxattr(root / "with", "user.colour", b"blue\0green")
        os.setxattr(root / "with", "user.empty", b"")
        os.setxattr(root / "folder", "user.of", b"folder")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    if shutil.which("setfacl") and not subprocess.run(["setfacl", "-m", "u:1234:r", root / "with"],
                                                      capture_output=True).returncode:
        subprocess.run(["setfacl", "-m", "u:1234:rx,d:u:1234:r", root / "folder"], check=True)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(path))


def fingerprint(root: Path, times: bool = True) -> dict[bytes, tuple[object, ...]]:
    """All that a copy must have: by path, from the root."""
    found: dict[bytes, tuple[object, ...]] = {}
    first_name: dict[tuple[int, int], bytes] = {}
    top = os.fsencode(root)

    def add(path: bytes) -> None:
        status = os.lstat(path)
        name = path[len(top):]
        text: object = None
        kind = status.st_mode & 0o170000
        if kind == 0o100000:
            with open(path, "rb") as file:  # noqa: PTH123
                text = hash(file.read())
        elif kind == 0o120000:
            text = os.readlink(path)  # noqa: PTH115
        attributes = {key: os.getxattr(path, key, follow_symlinks=False)
                      for key in os.listxattr(path, follow_symlinks=False)}
        same = first_name.setdefault((status.st_dev, status.st_ino), name) if kind != 0o040000 else name
        found[name] = (oct(status.st_mode), status.st_uid, status.st_gid, text, same, sorted(attributes.items()),
                       status.st_rdev if kind in (0o020000, 0o060000) else 0,
                       0 if kind == 0o040000 else status.st_size, status.st_mtime_ns if times else 0)

    for folder, folders, files in os.walk(top):
        folders.sort()
        add(folder)
        for name in sorted(files):
            add(os.path.join(folder, name))  # noqa: PTH118
        for name in folders:
            if os.path.islink(os.path.join(folder, name)):  # noqa: PTH114,PTH118
                add(os.path.join(folder, name))  # noqa: PTH118
    return found
