# SPDX-License-Identifier: GPL-2.0
"""Programs for guests, which share the file system, and a fio that starts quickly there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.paths import BUILD, ROOT

HERE = Path(__file__).resolve().parent
LIGHT = BUILD / "vm/lib"  # libraries that a guest in QEMU takes first

# Of a guest, whoever runs it: nothing that somebody installed by hand.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# What fio needs to reach a local disk.
FIO_NEEDS = ("libc.", "libm.", "libz.", "libaio.", "libnuma.", "ld-linux")


def of_system(name: str) -> str | None:
    """The path of one of the system's programs, in a guest too; None where it is not installed."""
    return shutil.which(name, path=PATH)


def build_static(source: Path, folder: Path, *options: str) -> Path:
    """Compile a C file into a folder, static: as a guest's only process it finds no libraries."""
    return _compiled(source, folder / source.stem, "-O2", "-g", "-static", *options)


def build_preloaded(source: Path, folder: Path) -> Path:
    """Compile a C file into a folder, as a library that programs preload."""
    return _compiled(source, folder / f"{source.stem}.so", "-O2", "-fPIC", "-shared")


def random_numbers() -> Path:
    """What is preloaded into User-Mode Linux: the random numbers of a seed."""
    return build_preloaded(HERE / "random.c", BUILD / "vm")


def lazy_ipi() -> Path:
    """What is preloaded into User-Mode Linux with several CPUs, and makes it three times as quick."""
    return build_preloaded(HERE / "lazy_ipi.c", BUILD / "vm")


def _compiled(source: Path, target: Path, *options: str) -> Path:
    """Compile what is older than its sources, whole at once: a guest may be running the old one."""
    sources = [source, *(HERE / "guest").glob("*.h")]
    if target.is_file() and target.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return target
    new = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    _made(source.stem, "gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", HERE / "guest", *options,
          "-o", new, source)
    new.replace(target)
    return target


def build_bwctl() -> None:
    """Build tools/user/bwctl, into build/bwctl."""
    _made("bwctl", "make", "-s", "-C", ROOT / "tools/user/bwctl")


def _made(name: str, *command: str | Path, text: str | None = None) -> str:
    """What a command that makes something prints."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, input=text,
                              env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise ToolError(f"{name} cannot be built: {command[0]}: {error.strerror}") from None
    if done.returncode:
        raise ToolError(f"{name} cannot be built: {done.stderr.strip()[-300:]}")
    return done.stdout


def light_fio() -> None:
    """Make empty libraries that stand in for those of fio's network engines; `run` uses them.

    A distribution's fio loads some 60 libraries for Ceph, Gluster and RDMA; an emulated
    CPU with a debug kernel takes 6 seconds for it, each time.
    """
    fio = of_system("fio")
    if not fio:
        raise ToolError("no fio: install fio")
    versions = _versions(fio)
    undefined = re.findall(r"^\s+U (\w+)(?:@(\S+))?$",
                           _made("fio", "nm", "-D", "--undefined-only", fio), re.MULTILINE)
    LIGHT.mkdir(parents=True, exist_ok=True)
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", _made("fio", "readelf", "-d", fio)):
        if not library.startswith(FIO_NEEDS):
            by_version: dict[str, list[str]] = {}
            for symbol, version in undefined:
                if not version or versions.get(version) == library:
                    by_version.setdefault(version, []).append(symbol)
            _make_empty(library, by_version)


def _versions(program: str) -> dict[str, str]:
    """The versions of symbols that a program wants, and the library of each."""
    found: dict[str, str] = {}
    library = ""
    for line in _made("fio", "readelf", "-V", "-W", program).splitlines():
        if match := re.search(r"File: (\S+)", line):
            library = match[1]
        elif match := re.search(r"Name: (\S+)\s+Flags", line):
            found[match[1]] = library
    return found


def _make_empty(library: str, by_version: dict[str, list[str]]) -> None:
    """A library of this name whose functions fail; others may run with the old one."""
    new = LIGHT / f".{library}.{os.getpid()}"
    script = new.with_name(f"{new.name}.versions")
    script.write_text("".join(f"{version} {{ global: {'; '.join(symbols)}; }};\n"
                              for version, symbols in by_version.items() if version))
    named = [f"-Wl,--version-script={script}"] if script.stat().st_size else []
    code = "".join(f"int {symbol}(void) {{ return -1; }}\n"
                   for symbols in by_version.values() for symbol in symbols)
    try:
        _made(library, "gcc", "-shared", "-fPIC", "-nostdlib", "-fno-builtin", *named,
              f"-Wl,-soname,{library}", "-x", "c", "-", "-o", new, text=code)
        new.replace(LIGHT / library)
    finally:
        script.unlink()
