# SPDX-License-Identifier: GPL-2.0
"""The programs on file systems of a disk that rotates, where they sort: they do what their models do there too.

Tests of this folder, run once more in User-Mode Linux, with the sanitizers, in a folder of that file system.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.testbed.lab.tests.conftest import kernel
from tools.testbed.vm import uml
from tools.user.sweep.tests.conftest import PROGRAMS, TESTS, Builds

__all__ = ["kernel"]

LIMIT_S = 1800
# By file: equal to the model; what changes, vanishes or may not be read; Ctrl-C.
SELECTED = {
    "test_qcp.py": [
        "test_copy_is_that_of_cp[full-inode+block]", "test_attributes_and_acls_are_kept", "test_copying_twice_replaces",
        "test_copy_shares_its_blocks_where_the_file_system_can",
        "test_user_gets_what_he_may_have", "test_interrupted_copy_leaves_no_part_of_a_file[killed]",
        "test_interrupted_copy_leaves_no_part_of_a_file[interrupted]",
    ],
    "test_qdu.py": [
        "test_output_is_that_of_du[full-inode+block-options0]", "test_file_with_several_names_counts_once",
        "test_sparse_files_take_what_they_take", "test_unreadable_directory_is_told_and_counted_itself",
    ],
    "test_qfind.py": ["test_what_is_found_is_what_find_finds[-type f]", "test_unreadable_directory_is_told_once"],
    "test_qtar.py": [
        "test_extracted_tree_is_the_original[full-inode+block]", "test_attributes_and_acls_are_kept",
        "test_short_memory_loses_nothing", "test_target_of_a_link_comes_before_it",
        "test_interrupted_archive_leaves_what_was_there[killed]",
    ],
    "test_walk.py": [
        "test_what_cannot_be_read_is_told_once_and_the_rest_is_done[full-inode+block]",
        "test_files_that_vanish_are_gone_and_the_rest_is_done[False-full-inode+block]",
        "test_files_that_appear_are_no_trouble", "test_directory_that_became_a_link_is_not_followed",
    ],
}
# Tests of what a file system lacks here: blocks that files share; attributes of users, without CONFIG_TMPFS_XATTR.
MAY_SKIP = {"ext4": 1, "xfs": 0, "btrfs": 0, "tmpfs": 3}
MAKE = """\
mkdir /dev/under
case {fs} in
tmpfs) mount -t tmpfs -o size={size} none /dev/under ;;
*)
	tools/testbed/disk/disk create barracuda-7200.11 --name rot0 --set memory_backed=1 --set size=4096
	mkfs.{fs} -q /dev/rot0 && mount -t {fs} /dev/rot0 /dev/under
	;;
esac > $OUT/said 2>&1 || exit
chmod 755 /dev/under
"""
GUEST = MAKE + """\
export TMPDIR=/dev/under HOME=/dev/under PYTHONDONTWRITEBYTECODE=1 SWEEP_BUILDS={builds}
build/venv/bin/pytest -c tools/pyproject.toml --rootdir . -q --basetemp=/dev/under/pytest {tests} >> $OUT/said 2>&1
echo $? > $OUT/code
"""


@pytest.mark.parametrize("fs", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_programs_do_the_same_on_a_file_system(builds: Builds, kernel: Path, tmp_path: Path, fs: str) -> None:
    for name in PROGRAMS:
        builds.program(name)
    builds.walker()
    tests = [f"'{(TESTS / file).relative_to(ROOT)}::{test}'" for file, names in SELECTED.items() for test in names]
    script = GUEST.format(fs=fs, size="50%", builds=builds.folder, tests=" ".join(tests))
    uml.run_commands(script, tmp_path, kernel, LIMIT_S)
    said = (tmp_path / "said").read_text()
    assert (tmp_path / "code").is_file() and (tmp_path / "code").read_text() == "0\n", said
    passed, skipped = (int(found[1]) if (found := re.search(rf"(\d+) {word}", said)) else 0
                       for word in ("passed", "skipped"))
    assert passed + skipped == sum(map(len, SELECTED.values())) and skipped <= MAY_SKIP[fs], said


FULL = MAKE + """\
mkdir /dev/from
mount -t tmpfs none /dev/from
for n in 1 2 3 4 5 6 7 8; do
	head -c 400000 /dev/zero | tr '\\0' $n > /dev/from/$n
done
cd /dev/under
fallocate -l 1M keep
size=$((1 << 32))
while [ $size -ge 65536 ]; do
	fallocate -l $size room.$size 2> /dev/null || rm -f room.$size
	size=$((size / 2))
done
rm keep
sync
{builds}/qcp -r /dev/from copy 2> $OUT/copied
echo $? > $OUT/copy-code
{builds}/qtar -cf archive -C /dev from 2> $OUT/archived
echo $? > $OUT/archive-code
ls -A > $OUT/there
find copy -type f -printf '%s\\n' > $OUT/sizes
"""


@pytest.mark.parametrize("fs", ["ext4", "xfs", "btrfs", "tmpfs"])
def test_full_file_system_has_whole_files_only(builds: Builds, kernel: Path, tmp_path: Path, fs: str) -> None:
    """Only some hundred thousand of 3.2 MB fit: the failure is reported, and the file gets no name."""
    for name in ("qcp", "qtar"):
        builds.program(name)
    script = FULL.replace("{fs}", fs).replace("{size}", "20m").replace("{builds}", str(builds.folder))
    console = uml.run_commands(script, tmp_path, kernel, LIMIT_S)
    assert (tmp_path / "sizes").is_file(), console
    assert (tmp_path / "copy-code").read_text() == "1\n"
    assert "No space left" in (tmp_path / "copied").read_text()
    sizes = (tmp_path / "sizes").read_text().split()
    assert set(sizes) == {"400000"} and len(sizes) < 8
    assert (tmp_path / "archive-code").read_text() == "2\n"
    assert "No space left" in (tmp_path / "archived").read_text()
    there = [name for name in (tmp_path / "there").read_text().split() if not name.startswith("room.")]
    assert set(there) <= {"copy", "lost+found"}
