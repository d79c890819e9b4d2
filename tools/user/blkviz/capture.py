# SPDX-License-Identifier: GPL-2.0
"""`blkviz record`: runs blktrace, with the messages of VFS operations or with tracefs events.

Besides blktrace's files it writes BASE.blkviz.json with data that a trace does not
contain: the command, blktrace's count of dropped events, and its other output. On a
kernel without VFS messages it also records tracefs events (tracefs_capture.py).
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.base.cli import ENDING, ToolError
from tools.base.files import write_whole

from . import tracefs_capture
from .errors import NoTraceError

NOTES_SUFFIX = ".blkviz.json"
SYSFS = Path(os.environ.get("BLKVIZ_SYSFS", "/sys"))
# from blktrace's summary: "Total: 1234 events (dropped 56), 78 KiB data"
DROPPED = re.compile(r"(\d+) events dropped|[Dd]ropped:?\s+(\d+)")
FAILED = re.compile(r"^setup_mmap: .*$|^Thread \d+ failed .*$", re.M)


def main(words: Sequence[str]) -> int:
    words, command = split(list(words))
    args = parser().parse_args(words)
    if not command and args.seconds is None:
        raise NoTraceError("record: give a command after --, or -w SECONDS")
    device, name = device_of(args.device)
    base = args.output or Path(name)
    if not shutil.which("blktrace"):
        raise ToolError("blktrace is not installed (Debian: apt install blktrace)")
    with operations(args.events, name, args.mask, base):
        code, dropped = trace(device, base, command, args.seconds)
    if dropped:
        print(f"blkviz: {dropped} events were dropped: use blktrace with more buffers (-n)", file=sys.stderr)
    print(f"recorded; to view it: blkviz {base}", file=sys.stderr)
    return code


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments at --: those of blkviz, and the command."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="blkviz record",
        usage="blkviz record [-h] [-o BASE] [-w SECONDS] [--events WHICH] [--mask NAMES] DEV [-- COMMAND]",
        description="Trace a device while a command runs, or for some seconds. Requires root, or permission to run "
                    "blktrace.")
    top.add_argument("device", metavar="DEV", help="device to trace: sda, /dev/sda, /dev/mapper/home")
    top.add_argument("-o", "--output", type=Path, metavar="BASE",
                     help="prefix of the file names (default: name of the device)")
    top.add_argument("-w", "--seconds", type=float, help="trace for this long (default: while the command runs)")
    top.add_argument("--events", choices=("auto", "vfs", "tracefs", "none"), default="auto",
                     help="source of system calls: messages of VFS operations (patched kernels), tracefs events (any "
                          "kernel), or none (default: the first one available)")
    top.add_argument("--mask", metavar="NAMES",
                     help="trace only these VFS operations, e.g. read,write (with --events vfs)")
    return top


def device_of(argument: str) -> tuple[Path, str]:
    """The device's file, and the kernel's name for it, which may be another: links, /dev/mapper/X."""
    path = Path(argument if "/" in argument else f"/dev/{argument}").resolve()
    if path.is_block_device():
        number = path.stat().st_rdev
        known = SYSFS / f"dev/block/{os.major(number)}:{os.minor(number)}"
        if known.exists():
            return path, known.resolve().name
    return path, path.name


def switch_of(name: str) -> Path:
    """The file that selects the VFS messages in a trace, on kernels with the patches."""
    return SYSFS / "class/block" / name / "trace/vfs"


@contextlib.contextmanager
def operations(events: str, name: str, mask: str | None, base: Path) -> Iterator[None]:
    """Switch on the source of system calls that `--events` selects, print which one, and restore the state after."""
    there, missing = switch_of(name).exists(), tracefs_capture.missing()
    if events == "vfs" or (events == "auto" and (there or missing)):
        if there:
            print("blkviz: system calls: messages of VFS operations", file=sys.stderr)
        elif events == "auto":
            print(f"blkviz: no tracefs events: {missing}", file=sys.stderr)
        with vfs_messages(name, mask):
            yield
        return
    if events == "tracefs" and missing:
        raise ToolError(f"--events tracefs: {missing}")
    if mask:
        print("blkviz: --mask ignored: it only applies to messages of VFS operations", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        if there:
            # otherwise the trace would have each call twice
            stack.enter_context(vfs_messages(name, "0"))
        if events == "none":
            print("blkviz: system calls: none (--events none)", file=sys.stderr)
        else:
            systems = stack.enter_context(tracefs_capture.recorded(base, devices_of(name)))
            print(f"blkviz: system calls: tracefs events ({systems})", file=sys.stderr)
        yield


def devices_of(name: str) -> list[str]:
    """MAJOR:MINOR of a device and its partitions."""
    folder = SYSFS / "class/block" / name
    try:
        return [file.read_text().strip() for file in [folder / "dev", *sorted(folder.glob("*/dev"))]]
    except OSError as error:
        raise ToolError(f"{error.filename}: {error.strerror}: is {name} a block device?") from None


@contextlib.contextmanager
def vfs_messages(name: str, mask: str | None) -> Iterator[None]:
    """Switch the VFS messages on, and restore the state after, whatever happens."""
    switch = switch_of(name)
    if not switch.exists():
        what = "not supported by this kernel" if switch.parent.exists() else f"no {switch.parent}"
        print(f"blkviz: no messages of VFS operations ({what}): the trace will have requests only", file=sys.stderr)
        yield
        return
    before = switch.read_text()
    try:
        if mask:
            choose(switch, mask)
        else:
            switch.write_text("1")
        yield
    except PermissionError as error:
        raise ToolError(f"{error.filename}: {error.strerror}: run as root") from None
    finally:
        if switch.read_text() != before:
            switch.write_text(before)


def choose(file: Path, mask: str) -> None:
    """Select operations."""
    try:
        file.write_text(mask)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise NoTraceError(f"--mask {mask}: refused by the kernel: give names of operations, separated by commas, "
                           "e.g. read,write") from None


def trace(device: Path, base: Path, command: list[str], seconds: float | None) -> tuple[int, int]:
    """Run blktrace while the command runs. Returns the exit code and the number of dropped events."""
    for old in [*files_of(base), notes_of(base), tracefs_capture.file_of(base)]:
        old.unlink(missing_ok=True)
    tracer = subprocess.Popen(
        ["blktrace", "-d", str(device), "-D", str(base.parent), "-o", base.name],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    code = dropped = 0
    try:
        if running(tracer, base):
            code = wait(command, seconds)
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        said, _ = tracer.communicate()
        if files_of(base):
            dropped = write_notes(base, command, said)
    if not files_of(base):
        raise ToolError(f"blktrace: {(said.strip().splitlines() or ['no message'])[0]}")
    if (failed := FAILED.search(said)) and not any(file.stat().st_size for file in files_of(base)):
        raise ToolError(f"{base.parent}: blktrace cannot write there ({failed[0]}): it maps its files, which network "
                        "file systems may not support: choose another folder with -o")
    return code, dropped


def files_of(base: Path) -> list[Path]:
    return list(base.parent.glob(f"{base.name}.blktrace.*"))


def notes_of(base: Path) -> Path:
    return base.with_name(base.name + NOTES_SUFFIX)


def write_notes(base: Path, command: list[str], said: str) -> int:
    """Write the notes of a recording. Returns the number of dropped events."""
    dropped = sum(int(a or b) for a, b in DROPPED.findall(said))
    notes = {"command": " ".join(command), "dropped": dropped, "blktrace": said[-2000:]}
    write_whole(notes_of(base), json.dumps(notes, indent=1) + "\n")
    return dropped


def running(tracer: subprocess.Popen[str], base: Path) -> bool:
    """Wait until blktrace has started: until its files exist, and half a second more."""
    for _ in range(100):
        if tracer.poll() is not None:
            return False
        if files_of(base):
            time.sleep(0.5)
            return True
        time.sleep(0.1)
    return True


def wait(command: list[str], seconds: float | None) -> int:
    """Wait for the end of the command or of the time. Returns the command's exit code."""
    if not command:
        time.sleep(seconds or 0)
        return 0
    work, interrupts = start(command)
    try:
        for number in interrupts:
            signal.raise_signal(number)
        code = work.wait(seconds)
    except subprocess.TimeoutExpired:
        work.terminate()
        code = work.wait()
    except BaseException:
        work.terminate()
        work.wait()
        raise
    return code if code >= 0 else 128 - code


def start(command: list[str]) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start the command. Returns it with the signals received: an interrupt in Popen() would leave it running."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, lambda number, _: came.append(number))
    try:
        return subprocess.Popen(command), came
    except OSError as error:
        raise ToolError(f"{command[0]}: {error.strerror}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
