# SPDX-License-Identifier: GPL-2.0
"""The programs on file systems of a disk that rotates, where they sort: they do what their models do there too.

Tests of this folder, run once more in User-Mode Linux, with the sanitizers, in a folder of that file system.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.lab.tests.conftest import kernel
from tools.sweep.tests.conftest import PROGRAMS, TESTS, Builds
from tools.vm import uml

__all__ = ["kernel"]

LIMIT_S = 1800
# By file: equal to the model; what changes, vanishes or may not be read; full disks; Ctrl-C.
SELECTED = {
    "test_qcp.py": [
        "test_copy_is_that_of_cp[full-inode+block]", "test_attributes_and_acls_are_kept", "test_copying_twice_replaces",
        "test_copy_shares_its_blocks_where_the_file_system_can",
        "test_user_gets_what_he_may_have", "test_interrupted_copy_leaves_no_part_of_a_file[killed]",
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
GUEST = """\
mkdir /dev/under
case {fs} in
tmpfs) mount -t tmpfs none /dev/under ;;
*)
	tools/disk/disk create barracuda-7200.11 --name rot0 --set memory_backed=1 --set size=4096
	mkfs.{fs} -q /dev/rot0 && mount -t {fs} /dev/rot0 /dev/under
	;;
esac > $OUT/said 2>&1 || exit
chmod 755 /dev/under
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
    uml.run_commands(GUEST.format(fs=fs, builds=builds.folder, tests=" ".join(tests)), tmp_path, kernel, LIMIT_S)
    said = (tmp_path / "said").read_text()
    assert (tmp_path / "code").is_file() and (tmp_path / "code").read_text() == "0\n", said
    assert f"{sum(map(len, SELECTED.values()))} passed" in said or "skipped" in said, said
