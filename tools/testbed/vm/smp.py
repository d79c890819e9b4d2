# SPDX-License-Identifier: GPL-2.0
"""One run of a kernel as a process: User-Mode Linux with two CPUs, in real time.

What qemu.py does with an emulated machine, natively, for what needs neither its drives
nor CPUs that come and go. The guest sees the host's root file system, read-only, through
hostfs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools.base.paths import BUILD

from . import surroundings
from .command import Follower, Result, VMError, collect, guarded, script, text
from .programs import lazy_ipi
from .reports import scan

IMAGE = BUILD / "uml-smp/linux"
# The output folder, as the kernel names it: paths of the host may have spaces.
HERE = "/proc/self/cwd"
POLL_S = 0.2
# At its end the kernel now and then waits for its other CPU for good: the command is done.
END_S = 5


def command_line(cpus: int, memory: str, append: Sequence[str]) -> list[str]:
    """Of the kernel."""
    return [
        f"ncpus={cpus}",
        f"mem={memory}",
        "seccomp=on",  # ptrace, which the kernel refuses with SMP, is for one CPU
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init={HERE}/init",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        f"uml_dir={HERE}/",
        "umid=guest",
        "noreboot",
        "norandmaps",
        "oops=panic",
        "kasan_multi_shot",  # else only the first report of a boot
        *append,
        "--",
        "uml",
    ]


def run(
    command: str | Sequence[str],
    *,
    kernel: Path | None = None,
    cpus: int = 2,
    memory: str = "1500M",
    timeout: float = 300,
    out: Path | None = None,
    env: Mapping[str, str] | None = None,
    append: Sequence[str] = (),
    allow: Iterable[str] = (),
    live: bool = False,
) -> Result:
    """Boot a kernel, run a command in it as root, and collect what it left.

    @command: a shell text, or a list of words
    @kernel: a User-Mode Linux with CONFIG_SMP (default: build/uml-smp's)
    @out: a folder that the guest writes to as $VM_OUT
    @timeout: seconds of the whole run; at 90% the guest dumps its state
    @append: kernel parameters
    @allow: regular expressions of kernel reports that are expected
    @live: copy the command's output to stdout while it runs
    """
    image = kernel or IMAGE
    if not os.access(image, os.X_OK):
        raise VMError(f"no kernel at {image}: `make uml FLAVOUR=smp` builds it")
    where = (out or Path(tempfile.mkdtemp(prefix="smp-"))).resolve()
    where.mkdir(parents=True, exist_ok=True)
    for left in ("exit-code", "stdout.log", "console.log", "init"):
        (where / left).unlink(missing_ok=True)
    # of a kernel that was killed here: another would take it for one that runs
    shutil.rmtree(where / "guest", ignore_errors=True)
    (where / "init").symlink_to(surroundings.INIT)
    # SysRq "b" sleeps in User-Mode Linux, where it must not
    (where / "command.sh").write_text(script(command, {"VM_STOP": "c", **(env or {})}, timeout, "/dev/console"))
    (where / "folders").write_text(surroundings.folders())

    args = guarded([str(image.resolve()), *command_line(cpus, memory, append)],
                   surroundings.of_launcher(LD_PRELOAD=str(lazy_ipi())))
    start = time.monotonic()
    timed_out = _watch(args, where, start + timeout, live)
    return collect(where, scan(text(where / "console.log"), allow), timed_out, time.monotonic() - start)


def _watch(args: Sequence[str], where: Path, deadline: float, live: bool) -> bool:
    """Run the kernel in its folder to its end; whether it was ended as it took too long."""
    follower = Follower(where / "stdout.log")
    with (where / "console.log").open("wb") as console:
        machine = subprocess.Popen(args, cwd=where, stdin=subprocess.DEVNULL, stdout=console,
                                   stderr=subprocess.STDOUT, start_new_session=True, umask=surroundings.UMASK)
        try:
            done = False
            while machine.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    machine.wait(POLL_S)
                if not done and (where / "exit-code").exists():
                    done = True
                    deadline = min(deadline, time.monotonic() + END_S)
                if live:
                    follower.catch_up()
            return not done and machine.poll() is None
        finally:
            # the session is the guest's own: its group holds nothing else
            with contextlib.suppress(ProcessLookupError):
                os.killpg(machine.pid, signal.SIGKILL)
            machine.wait()
