# SPDX-License-Identifier: GPL-2.0
"""Boots User-Mode Linux in virtual time, with one program or a script as its first process.

Each guest is a process group of its own, so that ending it (a limit, Ctrl-C)
ends all of it; whatever ends a run, no process of it stays behind (but one that it
was starting while the runner was killed by SIGKILL: arch/um's stub has not yet asked
for the signal then). A kernel that complains fails its run, whatever the run is about.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.code_id import KERNEL_ID
from tools.base.files import sha256
from tools.base.paths import BUILD, ROOT

from . import surroundings
from .command import guarded
from .programs import random_numbers
from .reports import scan

IMAGE = BUILD / "uml" / "vmlinux"
CONSOLE_TAIL_LINES = 12
# The guest's folder, in words that are the same for each: the command line is one of the
# sources of a kernel's random numbers.
HERE = "/proc/self/cwd"
INIT = "init"
OUT = "/mnt"  # where a guest mounts the folder that it leaves its results in
GUEST_MEMORY = "2G"  # with less, what read-ahead brings for many is gone before it is used


class Stopped(Exception):
    """The run was interrupted; nothing to report about this guest."""


class GuestFailed(ToolError):
    """A guest panicked, hung or refused its job."""


class KernelComplained(GuestFailed):
    """The console has a warning, an oops, a report of lockdep ...: the run says nothing."""


class Guests:
    """Starts guests and knows all that run, so that they can all be ended.

    A kernel chooses tags at random, which bfq's order of requests depends on:
    its random numbers are those of a seed, and then the same job has the same
    times in each run.

    @init: the first process; it finds its job in the file "job", and leaves the file
           "done" when it has done all of it, or "error" with a reason
    @options: more of the kernel's command line
    """

    def __init__(
        self, kernel: Path, init: Path, limit_s: float, memory: str = GUEST_MEMORY, seed: int = 1,
        options: tuple[str, ...] = (),
    ) -> None:
        for path, what, hint in (
            (kernel, "kernel", "build one with `make uml` or name one with --kernel"),
            (init, "program for the guest", "name one that can be run"),
        ):
            if not (path.is_file() and os.access(path, os.X_OK)):
                raise ToolError(f"no {what} at {path}: {hint}", EXIT_USAGE)
        self.kernel = kernel.resolve()
        self.init = init.resolve()
        self.limit_s = limit_s
        self.memory = memory
        self.seed = seed
        self.options = options
        self.preload = random_numbers()
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def stop(self) -> None:
        """End every guest that runs and refuse new ones."""
        with self.lock:
            self.stopped = True
            running = list(self.running)
        for process in running:
            _kill_group(process)

    def kernel_id(self) -> str:
        """The code, configuration and compiler of the kernel, where its build says so (kernel-id); else its image."""
        image = sha256(self.kernel)
        try:
            said = json.loads((self.kernel.parent / KERNEL_ID).read_text())
        except (OSError, ValueError):
            return image
        return str(said["code"]) if said["image"] == image else image

    def environment(self, seed: int) -> dict[str, str]:
        return surroundings.of_launcher(LD_PRELOAD=str(self.preload), RANDOM_SEED=str(seed))

    def run(self, text: str, files: dict[str, str], folder: Path, name: str, seed: int | None = None) -> None:
        """Run one job; folder holds its results afterwards. The seed is of the kernel's random numbers."""
        for left in (INIT, "done", "error"):
            (folder / left).unlink(missing_ok=True)
        (folder / INIT).symlink_to(self.init)
        (folder / "job").write_text(text)
        for file, content in files.items():
            (folder / file).write_text(content)
        console = folder / "console"
        timed_out = self._watch(folder, console, self.seed if seed is None else seed)
        if self.stopped:
            raise Stopped
        if reports := scan(console.read_text(errors="replace")):
            raise KernelComplained(f"{name}: the kernel says: {reports[0]}; its console:\n{console_tail(console)}")
        if (folder / "error").exists():
            raise GuestFailed(f"{name}: {'; '.join(_reasons(folder / 'error', console))}")
        if not (folder / "done").exists():
            why = f"no end after {self.limit_s:g} s (--limit)" if timed_out else "the guest died"
            raise GuestFailed(f"{name}: {why}; its console ended with:\n{console_tail(console)}")

    def _watch(self, folder: Path, console: Path, seed: int) -> bool:
        """Run a guest to its end, or to that of its time: whether that was it."""
        with console.open("wb") as output:
            with self.lock:
                if self.stopped:
                    raise Stopped
                process = subprocess.Popen(
                    guarded(self.command(), self.environment(seed)), cwd=folder, stdin=subprocess.DEVNULL,
                    stdout=output, stderr=subprocess.STDOUT, start_new_session=True, umask=surroundings.UMASK)
                self.running.add(process)
            try:
                process.wait(self.limit_s)
                return False
            except subprocess.TimeoutExpired:
                return True
            finally:
                _kill_group(process)
                process.wait()
                with self.lock:
                    self.running.discard(process)

    def command(self) -> list[str]:
        """The same for each guest of a kernel; it runs in the guest's folder."""
        return [
            str(self.kernel),
            "time-travel=inf-cpu",
            # else the host's time of day, another source of random numbers
            "time-travel-start=1000000000000000000",
            "norandmaps",
            "seccomp=auto",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            f"init={HERE}/{INIT}",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            f"mem={self.memory}",
            f"uml_dir={HERE}/",
            "umid=guest",
            # warnings are shown, and end the guest at once
            "loglevel=5",
            "panic_on_warn=1",
            "random.trust_bootloader=off",
            "null_blk.nr_devices=0",
            "kunit.enable=0",
            *self.options,
            "--",
            HERE,
        ]


