# SPDX-License-Identifier: GPL-2.0
"""A command in a guest: the script that runs it there, and what it left, whatever the machine is."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.base.cli import ToolError

from . import surroundings
from .programs import LIGHT, of_system

GUEST_OUT = "/run/vm-out"  # where the guest sees the output folder

# QEMU's TCG with a thread per CPU sometimes runs a breakpoint that another CPU, which
# patches code (a static key, a tracepoint), has taken away again: before QEMU 8.1 a page
# may be written between its translation and the lock on it. Such a run is retried;
# under KVM, with a newer QEMU and elsewhere the same words are the kernel's own fault.
TCG_FAULT = "Oops: int3:"

# A guest that still runs at this share of its time is stuck: it tells where.
LAST_WORDS = 0.9


# Asks for the signal, then looks whether the runner is still there: prctl(2) says nothing of
# one that ended before. The environment is env's, since a shell adds to its own.
GUARD = 'test "$PPID" = {runner} && exec /usr/bin/env -i "$@"'


class VMError(ToolError):
    """The machine could not be run."""

    code = 125


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
    emulator_is_faulty: bool = False  # see TCG_FAULT

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.reports

    @property
    def spoiled(self) -> bool:
        """Whether the emulator is what ended the kernel."""
        return self.emulator_is_faulty and TCG_FAULT in self.console

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


def guarded(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """A command that does not outlive this process, even one that is killed and cannot end it.

    @env: all of the command's environment, in this order
    """
    given = [*(f"{name}={value}" for name, value in env.items()), *command]
    setpriv = of_system("setpriv")
    if setpriv is None:
        return ["/usr/bin/env", "-i", *given]
    return [setpriv, "--pdeathsig", "KILL", "--", "/bin/sh", "-c", GUARD.format(runner=os.getpid()), "sh", *given]


def collect(where: Path, reports: list[str], timed_out: bool, seconds: float) -> Result:
    """What a guest left in its output folder."""
    result = Result(None, text(where / "stdout.log"), text(where / "console.log"), reports, timed_out, seconds, where)
    with contextlib.suppress(OSError, ValueError):
        result.exit_code = int((where / "exit-code").read_text())
    if result.exit_code is None and not timed_out and "Linux version" not in result.console:
        lines = [line for line in result.console.splitlines() if line.strip()] or ["no message"]
        raise VMError(f"the kernel did not boot: {lines[-1].strip()}")
    return result


def script(command: str | Sequence[str], env: Mapping[str, str], timeout: float, console: str) -> str:
    """What the guest runs: the watchdog, the command, its exit code.

    @console: the device that the watchdog writes to
    """
    words = command if isinstance(command, str) else shlex.join(command)
    # by the machine's age: on a busy host booting takes long
    last = round(max(timeout / 2, timeout * LAST_WORDS - 10))
    light = {"LD_LIBRARY_PATH": str(LIGHT)} if LIGHT.is_dir() else {}
    exports = "".join(f"export {name}={shlex.quote(value)}\n"
                      for name, value in {**surroundings.of_guest(), **light, **env}.items())
    return f"""#!/bin/bash
exec > {GUEST_OUT}/stdout.log 2>&1
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
	}} > {console}
) < /dev/null &
watchdog=$!
cd {shlex.quote(str(Path.cwd()))} 2> /dev/null || cd /
(
{words}
)
code=$?
kill "$watchdog"
sync
echo "$code" > {GUEST_OUT}/exit-code
"""


def text(path: Path) -> str:
    """A file of a guest, or nothing."""
    try:
        return path.read_bytes().decode(errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""


class Follower:
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


def named_kernel(flavour: str) -> Path | None:
    """The kernel that the environment names for a flavour, or None for the project's own."""
    path = os.environ.get(f"VM_KERNEL_{flavour.upper()}")
    return Path(path) if path else None


def parameters(flavour: str) -> list[str]:
    """What tests append to a kernel's command line: all that it says, and single slab caches."""
    append = ["printk.devkmsg=on", "null_blk.nr_devices=0", "log_buf_len=4M"]
    # failures are injected into single caches
    return append if flavour == "plain" else [*append, "slab_nomerge"]


def unspoiled(console: str) -> str:
    """A console up to where a faulty emulator, see TCG_FAULT, lost a code patch."""
    return console.partition(TCG_FAULT)[0].rpartition("\n")[0] if TCG_FAULT in console else console
