# SPDX-License-Identifier: GPL-2.0
"""Measure which lines and branches of the queue's kernel files the tests execute.

Builds a kernel for QEMU and one for User-Mode Linux with gcov counters, runs the tests in them part
by part, and merges the counts with gcovr. A part that has run for the same kernel source is not
repeated. All parts take about 40 minutes, after the builds.

Every branch of the schedulers that no test takes is listed with its reason from reasons.toml. The
exit code is 1 if a branch has no reason, or a reason has no such branch.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tools.base import cli
from tools.base.cli import ToolError
from tools.base.code_id import COVERED, code_id, of_patches
from tools.base.files import write_whole
from tools.base.paths import BUILD, DOCUMENTS, ROOT, TOOLS
from tools.base.text import markdown
from tools.testbed.vm.reports import scan

LINUX = BUILD / "linux"
OUT = BUILD / "coverage"
PAGE = DOCUMENTS / "coverage.md"
REASONS = TOOLS / "dev/coverage/reasons.toml"
UML = BUILD / "uml-gcov"
X86 = BUILD / "kernel-gcov"
IMAGE = X86 / "arch/x86/boot/bzImage"
PYTEST = [str(BUILD / "venv/bin/pytest"), "-q", "-c", str(TOOLS / "pyproject.toml"), "--rootdir", str(ROOT)]
SCENARIOS = str(ROOT / "selftests/vm/test_scenarios.py")

# The objects to measure, below a build folder; a header counts with the files that include it.
DISK = tuple(f"drivers/block/null_blk/{name}" for name in ("rot_main", "rot_geometry", "rot_model", "rot_write_cache"))
OBJECTS = ("block/cfq-iosched", "block/cfq-cgroup", "block/cfq-iosched-test", *DISK, "drivers/block/null_blk/rot_test",
           "kernel/trace/blktrace")
# The files of the report: all lines of new files, and the lines that the queue adds to others.
FILES = ("block/cfq-iosched.c", "block/cfq-cgroup.c", "block/cfq-iosched.h", *(f"{name}.c" for name in DISK),
         "kernel/trace/blktrace.c")
# In these files each branch that no test takes requires a reason.
REASONED = ("block/cfq-iosched.c", "block/cfq-iosched.h")


@dataclass(frozen=True)
class Part:
    """Tests that run in one of the two kernels."""

    what: str
    build: Path
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    console: Path | None = None  # the kernel's log, where the tests do not check it


def guests(flavour: str, *more: str) -> Part:
    """Tests of selftests/vm, in the kernel with counters instead of that of the flavour."""
    return Part(f"selftests/vm: {' '.join(Path(word).name for word in more)}", X86,
                [*PYTEST, "--flavour", flavour, *more],
                # all tests for the flavour, also those that usually run in another kernel
                {f"VM_KERNEL_{flavour.upper()}": str(IMAGE), "VM_FULL": "1"})


PARTS = {
    "kunit": Part("KUnit tests", UML, [
        sys.executable, str(LINUX / "tools/testing/kunit/kunit.py"), "exec", "--arch", "um",
        "--build_dir", str(UML), "--kernel_args", "kunit.autorun=1"], console=UML / "test.log"),
    "lab": Part("tools/testbed/lab", UML, [*PYTEST, str(ROOT / "tools/testbed/lab")],
                {"LAB_KERNEL": str(UML / "linux")}),
    "soak": Part("tools/testbed/soak", UML, [*PYTEST, str(ROOT / "tools/testbed/soak")],
                 {"SOAK_KERNEL": str(UML / "linux")}),
    "uml": Part("selftests/uml", UML, [*PYTEST, str(ROOT / "selftests/uml")], {"LAB_KERNEL": str(UML / "linux")}),
    "kselftest": guests("plain", str(ROOT / "selftests/vm/test_kselftests.py")),
    "scenarios": guests("plain", SCENARIOS),
    "faults": guests("debug", SCENARIOS, "-k", "failing or requeues or timeouts"),
    "stress": guests("plain", str(ROOT / "selftests/vm/test_stress.py")),
}


# --- running -----------------------------------------------------------------------


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False,
                          capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise ToolError(f"{Path(command[0]).name}: {lines[-1]}")
    return done.stdout


def say(text: str) -> None:
    print(f"coverage: {text}", file=sys.stderr, flush=True)


def build_kernels(parts: Sequence[str]) -> None:
    """Build the kernels that the parts require."""
    wanted = {PARTS[name].build for name in parts}
    for build, words in ((UML, ["uml", "--flavour", "um-gcov"]), (X86, ["kernel", "--flavour", "gcov"])):
        if build not in wanted:
            continue
        if subprocess.run([ROOT / "tools/dev/queue/queue", *words], check=False).returncode:
            raise ToolError(f"queue {' '.join(words)} failed; its message is above")


def source_id() -> str:
    """The identity of the source that the counts belong to."""
    paths = [LINUX / name for name in FILES]
    return run(["git", "hash-object", *paths], LINUX)


def forget_other_sources() -> None:
    """Remove counts of another source."""
    stamp = OUT / "source"
    want = source_id()
    if not stamp.is_file() or stamp.read_text() != want:
        shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True, exist_ok=True)
    stamp.write_text(want)


def run_tests(command: Sequence[str], log: IO[str], environment: Mapping[str, str]) -> int:
    """Run tests; returns their exit code. An interrupt is passed on, so that they end their guests."""
    with subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT,
                          stdin=subprocess.DEVNULL, env=environment, start_new_session=True) as tests:
        try:
            return tests.wait()
        except BaseException:
            os.killpg(tests.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                tests.wait(30)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(tests.pid, signal.SIGKILL)
            raise


def run_part(name: str) -> None:
    """Run the tests of a part, and write its counts to OUT/NAME.json."""
    part = PARTS[name]
    logs = OUT / name
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    for counts in UML.glob("**/*.gcda"):
        counts.unlink()
    command = list(part.command)
    if part.build == X86:
        command += ["--logs", str(logs)]
    begin = time.monotonic()
    with (OUT / f"{name}.log").open("w") as log:
        code = run_tests(command, log, {**os.environ, **part.environment})
    found = [UML] if part.build == UML else sorted({path.parent for path in logs.glob("**/*.gcda")})
    traces = [read_counts(part.build, folder, logs / f"counts-{number}.json")
              for number, folder in enumerate(found)]
    if not any(traces):
        raise ToolError(f"{name}: the tests wrote no counts; see build/coverage/{name}.log")
    merge([trace for trace in traces if trace], OUT / f"{name}.json")
    failed = f", tests FAILED (build/coverage/{name}.log)" if code else ""
    if part.console and (reports := scan(part.console.read_text(errors="replace"))):
        failed += f", the kernel reports: {reports[0]} (full log: {part.console})"
    say(f"{name}: {time.monotonic() - begin:.0f} s{failed}")


def gcovr(*words: str | Path) -> str:
    return run([BUILD / "venv/bin/gcovr", "--root", LINUX, *words], LINUX)


def read_counts(build: Path, folder: Path, trace: Path) -> Path | None:
    """gcovr's JSON of the counts of a guest; None if there are none.

    User-Mode Linux writes counts next to the objects, QEMU's guests into one folder, by name.
    """
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        for number, stem in enumerate(OBJECTS):
            counts = (folder / stem if folder == build else folder / Path(stem).name).with_suffix(".gcda")
            if counts.is_file():
                place = data / str(number)
                place.mkdir()
                shutil.copy(counts, place)
                shutil.copy((build / stem).with_suffix(".gcno"), place)
        if not any(data.iterdir()):
            return None
        filters = [word for file in FILES for word in ("--filter", re.escape(str(LINUX / file)))]
        gcovr("--json", trace, *filters, "--gcov-ignore-errors=no_working_dir_found", data)
    return trace


def merge(traces: Sequence[Path], result: Path) -> None:
    words = [word for trace in traces for word in ("--add-tracefile", trace)]
    write_whole(result, gcovr(*words, "--merge-mode-functions=separate", "--json", "-"))


# --- evaluation ---------------------------------------------------------------------


@dataclass
class Line:
    """A line of code with its counts, in all parts together."""

    file: str
    number: int
    function: str
    text: str
    count: int = 0
    branches: list[int] = field(default_factory=list)

    @property
    def missed(self) -> int:
        """The number of branches that no test took."""
        return sum(not count for count in self.branches)

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of a reason; it has no line number, as these change."""
        return self.file, self.function, self.text


