# SPDX-License-Identifier: GPL-2.0
"""One run of a kernel in QEMU, by virtme-ng on the host's own root file system."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from tools.base.files import write_whole
from tools.base.paths import BUILD, ROOT

from .command import GUEST_OUT, Follower, Result, VMError, collect, script, text
from .reports import scan

TCG_MENDED = (8, 1)  # the QEMU that has no TCG_FAULT any more
TRIES = 3
# The last of them: all CPUs in one thread of the emulator, which takes longer and has no such fault.
ONE_THREAD = ("--qemu-opts=-accel tcg,thread=single",)

# For an emulated CPU. Code at other addresses is translated anew, so that starting a program
# takes three times as long with randomised ones. The root file system, which is read-only,
# may be cached. Where there are 5-level page tables KASAN takes good addresses for wild ones
# if an interrupt comes while identify_cpu() has cleared the features: 1 boot in 10.
QUICK = ("norandmaps", "no5lvl",
         "rootflags=version=9p2000.L,trans=virtio,access=any,msize=512000,cache=loose")
# virtme-ng's five serial devices would have 64 queues each, all of which QEMU polls.
PORTS = "-global virtio-serial-pci.max_ports=2"

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
    write_whole(kept, "works\n" if works else "does not work\n")
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
        raise VMError("no virtme-ng: `tools/dev/setup/venv` installs it into build/venv")
    if not shutil.which("qemu-system-x86_64"):
        raise VMError("no qemu-system-x86_64: install qemu-system-x86")
    return found


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
    (where / "command.sh").write_text(script(command, env or {}, timeout, "/dev/ttyS0"))

    args = [vng, "--run", str(bz_image.resolve()), "--verbose", "--user", "root",
            "--disable-microvm", "--force-9p", "--cpus", str(cpus), "--memory", memory,
            "--rwdir", f"{GUEST_OUT}={where}", "--rodir", f"{ROOT}={ROOT}"]
    emulated = not (kvm_works(bz_image) if kvm is None else kvm)
    if emulated:
        args.append("--disable-kvm")
    for parameter in ("oops=panic", *QUICK):
        args += ["--append", parameter]
    args += [f"--qemu-opts={PORTS}"]
    for parameter in append:
        args += ["--append", parameter]
    for option in qemu:
        args += [f"--qemu-opts={option}"]
    args += ["--exec", f"bash {GUEST_OUT}/command.sh"]
    for attempt in range(TRIES):
        for left in ("exit-code", "stdout.log", "console.log"):
            (where / left).unlink(missing_ok=True)
        last = attempt == TRIES - 1
        result = _watch([*args, *(ONE_THREAD if last and emulated else ())], where, timeout, allow, live)
        result.emulator_is_faulty = emulated and qemu_version() < TCG_MENDED
        begun = (where / "stdout.log").exists()
        if last or not result.spoiled or (begun and not again):
            break
        print("vm: the emulator lost a code patch: retrying", file=sys.stderr)
    return result


@functools.cache
def qemu_version() -> tuple[int, int]:
    """Of QEMU's emulator, as (8, 1)."""
    told = subprocess.run(["qemu-system-x86_64", "--version"], check=False, capture_output=True, text=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", told)
    if not found:
        raise VMError(f"qemu-system-x86_64 --version says nothing of a version: {told.strip()[:80]}")
    return int(found[1]), int(found[2])


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


def _watch(args: Sequence[str], where: Path, timeout: float, allow: Iterable[str],
           live: bool) -> Result:
    start = time.monotonic()
    path = f"{Path(args[0]).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    machine = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "PATH": path})
    assert machine.stdout
    console = _Console(machine.stdout, where / "console.log")
    follower = Follower(where / "stdout.log")
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
    return collect(where, scan(text(where / "console.log"), allow), timed_out, time.monotonic() - start)
