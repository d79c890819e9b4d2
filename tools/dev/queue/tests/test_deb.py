# SPDX-License-Identifier: GPL-2.0
"""make deb: which configuration, what it becomes, which packages. make is a fake."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tools.dev.queue import deb
from tools.dev.queue.common import Project
from tools.dev.queue.tests.trial import TOOL, Fake, Queue

ROOT = TOOL.parents[3]

MERGE_CONFIG = """#!/bin/sh
# merge_config.sh -m -Q -O OUT BASE FRAGMENT...
shift 4
base=$1
shift
cat "$@" >> "$base"
"""

# The configuration programs keep what they find, but what LOST says; the package
# builder leaves what bindeb-pkg does, in the folder above its own.
MAKE = r"""
for word; do case $word in O=*) out=${word#O=} ;; esac; done
case "$*" in
*tinyconfig*) echo "CONFIG_X86_64=y" > "$KCONFIG_CONFIG" ;;
*olddefconfig*)
    grep -v "^CONFIG_${LOST:-nothing}" "$KCONFIG_CONFIG" > "$KCONFIG_CONFIG.2"
    mv "$KCONFIG_CONFIG.2" "$KCONFIG_CONFIG" ;;
*bindeb-pkg*)
    [ -z "$BREAK" ] || { echo "  CC      fs/error.o"; echo "a.c:3:1: error: no"; exit 2; }
    echo "  CC      init/main.o"
    [ -z "$EMPTY" ] || exit 0
    for name in linux-image-7.3.4-cfq_1_amd64.deb linux-headers-7.3.4-cfq_1_amd64.deb \
            linux-libc-dev_1_amd64.deb linux-upstream_1_amd64.changes; do
        cp "$out/.config" "$out/../$name"
    done ;;