def added_lines() -> dict[str, set[int]]:
    """The lines of each file that the queue adds."""
    added: dict[str, set[int]] = {}
    current: set[int] = set()
    for line in run(["git", "diff", "-U0", "base", "--", *FILES], LINUX).splitlines():
        if line.startswith("+++ "):
            current = added.setdefault(line.removeprefix("+++ b/"), set())
        elif found := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, number = int(found[1]), int(found[2] or 1)
            current.update(range(first, first + number))
    return added


def function_at(text: Sequence[str], number: int) -> str:
    """The function of a line: gcov does not know it for clones that the compiler made."""
    for line in reversed(text[:number]):
        # the type may be on the line before; names in capitals are macros
        if found := re.match(r"(?:[A-Za-z_][\w\s*]*?\b)?(?![A-Z_]+\()(\w+)\(", line):
            return found[1]
    return ""


def read_lines(trace: Mapping[str, object], linux: Path,
               added: Mapping[str, set[int]]) -> Iterator[Line]:
    """The lines of a merged trace that the queue adds, in order."""
    for file in sorted(trace["files"], key=lambda f: FILES.index(f["file"])):  # type: ignore[call-overload]
        text = (linux / file["file"]).read_text().splitlines()
        lines: dict[int, Line] = {}
        for entry in file["lines"]:
            number = entry["line_number"]
            if number not in added[file["file"]]:
                continue
            line = lines.setdefault(number, Line(
                file["file"], number, function_at(text, number), text[number - 1].strip()))
            line.count += entry["count"]
            counts = [branch["count"] for branch in entry.get("branches", [])]
            # clones of a function have their own branches: taken in one of them counts
            longest = max(len(counts), len(line.branches))
            line.branches = [a + b for a, b in zip(
                line.branches + [0] * (longest - len(line.branches)),
                counts + [0] * (longest - len(counts)), strict=True)]
        yield from (lines[number] for number in sorted(lines))


