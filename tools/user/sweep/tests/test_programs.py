# SPDX-License-Identifier: GPL-2.0
"""Help, manuals, completion, bad use, building and installing."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.user.sweep.tests.conftest import BAD_USE, PROGRAMS, TOOL, Builds, Run, run

NAMES = sorted(PROGRAMS)


def options_of_help(tool: Run, name: str) -> set[str]:
    text = tool(name, "--help").out.decode()
    return set(re.findall(r"^  (?:-\w, )*\s*(--[a-z-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_a_terminal(tool: Run, name: str) -> None:
    done = tool(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: {name} ".encode())
    assert max(map(len, done.lines)) <= 90
    assert tool(name, "--version").out == f"{name} (platter) test\n".encode()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("args, text", [
    (["--frob"], "unknown option '--frob'"), (["-Z"], "unknown option '-Z'"), (["--order"], "--order requires a value"),
    (["--order=size"], "unknown order 'size'"), (["--order=name"], "unknown order 'name'"),
    (["--memory=1K"], "is not a size"), (["--memory=x"], "is not a size"),
])
def test_bad_options_are_refused(tool: Run, name: str, args: list[str], text: str) -> None:
    done = tool(name, *args)
    assert (done.code, done.out, len(done.complaints)) == (BAD_USE[name], b"", 1)
    assert done.err.startswith(f"{name}: ") and text in done.err


@pytest.mark.parametrize("name", NAMES)
def test_manual_has_every_option_of_the_help_and_no_other(tool: Run, name: str) -> None:
    source = (TOOL / f"{name}.1").read_text()
    listed = {f"--{option}" for line in re.findall(r"^\.It Fl (.*)", source, re.MULTILINE)
              for option in re.findall(r"(?:^|, )-([a-z-]+)", line)}
    assert listed == options_of_help(tool, name)


def test_manual_of_the_library_has_every_function() -> None:
    header = set(re.findall(r"PLATTER_API .*?\b(platter_\w+)\(", (TOOL / "platter.h").read_text()))
    assert header == set(re.findall(r"^\.Fn (platter_\w+) \"", (TOOL / "platter.3").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", [*(f"{name}.1" for name in NAMES), "platter.3"])
def test_manual_is_well_formed(page: str) -> None:
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc here")
    assert run(["mandoc", "-Tlint", "-Wwarning", TOOL / page]).out == b""


ASK = """
source {file}
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_sweep
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(*words: str) -> set[str]:
    script = ASK.format(file=shlex.quote(str(TOOL / "sweep.bash")), words=shlex.join(words))
    done = run(["bash", "--norc", "--noprofile", "-c", script])
    assert (done.code, done.err) == (0, "")
    return {line.decode() for line in done.lines if line}


@pytest.mark.parametrize("name", NAMES)
def test_options_offered_are_those_of_the_help(tool: Run, name: str) -> None:
    assert {word for word in offered(name, "--") if word.startswith("--")} == options_of_help(tool, name)


def test_orders_offered_are_good_ones(tool: Run, tmp_path: Path) -> None:
    orders = offered("qdu", "--order", "=", "")
    assert "full-inode+block" in orders
    assert all(tool("qdu", "--order", order).code == 0 for order in orders)


def test_progress_is_shown_when_asked_and_removed(tool: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = tool("qdu", "-s", "--progress", ".")
    assert done.code == 0 and done.err.startswith("\rqdu: 1 entries") and done.err.endswith("\r\x1b[K")
    assert tool("qdu", "-s", ".").err == ""


@pytest.mark.parametrize("name", ["qdu", "qfind"])
def test_output_that_cannot_be_written_is_a_failure(builds: Builds, tmp_path: Path, name: str) -> None:
    done = run(["sh", "-c", 'exec "$0" . > /dev/full', builds.program(name)], tmp_path)
    assert (done.code, len(done.complaints)) == (1, 1) and "No space left" in done.err


def test_installed_library_is_found_and_exports_its_header_only(tmp_path: Path) -> None:
    flags = [f"BUILD={tmp_path}/build", f"DESTDIR={tmp_path}/root", "PREFIX=/usr"]
    done = run(["make", "-C", TOOL, *flags, "install"])
    assert done.code == 0, done
    root = tmp_path / "root/usr"
    exported = run(["nm", "-D", "--defined-only", root / "lib/libplatter.so"]).out.decode()
    inside = run(["nm", "-g", "--defined-only", root / "lib/libplatter.a"]).out.decode()
    header = set(re.findall(r"PLATTER_API .*?\b(platter_\w+)\(", (root / "include/platter.h").read_text()))
    assert {line.split()[2] for line in exported.splitlines()} == header
    assert {line.split()[2] for line in inside.splitlines() if len(line.split()) == 3} == header
    dynamic = run(["readelf", "-d", root / "lib/libplatter.so"]).out.decode()
    assert "Library soname: [libplatter.so.1]" in dynamic
    assert re.findall(r"NEEDED.*\[(.*?)\]", dynamic) in (["libc.so.6"], [])
    env = {**os.environ, "PKG_CONFIG_LIBDIR": str(root / "lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": f"{tmp_path}/root"}
    asked = subprocess.run(["pkg-config", "--cflags", "--libs", "platter"], env=env, capture_output=True, text=True)
    (tmp_path / "example.c").write_text(
        "#include <stdio.h>\n" + (TOOL / "platter.3").read_text().split(".Bd -literal\n")[1].split(".Ed")[0]
        .replace("\\en", "\\n").replace("static int file", "#include <platter.h>\nstatic int file"))
    built = run(["gcc", "-Wall", "-Wno-unused-parameter", "-o", tmp_path / "example", tmp_path / "example.c",
                 *asked.stdout.split()])
    assert built.code == 0, built
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(b"x" * 10000)
    said = run([tmp_path / "example", tmp_path / "tree"], LD_LIBRARY_PATH=str(root / "lib"))
    assert int(said.out) == (tmp_path / "tree/file").stat().st_blocks
    for page in ("man1/qdu.1", "man3/platter.3"):
        assert (root / "share/man" / page).exists()
