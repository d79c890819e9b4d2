# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel, run scenarios or the kselftests in it, and say how each one ended."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.base.paths import BUILD, ROOT
from tools.dev.check.seed import seed
from tools.dev.check.skips import MAY_SKIP
from tools.dev.queue.common import locked
from tools.dev.queue.kselftests import BELOW, KSELFTESTS, extract
from tools.testbed.vm import (
    Result,
    VMError,
    build_bwctl,
    build_static,
    light_fio,
    named_kernel,
    parameters,
    run,
    scan,
    smp,
    unspoiled,
)

GUEST = Path(__file__).resolve().parent / "guest"
FLAVOURS = ("plain", "debug", "smp")
# All amounts, and what is for each flavour in each of them.
FULL = bool(os.environ.get("VM_FULL"))
# Where a scenario runs that may: quick, and a fault is reported whatever it breaks.
USUAL = "smp"
# Kselftests that compare how much two processes get in real time: in the kernel without debugging, whose machine is
# the least busy with itself.
COMPARING = frozenset({"test_bandwidth.sh", "test_classes.sh", "test_depth.sh", "test_shares.sh"})
# Of the machine as a whole, which boots again after a scenario that hung.
BOOTS = 4
MARK = re.compile(r"vm-scenario: (begin|end) (\w+)")
SKIPPED = 4


@dataclass
class Outcome:
    """How one scenario ended."""

    name: str
    code: int | None = None  # None: hung, or the kernel stopped
    seconds: int = 0
    log: str = ""
    console: str = ""  # what the kernel said meanwhile
    reports: list[str] = field(default_factory=list)

    @property
    def killed_loads(self) -> int:
        """Loads that slept for good and left no report of what they did: see load_wait."""
        return self.log.count("fio sleeps instead of ending")

    @property
    def skipped(self) -> bool:
        return self.code == SKIPPED and not self.reports

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.reports

    def why(self) -> str:
        said = [f"kernel: {line}" for line in self.reports[:20]]
        said += self.log.splitlines()[-40:]
        if self.code is None or self.reports:
            said += ["console:", *self.console.splitlines()[:400]]
        if self.code is None:
            said.append("the scenario did not come to its end")
        return "\n".join(said)


@dataclass
class Campaign:
    """All scenarios of one flavour."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    # Reports outside of scenarios: while booting, or between them.
    reports: list[str] = field(default_factory=list)
    # Of the run as a whole, for what has no outcome.
    why: str = ""


@functools.cache
def scenarios() -> dict[str, tuple[str, ...]]:
    """Each scenario, in the order of the files, with the kernels that it is for."""
    listed = subprocess.run([GUEST / "run", "--list"], check=True, capture_output=True, text=True)
    rows = (line.split() for line in listed.stdout.splitlines())
    return {name: tuple(kernels) or FLAVOURS for name, *kernels in rows}


def suits(scenario: str, flavour: str) -> bool:
    """Whether a scenario runs in this flavour: in one of those that it is for, or with VM_FULL in each."""
    wanted = scenarios()[scenario]
    return flavour in wanted if FULL else flavour == (USUAL if USUAL in wanted else wanted[0])


def suits_kselftest(name: str, flavour: str) -> bool:
    """Whether a kselftest runs in this flavour: in one of them, or with VM_FULL in each."""
    return FULL or flavour == ("plain" if name in COMPARING else USUAL)


def boot(command: str, flavour: str, out: Path, timeout: float,
         env: Mapping[str, str] | None = None, qemu: Sequence[str] = (),
         again: bool = True) -> Result:
    # only the plain flavour does all of some things, or a run would take hours
    full = {"FULL": "1", "LIMIT": "3600"} if FULL else {}
    environment = {"FLAVOUR": flavour, "FUZZ_SEED": str(seed()), **full, **(env or {})}
    if flavour == "smp":
        return smp.run(command, kernel=named_kernel(flavour), timeout=timeout, out=out,
                       append=parameters(flavour), env=environment)
    return run(command, flavour=flavour, kernel=named_kernel(flavour), cpus=2,
               memory="1G" if flavour == "plain" else "1500M", timeout=timeout, out=out,
               append=parameters(flavour), env=environment, qemu=qemu, again=again)


def build_tools() -> None:
    """The programs that the guest uses."""
    light_fio()
    build_bwctl()
    for source in (linux() / BELOW / "cfq/cfq_request.c", GUEST / "ending_readers.c",
                   GUEST / "failing_writer.c", GUEST / "fuzz.c"):
        build_static(source, ROOT / "build/vm")


# Drives of other drivers than null_blk: a name for the file, and QEMU's device.
DRIVES = {"scsi": "scsi-hd,bus=scsi.0", "ata": "ide-hd,bus=ahci.0", "nvme": "nvme,serial=vm"}
DRIVE_BYTES = 64 << 20


def drives(out: Path) -> list[str]:
    """QEMU's arguments for them; their files are made anew."""
    options = ["-device virtio-scsi-pci,id=scsi", "-device ich9-ahci,id=ahci"]
    for name, device in DRIVES.items():
        path = out / f"{name}.img"
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(DRIVE_BYTES)
        options += [f"-drive if=none,id={name},format=raw,cache=unsafe,file={path}",
                    f"-device {device},drive={name}"]
    return options