# The first process is a shell: mounts what commands need and switches the power off, since
# a first process that ends is a panic.
SHELL = """\
#!/bin/bash
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t configfs configfs /sys/kernel/config
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
# the option is a path, not the name of a parameter, as mount in version 2.39 and later takes it to be
LIBMOUNT_FORCE_MOUNT2=always mount -t hostfs -o {folder} none {out}
umask 022
export OUT={out} {environment}
cd {root}
{commands}
echo > $OUT/done
sync
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
"""


def run_commands(commands: str, folder: Path, kernel: Path = IMAGE, limit_s: float = 300) -> str:
    """Run shell commands in a guest, in the checkout, with $OUT to write to, which is the folder: its console.

    Raises GuestFailed unless the shell comes to its end; what commands of it return is not looked at.
    """
    script = folder / "commands.sh"
    script.write_text(SHELL.format(
        folder=shlex.quote(str(folder)), out=OUT, root=shlex.quote(str(ROOT)), commands=commands,
        environment=shlex.join(f"{name}={value}" for name, value in surroundings.of_guest().items())))
    script.chmod(0o755)
    Guests(kernel, script, limit_s).run("", {}, folder, "commands")
    return (folder / "console").read_text(errors="replace")


class scratch:
    """A folder of its own for one guest, gone afterwards."""

    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="uml-"))
        return self.path

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # the session is the guest's own: its group holds nothing else
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _reasons(error: Path, console: Path) -> list[str]:
    """The error that a guest left, and what else its programs wrote to the console, each once."""
    own = f"{INIT}: "
    said = [line.removeprefix(own) for line in console.read_text(errors="replace").splitlines() if line.startswith(own)]
    return list(dict.fromkeys([error.read_text().strip(), *said]))


def console_tail(console: Path) -> str:
    lines = console.read_text(errors="replace").splitlines()
    # a panic or a warning is followed by a stack dump that says less than its first line
    for index, line in enumerate(lines):
        if scan(line):
            lines = lines[max(0, index - CONSOLE_TAIL_LINES // 2) :]
            return "\n".join("    " + line for line in lines[:CONSOLE_TAIL_LINES])
    return "\n".join("    " + line for line in lines[-CONSOLE_TAIL_LINES:]) or "    (nothing)"
