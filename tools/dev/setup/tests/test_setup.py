# SPDX-License-Identifier: GPL-2.0
"""setup and venv ask for what a purpose needs, and for nothing else. apt and pip are not run."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from tools.base.paths import ROOT

SETUP = ROOT / "tools/dev/setup"
EVERYWHERE = {"git", "gcc", "make", "flex", "bison", "bc", "perl", "ccache", "xz", "python3"}
PROGRAMS = {
    "run": {"mkfs.ext4"},
    "bench": {"qemu-system-x86_64", "pahole", "rsync", "bsdtar", "pkg-config"},
    "test": {"qemu-system-x86_64", "fio", "patch", "quilt", "sparse", "blktrace", "pkg-config", "setfacl", "ip",
             "mkfs.ext4", "mkfs.f2fs", "mkfs.xfs", "mkfs.btrfs", "chromium", "node", "npm", "pahole", "rsync",
             "podman", "crun", "dockerd", "docker"},
    "blktests": {"qemu-system-x86_64", "fio", "blktrace", "mkfs.ext4", "mkfs.f2fs", "mkfs.xfs", "mkfs.btrfs", "pahole",
                 "depmod", "g++", "dmsetup", "gawk"},
    "deb": {"pahole", "rsync", "dpkg-buildpackage", "dh_builddeb", "depmod", "openssl", "zstd"},
}


def program(path: Path, script: str = "exit 0") -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def setup(folder: Path, programs: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run setup as a user on a machine that has only these programs."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    for name in programs - {"python3"}:
        program(bin_folder / name)
    program(bin_folder / "id", "echo 1000")
    (bin_folder / "python3").symlink_to(sys.executable)
    copy = folder / "setup"
    # files that stand for packages, and folders where this machine has programs
    copy.write_text("\n".join(line for line in (SETUP / "setup").read_text().splitlines()
                              if not line.startswith("/usr")).replace("PATH=$PATH:/usr/sbin:/sbin", ""))
    return subprocess.run(["/bin/bash", str(copy), *arguments], text=True, capture_output=True,
                          env={"PATH": str(bin_folder)}, check=False)


@pytest.mark.parametrize("purpose", PROGRAMS)
def test_a_purpose_wants_its_programs_and_no_others(tmp_path: Path, purpose: str) -> None:
    done = setup(tmp_path, EVERYWHERE | PROGRAMS[purpose], purpose)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("purpose", "without", "named"), [
    ("deb", {"dh_builddeb", "depmod"}, "debhelper kmod"), ("test", {"node", "npm", "chromium"}, "chromium nodejs npm"),
    ("test", {"docker"}, "docker-cli"), ("test", {"docker", "dockerd"}, "docker.io"),
    ("run", {"mkfs.ext4"}, "e2fsprogs"), ("bench", {"pahole"}, "dwarves"), ("run", {"git"}, "git")])
def test_what_is_missing_is_named_in_one_line(tmp_path: Path, purpose: str, without: set[str], named: str) -> None:
    done = setup(tmp_path, (EVERYWHERE | PROGRAMS[purpose]) - without, purpose)
    assert done.returncode == 1
    assert done.stderr.endswith(f": sudo apt-get install {named}\n")


def test_without_a_purpose_it_is_that_of_the_tests(tmp_path: Path) -> None:
    assert setup(tmp_path, EVERYWHERE | PROGRAMS["test"] - {"npm"}).stderr.endswith("apt-get install npm\n")


def test_an_unknown_purpose_is_told(tmp_path: Path) -> None:
    said = setup(tmp_path, set(), "play").stderr
    assert "unknown purpose 'play'; choose one of run, test, bench, blktests, deb" in said


# --- venv ---------------------------------------------------------------------------------------


def pins(name: str) -> dict[str, list[str]]:
    """Each package with its version, and its hashes."""
    blocks = re.split(r"^(?=[a-z0-9])", (SETUP / name).read_text(), flags=re.MULTILINE)[1:]
    return {block.split()[0]: re.findall(r"--hash=(\S+)", block) for block in blocks}


def test_what_boots_kernels_is_pinned_as_all_is() -> None:
    run, everything = pins("requirements-run.txt"), pins("requirements.txt")
    assert 1 <= len(run) < len(everything) and all(everything.values())
    assert run == {name: everything[name] for name in run}


def load_pin() -> ModuleType:
    loader = SourceFileLoader("pin", str(SETUP / "pin"))
    spec = spec_from_loader("pin", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(("wheel", "fits"), [
    ("b4-0.16.0-py3-none-any.whl", True), ("six-1.17-py2.py3-none-any.whl", True),
    ("ruff-0.1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
    ("msgspec-0.2-cp313-cp313-manylinux_2_17_x86_64.whl", True), ("mypy-1.0-cp39-abi3-linux_x86_64.whl", True),
    ("mypy-1.0-cp312-abi3-linux_x86_64.whl", True), ("mypy-1.0-py311-none-any.whl", True),
    ("mypy-1.0-cp313-cp313-manylinux_2_39_x86_64.whl", False), ("mypy-1.0-cp310-cp310-linux_x86_64.whl", False),
    ("mypy-1.0-cp313-cp313t-linux_x86_64.whl", False), ("mypy-1.0-cp313-cp313-macosx_11_0_x86_64.whl", False),
    ("mypy-1.0-cp313-cp313-musllinux_1_2_x86_64.whl", False), ("mypy-1.0-cp313-cp313-linux_aarch64.whl", False)])
def test_only_wheels_for_debian_on_x86_64_are_pinned(wheel: str, fits: bool) -> None:
    assert load_pin().fits(wheel) == fits


def test_pin_keeps_versions_and_order_and_asks_for_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    pin = load_pin()
    monkeypatch.setattr(pin, "hashes", lambda _index, name, version: [f"{name}-{version}-a", "b"])
    before = ("# Pinned.\none==1.0 \\\n    --hash=sha256:x \\\n    --hash=sha256:y\n    # via two\n"
              "two==2.0.post1 \\\n    --hash=sha256:z\n")
    assert list(pin.pinned(before, "")) == [
        "# Pinned.", "one==1.0 \\\n    --hash=sha256:one-1.0-a \\\n    --hash=sha256:b",
        "two==2.0.post1 \\\n    --hash=sha256:two-2.0.post1-a \\\n    --hash=sha256:b"]


@pytest.mark.parametrize("line", ["a[x]==1.0", "b==2.0 ; python_version > '3'", "c==1.0+cpu", "d"])
def test_a_line_that_is_no_pin_is_told(line: str) -> None:
    with pytest.raises(SystemExit, match="is no NAME==VERSION"):
        list(load_pin().pinned(f"{line}\n", "index"))


def test_a_package_without_a_file_that_fits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pin = load_pin()
    monkeypatch.setattr(pin, "hashes", lambda *_of: [])
    with pytest.raises(SystemExit, match="pin: no file of one==1.0 fits"):
        list(pin.pinned("one==1.0\n", "index"))


def venv(root: Path, *arguments: str) -> str:
    """Make the environment of a checkout with a python3 that installs nothing; its link."""
    tools = root / "tools/dev/setup"
    tools.mkdir(parents=True, exist_ok=True)
    for name in ("venv", *(path.name for path in SETUP.glob("requirements*.txt"))):
        (tools / name).write_bytes((SETUP / name).read_bytes())
    (root / "bin").mkdir(exist_ok=True)
    program(root / "bin/python3", 'mkdir -p "$3/bin"; ln -s /bin/true "$3/bin/pip"')
    subprocess.run(["/bin/bash", tools / "venv", *arguments], check=True, capture_output=True,
                   env={"PATH": f"{root}/bin:/usr/bin:/bin"})
    own = next((f"venv-{name}" for name in ("docs", "workflow") if name in arguments), "venv")
    return str((root / "build" / own).readlink())


def folder(name: str) -> str:
    return f"venvs/{hashlib.sha256((SETUP / name).read_bytes()).hexdigest()[:16]}"


def test_a_purpose_has_its_own_packages(tmp_path: Path) -> None:
    assert venv(tmp_path, "run") == folder("requirements-run.txt")
    assert venv(tmp_path) == folder("requirements.txt")
    assert venv(tmp_path, "docs") == folder("requirements-docs.txt")
    assert venv(tmp_path, "workflow") == folder("requirements-workflow.txt")


def test_run_is_content_with_the_packages_of_all(tmp_path: Path) -> None:
    assert venv(tmp_path) == venv(tmp_path, "run") == folder("requirements.txt")
