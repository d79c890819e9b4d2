# SPDX-License-Identifier: GPL-2.0
"""What each kind consists of: its names, its files, and what to do next."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError

from . import templates

WINGS = ("user", "testbed", "dev")
LIKE = "desktop-7200"
SCENARIOS = Path("tools/testbed/lab/scenarios")
DISKS = Path("configs/disks")
LINUX = Path("build/linux")
KSELFTESTS = LINUX / "tools/testing/selftests/cfq"

DASHED = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
DISK = re.compile(r"[a-z][a-z0-9]*([-.][a-z0-9]+)*")
UNDERSCORED = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

_RATED = re.compile(r"#@ (?P<key>(?:outer|inner)_mbps) = (?P<value>\S+)")
_ATTRIBUTE = re.compile(r"(?P<key>[a-z0-9_/]+)\s*=\s*(?P<value>[^\s#]+)")
_PROGRAM = re.compile(r"^TEST_PROGS [:+]= .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Wanted:
    """What was asked for."""

    root: Path
    name: str
    wing: str
    like: str


@dataclass(frozen=True)
class Made:
    """The files that were written or changed, and what to do next."""

    written: list[Path]
    following: list[str]


def refuse(what: str) -> ToolError:
    return ToolError(what, EXIT_USAGE)


def check_name(name: str, shape: re.Pattern[str], marks: str) -> None:
    if not shape.fullmatch(name):
        raise refuse(f"{name!r} is not a name: a small letter, then small letters and digits, with single {marks}")


def filled(text: str, **values: str) -> str:
    for key, value in values.items():
        text = text.replace(f"@{key.upper()}@", value)
    return text


def scenario(wanted: Wanted) -> Made:
    check_name(wanted.name, DASHED, "'-'")
    folder = wanted.root / SCENARIOS
    path = folder / f"{wanted.name}.toml"
    if taken := [other for other in folder.rglob("*.toml") if other.stem == wanted.name]:
        raise refuse(f"{taken[0].relative_to(wanted.root)} exists")
    path.write_text(filled(templates.SCENARIO, name=wanted.name))
    return Made([path], [
        f"tools/testbed/lab/lab show {wanted.name}    # is it what you mean?",
        f"tools/testbed/lab/lab run {wanted.name}     # after `make uml`",
        f"tools/testbed/lab/lab record {wanted.name}  # then `make pages`; add it to SHOWN in test_ours.py",
    ])


def disk(wanted: Wanted) -> Made:
    check_name(wanted.name, DISK, "'-' and '.'")
    folder = wanted.root / DISKS
    path, like = folder / f"{wanted.name}.conf", folder / f"{wanted.like}.conf"
    if path.exists():
        raise refuse(f"{path.relative_to(wanted.root)} exists")
    if not like.is_file():
        known = ", ".join(sorted(other.stem for other in folder.glob("*.conf")))
        raise refuse(f"no disk '{wanted.like}' (known: {known})")
    path.write_text(disk_text(wanted.name, wanted.like, like.read_text()))
    return Made([path], [
        f"tools/disk/disk expected {wanted.name}  # computed and rated values",
        f"tools/disk/disk check {wanted.name}     # after `make uml`: measured ones",
    ])


def disk_text(name: str, like: str, source: str) -> str:
    """The attributes and the rated transfer rates of another disk, each marked as assumed."""
    lines = [f"# {name}: speed, kind, year and capacity of the disk",
             "#",
             '# "Manual": name the data sheet here, and at each value that is from it; "assumed" values are not in it.',
             ""]
    assumed = f"assumed: as {like}"
    lines += [f"{match[0]:<30}{assumed}" for match in _RATED.finditer(source)]
    lines.append("")
    for line in source.splitlines():
        if match := _ATTRIBUTE.match(line):
            setting = f"{match['key']} = {match['value']}"
            lines.append(setting if match["key"] == "irqmode" else f"{setting:<30}# {assumed}")
    return "\n".join(lines) + "\n"


def kselftest(wanted: Wanted) -> Made:
    check_name(wanted.name, UNDERSCORED, "'_'")
    folder = wanted.root / KSELFTESTS
    makefile, path = folder / "Makefile", folder / f"test_{wanted.name}.sh"
    if not makefile.is_file():
        raise refuse(f"no {KSELFTESTS}: `make tree` makes it")
    if path.exists():
        raise refuse(f"{path.relative_to(wanted.root)} exists")
    text = makefile.read_text()
    listed = list(_PROGRAM.finditer(text))
    if not listed:
        raise refuse(f"{makefile.relative_to(wanted.root)}: no TEST_PROGS to add the test to")
    path.write_text(templates.KSELFTEST)
    path.chmod(0o755)
    end = listed[-1].end()
    makefile.write_text(f"{text[:end]}TEST_PROGS += {path.name}\n{text[end:]}")
    return Made([path, makefile], [
        "git -C build/linux add -A && git -C build/linux commit --fixup PATCH  # the patch that it tests",
        "git -C build/linux rebase -i --autosquash base",
        "make export && make check STEPS=kselftests-plain",
    ])


def tool(wanted: Wanted) -> Made:
    check_name(wanted.name, UNDERSCORED, "'_'")
    if keyword.iskeyword(wanted.name):
        raise refuse(f"'{wanted.name}' is a word of Python, which no package can be called")
    tools = wanted.root / "tools"
    for place in (tools, *(tools / wing for wing in WINGS)):
        if os.path.lexists(place / wanted.name):  # noqa: PTH110  # a broken link, too
            raise refuse(f"{(place / wanted.name).relative_to(wanted.root)} exists")
    folder = tools / wanted.wing / wanted.name
    texts = {
        "__init__.py": templates.TOOL_INIT,
        "cli.py": templates.TOOL_CLI,
        "README.md": templates.TOOL_README,
        f"tests/test_{wanted.name}.py": templates.TOOL_TEST,
    }
    (folder / "tests").mkdir(parents=True)
    shown = folder.relative_to(wanted.root)
    for name, text in texts.items():
        (folder / name).write_text(filled(text, name=wanted.name, folder=str(shown),
                                          package=".".join(shown.parts)))
    link = folder / wanted.name
    link.symlink_to("../../base/start")
    return Made([*(folder / name for name in texts), link], [
        f"{shown}/{wanted.name} --help",
        f"make check STEPS=lint,tools-{wanted.name}",
    ])


KINDS: dict[str, Callable[[Wanted], Made]] = {
    "scenario": scenario, "disk": disk, "kselftest": kselftest, "tool": tool}
