# SPDX-License-Identifier: GPL-2.0
"""Configures and builds the kernels: fragments, ccache, O= folders."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.code_id import ELSEWHERE, KERNEL_ID
from tools.base.csource import stripped
from tools.base.files import write_if_changed

from .common import NO_SPACE, NamedProgress, Project, disk_full, git, git_out, locked, need_space, run, say
from .stamps import versions


@dataclass(frozen=True)
class Flavour:
    """A kernel that the project builds."""

    name: str
    arch: str
    folder: str
    fragments: tuple[str, ...]
    target: str
    image: str
    steps: int  # lines of make's output in a full build, for the progress
    arguments: tuple[str, ...] = ()  # additional arguments for make
    modules: str = ""  # a folder of the project with modules to build, too


# The objects whose coverage is measured; tools/dev/coverage selects the lines. In User-Mode Linux
# CONFIG_GCOV applies to all objects. Without -fno-inline a branch of an inlined function would be
# counted at the call, and could be optimised away there.
PROFILED = ("cfq-iosched", "cfq-iosched-test", "rot_main", "rot_geometry",
            "rot_model", "rot_write_cache", "rot_test", "blktrace")
NOT_INLINED = tuple(f"CFLAGS_{name}.o=-fno-inline" for name in PROFILED)

# Linked to User-Mode Linux in addition to the flags of arch/um/Makefile; see tools/dev/coverage/dump.c.
DUMP = "coverage-dump.o"
WITH_DUMP = f"LD_FLAGS_CMDLINE=$(foreach opt,$(KBUILD_LDFLAGS) $(LDFLAGS_EXECSTACK),-Wl,$(opt)) {DUMP}"

FLAVOURS = {
    "plain": Flavour("plain", "x86_64", "kernel-plain", ("base", "x86", "plain"),
                     "bzImage", "arch/x86/boot/bzImage", 2250),
    "debug": Flavour("debug", "x86_64", "kernel-debug", ("base", "x86", "debug"),
                     "bzImage", "arch/x86/boot/bzImage", 2500),
    "lockstat": Flavour("lockstat", "x86_64", "kernel-lockstat", ("base", "x86", "plain", "lockstat"),
                        "bzImage", "arch/x86/boot/bzImage", 2300),
    "blktests": Flavour("blktests", "x86_64", "kernel-blktests", ("base", "x86", "plain", "blktests"),
                        "all", "arch/x86/boot/bzImage", 3200),
    "kcsan": Flavour("kcsan", "x86_64", "kernel-kcsan", ("base", "x86", "kcsan"),
                     "bzImage", "arch/x86/boot/bzImage", 2500),
    "gcov": Flavour("gcov", "x86_64", "kernel-gcov", ("base", "x86", "plain", "gcov"),
                    "bzImage", "arch/x86/boot/bzImage", 2300,
                    (*NOT_INLINED, *(f"GCOV_PROFILE_{name}.o=y" for name in PROFILED))),
    "fixes": Flavour("fixes", "x86_64", "kernel-fixes", ("base", "x86", "fixes"),
                     "bzImage", "arch/x86/boot/bzImage", 2200, modules="selftests/fixes/module"),
    "um": Flavour("um", "um", "uml", ("base", "um"), "linux", "linux", 1400),
    "um-oldsched": Flavour("um-oldsched", "um", "uml-oldsched", ("base", "um", "oldsched"), "linux", "linux", 1400),
    "um-oldsched-kunit": Flavour("um-oldsched-kunit", "um", "uml-oldsched-kunit",
                                 ("base", "um", "kunit", "oldsched", "oldsched-kunit"),
                            "linux", "linux", 1400),
    "um-kunit": Flavour("um-kunit", "um", "uml-kunit", ("base", "um", "kunit"), "linux", "linux", 1400),
    "um-smp": Flavour("um-smp", "um", "uml-smp", ("base", "um-smp", "kunit"), "linux", "linux", 1500),
    "um-gcov": Flavour("um-gcov", "um", "uml-gcov", ("base", "um", "kunit", "um-gcov"), "linux",
                       "linux", 1400, (*NOT_INLINED, WITH_DUMP)),
}

# Most objects of one of these are those of the others, if their sources are compared after the preprocessor. For any
# other flavour ccache does without that, and a miss costs a fifth less.
ALIKE = ("um", "um-kunit", "um-oldsched", "um-oldsched-kunit")

# The folder of a flavour's modules, within its build folder.
MODULE = "project-modules"

# Fragments with options of the queue's patches: options that the tree lacks are skipped.
OWN = ("queue", "kunit", "bisect")


def build_environment(project: Project) -> dict[str, str]:
    """The environment in which an object does not depend on the path of the checkout."""
    return {
        "CCACHE_BASEDIR": str(project.build),
        "CCACHE_NOHASHDIR": "1",
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
        "KBUILD_BUILD_USER": "queue",
        "KBUILD_BUILD_HOST": "queue",
        "KBUILD_BUILD_VERSION": "1",
        "LOCALVERSION": "",
        "LC_ALL": "C",
        "MAKEFLAGS": "",
    }


def make_args(linux: Path, out: Path, arch: str, compiler: str = "gcc") -> list[str]:
    """The make command, with ccache if it is installed."""
    cache = "ccache " if shutil.which("ccache") else ""
    return ["make", "-C", str(linux), f"O={out}", f"ARCH={arch}", f"CC={cache}{compiler}",
            f"HOSTCC={cache}gcc", f"-j{jobs()}"]


def jobs() -> int:
    return int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))


# --- configuration ---------------------------------------------------------------


def fragment(project: Project, name: str) -> Path:
    path = project.root / "configs" / f"{name}.config"
    if not path.is_file():
        raise ToolError(f"{project.show(path)}: no such configuration fragment")
    return path


def unknown_options(project: Project, linux: Path, names: Sequence[str] = OWN) -> set[str]:
    """The options of fragments whose symbol the tree does not have."""
    asked = [option for name in names
             for option in re.findall(r"^CONFIG_(\w+)=", fragment(project, name).read_text(), re.M)]
    if not asked:
        return set()
    found = git(linux, "grep", "-hE", f"^(menu)?config ({'|'.join(asked)})$", "--",
                "*Kconfig*", check=False).stdout
    return set(asked) - {line.split()[1] for line in found.splitlines()}


def fragments(project: Project, linux: Path, out: Path, names: Sequence[str]) -> list[Path]:
    """The fragments to merge; from those of the queue only the options that the tree has."""
    return [as_far_as_known(project, linux, out, name) if name in OWN else fragment(project, name)
            for name in (*names, "queue")]


def as_far_as_known(project: Project, linux: Path, out: Path, name: str) -> Path:
    """Write a fragment without the options that the tree does not have."""
    unknown = unknown_options(project, linux, [name])
    known = "".join(line for line in fragment(project, name).read_text().splitlines(keepends=True)
                    if not any(line.startswith(f"CONFIG_{option}=") for option in unknown))
    path = out / f"{name}.config"
    write_if_changed(path, known.encode())
    return path


def configure(project: Project, linux: Path, out: Path, arch: str, paths: Sequence[Path],
              base: Path | None = None, compiler: str = "gcc") -> None:
    """Merge the fragments into tinyconfig or the file `base`; every option of the fragments must be kept."""
    stamp = out / ".queue-config"
    digest = hashlib.sha256()
    for path in [base, *paths] if base else paths:
        digest.update(path.read_bytes())
    digest.update(git_out(linux, "log", "-1", "--format=%H", "--", "*Kconfig*").encode())
    if (out / ".config").is_file() and stamp.is_file() and stamp.read_text() == digest.hexdigest() \
            and not git_out(linux, "status", "--porcelain", "-uno", "--", "*Kconfig*"):
        return
    out.mkdir(parents=True, exist_ok=True)
    new = out / ".config.new"
    env = {**build_environment(project), "KCONFIG_CONFIG": str(new), "ARCH": arch}
    make = make_args(linux, out, arch, compiler)
    try:
        if base:
            new.write_bytes(base.read_bytes())
        else:
            run([*make, "-s", "tinyconfig"], env=env)
        run([linux / "scripts/kconfig/merge_config.sh", "-m", "-Q", "-O", out, new, *paths],
            cwd=out, env=env)
        run([*make, "-s", "olddefconfig"], env=env)
        if lost := lost_options(new.read_text(), paths):
            raise ToolError(f"{project.show(out)}: the kernel configuration dropped "
                             + ", ".join(lost))
        write_if_changed(out / ".config", new.read_bytes())
    finally:
        for left in (new, out / ".config.new.old"):
            left.unlink(missing_ok=True)
    write_if_changed(stamp, digest.hexdigest().encode())


def lost_options(config: str, paths: Sequence[Path]) -> list[str]:
    """The options of fragments that the final configuration does not have.

    A later fragment may overrule an earlier one: the last word counts. A text, as
    CONFIG_A="b", is not lost where the kernel has no use for one.
    """
    asked: dict[str, tuple[str, Path]] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            if found := re.fullmatch(r"(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set", line):
                name = found.group(1) or found.group(3)
                asked[name] = (found.group(2) if found.group(1) else "n", path)
            elif line.strip() and not line.startswith("#"):
                raise ToolError(f"{path}: '{line}' is not a configuration option")
    have = dict(re.findall(r"^(CONFIG_\w+)=(.*)$", config, re.M))
    return [f"{name}={value} ({path.name})" for name, (value, path) in asked.items()
            if have.get(name, value if value.startswith('"') else "n") != value]


# --- building ----------------------------------------------------------------------


def build(project: Project, name: str, linux: Path | None = None, folder: str | None = None) -> Path:
    """Build a flavour, optionally of another tree or in another folder of build/; returns its image."""
    flavour = FLAVOURS[name]
    linux = linux or project.linux
    folder = folder or flavour.folder
    out = project.build / folder
    image = out / flavour.image
    with locked(project.build / f".lock-{folder}"):
        need_space(project.build, 200 if image.exists() else 1500, f"building {folder}")
        configure(project, linux, out, flavour.arch, fragments(project, linux, out, flavour.fragments))
        if WITH_DUMP in flavour.arguments:
            run(["gcc", "-O1", "-c", project.root / "tools/dev/coverage/dump.c", "-o", out / DUMP])
        make(project, folder, [*make_args(linux, out, flavour.arch), *flavour.arguments, flavour.target],
             out / "build.log", flavour.steps, environment={} if name in ALIKE else {"CCACHE_DEPEND": "1"})
        if flavour.modules:
            build_modules(project, linux, out, flavour)
    if not image.is_file():
        raise ToolError(f"{project.show(image)}: the build made no image; "
                         f"see {project.show(out / 'build.log')}")
    if flavour.arch == "um":
        write_kernel_id(linux, out)
    return image


def write_kernel_id(linux: Path, out: Path) -> None:
    """Beside an image, digests of it and of what it was built from: code that differs in comments is the same code."""
    code = hashlib.sha256(repr((code_of(linux), versions("gcc", "ld"))).encode())
    code.update((out / ".config").read_bytes())
    image = hashlib.sha256((out / "vmlinux").read_bytes())
    write_if_changed(out / KERNEL_ID,
                     json.dumps({"image": image.hexdigest(), "code": code.hexdigest()}).encode())


def code_of(linux: Path) -> list[object]:
    """The base, and each file of the work tree that differs from it: C without comments, all else but texts whole."""
    changed = git_out(linux, "diff", "--name-only", "--no-renames", "base").splitlines()
    changed += git_out(linux, "ls-files", "--others", "--exclude-standard").splitlines()
    found: list[object] = [git_out(linux, "rev-parse", "base")]
    for name in sorted(set(changed)):
        if name.startswith(ELSEWHERE):
            continue
        path = linux / name
        text = path.read_text(errors="replace") if path.is_file() else ""
        found.append((name, stripped(text) if name.endswith((".c", ".h")) else text))
    return found


def build_modules(project: Project, linux: Path, out: Path, flavour: Flavour) -> None:
    """Build the modules of a folder of the project for the kernel in `out`."""
    make = [*make_args(linux, out, flavour.arch), "-s"]
    run([*make, "modules_prepare"], env=build_environment(project))
    run([*make, f"M={project.root / flavour.modules}", f"MO={out / MODULE}",
         f"KBUILD_EXTRA_SYMBOLS={out / 'vmlinux.symvers'}", "modules"], env=build_environment(project))


def make(project: Project, label: str, args: Sequence[str], log: Path, steps: int,
         check: bool = True, environment: Mapping[str, str] | None = None) -> str:
    """Run make with a log and a line of progress; returns its output."""
    counts = project.cache / "build-steps.json"
    try:
        known: dict[str, int] = json.loads(counts.read_text())
    except (OSError, ValueError):
        known = {}
    progress = NamedProgress(f"build {label}", known.get(label, steps))
    log.parent.mkdir(parents=True, exist_ok=True)
    done = compiled = 0
    output = []
    with log.open("w") as out:
        worker = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace",
                                  env={**os.environ, **build_environment(project), **(environment or {})})
        assert worker.stdout
        try:
            for line in worker.stdout:
                out.write(line)
                output.append(line)
                if line.startswith("  "):
                    done += 1
                    compiled += line.startswith("  CC")
                    progress.update(done)
            worker.wait()
        except BaseException:
            worker.terminate()
            worker.wait()
            raise
    text = "".join(output)
    if worker.returncode:
        if NO_SPACE in text:
            raise ToolError(disk_full(log.parent))
        if check:
            raise ToolError(f"build {label}: {first_error(text)} "
                             f"(full output: {project.show(log)})")
    if done > steps // 2:
        known[label] = done
        write_if_changed(counts, json.dumps(known, indent=1).encode())
    if compiled:
        progress.finish(f"{compiled} files compiled")
    else:
        say(f"build {label}: nothing to rebuild")
    return text


def first_error(text: str) -> str:
    for line in text.splitlines():
        if line.startswith("  "):  # progress, as of error.o
            continue
        if re.search(r"\b(error|Error|undefined reference|No rule to make)\b", line):
            return line.strip()
    return (text.strip().splitlines() or ["no message"])[-1]


WARNING = re.compile(r"^(\S+?):(?:\d+:)+ (?:warning|error): (.*)$", re.M)
OTHER = re.compile(r"^(?:WARNING|Warning|ERROR): (.*)$", re.M)  # modpost, kernel-doc


def warnings(text: str) -> set[tuple[str, str]]:
    """The file and text of each warning, without line numbers, which change from patch to patch."""
    found = {(Path(where).name if where.startswith("/") else where.lstrip("./"), output)
             for where, output in WARNING.findall(text)}
    return found | {("make", re.sub(r":\d+", "", output)) for output in OTHER.findall(text)}