def run_scenarios(names: Sequence[str], flavour: str, out: Path, timeout: float) -> Campaign:
    """Run them in one boot; after one that hung, the rest in another.

    One in which the emulator failed is run again, with the rest.
    """
    build_tools()
    campaign = Campaign()
    left = list(names)
    for number in range(BOOTS):
        if not left:
            break
        folder = out / f"boot-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results").unlink(missing_ok=True)
        result = boot(shlex.join([str(GUEST / "run"), *left]), flavour, folder, timeout,
                      qemu=() if flavour == "smp" else drives(folder), again=False)
        read_results(campaign, left, result, folder)
        left = [name for name in left if name not in campaign.outcomes]
    for name in left:
        campaign.outcomes[name] = Outcome(name, log="not run: the kernel stopped too often before")
    return campaign


def read_results(campaign: Campaign, names: Sequence[str], result: Result,
                 folder: Path) -> None:
    consoles, between = split_console(result.console)
    campaign.reports += scan(unspoiled(between) if result.spoiled else between)
    try:
        lines = (folder / "results").read_text().splitlines()
    except OSError:
        lines = []
    ended = {name: (code, seconds) for name, code, seconds in (x.split("\t") for x in lines)}
    for name in names:
        if name not in consoles and name not in ended:
            continue
        code, seconds = ended.get(name, ("died", "0"))
        console = consoles.get(name, "")
        if name not in ended and result.spoiled and unspoiled(console) != console:
            print(f"{name}: the emulator lost a code patch: retrying", file=sys.stderr)
            continue
        log = folder / f"{name}.log"
        campaign.outcomes[name] = Outcome(
            name, int(code) if code.isdigit() else None, int(seconds),
            log.read_text(errors="replace") if log.is_file() else "", console, scan(console))
    if not campaign.outcomes and not result.spoiled:
        campaign.reports.append(result.why() or "no scenario was run")


def split_console(console: str) -> tuple[dict[str, str], str]:
    """The console by scenario, and what is in none of them."""
    parts: dict[str, list[str]] = {}
    between: list[str] = []
    current = between
    for line in console.splitlines():
        if found := MARK.search(line):
            word, name = found.groups()
            current = parts.setdefault(name, []) if word == "begin" else between
        else:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}, "\n".join(between)


KTAP = re.compile(r"^(ok|not ok) \d+ selftests: \w+: (\S+)(.*)$")
# Shell: each line that it reads, with the seconds since it began.
STAMPED = 'while IFS= read -r line; do echo "$SECONDS $line"; done'
STAMP = re.compile(r"^(\d+) (.*)$")