def figures(lines: Sequence[Line]) -> dict[str, dict[str, int]]:
    """The numbers of lines and branches of each file, and of those that were run or taken."""
    found: dict[str, dict[str, int]] = {}
    for line in lines:
        row = found.setdefault(line.file, dict.fromkeys(
            ("lines", "lines_run", "branches", "branches_taken"), 0))
        row["lines"] += 1
        row["lines_run"] += line.count > 0
        row["branches"] += len(line.branches)
        row["branches_taken"] += len(line.branches) - line.missed
    return found


def read_reasons(path: Path) -> dict[tuple[str, str, str], str]:
    """The reasons why no test takes a branch, by file, function and text of the line."""
    try:
        entries = tomllib.loads(path.read_text()).get("branch", [])
        return {(entry["file"], entry["function"], line): " ".join(entry["reason"].split())
                for entry in entries for line in entry["lines"]}
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise ToolError(f"{path}: {error}: each [[branch]] has file, function, lines, "
                            "reason") from None


def not_taken(lines: Sequence[Line]) -> list[Line]:
    """The lines of the schedulers that were not run, or have a branch that no test took."""
    return [line for line in lines if line.file in REASONED and (line.missed or not line.count)]


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def table(found: Mapping[str, Mapping[str, int]]) -> str:
    return markdown(["file", "lines", "run", "branches", "taken"], [
        [file, str(row["lines"]), percent(row["lines_run"], row["lines"]), str(row["branches"]),
         percent(row["branches_taken"], row["branches"])] for file, row in found.items()])


