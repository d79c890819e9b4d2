# SPDX-License-Identifier: GPL-2.0
"""Builds Debian packages of the patched kernel, with the kernel's own bindeb-pkg."""

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

# Space for objects and packages without debug information, in MiB.
SPACE_PLAIN, SPACE_DISTRIBUTION = 2000, 10000
# Lines of make's output per enabled option, for the progress of a first build.
STEPS_AN_OPTION = 3


def check_tools() -> None:
    """Raise ToolError for a missing program, before hours of compiling."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise ToolError(f"{tool}: not found; `tools/dev/setup/setup deb` installs what is missing")


def configuration(chosen: str | None, boot: Path = BOOT) -> Path | None:
    """The configuration to start from: the chosen file, else that of the running kernel.

    None if neither exists: use the project's plain configuration.
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
        raise ToolError(f"{path}: not a configuration of an x86-64 kernel; "
                         "set CONFIG= to one, such as /boot/config-*")
    return path.resolve()


def build(project: Project, base: Path | None) -> list[Path]:
    """Build the packages from configuration `base`, or the project's own; returns those to install."""
    linux, folder = project.linux, project.build / "deb"
    out = folder / "objects"
    say(f"configuration: {base}" if base else
        f"configuration: the project's own, for a virtual machine, as {BOOT}/config-"
        f"{os.uname().release} does not exist; use CONFIG=FILE for another one")
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
        # the headers for the C library stay those of the distribution
        for package in folder.glob("linux-libc-dev_*.deb"):
            package.unlink()
    packages = sorted(folder.glob("*.deb"))
    if not any(package.name.startswith("linux-image-") for package in packages):
        raise ToolError(f"{project.show(folder)}: the build made no package of the kernel; "
                         f"see {project.show(folder / 'build.log')}")
    return packages


def remove_packages(folder: Path) -> None:
    """Remove the packages of an earlier build, so that all packages are of one kernel."""
    for pattern in ("*.deb", "*.changes", "*.buildinfo"):
        for path in folder.glob(pattern):
            path.unlink()
