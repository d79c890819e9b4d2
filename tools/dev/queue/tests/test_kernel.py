# SPDX-License-Identifier: GPL-2.0
"""Configuration: an option that does not survive has a name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.base.paths import ROOT
from tools.dev.queue import analyse, kernel
from tools.dev.queue.checkpatch import added_files, maintained
from tools.dev.queue.kernel import warnings
from tools.dev.queue.modules import exported, needed


def fragment(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_options_that_survive_are_not_reported(tmp_path: Path) -> None:
    asked = fragment(tmp_path, "a.config", "# why\nCONFIG_A=y\n# CONFIG_B is not set\n")
    assert kernel.lost_options("CONFIG_A=y\n", [asked]) == []


@pytest.mark.parametrize(("config", "lost"), [
    ("# CONFIG_A is not set\nCONFIG_N=3\n", "CONFIG_A=y (a.config)"),
    ("CONFIG_A=m\nCONFIG_N=3\n", "CONFIG_A=y (a.config)"),
    ("CONFIG_A=y\nCONFIG_N=4\n", "CONFIG_N=3 (a.config)"),
    ("CONFIG_A=y\nCONFIG_N=3\nCONFIG_B=y\n", "CONFIG_B=n (a.config)"),
])
def test_a_lost_option_is_named_with_its_fragment(tmp_path: Path, config: str, lost: str) -> None:
    asked = fragment(tmp_path, "a.config", "CONFIG_A=y\nCONFIG_N=3\n# CONFIG_B is not set\n")
    assert kernel.lost_options(config, [asked]) == [lost]


def test_the_last_fragment_that_names_an_option_decides(tmp_path: Path) -> None:
    first = fragment(tmp_path, "a.config", "CONFIG_A=y\n")
    last = fragment(tmp_path, "b.config", "# CONFIG_A is not set\n")
    assert kernel.lost_options("", [first, last]) == []


def test_a_line_that_is_no_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="'CONFIG_A' is not a configuration option"):
        kernel.lost_options("", [fragment(tmp_path, "a.config", "CONFIG_A\n")])


def test_a_text_that_the_kernel_has_no_use_for_is_not_lost(tmp_path: Path) -> None:
    asked = fragment(tmp_path, "a.config", 'CONFIG_KEYS=""\n')
    assert kernel.lost_options("", [asked]) == []
    assert kernel.lost_options('CONFIG_KEYS="x.pem"\n', [asked]) == ['CONFIG_KEYS="" (a.config)']


def test_a_file_called_error_is_no_error() -> None:
    log = "  CC      fs/error.o\na.c:3:1: error: expected ';'\n"
    assert kernel.first_error(log) == "a.c:3:1: error: expected ';'"


def test_first_error_is_the_compilers() -> None:
    log = "  CC      a.o\na.c:3:1: error: unknown type name 'foo'\nmake: *** [a.o] Error 1\n"
    assert kernel.first_error(log) == "a.c:3:1: error: unknown type name 'foo'"


def test_warnings_are_known_by_file_and_text_not_by_line() -> None:
    one = warnings("../linux/block/a.c:10:5: warning: unused variable 'x' [-Wunused-variable]\n")
    two = warnings("../linux/block/a.c:99:5: warning: unused variable 'x' [-Wunused-variable]\n")
    assert one == two and len(one) == 1
    assert warnings("  CC      block/warning.o\n") == set()


def test_what_a_module_needs_is_compared_with_what_is_exported() -> None:
    symbols = ("\nblock/a.o:\n0000000000000010 T own\n                 U other\n"
               "                 U __tracepoint_rq\n\nblock/b.o:\n                 U own\n"
               "                 U hidden\n")
    assert needed(symbols) == {"other", "__tracepoint_rq", "hidden"}
    source = "EXPORT_SYMBOL_GPL(other);\nEXPORT_TRACEPOINT_SYMBOL_GPL(rq);\n"
    assert needed(symbols) - exported(source) == {"hidden"}


def test_files_that_a_patch_adds_or_moves() -> None:
    patch = ("--- /dev/null\n+++ b/block/new.c\n@@ -0,0 +1 @@\n+x\n"
             "--- a/block/old.c\n+++ b/block/old.c\nrename from a.c\nrename to b.c\n")
    assert added_files(patch) == ["block/new.c", "b.c"]


@pytest.mark.parametrize(("name", "covered"), [
    ("block/cfq.c", True), ("block/deep/x.c", True), ("drivers/one.c", True),
    ("drivers/deep/one.c", False), ("other.c", False),
])
def test_maintained_reads_patterns_as_get_maintainer_does(
        tmp_path: Path, name: str, covered: bool) -> None:
    (tmp_path / "MAINTAINERS").write_text(
        "BLOCK\nF:\tblock/\nF:\tdrivers/*\n\nTHE REST\nF:\t*\nF:\t*/\n")
    assert maintained(tmp_path, name) is covered


def test_no_kernel_for_x86_is_asked_for_options_of_user_mode_linux() -> None:
    """Its configuration would drop them, which is an error."""
    used = set(analyse.FRAGMENTS)
    for flavour in kernel.FLAVOURS.values():
        if flavour.arch == "x86_64":
            used |= set(flavour.fragments)
    asked = "".join((ROOT / f"configs/{name}.config").read_text() for name in sorted(used))
    assert re.findall(r"^CONFIG_(?:UML|VIRTIO_UML|UM)\w*=.*$", asked, re.M) == []