esac
"""


@pytest.fixture
def ready(queue: Queue, tree: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """A queue that can build packages, with a make that does not take an hour."""
    script = tree / "scripts/kconfig/merge_config.sh"
    script.parent.mkdir()
    script.write_text(MERGE_CONFIG)
    script.chmod(0o755)
    queue.kernel = tree
    shutil.copy(ROOT / "configs/deb.config", queue.root / "configs")
    for name in ("base", "x86", "plain"):
        (queue.root / f"configs/{name}.config").write_text(f"CONFIG_{name.upper()}=y\n")
    for tool in deb.TOOLS:
        fake(tool, "exit 1")
    monkeypatch.setenv("PATH", fake("make", MAKE))
    return queue


def config(tmp_path: Path, text: str = "CONFIG_X86_64=y\nCONFIG_THEIRS=y\n") -> str:
    path = tmp_path / "their.config"
    path.write_text(text)
    return str(path)


def image(queue: Queue) -> str:
    """The configuration of the kernel that the package is of."""
    return (queue.root / "build/deb/linux-image-7.3.4-cfq_1_amd64.deb").read_text()


def test_packages_are_in_build_deb_without_those_of_the_c_library(
        ready: Queue, tmp_path: Path) -> None:
    said = json.loads(ready("--json", "deb", "--config", config(tmp_path)).stdout)
    folder = ready.root / "build/deb"
    assert said["packages"] == [str(folder / "linux-headers-7.3.4-cfq_1_amd64.deb"),
                                str(folder / "linux-image-7.3.4-cfq_1_amd64.deb")]
    assert sorted(path.name for path in folder.glob("*.deb")) == \
        [Path(path).name for path in said["packages"]]


def test_the_configuration_named_is_the_base_and_cfq_is_built_in(
        ready: Queue, tmp_path: Path) -> None:
    said = ready.works("deb", "--config", config(
        tmp_path, "CONFIG_X86_64=y\nCONFIG_THEIRS=y\nCONFIG_SYSTEM_TRUSTED_KEYS=\"debian/x.pem\"\n"))
    assert f"configuration: {tmp_path}/their.config" in said
    have = dict(line.split("=", 1) for line in image(ready).splitlines() if line.startswith("CONFIG"))
    assert have["CONFIG_THEIRS"] == "y" and have["CONFIG_IOSCHED_CFQ"] == "y"
    assert have["CONFIG_SYSTEM_TRUSTED_KEYS"] == '""'
    assert have["CONFIG_LOCALVERSION"] == '"-cfq"'
    assert "CONFIG_PLAIN" not in have
    assert "# CONFIG_DEBUG_INFO_DWARF5 is not set" in image(ready)


def test_a_changed_configuration_is_taken(ready: Queue, tmp_path: Path) -> None:
    ready.works("deb", "--config", config(tmp_path))
    ready.works("deb", "--config", config(tmp_path, "CONFIG_X86_64=y\nCONFIG_OTHER=y\n"))
    assert "CONFIG_OTHER=y" in image(ready) and "CONFIG_THEIRS" not in image(ready)


def test_packages_of_an_earlier_build_are_gone(ready: Queue, tmp_path: Path) -> None:
    ready.works("deb", "--config", config(tmp_path))
    old = ready.root / "build/deb/linux-image-7.3.1-cfq_1_amd64.deb"
    old.touch()
    ready.works("deb", "--config", config(tmp_path))
    assert not old.exists()


def test_the_kernel_that_runs_is_the_default(tmp_path: Path) -> None:
    mine = tmp_path / f"config-{os.uname().release}"
    assert deb.configuration(None, tmp_path) is None
    mine.write_text("CONFIG_X86_64=y\n")
    assert deb.configuration(None, tmp_path) == mine
    other = config(tmp_path)
    assert deb.configuration(other, tmp_path) == Path(other)


def test_without_any_the_plain_one_is_taken_and_told(
        ready: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    ready.works("tree")
    deb.build(Project(ready.root, ready.root / "build", ready.cache), None)
    assert "for a virtual machine" in capsys.readouterr().err
    assert "CONFIG_PLAIN=y" in image(ready)


@pytest.mark.parametrize(("text", "told"), [
    (None, "no such file; set CONFIG= to a kernel configuration"),
    ("CONFIG_ARM64=y\n", "not a configuration of an x86-64 kernel; set CONFIG= to one"),
    ("# CONFIG_X86_64=y\n", "not a configuration of an x86-64 kernel; set CONFIG= to one"),
])
def test_a_configuration_that_cannot_be_used_is_told_at_once(
        ready: Queue, tmp_path: Path, text: str | None, told: str) -> None:
    name = str(tmp_path / "none") if text is None else config(tmp_path, text)
    assert told in ready.fails("deb", "--config", name)
    assert not (ready.root / "build").exists()


@pytest.mark.parametrize("tool", deb.TOOLS)
def test_a_missing_packager_is_told_at_once(
        ready: Queue, tmp_path: Path, tool: str) -> None:
    # a PATH of what the tool itself needs, without the packager
    folder = tmp_path / "some"
    folder.mkdir()
    for name in ("git", *(name for name in deb.TOOLS if name != tool), "readlink"):
        (folder / name).symlink_to(shutil.which(name) or "")
    line = ready.fails("deb", "--config", config(tmp_path), path=str(folder))
    assert line == f"queue deb: {tool}: not found; `tools/dev/setup/setup deb` installs what is missing"
    assert not (ready.root / "build").exists()


def test_a_tree_without_cfq_is_told(
        ready: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOST", "IOSCHED_CFQ")
    assert "dropped CONFIG_IOSCHED_CFQ=y (deb.config)" in \
        ready.fails("deb", "--config", config(tmp_path))


def test_a_kernel_that_has_no_use_for_keys_needs_none(
        ready: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOST", "SYSTEM_")
    ready.works("deb", "--config", config(tmp_path))


def test_a_build_that_fails_is_told_by_its_error(
        ready: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BREAK", "1")
    assert ready.fails("deb", "--config", config(tmp_path)) == \
        "queue deb: build deb: a.c:3:1: error: no (full output: build/deb/build.log)"


def test_a_build_without_packages_is_told(
        ready: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "1")
    assert "build/deb: the build made no package of the kernel; see build/deb/build.log" in \
        ready.fails("deb", "--config", config(tmp_path))


def test_setup_installs_what_the_kernels_packager_wants() -> None:
    """Build-Depends of scripts/package/mkdebian, but for the compiler, which is named otherwise."""
    mkdebian = TOOL.parents[3] / "build/linux/scripts/package/mkdebian"
    if not mkdebian.is_file():
        pytest.skip("no kernel tree: `make tree` makes it")
    depends = re.search(r"^Build-Depends-Arch: (.*?)^\w", mkdebian.read_text(),
                        re.MULTILINE | re.DOTALL)
    assert depends
    wanted = {re.split(r"[:\s<]", entry.strip())[0] for entry in depends[1].split(",")}
    table = (ROOT / "tools/dev/setup/setup").read_text().split('needs="')[1].split('"')[0]
    rows = [line.split() for line in table.strip().splitlines()]
    installed = {row[1] for row in rows if not row[2:] or "deb" in row[2:]}
    assert wanted - {"gcc-${host_gnu}"} <= installed
