# SPDX-License-Identifier: GPL-2.0
"""`make verify` and `make bisect-check`: is the queue fit to be sent?

Both work in a kernel tree of their own, build/verify/linux, which is reset each
time; nothing that somebody works in is touched.
"""

from __future__ import annotations

import email
import email.policy
import fnmatch
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path

from .common import PLAIN_GIT, Project, QueueError, git, git_out, locked, run, say
from .groups import apply_groups
from .kernel import (
    OWN,
    build,
    build_environment,
    configure,
    fragments,
    make,
    make_args,
    unknown_options,
)
from .source import Base, fetch
from .tree import (
    State,
    apply,
    check_out,
    compare_mirror,
    format_patches,
    read_series,
)

TRAILER = re.compile(r"^[A-Z][A-Za-z-]+(?:-by|-to)?: \S|^(?:Link|Fixes|Cc): ")
LEAST_WORDS = 8  # of a body: fewer cannot say why
EXCEPTIONS = "tools/queue/checkpatch-exceptions"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check of one thing."""

    check: str
    subject: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # worth knowing, and no reason to fail
    skipped: str = ""  # why it was not made

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(project: Project, kernel: str | None) -> list[Finding]:
    findings = [Finding("series", "series and patches/", tuple(series_problems(project)))]
    if not findings[0].ok:
        return findings
    base = fetch(project, kernel)
    patches = [project.patches / name for name in read_series(project)]
    for path in patches:
        findings.append(Finding("message", path.name, tuple(message_problems(path))))
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        try:
            applied(project, linux, base, patches)
            findings.append(Finding("git am", f"on linux {base.version}"))
        except QueueError as error:
            return [*findings, Finding("git am", f"on linux {base.version}", (str(error),))]
        findings.append(Finding("export", "patches/ is what make export writes",
                                tuple(export_problems(project, linux, patches))))
        findings.append(Finding("mirror", "Documentation/, selftests/cfq, MAINTAINERS-snippet",
                                tuple(compare_mirror(project, linux, "HEAD"))))
        findings.append(Finding("quilt push -a", f"on linux {base.version}",
                                tuple(quilt_problems(project, linux, patches))))
        findings.append(Finding("options", ", ".join(f"configs/{name}.config" for name in OWN), tuple(
            f"CONFIG_{name}: no patch of the queue adds it"
            for name in sorted(unknown_options(project, linux)))))
        findings += group_findings(project, linux, patches)
        exceptions = read_exceptions(project)
        for path in patches:
            findings.append(Finding("checkpatch", path.name,
                                    tuple(checkpatch_problems(linux, path, project.build / "venv",
                                                              exceptions))))
    return findings


def group_findings(project: Project, linux: Path, patches: Sequence[Path]) -> list[Finding]:
    try:
        return [Finding("groups", name, tuple(problems))
                for name, problems in apply_groups(project, linux, patches)]
    except QueueError as error:
        return [Finding("groups", "could not be read", (str(error),))]


# --- the files --------------------------------------------------------------------


def series_problems(project: Project) -> list[str]:
    try:
        listed = read_series(project)
    except QueueError as error:
        return [str(error)]
    have = {path.name for path in project.patches.glob("*.patch")}
    wrong = [f"series names {name}, which is not in patches/" for name in listed
             if name not in have]
    wrong += [f"patches/{name} is not in series" for name in sorted(have - set(listed))]
    wrong += [f"series names {name} twice" for name in sorted({n for n in listed
                                                               if listed.count(n) > 1})]
    if not wrong and listed != sorted(listed):
        wrong.append("series has another order than the names, which `git am patches/*.patch` uses")
    wrong += [f"patches/{path.name}: neither a patch nor the cover letter"
              for path in sorted(project.patches.iterdir() if project.patches.is_dir() else [])
              if path.suffix != ".patch" and path.name != "cover-letter.txt"]
    return wrong


def message_problems(path: Path) -> list[str]:
    """A subject, a body that can say why, a sign-off by the author."""
    text = path.read_bytes()
    message = email.message_from_bytes(text, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    wrong = []
    subject = re.sub(r"^\[PATCH[^\]]*\] *", "", " ".join(str(message["Subject"] or "").split()))
    if not re.match(r"[\w./,-]+(?: [\w./,-]+)*: \S", subject):
        wrong.append(f"subject '{subject}' does not begin with 'subsystem: '")
    content = message.get_payload(decode=True)
    body = content.decode(errors="replace") if isinstance(content, bytes) else ""
    log = re.split(r"^---$", body, maxsplit=1, flags=re.M)[0]
    prose = [line for line in log.splitlines() if not TRAILER.match(line)]
    if len(" ".join(prose).split()) < LEAST_WORDS:
        wrong.append("its body does not say why (it has hardly any words)")
    signers = [parseaddr(found) for found in re.findall(r"^Signed-off-by: (.*)$", log, re.M)]
    author = parseaddr(str(message["From"] or ""))
    if re.match(r"From: ", body):
        author = parseaddr(body.splitlines()[0].removeprefix("From: "))
    if not signers:
        wrong.append("no Signed-off-by")
    elif author not in signers:
        wrong.append(f"From: {author[0]} <{author[1]}> is not among its Signed-off-by")
    return wrong


# --- the tree -----------------------------------------------------------------------


def scratch_tree(project: Project, base: Base) -> Path:
    """A kernel tree of the pristine base that nobody works in."""
    linux = project.build / "verify" / "linux"
    state = State.load(linux)
    if state is None:
        shutil.rmtree(linux, ignore_errors=True)
        check_out(project, linux, base)
    else:
        (linux / ".git/index.lock").unlink(missing_ok=True)
        shutil.rmtree(linux / ".git/rebase-apply", ignore_errors=True)
        if git_out(linux, "rev-parse", "base") != base.commit:
            git(linux, "fetch", "-q", "--no-tags", project.pristine, base.commit, env=PLAIN_GIT)
            git(linux, "tag", "-f", "base", base.commit)
        git(linux, "reset", "-q", "--hard")
        git(linux, "clean", "-fdxq", env=PLAIN_GIT)
    State(base.commit).save(linux)
    return linux


def applied(project: Project, linux: Path, base: Base, patches: Sequence[Path]) -> list[str]:
    """Reset to the base and git am all patches; the commits."""
    git(linux, "checkout", "-q", "-B", "queue", "base")
    state = State(base.commit)
    apply(project, linux, state, patches)
    return [entry[2] for entry in state.patches]


def build_before(project: Project, kernel: str | None, name: str) -> Path:
    """User-Mode Linux of the patches before the one whose name holds `name`; its image."""
    names = read_series(project)
    found = [number for number, patch in enumerate(names) if name in patch]
    if len(found) != 1:
        raise QueueError(f"series: {len(found) or 'no'} patches have '{name}' in their names, "
                         "not one")
    base = fetch(project, kernel)
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        applied(project, linux, base, [project.patches / patch for patch in names[:found[0]]])
        return build(project, "um", linux, "uml-before")


def export_problems(project: Project, linux: Path, patches: Sequence[Path]) -> list[str]:
    """Patches that make export would write in another way."""
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        new = {path.name: path.read_bytes() for path in format_patches(linux, Path(work))}
    old = {path.name: path.read_bytes() for path in patches}
    return [f"patches/{name}: make export writes it differently (`make tree export` mends it)"
            for name in sorted(new.keys() | old.keys()) if new.get(name) != old.get(name)]


def quilt_problems(project: Project, linux: Path, patches: Sequence[Path]) -> list[str]:
    """quilt push -a --fuzz=0 on the files that the queue touches, and the same result."""
    if not patches:
        return []
    if not shutil.which("quilt"):
        return ["quilt is not installed"]
    touched = git_out(linux, "diff", "--name-only", "--no-renames", "base", "HEAD").splitlines()
    before = [name for name in touched
              if git(linux, "cat-file", "-e", f"base:{name}", check=False).returncode == 0]
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        where = Path(work)
        if before:
            archive = subprocess.run(["git", "archive", "base", "--", *before], cwd=linux,
                                     capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x"], cwd=where, input=archive, check=True)
        shutil.copytree(project.patches, where / "patches")
        shutil.copy(project.series, where / "patches/series")
        done = run(["quilt", "--quiltrc=-", "push", "-a", "--fuzz=0"], cwd=where, check=False,
                   env={"LC_ALL": "C", "QUILT_PATCHES": "patches", "QUILT_SERIES": "series"})
        if done.returncode:
            said = (done.stdout + done.stderr).splitlines()
            patch = [line for line in said if line.startswith("Applying patch ")]
            wrong = [line for line in said if "FAILED" in line or "can't find file" in line]
            return [f"{(patch or ['?'])[-1].removeprefix('Applying patch ')}: "
                    f"{(wrong or said or ['no message'])[0]}"]
        return [f"{name}: quilt makes another file of it than git am" for name in touched
                if _content(where / name) != _blob_at(linux, f"HEAD:{name}")]


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _blob_at(linux: Path, name: str) -> bytes | None:
    done = subprocess.run(["git", "cat-file", "blob", name], cwd=linux, capture_output=True)
    return done.stdout if done.returncode == 0 else None


# --- checkpatch -----------------------------------------------------------------------


def reasoned(project: Project, name: str, *words: str) -> list[list[str]]:
    """The lines of a list of exceptions, each some words and a reason."""
    path = project.root / name
    found = []
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split(None, len(words))
        if len(parts) <= len(words):
            raise QueueError(f"{name}:{number}: needs {', '.join(words)} and a reason")
        found.append(parts[:-1])
    return found


def read_exceptions(project: Project) -> list[tuple[re.Pattern[str], str]]:
    """Which patches checkpatch may say something of, and what."""
    return [(re.compile(patch), kind)
            for kind, patch in reasoned(project, EXCEPTIONS, "a type", "a patch")]


def checkpatch_problems(linux: Path, path: Path, venv: Path,
                        exceptions: Sequence[tuple[re.Pattern[str], str]]) -> list[str]:
    ignored = [kind for pattern, kind in exceptions if pattern.search(path.name)]
    args: list[str | Path] = [linux / "scripts/checkpatch.pl", "--strict", "--terse",
                              "--show-types", "--no-summary", "--color=never"]
    if ignored:
        args += ["--ignore", ",".join(ignored)]
    done = run([*args, path], cwd=linux, check=False, env=checkpatch_environment(venv))
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    said = [line for line in said if not re.match(r"No structs that should be const|"
                                                  r"No codespell typos", line)]
    if done.returncode and not said:
        return [f"checkpatch.pl ended with {done.returncode}"]
    if all(maintained(linux, name) for name in added_files(path.read_text(errors="replace"))):
        # the question "does MAINTAINERS need updating?" is answered
        said = [line for line in said if "FILE_PATH_CHANGES" not in line]
    return [line.removeprefix(f"{path}:") for line in said]


def checkpatch_environment(venv: Path) -> dict[str, str]:
    """spdxcheck.py, which checkpatch calls, finds its modules in the project's environment."""
    return {"PATH": f"{venv / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def added_files(patch: str) -> list[str]:
    """Files that a patch adds or moves."""
    return [new or moved for new, moved in re.findall(
        r"^--- /dev/null\n\+\+\+ b/(\S+)$|^rename to (\S+)$", patch, re.MULTILINE)]


def maintained(linux: Path, name: str) -> bool:
    """Whether an entry of MAINTAINERS other than the last, THE REST, covers the file."""
    for entry in re.split(r"\n\s*\n", (linux / "MAINTAINERS").read_text()):
        if entry.startswith("THE REST"):
            continue
        for pattern in re.findall(r"^F:\t(\S+)$", entry, re.MULTILINE):
            if pattern.endswith("/"):
                if fnmatch.fnmatchcase(name, pattern + "*"):
                    return True
            elif fnmatch.fnmatchcase(name, pattern) and name.count("/") == pattern.count("/"):
                return True
    return False


# --- bisect-check ---------------------------------------------------------------------

WARNING = re.compile(r"^(\S+?):(?:\d+:)+ (?:warning|error): (.*)$", re.M)
OTHER = re.compile(r"^(?:WARNING|Warning|ERROR): (.*)$", re.M)  # modpost, kernel-doc


def bisect_check(project: Project, kernel: str | None) -> list[Finding]:
    """Build at every prefix what the queue touches, at W=1, and look for new warnings.

    The same at each prefix: the block layer and every other folder that some patch
    changes a C file of, of fs/ and mm/ these files. configs/bisect.config has what they need in User-Mode
    Linux, which is quickly prepared; `make uml` and `make kernel` link the whole.
    """
    base = fetch(project, kernel)
    if problems := series_problems(project):
        return [Finding("series", "series and patches/", tuple(problems))]
    names = read_series(project)
    findings = []
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        ids = applied(project, linux, base, [project.patches / name for name in names])
        targets = touched(linux)
        known: set[tuple[str, str]] = set()
        for number, commit in enumerate([base.commit, *ids]):
            git(linux, "checkout", "-q", "-B", "queue", commit)
            subject = names[number - 1] if number else f"linux {base.version}"
            say(f"bisect-check {number}/{len(ids)}: {subject}")
            try:
                found = _warnings(_build_prefix(project, linux, targets))
            except QueueError as error:
                findings.append(Finding("builds", subject, (str(error),)))
                continue
            new = sorted(found - known) if number else []
            known |= found
            findings.append(Finding("builds", subject, tuple(f"{where}: {text}"
                                                             for where, text in new)))
        findings.append(Finding("builds", "every C file that the queue changes",
                                tuple(not_built(project, linux))))
        findings += sparse(project, linux)
        findings += modules(project, linux)
    return findings


# Sparse 0.6.4 does not know __typeof_unqual__, which the kernel's headers use: make
# then says so and goes on without it. With this definition it does its work, but
# takes what MODULE_LICENSE() and module_init() are made of for no constants.
SPARSES = ("sparse", "sparse -D__typeof_unqual__=__typeof__")
OLD_SPARSE = "bad constant expression"


def sparse_command(linux: Path) -> str:
    """What make's CHECK must be for sparse to run at all, or ''."""
    return next((command for command in SPARSES if usable_checker(linux, command)), "")


def usable_checker(linux: Path, command: str) -> bool:
    """Whether the kernel's make would run it; it leaves out without an error what it would not."""
    script = linux / "scripts/checker-valid.sh"
    if not script.is_file():
        return bool(shutil.which(command.split()[0]))
    return run([script, *command.split()], check=False).stdout.strip() == "1"


def sparse(project: Project, linux: Path) -> list[Finding]:
    """sparse on every C file that the queue adds to the kernel."""
    command = sparse_command(linux)
    if not command:
        return [Finding("sparse", "added files",
                        ("sparse is not installed, or too old for this kernel",))]
    added = git_out(linux, "diff", "--name-only", "--diff-filter=A", "base", "HEAD", "--",
                    "*.c", ":!tools").splitlines()
    findings = []
    out = project.build / "verify" / "um"
    for name in added:
        text = run([*make_args(linux, out, "um"), "C=2", f"CHECK={command}",
                    name.removesuffix(".c") + ".o"],
                   check=False, env=build_environment(project))
        said = sorted({f"{where}: {problem}" for where, problem in
                       _warnings(text.stdout + text.stderr) if where.endswith(Path(name).name)
                       and not (command != SPARSES[0] and problem == OLD_SPARSE)})
        if text.returncode and not said:
            said = [(text.stderr.strip().splitlines() or ["no message"])[-1]]
        findings.append(Finding("sparse", name, tuple(said)))
    return findings


# What the queue's kernels have built in and others build as modules.
MODULES = {"cfq-iosched.ko": "block/cfq-iosched.o", "null_blk.ko": "drivers/block/null_blk/*.o"}
EXPORT = re.compile(r"EXPORT_(TRACEPOINT_|STATIC_CALL_)?(?:PER_CPU_)?(?:SYMBOL)?\w*\((\w+)")


def modules(project: Project, linux: Path) -> list[Finding]:
    """Whether all that a module would need of the kernel is exported."""
    text = git(linux, "grep", "-hE", r"EXPORT_[A-Z_]+\(", "--", "*.c", "*.S", "*.h").stdout
    have = exported(text)
    findings = []
    for module, pattern in MODULES.items():
        objects = sorted((project.build / "verify/um").glob(pattern))
        if not objects:
            continue
        said = run(["nm", *objects], check=False).stdout
        findings.append(Finding("module", module, tuple(
            f"{name} is not exported" for name in sorted(needed(said) - have))))
    return findings


def exported(text: str) -> set[str]:
    """Symbols that lines of source export."""
    names = set()
    for kind, name in EXPORT.findall(text):
        names |= {f"__tracepoint_{name}", f"__traceiter_{name}"} if kind == "TRACEPOINT_" else {name}
    return names


def needed(symbols: str) -> set[str]:
    """What the objects that nm was asked about have from elsewhere."""
    lines = [line.split() for line in symbols.splitlines()]
    # param_*: those of the types of module parameters, which a macro makes and exports
    undefined = {words[1] for words in lines if len(words) == 2 and words[0] == "U"
                 and not words[1].startswith("param_")}
    return undefined - {words[2] for words in lines if len(words) == 3}


# Folders with most of the kernel below them: only the files that change are built.
LARGE = ("fs", "mm")


def touched(linux: Path) -> list[str]:
    """make's targets: block/, and what of the rest the queue changes C files of."""
    changed = git_out(linux, "diff", "--name-only", "base", "HEAD", "--", "*.c", ":!tools").splitlines()
    folders = {"block", *(str(Path(name).parent) for name in changed)}
    present = {name for name in folders - set(LARGE)
               if git(linux, "cat-file", "-e", f"base:{name}/Makefile", check=False).returncode == 0}
    return sorted([f"{name}/" for name in present]
                  + [f"{name[:-2]}.o" for name in changed if str(Path(name).parent) in LARGE])


def _build_prefix(project: Project, linux: Path, targets: Sequence[str]) -> str:
    out = project.build / "verify" / "um"
    configure(project, linux, out, "um", fragments(project, linux, out, ("base", "um", "bisect")))
    return make(project, "prefix", [*make_args(linux, out, "um"), "W=1", *targets],
                out / "build.log", 150)


def not_built(project: Project, linux: Path) -> list[str]:
    """C files that no prefix can have tested, for want of an option."""
    changed = git_out(linux, "diff", "--name-only", "base", "HEAD", "--", "*.c", ":!tools").splitlines()
    out = project.build / "verify" / "um"
    return [f"{name}: not built, see configs/bisect.config" for name in changed
            if not (out / name).with_suffix(".o").is_file()]


def _warnings(text: str) -> set[tuple[str, str]]:
    """File and text of each warning: lines move from patch to patch."""
    found = {(Path(where).name if where.startswith("/") else where.lstrip("./"), said)
             for where, said in WARNING.findall(text)}
    return found | {("make", re.sub(r":\d+", "", said)) for said in OTHER.findall(text)}


# --- for people -----------------------------------------------------------------------


def report(findings: Sequence[Finding], out: Callable[[str], None] = print) -> None:
    for finding in findings:
        mark = "FAIL" if not finding.ok else "skip" if finding.skipped else "ok  "
        out(f"{mark} {finding.check}: {finding.subject}"
            + (f": {finding.skipped}" if finding.skipped else ""))
        for line in (*finding.problems, *finding.notes):
            out(f"     {line}")
    failed = sum(not finding.ok for finding in findings)
    skipped = sum(bool(finding.skipped) for finding in findings)
    out(f"{len(findings) - failed - skipped} passed, {failed} failed"
        + (f", {skipped} skipped" if skipped else ""))
