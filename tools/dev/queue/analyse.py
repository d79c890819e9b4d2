# SPDX-License-Identifier: GPL-2.0
"""Static analysis of the series: what programs report for the series and not for the base.

Each program checks the series first. Only if it reports something does it also check the base, for
the files that exist there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools.base.cli import ToolError

from .common import NamedProgress, Project, git, git_out, run, say
from .findings import Finding, reasoned, since
from .kernel import build_environment, configure, first_error, fragments, jobs, make, make_args
from .sparse import OLD_SPARSE, SPARSES, sparse_command, usable_checker

FRAGMENTS = ("base", "x86", "plain", "kunit", "bisect")
EXCEPTIONS = "tools/dev/queue/analysis-exceptions"


class Report(NamedTuple):
    """A report of a program about a line of the source."""

    file: str
    line: int
    text: str

    @property
    def identity(self) -> tuple[str, str]:
        """The part of a report that does not depend on line numbers."""
        return self.file, re.sub(r"(\blines? |:)\d+", r"\1", self.text)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


Reports = set[Report]


@dataclass(frozen=True)
class Site:
    """The tree to check, with the series or at the base."""

    project: Project
    linux: Path
    changed: tuple[str, ...]  # files of the series
    before: frozenset[str]  # files of these that the base has

    @property
    def out(self) -> Path:
        return self.project.build / "submit"

    def units(self) -> list[str]:
        """The changed C files of the kernel."""
        return [name for name in self.changed if name.endswith(".c") and in_kernel(name)]

    def sources(self) -> list[str]:
        """The changed files that may have kernel-doc comments."""
        return [name for name in self.changed if name.endswith((".c", ".h")) and in_kernel(name)]

    def documents(self) -> list[str]:
        return [name for name in self.changed if name.startswith("Documentation/")]

    def check_out(self, commit: str) -> None:
        git(self.linux, "checkout", "-q", "-f", "--detach", commit)


def in_kernel(name: str) -> bool:
    return not name.startswith(("tools/", "Documentation/", "samples/", "scripts/"))


@dataclass(frozen=True)
class Analysis:
    """A program, the files that it checks, and why it cannot run."""

    what: str
    files: Callable[[Site], list[str]]
    run: Callable[[Site, list[str]], Reports]
    missing: Callable[[Project, Path], str] = lambda _project, _linux: ""


def names() -> list[str]:
    return list(ANALYSES)


def analyse(project: Project, linux: Path, wanted: Sequence[str]) -> list[Finding]:
    """Run the programs on the series; run those that report something on the base, too."""
    if not wanted:
        return []
    changed = git_out(linux, "diff", "--name-only", "--no-renames", "--diff-filter=d", "base",
                      "queue").splitlines()
    before = git_out(linux, "diff", "--name-only", "--no-renames", "--diff-filter=MT", "base",
                     "queue").splitlines()
    site = Site(project, linux, tuple(changed), frozenset(before))
    findings: dict[str, Finding] = {}
    output: dict[str, Reports] = {}
    for name in wanted:
        begin = time.monotonic()
        analysis = ANALYSES[name]
        files = analysis.files(site)
        subject = f"{analysis.what}, {len(files)} files"
        if reason := analysis.missing(project, linux):
            findings[name] = Finding(name, analysis.what, skipped=reason)
        elif not files:
            findings[name] = Finding(name, analysis.what, skipped="the series has no such file")
        else:
            try:
                output[name] = timed(name, analysis, site, files)
                findings[name] = Finding(name, subject, seconds=since(begin))
            except ToolError as error:
                findings[name] = Finding(name, subject, (str(error),), seconds=since(begin))
    if again := [name for name in wanted if output.get(name)]:
        site.check_out("base")
        try:
            for name in again:
                findings[name] = compared(name, findings[name], output[name], site)
        finally:
            git(linux, "checkout", "-q", "-f", "queue")
    return [findings[name] for name in wanted]


def read_exceptions(project: Project, check: str) -> list[tuple[str, str]]:
    """File and kind of each false positive of a check that is excused."""
    return [(file, kind) for name, file, kind in
            reasoned(project, EXCEPTIONS, "a check", "a file", "a kind") if name == check]


def unexcused(found: Iterable[Report], excused: Iterable[tuple[str, str]]) -> list[Report]:
    """The reports without an exception; each exception excuses one report."""
    left = list(excused)
    problems = []
    for report in found:
        excuse = next((each for each in left
                       if each[0] == report.file and each[1] in report.text), None)
        if excuse:
            left.remove(excuse)
        else:
            problems.append(report)
    return problems


def compared(name: str, finding: Finding, output: Reports, site: Site) -> Finding:
    """The finding with the reports that the base does not have."""
    begin = time.monotonic() - finding.seconds
    files = [file for file in ANALYSES[name].files(site) if file in site.before]
    try:
        base = timed(f"{name} on the base", ANALYSES[name], site, files) if files else set()
    except ToolError as error:
        return Finding(name, finding.subject, (f"on the base: {error}",), seconds=since(begin))
    new = new_reports(output, base)
    problems = unexcused(new, read_exceptions(site.project, name))
    notes = [f"{count} reports {what}" for count, what in (
        (len(output) - len(new), "also exist on the base"),
        (len(new) - len(problems), f"are excused in {EXCEPTIONS}")) if count]
    return Finding(name, finding.subject, tuple(map(str, problems)), tuple(notes), seconds=since(begin))


def timed(label: str, analysis: Analysis, site: Site, files: list[str]) -> Reports:
    start = time.monotonic()
    try:
        return analysis.run(site, files)
    finally:
        say(f"submit-check {label}: {time.monotonic() - start:.0f} s")


def new_reports(series: Iterable[Report], base: Iterable[Report]) -> list[Report]:
    """The reports that the base does not have, or has less often in the file."""
    known: dict[tuple[str, str], int] = defaultdict(int)
    for report in base:
        known[report.identity] += 1
    new = []
    for report in sorted(series):
        if known[report.identity]:
            known[report.identity] -= 1
        else:
            new.append(report)
    return new


# --- parsing the output ------------------------------------------------------------------

COMPILER = re.compile(r"^(\S+?):(\d+):(?:\d+:)? (?:warning|(?:fatal )?error): (.*)$", re.M)
SMATCH = re.compile(r"^(\S+?):(\d+) (\w+\(\) (?:warn|warning|error): .*)$", re.M)
COCCI = re.compile(r"^(\S+?\.[ch]):(\d+):\d+-\d+: (.*)$", re.M)
KERNEL_DOC = re.compile(r"^(?:Warning|Error): (\S+?):(\d+):? (.*)$", re.M)
SPHINX = re.compile(r"^(\S+?)(?::(\d+))?: (?:WARNING|ERROR|CRITICAL|SEVERE): (.*)$", re.M)


def reports(pattern: re.Pattern[str], text: str, linux: Path) -> Reports:
    """The matches of a pattern, with paths relative to the tree."""
    return {Report(in_tree(file, linux), int(line or 0), output.strip())
            for file, line, output in pattern.findall(text)}


def in_tree(file: str, linux: Path) -> str:
    return re.sub(r"^(?:\.\.?/)+", "", file.removeprefix(f"{linux}/"))


# --- programs ----------------------------------------------------------------------------


def program(project: Project, name: str) -> str | None:
    """The path of a program in build/venv, or on the machine."""
    path = project.build / "venv/bin" / name
    return str(path) if path.is_file() else shutil.which(name)


def clang(linux: Path) -> str:
    """The newest installed clang that can build this kernel, or ''."""
    folders = [Path(name) for name in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    known = [path for folder in folders if folder.is_dir() for path in folder.glob("clang*")
             if re.fullmatch(r"clang(-\d+)?", path.name)]
    least = version(run([linux / "scripts/min-tool-version.sh", "llvm"]).stdout)
    usable = []
    for path in sorted(known):
        found = version(run([path, "--version"], check=False).stdout)
        if found >= least:
            usable.append((found, path.name))
    return max(usable)[1] if usable else ""


def version(text: str) -> tuple[int, ...]:
    """The first dotted version number in a text."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def needs(name: str, where: str) -> Callable[[Project, Path], str]:
    return lambda project, _linux: "" if program(project, name) else \
        f"{name} is not installed ({where})"


