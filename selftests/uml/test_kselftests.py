# SPDX-License-Identifier: GPL-2.0
"""Kselftests of tools/testing/selftests/cfq that need no other hardware than a guest in virtual time has.

All of them run in QEMU (selftests/vm/test_kselftests.py); these, of the VFS messages and of tags, also here,
where a guest boots in a second.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from selftests.vm.guests import linux
from tools.vm import uml
from tools.vm.programs import build_static

PROGRAMS = ("cfq_aio", "cfq_messages", "cfq_vfs")
TESTS = ("test_depth.sh", "test_vfs_messages.sh", "test_vfs_names.sh", "test_vfs_where.sh")


@pytest.mark.parametrize("name", TESTS)
def test_kselftest(kernel: Path, tmp_path: Path, name: str) -> None:
    folder = linux() / "tools/testing/selftests/cfq"
    if not folder.is_dir():
        pytest.skip("no kernel tree: `make tree` makes it")
    out = tmp_path / "out"
    out.mkdir()
    for script in (name, "cfq_common.sh"):
        shutil.copy(folder / script, out)
    for program in PROGRAMS:
        build_static(folder / f"{program}.c", out, "-Wno-unused-parameter")
    console = uml.run_commands(f"""
mkdir /dev/tmp && mount -t tmpfs tmpfs /dev/tmp && export TMPDIR=/dev/tmp && cd /dev/tmp
mount -t debugfs debugfs /sys/kernel/debug
$OUT/{name} > $OUT/said 2>&1
echo $? > $OUT/code
""", out, kernel)
    assert (out / "code").is_file(), console
    assert (out / "code").read_text().strip() == "0", (out / "said").read_text()
