# SPDX-License-Identifier: GPL-2.0
"""A tiny kernel, a project around it, and a queue to run on both."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "queue"

FILES = {
    "Makefile": "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n",
    ".gitignore": "*.o\n#\n# Debian packaging: ignore everything at the top level, since it isn't\n"
                  "# included in our repository\n#\n/*\n!/debian/\n",
    "MAINTAINERS": "List of maintainers\n\nABLE\nM:\tA <a@example.org>\nF:\tblock/\n\n"
                   "ZEBRA\nM:\tZ <z@example.org>\nF:\tzoo/\n",
    "block/elevator.c": "".join(f"int line{n};\n" for n in range(40)),
    "scripts/run.sh": "#!/bin/sh\n",
}
CHECKPATCH = """#!/bin/sh
for patch; do :; done
grep -q BADSTYLE "$patch" || exit 0
echo "$patch:1: WARNING:STYLE: bad style"
exit 1
"""
GET_MAINTAINER = """#!/bin/sh
echo '"A Name (More)" <axboe@kernel.dk> (maintainer:BLOCK LAYER)'
echo 'linux-block@vger.kernel.org (open list:BLOCK LAYER)'
echo 'linux-doc@vger.kernel.org (open list:DOCUMENTATION)'
echo 'linux-kselftest@vger.kernel.org (open list:SELFTESTS)'
"""
AUTHOR = {"GIT_AUTHOR_NAME": "T Ester", "GIT_AUTHOR_EMAIL": "t@example.org",
          "GIT_COMMITTER_NAME": "T Ester", "GIT_COMMITTER_EMAIL": "t@example.org",
          "GIT_CONFIG_GLOBAL": os.devnull}


@dataclass
class Queue:
    """A checkout of its own with the tool."""

    root: Path
    cache: Path
    kernel: Path

    def __call__(self, *args: str, kernel: str | Path | None = "default",
                 path: str | None = None) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "QUEUE_ROOT": str(self.root), "QUEUE_CACHE": str(self.cache),
               "LC_ALL": "C"}
        env.pop("KERNEL", None)
        if kernel is not None:
            env["KERNEL"] = str(self.kernel if kernel == "default" else kernel)
        if path is not None:
            env["PATH"] = path
        return subprocess.run([TOOL, *args], env=env, text=True,
                              capture_output=True, check=False)

    def fails(self, *args: str, kernel: str | Path | None = "default",
              path: str | None = None) -> str:
        """Run what must fail; its one line."""
        done = self(*args, kernel=kernel, path=path)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr.splitlines()[-1]

    def works(self, *args: str, kernel: str | Path | None = "default",
              path: str | None = None) -> str:
        done = self(*args, kernel=kernel, path=path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def linux(self) -> Path:
        return self.root / "build/linux"

    def git(self, *args: str) -> str:
        return subprocess.run(["git", *args], cwd=self.linux, check=True, text=True,
                              capture_output=True, env={**os.environ, **AUTHOR}).stdout.strip()

    def commit(self, subject: str, changes: dict[str, str], body: str = "", sign: bool = True) -> None:
        """A commit in build/linux, as its author would make it."""
        for name, text in changes.items():
            path = self.linux / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.endswith(".sh"):
                path.chmod(0o755)
        self.git("add", "-A")
        words = body or "The tests need a patch that changes something, and here it is."
        self.git("commit", "-q", "-m", f"{subject}\n\n{words}", *(["-s"] if sign else []))


def write_tree(where: Path) -> Path:
    for name, text in {**FILES, "scripts/checkpatch.pl": CHECKPATCH,
                       "scripts/get_maintainer.pl": GET_MAINTAINER}.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in (where / "scripts").iterdir():
        path.chmod(0o755)
    return where


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "linux-7.3.4")


@pytest.fixture
def tarball(tree: Path, tmp_path: Path) -> Path:
    path = tmp_path / "linux-7.3.4.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        archive.add(tree, "linux-7.3.4")
    return path


@pytest.fixture
def queue(tmp_path: Path, tarball: Path) -> Queue:
    root = tmp_path / "project"
    (root / "patches").mkdir(parents=True)
    (root / "configs").mkdir()
    for name in ("queue", "kunit", "bisect"):
        (root / f"configs/{name}.config").write_text("")
    (root / "series").write_text("# order\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return Queue(root, tmp_path / "cache", tarball)


@pytest.fixture
def two_patches(queue: Queue) -> Queue:
    """A queue of two patches, exported."""
    queue.works("tree")
    lines = (queue.linux / "block/elevator.c").read_text()
    queue.commit("block: one", {"block/elevator.c": lines.replace("line5;", "five;")})
    queue.commit("block: two", {
        "block/elevator.c": lines.replace("line5;", "five;").replace("line30;", "thirty;"),
        "Documentation/block/cfq.rst": "Text\n",
        "tools/testing/selftests/blktrace/test.sh": "#!/bin/sh\n",
        "tools/testing/selftests/cfq/test.sh": "#!/bin/sh\n",
        "tools/testing/selftests/null_blk/test.sh": "#!/bin/sh\n",
        "MAINTAINERS": FILES["MAINTAINERS"].replace(
            "ZEBRA", "CFQ\nM:\tC <c@example.org>\nF:\tblock/cfq*\n\nZEBRA")})
    queue.works("export")
    return queue


Fake = Callable[[str, str], str]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Put a program in front of the real one; the PATH that finds it."""
    folder = tmp_path / "fake-bin"
    folder.mkdir()

    def make(name: str, script: str) -> str:
        path = folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        return f"{folder}{os.pathsep}{os.environ['PATH']}"
    return make