def needs_clang(_project: Project, linux: Path) -> str:
    if clang(linux):
        return ""
    least = run([linux / "scripts/min-tool-version.sh", "llvm"]).stdout.strip()
    return f"no clang of version {least} or newer is installed (Debian's package clang-19)"


# --- building ----------------------------------------------------------------------------


def build(site: Site, folder: str, files: Sequence[str], options: Sequence[str],
          compiler: str = "gcc", fresh: bool = True) -> str:
    """Compile some files for x86-64, without building a kernel; returns make's output."""
    out = site.out / folder
    parts = fragments(site.project, site.linux, out, FRAGMENTS)
    configure(site.project, site.linux, out, "x86_64", parts, compiler=compiler)
    objects = [f"{name[:-2]}.o" for name in files]
    if fresh:  # make prints no warnings for an object that is up to date
        for name in objects:
            (out / name).unlink(missing_ok=True)
    text = make(site.project, f"submit-{folder}",
                [*make_args(site.linux, out, "x86_64", compiler), "-k", *options, *objects],
                out / "build.log", 120, check=False)
    if re.search(r"^make(?:\[\d+\])?: \*\*\*", text, re.M) and not COMPILER.search(text):
        raise ToolError(f"{first_error(text)} (full output: "
                         f"{site.project.show(out / 'build.log')})")
    if "is not available or not up to date" in text:
        raise ToolError("make skipped the checker (see "
                         f"{site.project.show(out / 'build.log')})")
    return text


