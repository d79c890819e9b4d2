# SPDX-License-Identifier: GPL-2.0
"""Runs a guest for each group and scheduler, and another one after a test that hung or a kernel that died."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_json, write_whole
from tools.base.paths import BUILD, ROOT
from tools.base.progress import Progress
from tools.dev.queue.common import run
from tools.testbed.vm import Result, VMError, kvm_works, light_fio, parameters
from tools.testbed.vm import run as boot
from tools.testbed.vm.command import text
from tools.testbed.vm.programs import of_system

from . import results, source

GUEST = Path(__file__).resolve().parent / "guest"
IMAGE = "arch/x86/boot/bzImage"
KERNELS = ("kernel-blktests", "kernel-plain")  # the first one that exists
IDENTITY = "identity.json"
# Programs that blktests calls, and their Debian packages.
PROGRAMS = {"modprobe": "kmod", "blktrace": "blktrace", "blkzone": "util-linux", "losetup": "mount", "fio": "fio",
            "mkfs.ext4": "e2fsprogs", "bc": "bc", "dmsetup": "dmsetup", "gawk": "gawk"}
# Without a zoned disk these tests create one.
WITHOUT_DEVICE = ("zbd",)
DEVICE, DEVICE_BYTES = "/dev/sda", 1 << 30
SCRATCH, SCRATCH_BYTES = "/dev/nvme0n1", 4 << 30
# An emulated CPU whose clock counts instructions, so that load on the machine has less effect on the tests. 2 ns per
# instruction is slightly faster than real.
BY_INSTRUCTIONS = "-icount shift=1"
BOOT_S = 300  # on a busy machine with an emulated CPU
BOOTS_IN_VAIN = 2


@dataclass(frozen=True)
class Machine:
    """The settings of all guests."""

    kernel: Path  # the image
    modules: Path | None  # a folder with lib/modules
    tree: Path  # blktests
    quick: int  # seconds, as check --quick
    limit: int  # seconds that a test may take
    tries: int  # runs of a test that fails
    memory: str

    def clock(self) -> list[str]:
        """QEMU's option for the clock, with an emulated CPU."""
        return [] if kvm_works(self.kernel) else [BY_INSTRUCTIONS]

    def identity(self, group: str) -> dict[str, str | int]:
        """The identity of what the results of a group depend on: with another one they are discarded."""
        return {"clock": "".join(self.clock()),
                "kernel": hashlib.sha256(self.kernel.read_bytes()).hexdigest(),
                "modules": ",".join(sorted(path.name for path in modules_in(self.modules))),
                "tests": source.version(group), "quick": self.quick, "limit": self.limit, "tries": self.tries,
                "memory": self.memory}


def modules_in(folder: Path | None) -> list[Path]:
    return list((folder / "lib/modules").rglob("*.ko*")) if folder else []


def kernel_folder(named: Path | None) -> Path:
    """The build folder of the kernel."""
    folders = [named] if named else [BUILD / name for name in KERNELS]
    for folder in folders:
        if (folder / IMAGE).is_file():
            return folder.resolve()
    raise ToolError(f"{folders[0]}: no kernel; run `make kernel FLAVOUR=blktests`", EXIT_USAGE)


def install_modules(folder: Path) -> Path | None:
    """Install the modules of a kernel, if it has any, for the guests."""
    order = folder / "modules.order"
    if not order.is_file() or not order.read_text().strip():
        return None
    target = BUILD / "blktests" / "modules"
    shutil.rmtree(target, ignore_errors=True)
    run(["make", "-s", "-C", folder, f"INSTALL_MOD_PATH={target}", "INSTALL_MOD_STRIP=1", "modules_install"],
        env={"MAKEFLAGS": "", "LOCALVERSION": ""})
    return target


def need_programs() -> None:
    missing = [package for program, package in PROGRAMS.items() if not of_system(program)]
    if missing:
        raise ToolError(f"blktests requires programs: apt-get install {' '.join(missing)}", EXIT_USAGE)
    light_fio()


