# SPDX-License-Identifier: GPL-2.0
"""Debian packages of the patched kernel, by the kernel's own bindeb-pkg."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tools.base.cli import ToolError

from .common import Project, locked, need_space, say
from .kernel import FLAVOURS, configure, fragment, fragments, make, make_args

BOOT = Path("/boot")
TOOLS = ("dpkg-buildpackage", "dh_builddeb")

# MiB for the objects and the packages, without debug information.
SPACE_PLAIN, SPACE_DISTRIBUTION = 2000, 10000
# Lines of make's output for each option that is set: for the percentage of a first build.
STEPS_AN_OPTION = 3


def check_tools() -> None:
    """Fail before the hours of compiling, not after them."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise ToolError(f"{tool}: not found; `tools/dev/setup/setup deb` installs what is missing")


def configuration(chosen: str | None, boot: Path = BOOT) -> Path | None:
    """The file to begin with: the one chosen, or that of the kernel that runs.

    None if there is neither; then it is the project's plain configuration.
    """
    if chosen:
        path = Path(chosen).expanduser()
        if not path.is_file():
            raise ToolError(f"{chosen}: no such file; set CONFIG= to a kernel configuration")
    else:
        path = boot / f"config-{os.uname().release}"
        if not path.is_file():
            return None
    if "CONFIG_X86_64=y" not in path.read_text(errors="replace").splitlines():
        raise ToolError(f"{path}: is no configuration of an x86-64 kernel; "
                         "set CONFIG= to one, as /boot/config-*")
    return path.resolve()


def build(project: Project, base: Path | None) -> list[Path]:
    """Build the packages, by the configuration `base` or the project's own; those to install."""
    linux, folder = project.linux, project.build / "deb"
    out = folder / "objects"
    say(f"configuration: {base}" if base else
        f"configuration: the project's own, for a virtual machine: there is no {BOOT}/config-"
        f"{os.uname().release}; CONFIG=FILE names another")
    with locked(project.build / ".lock-deb"):
        need_space(project.build, SPACE_DISTRIBUTION if base else SPACE_PLAIN, "building packages")
        own = fragment(project, "deb")
        paths = [own] if base else \
            [*fragments(project, linux, out, FLAVOURS["plain"].fragments), own]
        configure(project, linux, out, "x86_64", paths, base)
        remove_packages(folder)
        options = re.findall(r"^CONFIG_\w+=[ym]$", (out / ".config").read_text(), re.M)
        make(project, "deb", [*make_args(linux, out, "x86_64"), "bindeb-pkg"],
             folder / "build.log", STEPS_AN_OPTION * len(options))
        # The C library's headers stay those of the distribution.
        for package in folder.glob("linux-libc-dev_*.deb"):
            package.unlink()
    packages = sorted(folder.glob("*.deb"))
    if not any(package.name.startswith("linux-image-") for package in packages):
        raise ToolError(f"{project.show(folder)}: the build left no package of the kernel; "
                         f"see {project.show(folder / 'build.log')}")
    return packages


def remove_packages(folder: Path) -> None:
    """What an earlier build left, so that all packages are of one kernel."""
    for pattern in ("*.deb", "*.changes", "*.buildinfo"):
        for path in folder.glob(pattern):
            path.unlink()