def kselftests() -> dict[str, str]:
    """The kselftests of the queue, as their Makefiles name them, with the target of each."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        patched = extract(Path(folder))
        makefiles = {target: (patched / target / "Makefile").read_text() for target in KSELFTESTS}
    for target, text in makefiles.items():
        for test in re.findall(r"^TEST_PROGS\s*[:+]?=\s*(\S+)", text, re.MULTILINE):
            if test in found:
                raise ValueError(f"{test} is a test of {found[test]} and of {target}: a log would not tell them apart")
            found[test] = target
    return found


def linux() -> Path:
    """The kernel tree whose tools/testing/selftests is used."""
    return Path(os.environ.get("VM_LINUX") or ROOT / "build/linux")


def kernel_headers() -> str:
    """An option for gcc: the headers of that tree for user space, which know more than this machine's."""
    folder = BUILD / "kselftest-headers"
    with locked(folder / "lock"):
        done = subprocess.run(["make", "-s", "-C", str(linux()), f"O={folder}", "headers"],
                              check=False, capture_output=True, text=True)
    if done.returncode:
        raise VMError(f"the kernel's headers cannot be made: {done.stderr.strip()[-300:]}")
    (folder / "made").touch()
    return f"-isystem{folder / 'usr/include'}"


def run_kselftests(names: Sequence[str], flavour: str, out: Path, timeout: float) -> Campaign:
    """Install the queue's targets for the guest and run some of their tests there."""
    installed = out / "kselftest"
    done = subprocess.run(
        ["make", "-s", "-C", str(linux() / BELOW), f"TARGETS={' '.join(KSELFTESTS)}",
         f"O={out / 'kselftest-build'}", f"KSFT_INSTALL_PATH={installed}",
         f"KHDR_INCLUDES={kernel_headers()}", "install"],
        check=False, capture_output=True, text=True)
    if done.returncode:
        raise VMError(f"the kselftests cannot be installed: {done.stderr.strip()[-300:]}")
    log = out / "kselftests.log"
    log.unlink(missing_ok=True)
    # The runner opens /dev/stdout again: in a file it would overwrite its own lines.
    targets = kselftests()
    chosen = " ".join(f"-t {targets[name]}:{name}" for name in names)
    command = f'"$VM_OUT"/kselftest/run_kselftest.sh {chosen} | {STAMPED}'
    result = boot(shlex.join([str(GUEST / "run"), "--watch", "kselftests", "bash", "-c", command]),
                  flavour, out, timeout, env={"LIMIT": str(round(timeout)), "PATIENCE": "120"})
    text = log.read_text(errors="replace") if log.is_file() else ""
    campaign = Campaign(reports=result.reports, why=result.why() or text)
    campaign.outcomes = {outcome.name: outcome for outcome in kselftest_outcomes(text)}
    return campaign


def kselftest_outcomes(text: str) -> Iterator[Outcome]:
    """What the runner's log, which is STAMPED, says of each test; they run one after the other."""
    said: list[str] = []
    now = begin = 0
    for line in text.splitlines():
        if stamp := STAMP.match(line):
            now, line = int(stamp[1]), stamp[2]
        said.append(line)
        if found := KTAP.match(line):
            state, name, rest = found.groups()
            code = 0 if state == "ok" else 1
            yield Outcome(name, SKIPPED if "# SKIP" in rest else code, now - begin, "\n".join(said))
            said, begin = [], now


# Of a test and of its cases, whose lines the runner begins with a mark.
CASE = re.compile(r"^(?:# )*(?:not )?ok \d+ (.*?) *(# SKIP *(.*))?$")
REASON = re.compile(r"^(?:# )*(?:1\.\.0 # SKIP|SKIP:) *(.*)$")


def skips(log: str) -> list[tuple[str, str]]:
    """What a kselftest says that it skipped, all of it or cases, and why, there or in a line before."""
    found = []
    why = ""
    for line in log.splitlines():
        if reason := REASON.match(line):
            why = reason[1]
        elif case := CASE.match(line):
            if case[2]:
                found.append((case[1], case[3] or why or "for no reason"))
            why = ""
    return found


def unlisted(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """What may not be skipped."""
    return [f"{name}: {why}" for name, why in skipped if why not in MAY_SKIP]
