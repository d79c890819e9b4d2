# SPDX-License-Identifier: GPL-2.0
"""One run of a kernel in QEMU, by virtme-ng on the host's own root file system."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .reports import scan

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
GUEST_OUT = "/run/vm-out"  # where the guest sees the output folder

LIGHT = BUILD / "vm/lib"  # libraries that the guest takes first; see programs.py

# QEMU's TCG with a thread per CPU sometimes runs a breakpoint that another CPU, which
# patches code (a static key, a tracepoint), has taken away again: before QEMU 8.1 a page
# may be written between its translation and the lock on it. Such a run is made once more.
TCG_FAULT = "Oops: int3:"
TRIES = 3

# For an emulated CPU. Code at other addresses is translated anew, so that starting a program
# takes three times as long with randomised ones. The root file system, which is read-only,
# may be cached. Where there are 5-level page tables KASAN takes good addresses for wild ones
# if an interrupt comes while identify_cpu() has cleared the features: 1 boot in 10.
QUICK = ("norandmaps", "no5lvl",
         "rootflags=version=9p2000.L,trans=virtio,access=any,msize=512000,cache=loose")
# virtme-ng's five serial devices would have 64 queues each, all of which QEMU polls.
PORTS = "-global virtio-serial-pci.max_ports=2"

# A guest that still runs at this share of its time is stuck: it tells where.
LAST_WORDS = 0.9


class VMError(Exception):
    """The machine could not be run; one line says why and what to do."""


@dataclass
class Result:
    """What a run left."""

    exit_code: int | None  # of the command; None when it did not come to its end
    stdout: str  # what the command printed, its stderr included
    console: str  # the kernel's console
    reports: list[str] = field(default_factory=list)  # the kernel's complaints
    timed_out: bool = False
    seconds: float = 0.0
    out: Path = Path()  # the output folder: console.log, stdout.log, the command's files

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.reports

    def why(self, shown: bool = False) -> str:
        """What went wrong, in a few lines; nothing when nothing did.

        @shown: the command's output has been seen already
        """
        said = [f"kernel: {line}" for line in self.reports[:20]]
        if self.timed_out:
            said.append(f"no end after {self.seconds:.0f} s; the end of the console:")
        elif self.exit_code is None:
            said.append("the kernel stopped before the command did; the end of the console:")
        elif self.exit_code:
            said.append(f"the command ended with exit code {self.exit_code}"
                        + ("" if shown else "; its last words:"))
            said += [] if shown else self.stdout.splitlines()[-30:]
        if self.exit_code is None:
            said += self.console.splitlines()[-40:]
        return "\n".join(said)


# Seconds that a kernel may take under KVM until it finds that it has no root.
KVM_PATIENCE = 30


@functools.cache
def kvm_works(kernel: Path) -> bool:
    """Whether this kernel boots on KVM here and now, as far as it gets without a root.

    A device that opens is not enough, nor a virtual CPU that can be made: nested KVM may
    refuse the CPU's registers, or emulate instructions one by one and get nowhere. The
    answer is kept until the host boots again.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    kept = BUILD / "vm" / f"kvm-{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
    if kept.is_file():
        return kept.read_text() == "works\n"
    try:
        probe = subprocess.run(
            ["qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-smp", "2", "-nodefaults",
             "-display", "none", "-m", "512M", "-no-reboot", "-serial", "stdio",
             "-kernel", str(kernel), "-append", "console=ttyS0 panic=-1"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=KVM_PATIENCE)
        works = b"Kernel panic - not syncing: VFS" in probe.stdout
    except (OSError, subprocess.TimeoutExpired):
        works = False
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(f".{os.getpid()}")
    new.write_text("works\n" if works else "does not work\n")
    new.replace(kept)
    return works


def image(flavour: str = "plain") -> Path:
    """The kernel of a flavour, if it is built."""
    path = BUILD / f"kernel-{flavour}" / "arch/x86/boot/bzImage"
    if not path.is_file():
        raise VMError(f"no {flavour} kernel: `make kernel FLAVOUR={flavour}` builds it")
    return path


def _vng() -> str:
    own = BUILD / "venv/bin/vng"
    found = str(own) if own.is_file() else shutil.which("vng")
    if not found:
        raise VMError("no virtme-ng: `tools/queue/venv` installs it into build/venv")
    if not shutil.which("qemu-system-x86_64"):
        raise VMError("no qemu-system-x86_64: install qemu-system-x86")
    return found


def _script(command: str | Sequence[str], env: Mapping[str, str], timeout: float) -> str:
    """What the guest runs: the mounts, the watchdog, the command, its exit code."""
    text = command if isinstance(command, str) else shlex.join(command)
    # by the machine's age: on a busy host booting takes long
    last = round(max(timeout / 2, timeout * LAST_WORDS - 10))
    light = {"LD_LIBRARY_PATH": str(LIGHT)} if LIGHT.is_dir() else {}
    exports = "".join(f"export {name}={shlex.quote(value)}\n"
                      for name, value in {**light, **env}.items())
    return f"""#!/bin/bash
exec > {GUEST_OUT}/stdout.log 2>&1
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
export VM_OUT={GUEST_OUT}
{exports}(
	read -r up _ < /proc/uptime
	up=${{up%.*}}
	sleep $((up < {last} ? {last} - up : 1))
	{{
		echo "vm: still running, this is what is going on:"
		echo l > /proc/sysrq-trigger
		echo w > /proc/sysrq-trigger
		grep -rs . /sys/kernel/debug/block
	}} > /dev/ttyS0
) < /dev/null &
watchdog=$!
cd {shlex.quote(str(Path.cwd()))} 2> /dev/null || cd /
(
{text}
)
code=$?
kill "$watchdog"
sync
echo "$code" > {GUEST_OUT}/exit-code
"""


def run(
    command: str | Sequence[str],
    *,
    flavour: str = "plain",
    kernel: Path | None = None,
    cpus: int = 2,
    memory: str = "1G",
    timeout: float = 300,
    out: Path | None = None,
    env: Mapping[str, str] | None = None,
    append: Sequence[str] = (),
    qemu: Sequence[str] = (),
    kvm: bool | None = None,
    allow: Iterable[str] = (),
    live: bool = False,
    again: bool = True,
) -> Result:
    """Boot a kernel, run a command in it as root, and collect what it left.

    @command: a shell text, or a list of words
    @out: a folder of the host that the guest writes to as $VM_OUT
    @timeout: seconds of the whole run, under TCG; at 90% the guest dumps its state
    @append: kernel parameters; @qemu: further arguments of QEMU
    @kvm: None for "where it works"
    @allow: regular expressions of kernel reports that are expected
    @live: copy the command's output to stdout while it runs
    @again: where the emulator failed, run the command anew though it had begun
    """
    bz_image = Path(kernel) if kernel else image(flavour)
    if not bz_image.is_file():
        raise VMError(f"{bz_image}: no such kernel image")
    vng = _vng()
    where = Path(out) if out else Path(tempfile.mkdtemp(prefix="vm-", dir=_runs()))
    where.mkdir(parents=True, exist_ok=True)
    where = where.resolve()
    script = where / "command.sh"
    script.write_text(_script(command, env or {}, timeout))
    script.chmod(0o755)

    args = [vng, "--run", str(bz_image.resolve()), "--verbose", "--user", "root",
            "--disable-microvm", "--force-9p", "--cpus", str(cpus), "--memory", memory,
            "--rwdir", f"{GUEST_OUT}={where}", "--rodir", f"{ROOT}={ROOT}"]
    if not (kvm_works(bz_image) if kvm is None else kvm):
        args.append("--disable-kvm")
    for parameter in ("oops=panic", *QUICK):
        args += ["--append", parameter]
    args += [f"--qemu-opts={PORTS}"]
    for parameter in append:
        args += ["--append", parameter]
    for option in qemu:
        args += [f"--qemu-opts={option}"]
    args += ["--exec", f"bash {GUEST_OUT}/command.sh"]
    for _ in range(TRIES):
        for left in ("exit-code", "stdout.log", "console.log"):
            (where / left).unlink(missing_ok=True)
        result = _watch(args, where, timeout, allow, live)
        begun = (where / "stdout.log").exists()
        if not emulator_failed(result.console) or (begun and not again):
            break
        print("vm: the emulator lost a code patch: once more", file=sys.stderr)
    return result


def emulator_failed(console: str) -> bool:
    """Whether the emulator is what ended the kernel of this console, see TCG_FAULT."""
    return TCG_FAULT in console


def _runs() -> Path:
    path = BUILD / "runs"
    path.mkdir(parents=True, exist_ok=True)
    return path


class _Console(threading.Thread):
    """Copy the console into a file as it comes, so that the log is whole after a kill."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        super().__init__(daemon=True)
        self.stream, self.path = stream, path
        self.start()

    def run(self) -> None:
        with self.path.open("wb") as copy:
            while data := self.stream.read1(65536):  # type: ignore[attr-defined]
                copy.write(data)
                copy.flush()


class _Follower:
    """Copy what a growing file has gained to stdout."""

    def __init__(self, path: Path) -> None:
        self.path, self.seen = path, 0

    def catch_up(self) -> None:
        with contextlib.suppress(OSError), self.path.open("rb") as grown:
            grown.seek(self.seen)
            data = grown.read()
            self.seen += len(data)
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""


def _watch(args: Sequence[str], where: Path, timeout: float, allow: Iterable[str],
           live: bool) -> Result:
    start = time.monotonic()
    path = f"{Path(args[0]).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    machine = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "PATH": path})
    assert machine.stdout
    console = _Console(machine.stdout, where / "console.log")
    follower = _Follower(where / "stdout.log")
    timed_out = False
    try:
        while machine.poll() is None and not timed_out:
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.wait(0.5)
            if live:
                follower.catch_up()
            timed_out = machine.poll() is None and time.monotonic() - start > timeout
    finally:
        # QEMU is a child of virtme-ng, in a session of its own: nothing else is hit
        with contextlib.suppress(ProcessLookupError):
            os.killpg(machine.pid, signal.SIGKILL)
        machine.wait()
        console.join(10)
    if live:
        follower.catch_up()
    result = Result(None, _text(where / "stdout.log"), _text(where / "console.log"),
                    timed_out=timed_out, seconds=time.monotonic() - start, out=where)
    with contextlib.suppress(OSError, ValueError):
        result.exit_code = int((where / "exit-code").read_text())
    result.reports = scan(result.console, allow)
    if result.exit_code is None and not timed_out and "Linux version" not in result.console:
        told = [line for line in result.console.splitlines() if line.strip()] or ["no message"]
        raise VMError(f"the kernel did not boot: {told[-1].strip()}")
    return result