def run_gcc(site: Site, files: list[str]) -> Reports:
    return reports(COMPILER, build(site, "gcc", files, ["W=1"]), site.linux)


def needs_checker(*commands: str, where: str) -> Callable[[Project, Path], str]:
    """Why the kernel's make would silently skip a checker, or ''."""
    def missing(_project: Project, linux: Path) -> str:
        name = commands[0].split()[0]
        if not shutil.which(name):
            return f"{name} is not installed ({where})"
        if not any(usable_checker(linux, command) for command in commands):
            return f"{name} is too old for this kernel (scripts/checker-valid.sh)"
        return ""
    return missing


def run_sparse(site: Site, files: list[str]) -> Reports:
    command = sparse_command(site.linux)
    found = reports(COMPILER, build(site, "gcc", files, ["C=2", f"CHECK={command}"]), site.linux)
    return {report for report in found
            if command == SPARSES[0] or report.text != OLD_SPARSE}


def run_smatch(site: Site, files: list[str]) -> Reports:
    text = build(site, "gcc", files, ["C=2", f"CHECK={SMATCH_COMMAND}"])
    return reports(SMATCH, text, site.linux)


SMATCH_COMMAND = "smatch -p=kernel"


def run_cocci(site: Site, files: list[str]) -> Reports:
    """Run every semantic patch of the tree on the files, with the tree's own coccicheck.

    coccicheck takes a folder, so the files are copied into one. It stops at a semantic patch that
    fails, so it runs once for each.
    """
    out = site.out / "cocci"
    shutil.rmtree(out, ignore_errors=True)
    for name in files:
        (out / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(site.linux / name, out / "src" / name)
    scripts = sorted((site.linux / "scripts/coccinelle").rglob("*.cocci"))
    scripts = [path for path in scripts
               if re.search(r"virtual\s+report\b", path.read_text(errors="replace"))]
    include = " ".join(f"-I{site.linux / name}" for name in (
        "arch/x86/include", "include", "arch/x86/include/uapi", "include/uapi"))
    progress = NamedProgress("coccicheck", len(scripts))
    failed, text = [], ""
    for number, script in enumerate(scripts):
        progress.update(number)
        done = run([site.linux / "scripts/coccicheck"], cwd=out, check=False,
                   env={"srctree": str(site.linux), "srcroot": str(out / "src"), "C": "", "V": "",
                        "LINUXINCLUDE": include, "KBUILD_EXTMOD": "", "MODE": "report",
                        "COCCI": str(script), "DEBUG_FILE": "", "J": str(jobs())})
        text += done.stdout + done.stderr
        if done.returncode:
            failed.append(script.stem)
    (out / "report.log").write_text(text)
    progress.finish(f"{len(scripts) - len(failed)} semantic patches")
    if failed:
        say(f"coccicheck: not run: {', '.join(failed)} (why: "
            f"{site.project.show(out / 'report.log')}; some require Debian's package ocaml-findlib)")
    if len(failed) == len(scripts):
        raise ToolError(f"coccicheck failed (see {site.project.show(out / 'report.log')})")
    return reports(COCCI, text, out / "src")


def run_clang(site: Site, files: list[str]) -> Reports:
    text = build(site, "clang", files, ["W=1"], clang(site.linux))
    return reports(COMPILER, text, site.linux)


ANALYZER = ("--analyze", "--analyzer-output", "text", "-w", "-Xclang",
            "-analyzer-disable-checker", "-Xclang",
            "security.insecureAPI.DeprecatedOrUnsafeBufferHandling")


def run_analyzer(site: Site, files: list[str]) -> Reports:
    """Run clang's static analyzer with the options that each file was compiled with."""
    build(site, "clang", files, ["W=1"], clang(site.linux), fresh=False)
    out = site.out / "clang"
    database = out / "compile_commands.json"
    run([site.linux / "scripts/clang-tools/gen_compile_commands.py", "-d", out, "-o", database],
        cwd=out)
    entries = [entry for entry in json.loads(database.read_text())
               if in_tree(entry["file"], site.linux) in files]
    if len(entries) != len(files):
        raise ToolError(f"{site.project.show(database)} has {len(entries)} of {len(files)} files")
    found: Reports = set()
    progress = NamedProgress("clang --analyze", len(entries))
    waiting = list(enumerate(entries))
    running: list[tuple[str, subprocess.Popen[str]]] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs():
                number, entry = waiting.pop(0)
                progress.update(number)
                running.append((entry["file"], subprocess.Popen(
                    analyzer_command(entry["command"], entry["file"]), cwd=entry["directory"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                    errors="replace")))
            name, worker = running.pop(0)
            output = worker.communicate()[1]
            found |= reports(COMPILER, output, site.linux)
            if worker.returncode and not COMPILER.search(output):
                raise ToolError(f"clang --analyze {in_tree(name, site.linux)}: "
                                 f"{(output.strip().splitlines() or ['no message'])[-1]}")
    finally:
        for _, worker in running:
            worker.terminate()
            worker.wait()
    progress.finish(f"{len(entries)} files")
    return found


def analyzer_command(command: str, file: str) -> list[str]:
    """The compiler's command, changed to analyse and to write nothing."""
    words = [word for word in shlex.split(command)
             if word not in ("-c", "ccache", file) and not word.startswith("-Wp,-MMD")]
    if "-o" in words:
        del words[words.index("-o"):words.index("-o") + 2]
    return [*words, *ANALYZER, file]


# --- documents -----------------------------------------------------------------------------


def run_kernel_doc(site: Site, files: list[str]) -> Reports:
    done = run(["scripts/kernel-doc", "-none", "-Wall", *files], cwd=site.linux, check=False,
               env={"PYTHONDONTWRITEBYTECODE": "1"})
    text = done.stdout + done.stderr
    found = reports(KERNEL_DOC, text, site.linux)
    if done.returncode and not found:
        raise ToolError(f"kernel-doc: {(text.strip().splitlines() or ['no message'])[-1]}")
    return found


def docs_folder(project: Project) -> Path | None:
    """The folder of sphinx-build."""
    path = project.build / "venv-docs/bin"
    if (path / "sphinx-build").exists():
        return path
    found = shutil.which("sphinx-build")
    return Path(found).parent if found else None


def needs_sphinx(project: Project, _linux: Path) -> str:
    return "" if docs_folder(project) else \
        "sphinx-build is not installed (`tools/dev/setup/venv docs`)"


def run_docs(site: Site, files: list[str]) -> Reports:
    """Run htmldocs for the folders of the changed files; returns its reports about these files."""
    folder = docs_folder(site.project)
    out = site.out / "docs"
    shutil.rmtree(out / "Documentation", ignore_errors=True)  # Sphinx only warns about files that it reads again
    out.mkdir(parents=True, exist_ok=True)
    progress = NamedProgress("htmldocs")
    done = run(["make", "-C", site.linux, f"O={out}", f"SPHINXDIRS={' '.join(sphinx_dirs(files))}",
                f"SPHINXOPTS=-j{jobs()}", "htmldocs"], check=False,
               env={**build_environment(site.project), "PYTHONDONTWRITEBYTECODE": "1",
                    "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"})
    progress.finish()
    text = done.stdout + done.stderr
    (out / "build.log").write_text(text)
    if done.returncode or "SKIP    Sphinx" in text or not list(out.rglob("*.html")):
        raise ToolError(f"make htmldocs: {first_error(text)} (full output: "
                         f"{site.project.show(out / 'build.log')})")
    mine = {*site.changed}
    return {report for report in reports(SPHINX, text, site.linux) if report.file in mine}


def sphinx_dirs(files: Sequence[str]) -> list[str]:
    """The top folders below Documentation; the admin-guide includes the ABI files."""
    tops = {name.split("/")[1] for name in files if name.count("/") > 1}
    return sorted({"admin-guide" if top == "ABI" else top for top in tops})


ANALYSES = {
    "kernel-doc": Analysis("kernel-doc comments", Site.sources, run_kernel_doc),
    "gcc": Analysis("gcc, W=1, x86-64", Site.units, run_gcc),
    "sparse": Analysis("sparse, x86-64", Site.units, run_sparse,
                       needs_checker(*SPARSES, where="Debian's package sparse")),
    "smatch": Analysis("smatch, x86-64", Site.units, run_smatch, needs_checker(
        SMATCH_COMMAND, where="Debian has no package of it; build it from its source and put "
                              "it into PATH")),
    "coccicheck": Analysis("the tree's semantic patches", Site.units, run_cocci,
                           needs("spatch", "Debian's package coccinelle")),
    "clang": Analysis("clang, W=1, x86-64", Site.units, run_clang, needs_clang),
    "clang-analyzer": Analysis("clang --analyze, x86-64", Site.units, run_analyzer, needs_clang),
    "docs": Analysis("htmldocs", Site.documents, run_docs, needs_sphinx),
}