class Group:
    """A group under a scheduler; its folder has the results, also those of an interrupted run."""

    def __init__(self, machine: Machine, out: Path, name: str, scheduler: str, tests: Sequence[str]) -> None:
        self.machine, self.name, self.scheduler, self.tests = machine, name, scheduler, tests
        self.folder = out / f"{name}-{scheduler}"

    def is_current(self) -> bool:
        """Whether the results in the folder are of the same kernel, tests and options."""
        try:
            found: object = json.loads((self.folder / IDENTITY).read_text())
        except (OSError, ValueError):
            return False
        return found == self.machine.identity(self.name)

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        write_json(self.folder / IDENTITY, self.machine.identity(self.name))

    def done(self) -> dict[str, tuple[str, int]]:
        """The tests that have ended: exit code or error, and seconds."""
        # the guest may not have finished the last line
        rows = (line.split("\t") for line in text(self.folder / "done").splitlines(keepends=True) if line[-1] == "\n")
        return {test: (code, int(seconds)) for test, code, seconds in rows}

    def left(self) -> list[str]:
        done = self.done()
        return [test for test in self.tests if test not in done]

    def run(self) -> None:
        vain = 0
        while left := self.left():
            with self.showing_progress():
                result = self.boot(left)
            self.note_death(result)
            vain = 0 if len(self.left()) < len(left) else vain + 1
            if vain == BOOTS_IN_VAIN or result.exit_code == 3:
                raise VMError(f"{self.name} under {self.scheduler}: no test has run: {result.why()}; "
                              f"logs are in {self.folder}")

    @contextlib.contextmanager
    def showing_progress(self) -> Iterator[None]:
        """Show the progress."""
        ended = threading.Event()
        progress = Progress(every_s=60)

        def tell() -> None:
            self.show(progress, now=True)
            while not ended.wait(1):
                self.show(progress)

        teller = threading.Thread(target=tell)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()
            progress.clear()

    def show(self, progress: Progress, now: bool = False) -> None:
        running = text(self.folder / "running").strip()
        progress.show(f"{self.name} under {self.scheduler}: {len(self.tests) - len(self.left())} of {len(self.tests)} "
                      f"tests, {running or 'booting'}", now)

    def boot(self, tests: Sequence[str]) -> Result:
        (self.folder / "running").unlink(missing_ok=True)
        timeout = BOOT_S + (self.machine.limit + 30) * self.machine.tries * len(tests)
        return boot(shlex.join([str(GUEST / "tests.sh"), *tests]), kernel=self.machine.kernel,
                    memory=self.machine.memory, timeout=timeout, out=self.folder, env=self.environment(),
                    append=parameters("plain"), qemu=self.machine_options(), again=False,
                    folders=[path for path in (self.machine.tree, self.machine.modules) if path])

    def environment(self) -> Mapping[str, str]:
        return {"SCHEDULER": self.scheduler, "TREE": str(self.machine.tree), "MODULES": str(self.machine.modules or ""),
                "DEVICE": "" if self.name in WITHOUT_DEVICE else DEVICE, "SCRATCH": SCRATCH,
                "QUICK": str(self.machine.quick), "LIMIT": str(self.machine.limit), "TRIES": str(self.machine.tries)}

    def machine_options(self) -> list[str]:
        """QEMU's options: the clock, the empty disk for tests, which rotates, and the empty disk for files."""
        options = [*self.machine.clock(), "-device virtio-scsi-pci,id=scsi"]
        for name, device, size in (("device", "scsi-hd,bus=scsi.0,rotation_rate=7200", DEVICE_BYTES),
                                   ("scratch", "nvme,serial=scratch", SCRATCH_BYTES)):
            path = self.folder / f"{name}.img"
            path.unlink(missing_ok=True)
            with path.open("wb") as file:
                file.truncate(size)
            options += [f"-drive if=none,id={name},format=raw,cache=unsafe,discard=unmap,file={path}",
                        f"-device {device},drive={name}"]
        return options

    def note_death(self, result: Result) -> None:
        """Record a failure of the test that was running when the kernel ended, unless the emulator failed."""
        test = text(self.folder / "running").strip()
        if not test or result.spoiled or test in self.done():
            return
        why = "the guest took too long" if result.timed_out else "the kernel ended"
        if result.reports:
            why += f": {result.reports[0]}"
        with (self.folder / "done").open("a") as done:
            done.write(f"{test}\t{why}\t{result.seconds:.0f}\n".replace("\r", ""))
        write_whole(self.folder / "logs" / f"{test.replace('/', '-')}.console", result.console)

    def outcomes(self) -> list[results.Outcome]:
        found = []
        done = self.done()
        for test in self.tests:
            if test in done:
                code, seconds = done[test]
                log = text(self.folder / "logs" / test.replace("/", "-"))
                found += results.outcomes(test, log, code, seconds)
        return found


def machine(kernel: Path | None, modules: Path | None, quick: int, limit: int, tries: int, memory: str) -> Machine:
    """Prepare: clone and build blktests, install modules."""
    folder = kernel_folder(kernel)
    need_programs()
    tree = source.tree()
    if modules and not (modules / "lib/modules").is_dir():
        raise ToolError(f"--modules {modules}: no lib/modules in it: use the INSTALL_MOD_PATH", EXIT_USAGE)
    installed = modules.resolve() if modules else install_modules(folder)
    return Machine(folder / IMAGE, installed, tree, quick, limit, tries, memory)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