def listing(missed: Sequence[Line], reasons: Mapping[tuple[str, str, str], str]) -> str:
    rows = []
    for line in missed:
        how = f"{line.missed} of {len(line.branches)}" if line.count and line.branches else "not run"
        rows.append([line.function, f"`{line.text}`", how, reasons.get(line.key, "**no reason**")])
    return markdown(["function", "line", "not taken", "why"], rows, "llrl")


def page(found: Mapping[str, Mapping[str, int]], missed: Sequence[Line],
         reasons: Mapping[tuple[str, str, str], str], parts: Sequence[str]) -> str:
    return "\n".join([
        "# What the tests run", "",
        "Written by `make coverage`: gcov in User-Mode Linux and in QEMU, merged by gcovr. Of files that the",
        "queue changes only the lines that it adds count. The files are compiled without inlining. A branch is one",
        "of the machine's code: a condition with two halves has four, and the optimiser may merge some.",
        of_patches(code_id(folders=COVERED), *COVERED), "",
        "Run: " + "; ".join(f"{name} ({PARTS[name].what})" for name in parts) + ".", "",
        table(found), "",
        "## Branches of the scheduler that nothing takes", "", listing(missed, reasons), ""])


# --- the command ---------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    def names(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(PARTS):
            raise argparse.ArgumentTypeError(f"no part {', '.join(sorted(unknown))}; known: "
                                             + ", ".join(PARTS))
        return text.split(",")

    top = argparse.ArgumentParser(prog="coverage", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--only", type=names, default=list(PARTS), metavar="A,B",
                     help="run only these parts: " + ", ".join(PARTS) + " (default: all)")
    top.add_argument("--again", action="store_true", help="repeat parts that have run already")
    top.add_argument("--html", type=Path, metavar="DIR", help="also write gcovr's pages of each file")
    top.add_argument("--write", action="store_true",
                     help="write Documentation/queue/coverage.md instead of printing it")
    top.add_argument("--json", action="store_true", help="print the results as JSON")
    return top


def report(args: argparse.Namespace) -> int:
    parts = [name for name in PARTS if (OUT / f"{name}.json").is_file()]
    lacking = [name for name in PARTS if name not in parts]
    if args.write and lacking:
        raise ToolError(f"{PAGE.name} is not written without {', '.join(lacking)}: run these parts first; the "
                        "results of the others are kept")
    merged = OUT / "all.json"
    merge([OUT / f"{name}.json" for name in parts], merged)
    if args.html:
        args.html.mkdir(parents=True, exist_ok=True)
        gcovr("--add-tracefile", merged, "--html-details", (args.html / "index.html").resolve())
    lines = list(read_lines(json.loads(merged.read_text()), LINUX, added_lines()))
    reasons = read_reasons(REASONS)
    found, missed = figures(lines), not_taken(lines)
    unexplained = [line for line in missed if line.key not in reasons]
    stale = [key for key in reasons if key not in {line.key for line in missed}]
    if args.json:
        print(json.dumps({"files": found, "parts": parts, "not_taken": [
            {"file": line.file, "line": line.number, "function": line.function, "text": line.text,
             "branches": len(line.branches), "missed": line.missed, "run": line.count > 0,
             "reason": reasons.get(line.key)} for line in missed]}, indent=1))
    else:
        text = page(found, missed, reasons, parts)
        if args.write:
            write_whole(PAGE, text)
        else:
            print(text)
    if lacking:
        say(f"not all parts have run: without {', '.join(lacking)}")
        return 0
    for line in unexplained:
        say(f"{line.file}:{line.number}: {line.function}: '{line.text}' is not covered: test it, "
            "or add a reason to tools/dev/coverage/reasons.toml")
    for file, function, text in stale:
        say(f"{file}: {function}: '{text}' is covered, or does not exist: remove its reason")
    return 1 if unexplained or stale else 0


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("coverage", lambda: command(args), "interrupted; the results of finished parts are kept")


def command(args: argparse.Namespace) -> int:
    build_kernels(args.only)
    forget_other_sources()
    for name in args.only:
        if args.again or not (OUT / f"{name}.json").is_file():
            say(f"{name}: {PARTS[name].what}")
            run_part(name)
    return report(args)


if __name__ == "__main__":
    sys.exit(main())
