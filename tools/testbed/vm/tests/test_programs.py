# SPDX-License-Identifier: GPL-2.0
"""A program starts without the libraries that it does not need, and has no other change."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.testbed.vm import build_static, light_fio, programs

LIBRARY = "int far_open(void) { return 7; }\nint far_plain(void) { return 8; }\n"
PROGRAM = """#include <stdio.h>
int far_open(void); int far_plain(void);
int main(void) { printf("%d %d\\n", far_open(), far_plain()); return 0; }
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program named fio that needs libfar.so.1, one of whose symbols has a version."""
    monkeypatch.setattr(programs, "PATH", f"{tmp_path}{os.pathsep}{programs.PATH}")
    monkeypatch.setattr(programs, "LIGHT", tmp_path / "light")
    (tmp_path / "map").write_text("FAR_1.0 { global: far_open; };\n")
    library = str(tmp_path / "libfar.so.1")
    for code, words in (
        (LIBRARY, ["-shared", "-fPIC", "-Wl,-soname,libfar.so.1", "-o", library,
                   f"-Wl,--version-script={tmp_path / 'map'}", "-x", "c", "-"]),
        (PROGRAM, ["-o", str(tmp_path / "fio"), "-Wl,-z,now", "-x", "c", "-", "-x", "none", library]),
    ):
        subprocess.run(["gcc", *words], input=code, text=True, check=True)
    return tmp_path / "fio"


def says(program: Path, folder: Path) -> str:
    return subprocess.run([program], env={"LD_LIBRARY_PATH": str(folder)}, text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def test_empty_libraries_take_the_place_of_the_real_ones(program: Path) -> None:
    assert says(program, program.parent) == "7 8\n"
    light_fio()
    light_fio()  # a second time over what is there
    assert says(program, program.parent / "light") == "-1 -1\n"
    assert [path.name for path in (program.parent / "light").iterdir()] == ["libfar.so.1"]


def test_no_fio_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PATH", str(tmp_path))
    with pytest.raises(ToolError, match="install fio"):
        light_fio()


def test_a_program_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    source = tmp_path / "seven.c"
    source.write_text("int main(void) { return 7; }\n")
    build_static(source, tmp_path / "out")
    source.write_text("no program\n")
    with pytest.raises(ToolError, match="seven cannot be built"):
        build_static(source, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["seven"]
    assert subprocess.run([tmp_path / "out/seven"], check=False).returncode == 7
