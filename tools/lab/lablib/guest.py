# SPDX-License-Identifier: GPL-2.0-only
"""Boots User-Mode Linux with the load generator as its first process.

Each guest is a process group of its own, so that ending it (a limit, Ctrl-C)
ends all of it; whatever ends a run, no process of it stays behind.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from . import job
from .errors import EXIT_USAGE, LabError

CONSOLE_TAIL_LINES = 12
# The guest's folder, in words that are the same for each: the command line is one of the
# sources of a kernel's random numbers.
HERE = "/proc/self/cwd"
INIT = "init"
GUEST_MEMORY = "512M"  # more only costs the host's page faults


class Stopped(Exception):
    """The run was interrupted; nothing to report about this guest."""


class GuestFailed(LabError):
    """A guest panicked, hung or refused its job."""


@dataclass(frozen=True)
class Features:
    """What the kernel under test has."""

    release: str
    schedulers: list[str]
    bw: bool
    rotating: bool
    attributes: frozenset[str] = frozenset()  # of null_blk; empty where nobody asked


class Guests:
    """Starts guests and knows all that run, so that they can all be ended.

    A kernel chooses tags at random, which bfq's order of requests depends on:
    its random numbers are those of a seed, if random.so lies beside the load
    generator, and then the same job has the same times in each run.
    """

    def __init__(
        self, kernel: Path, loadgen: Path, limit_s: float, memory: str = GUEST_MEMORY, seed: int = 1
    ) -> None:
        for path, what in ((kernel, "kernel"), (loadgen, "load generator")):
            if not (path.is_file() and os.access(path, os.X_OK)):
                hint = (
                    "build one with `make uml` or name one with --kernel"
                    if what == "kernel"
                    else "run make in loadgen/"
                )
                raise LabError(f"no {what} at {path}: {hint}", EXIT_USAGE)
        self.kernel = kernel.resolve()
        self.loadgen = loadgen.resolve()
        self.limit_s = limit_s
        self.memory = memory
        self.seed = seed
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

    def environment(self, seed: int) -> dict[str, str]:
        found = {key: value for key, value in os.environ.items() if key in ("PATH", "TMPDIR", "HOME")}
        preload = self.loadgen.parent / "random.so"
        return found | ({"LD_PRELOAD": str(preload), "RANDOM_SEED": str(seed)} if preload.exists() else {})

    def run(self, text: str, files: dict[str, str], folder: Path, name: str, seed: int | None = None) -> None:
        """Run one job; folder holds its results afterwards. The seed is of the kernel's random numbers."""
        (folder / INIT).unlink(missing_ok=True)
        (folder / INIT).symlink_to(self.loadgen)
        (folder / "job").write_text(text)
        for file, content in files.items():
            (folder / file).write_text(content)
        console = folder / "console"
        with console.open("wb") as output:
            with self.lock:
                if self.stopped:
                    raise Stopped
                process = subprocess.Popen(
                    self.command(),
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env=self.environment(self.seed if seed is None else seed),
                )
                self.running.add(process)
            try:
                process.wait(self.limit_s)
                timed_out = False
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                _kill_group(process)
                process.wait()
                with self.lock:
                    self.running.discard(process)
        if self.stopped:
            raise Stopped
        if (folder / "error").exists():
            raise GuestFailed(f"{name}: {(folder / 'error').read_text().strip()}")
        if not (folder / "done").exists():
            why = f"no end after {self.limit_s:g} s (--limit)" if timed_out else "the guest died"
            raise GuestFailed(f"{name}: {why}; its console ended with:\n{console_tail(console)}")

    def command(self) -> list[str]:
        """The same for each guest of a kernel; it runs in the guest's folder."""
        # a guest does not outlive a runner that is killed and cannot end it
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        return [
            *guard,
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
            "quiet",
            "random.trust_bootloader=off",
            "null_blk.nr_devices=0",
            "--",
            HERE,
        ]

    def probe(self) -> Features:
        with scratch() as folder:
            self.run(job.probe_text(), {}, folder, "asking the kernel what it has")
            schedulers = (folder / "schedulers").read_text().replace("[", "").replace("]", "").split()
            features = (folder / "features").read_text()
            return Features(
                release=(folder / "release").read_text().strip(),
                schedulers=schedulers,
                bw=(folder / "bw").read_text().strip() == "1",
                rotating="rot_model" in features,
                attributes=frozenset(features.replace(",", " ").split()),
            )


class scratch:
    """A folder of its own for one guest, gone afterwards."""

    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="lab-"))
        return self.path

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # the session is the guest's own: its group holds nothing else
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def console_tail(console: Path) -> str:
    lines = console.read_text(errors="replace").splitlines()
    # a panic is followed by a stack dump that says less than its first line
    for index, line in enumerate(lines):
        if "Kernel panic" in line:
            lines = lines[max(0, index - CONSOLE_TAIL_LINES // 2) :]
            return "\n".join("    " + line for line in lines[:CONSOLE_TAIL_LINES])
    return "\n".join("    " + line for line in lines[-CONSOLE_TAIL_LINES:]) or "    (nothing)"
