# SPDX-License-Identifier: GPL-2.0
"""One run of a kernel in QEMU, on the host's own root file system, read-only."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools.base.files import write_whole
from tools.base.paths import BUILD

from . import surroundings
from .command import Follower, Result, VMError, collect, guarded, script, text
from .reports import scan

TCG_MENDED = (8, 1)  # the QEMU that has no TCG_FAULT any more
TRIES = 3
EMULATED = ("-accel", "tcg", "-cpu", "max")
# The last of them: all CPUs in one thread of the emulator, which takes longer and has no such fault.
ONE_THREAD = ("-accel", "tcg,thread=single", "-cpu", "max")
KVM = ("-accel", "kvm", "-cpu", "host")
# For run(qemu=), with one CPU and without KVM: a guest instruction takes a guest nanosecond, whatever the host does.
ICOUNT = ("-icount", "shift=0,sleep=off")

# For an emulated CPU. Code at other addresses is translated anew, so that starting a program
# takes three times as long with randomised ones. The root file system, which is read-only,
# may be cached. Where there are 5-level page tables KASAN takes good addresses for wild ones
# if an interrupt comes while identify_cpu() has cleared the features: 1 boot in 10.
QUICK = ("norandmaps", "no5lvl",
         "rootflags=version=9p2000.L,trans=virtio,access=any,msize=512000,cache=loose")

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


def _qemu() -> str:
    found = shutil.which("qemu-system-x86_64")
    if not found:
        raise VMError("no qemu-system-x86_64: install qemu-system-x86")
    return found


def _shared(path: Path | str, tag: str, read_only: bool) -> list[str]:
    """A folder of the host, for the guest to mount under a name."""
    quoted = str(path).replace(",", ",,")
    return ["-fsdev", f"local,id={tag},path={quoted},security_model=none,multidevs=remap"
                      + (",readonly=on" if read_only else ""),
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]


def _quoted(parameter: str) -> str:
    return f'"{parameter}"' if " " in parameter else parameter


def _command(qemu: str, image: Path, where: Path, cpus: int, memory: str, append: Sequence[str]) -> list[str]:
    """QEMU's, but for its CPU."""
    parameters = ["root=root", "rootfstype=9p", "ro", "raid=noautodetect", f"init={surroundings.INIT}",
                  "console=ttyS0", "earlyprintk=serial,ttyS0,115200", "loglevel=7", "panic=-1", "oops=panic",
                  *QUICK, *append, "--", "qemu"]
    return [qemu, "-name", "guest", "-machine", "q35", "-smp", str(cpus), "-m", memory, "-no-reboot",
            "-vga", "none", "-display", "none", "-parallel", "none", "-net", "none",
            "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
            *_shared("/", "root", read_only=True), *_shared(where, "results", read_only=False),
            "-kernel", str(image), "-append", " ".join(map(_quoted, parameters))]


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
    folders: Iterable[Path] = (),
) -> Result:
    """Boot a kernel, run a command in it as root, and collect what it left.

    @command: a shell text, or a list of words
    @out: a folder of the host that the guest writes to as $VM_OUT
    @timeout: seconds of the whole run, under TCG; at 90% the guest dumps its state
    @append: kernel parameters; @qemu: further arguments of QEMU
    @kvm: None for "where it works"
    @allow: regular expressions of kernel reports that are expected
    @live: copy the command's output to stdout while it runs
    @again: where the emulator failed, run the command again though it had begun
    @folders: of the host, seen by the guest wherever they are
    """
    bz_image = Path(kernel) if kernel else image(flavour)
    if not bz_image.is_file():
        raise VMError(f"{bz_image}: no such kernel image")
    where = Path(out) if out else Path(tempfile.mkdtemp(prefix="vm-", dir=_runs()))
    where.mkdir(parents=True, exist_ok=True)
    where = where.resolve()
    (where / "command.sh").write_text(script(command, env or {}, timeout, "/dev/ttyS0"))
    (where / "folders").write_text(surroundings.folders(folders))
    args = _command(_qemu(), bz_image.resolve(), where, cpus, memory, append)
    for option in qemu:
        args += shlex.split(option)
    emulated = not (kvm_works(bz_image) if kvm is None else kvm)
    for attempt in range(TRIES):
        for left in ("exit-code", "stdout.log", "console.log"):
            (where / left).unlink(missing_ok=True)
        last = attempt == TRIES - 1
        cpu = KVM if not emulated else ONE_THREAD if last else EMULATED
        result = _watch([*args, *cpu], where, timeout, allow, live)
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
        raise VMError(f"qemu-system-x86_64 --version prints no version: {told.strip()[:80]}")
    return int(found[1]), int(found[2])


def _runs() -> Path:
    path = BUILD / "runs"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _watch(args: Sequence[str], where: Path, timeout: float, allow: Iterable[str],
           live: bool) -> Result:
    start = time.monotonic()
    follower = Follower(where / "stdout.log")
    timed_out = False
    with (where / "console.log").open("wb") as console:
        machine = subprocess.Popen(
            guarded(args, surroundings.of_launcher()), stdin=subprocess.DEVNULL, stdout=console,
            stderr=subprocess.STDOUT, start_new_session=True, umask=surroundings.UMASK)
    try:
        while machine.poll() is None and not timed_out:
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.wait(0.5)
            if live:
                follower.catch_up()
            timed_out = machine.poll() is None and time.monotonic() - start > timeout
    finally:
        # the session is the guest's own: its group holds nothing else
        with contextlib.suppress(ProcessLookupError):
            os.killpg(machine.pid, signal.SIGKILL)
        machine.wait()
    if live:
        follower.catch_up()
    return collect(where, scan(text(where / "console.log"), allow), timed_out, time.monotonic() - start)
