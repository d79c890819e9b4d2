# SPDX-License-Identifier: GPL-2.0
"""What the tests of ageing share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.base.paths import TOOLS
from tools.testbed.ageing import churn, generate
from tools.testbed.ageing.churn import Version

AGEING = TOOLS / "testbed/ageing" / "ageing"
# Trees only: the folder is one of the machine's own file system, and that is in use already.
TREES = ["--media", "0", "--levels", "0,1,1", "--early", "0", "--allocate", "--zeros", "-q"]


def ageing(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([AGEING, *args], capture_output=True, text=True, timeout=600, check=False)


def model(versions: Sequence[Version], number: int) -> dict[str, int]:
    """The files of a version, counted from 1, and their bytes."""
    for files in churn.sizes(versions[:number]):
        found = files
    return found


def found_in(folder: Path) -> dict[str, int]:
    """The files of a tree, and their bytes; a directory without files is one of no size, which no model has."""
    found = {}
    for path, folders, files in os.walk(folder):
        inside = Path(path).relative_to(folder)
        if not folders and not files:
            found[f"{inside}/"] = 0
        for name in files:
            found[str(inside / name)] = (Path(path) / name).lstat().st_size
    return found


@pytest.fixture(scope="session")
def versions() -> list[Version]:
    """A hundred files."""
    return generate.generate(7, 0.005)


@pytest.fixture
def listed(tmp_path: Path, versions: list[Version]) -> Path:
    path = tmp_path / "list"
    path.write_text(churn.text(versions))
    return path


@dataclass
class Mounted:
    """A file system in an image."""

    image: Path
    folder: Path

    def unmount(self) -> None:
        if os.path.ismount(self.folder):
            subprocess.run(["umount", self.folder], check=True)


Mount = Callable[..., Mounted]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Makes a file system and mounts it: mount("ext4", "-b", "1024")."""
    made: list[Mounted] = []

    def one(kind: str, *options: str, mebibytes: int = 400) -> Mounted:
        found = Mounted(tmp_path / f"image{len(made)}", tmp_path / f"mounted{len(made)}")
        found.folder.mkdir()
        with found.image.open("wb") as image:
            image.truncate(mebibytes << 20)
        force = {"ext4": "-F", "xfs": "-f"}[kind]
        subprocess.run([f"mkfs.{kind}", "-q", force, *options, found.image], check=True, capture_output=True)
        done = subprocess.run(["mount", "-o", "loop", found.image, found.folder], check=False, capture_output=True,
                              text=True)
        if done.returncode and ("loop device" in done.stderr or "permission" in done.stderr or os.geteuid()):
            pytest.skip("no image can be mounted here")
        assert done.returncode == 0, done.stderr
        made.append(found)
        return found

    try:
        yield one
    finally:
        for found in made:
            found.unmount()
