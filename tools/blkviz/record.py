# SPDX-License-Identifier: GPL-2.0
"""`blkviz record`: blktrace with the messages of VFS operations, on and off again.

Beside blktrace's files it leaves BASE.blkviz.json, notes on what a trace does not
hold: the command, dropped events as blktrace counted them, reservations.
"""

from __future__ import annotations

import argparse
import contextlib
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

from .errors import BlkvizError, NoTraceError

NOTES_SUFFIX = ".blkviz.json"
SYSFS = Path(os.environ.get("BLKVIZ_SYSFS", "/sys"))
DROPPED = re.compile(r"(\d+) events dropped|[Dd]ropped:?\s+(\d+)")


def main(words: Sequence[str]) -> int:
    words, command = split(list(words))
    args = parser().parse_args(words)
    if not command and args.seconds is None:
        raise NoTraceError("record: name a command behind --, or -w SECONDS")
    device = Path(args.device if "/" in args.device else f"/dev/{args.device}")
    base = args.output or Path(device.name)
    if not shutil.which("blktrace"):
        raise BlkvizError("blktrace is not installed (Debian: apt install blktrace)")
    with vfs_messages(device.name, args.mask):
        code, said = trace(device, base, command, args.seconds)
    notes = {"command": " ".join(command), "blktrace": said[-2000:]}
    partial = base.with_name(f".{base.name}{NOTES_SUFFIX}")
    partial.write_text(json.dumps(notes, indent=1) + "\n")
    partial.replace(base.with_name(base.name + NOTES_SUFFIX))
    dropped = sum(int(a or b) for a, b in DROPPED.findall(said))
    if dropped:
        print(f"blkviz: {dropped} events were dropped; -n more buffers would keep them", file=sys.stderr)
    print(f"recorded: blkviz {base}", file=sys.stderr)
    return code


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """What is for us, and the command behind --."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1:]


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="blkviz record", usage="blkviz record [-h] [-o BASE] [-w SECONDS] [--mask NAMES] DEV [-- COMMAND]",
        description="Trace a device while a command runs, or for some seconds. Root, or who may run blktrace.")
    top.add_argument("device", metavar="DEV", help="as sda, or /dev/sda")
    top.add_argument("-o", "--output", type=Path, metavar="BASE",
                     help="beginning of the files' names (default: the device's)")
    top.add_argument("-w", "--seconds", type=float, help="for so long (default: as long as the command runs)")
    top.add_argument("--mask", metavar="NAMES", help="only these VFS operations, as read,write")
    return top


@contextlib.contextmanager
def vfs_messages(name: str, mask: str | None) -> Iterator[None]:
    """Switch them on; afterwards everything is as it was, whatever happens."""
    folder = SYSFS / "class/block" / name / "trace"
    switch, chosen = folder / "vfs", folder / "vfs_mask"
    if not switch.exists():
        what = "this kernel has none" if folder.exists() else f"no {folder}"
        print(f"blkviz: no messages of VFS operations ({what}): the trace has requests only", file=sys.stderr)
        yield
        return
    before = [(switch, switch.read_text()), (chosen, chosen.read_text())]
    try:
        if mask:
            chosen.write_text(mask)
        switch.write_text("1")
        yield
    except PermissionError as error:
        raise BlkvizError(f"{error.filename}: {error.strerror}: run it as root") from None
    finally:
        for path, text in before:
            if path.read_text() != text:
                path.write_text(text)


def trace(device: Path, base: Path, command: list[str], seconds: float | None) -> tuple[int, str]:
    """Run blktrace around the command. Returns the exit code, and what blktrace said."""
    for old in base.parent.glob(f"{base.name}.blktrace.*"):
        old.unlink()
    tracer = subprocess.Popen(
        ["blktrace", "-d", str(device), "-D", str(base.parent), "-o", base.name],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    code = 0
    try:
        if running(tracer, base):
            code = wait(command, seconds)
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        said, _ = tracer.communicate()
    if not list(base.parent.glob(f"{base.name}.blktrace.*")):
        raise BlkvizError(f"blktrace: {(said.strip().splitlines() or ['no message'])[0]}")
    return code, said


def running(tracer: subprocess.Popen[str], base: Path) -> bool:
    """Wait until it has begun: its files are there, and half a second more."""
    for _ in range(100):
        if tracer.poll() is not None:
            return False
        if list(base.parent.glob(f"{base.name}.blktrace.*")):
            time.sleep(0.5)
            return True
        time.sleep(0.1)
    return True


def wait(command: list[str], seconds: float | None) -> int:
    """Until the command has ended or the time is over; the command's exit code."""
    if not command:
        time.sleep(seconds or 0)
        return 0
    try:
        work = subprocess.Popen(command)
    except OSError as error:
        raise BlkvizError(f"{command[0]}: {error.strerror}") from None
    try:
        code = work.wait(seconds)
    except subprocess.TimeoutExpired:
        work.terminate()
        code = work.wait()
    except BaseException:
        work.terminate()
        work.wait()
        raise
    return code if code >= 0 else 128 - code
