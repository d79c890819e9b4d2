# SPDX-License-Identifier: GPL-2.0
"""Records tracefs events to BASE.tracefs, on kernels without messages of VFS operations.

A separate tracefs instance (instances/blkviz-PID) traces system calls by number and, for the
traced device, page faults, additions to the page cache, and read-ahead. The file has a header,
the text of trace_pipe and, if it is complete, the line END:

    # blkviz tracefs x86_64
    # device 8:0 8:1
        fio-812     (    810) [001] .....  2071.148213: sys_enter: NR 0 (3, 7f..., 1000, 0, 0, 0)

The device numbers are those of the traced device and its partitions. The clock is mono, as in
block traces. The wall clock is in the text as trace markers, to which the kernel adds its time.
Requires only Python. tracefs_parse.py reads the file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import threading
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from tools.base.cli import ToolError, os_error

from . import syscall_table

SUFFIX = ".tracefs"
END = "# end"
WALL = "blkviz wall"
PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
CALLS = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit")
# A filter in the kernel leaves out events of other devices.
OF_DEVICE = ("filemap/mm_filemap_fault", "filemap/mm_filemap_get_pages", "filemap/mm_filemap_add_to_page_cache",
             "readahead/page_cache_sync_ra")
# io_uring_submit_sqe: name before Linux 6.3
OF_URING = ("io_uring/io_uring_submit_req", "io_uring/io_uring_submit_sqe", "io_uring/io_uring_file_get",
            "io_uring/io_uring_complete")
BUFFER_KB = 4096  # of each CPU
PAUSE_S = 0.05    # too short for the busiest CPU to fill its buffer
CHUNK = 1 << 16


def root() -> Path:
    """The mount point of tracefs."""
    places = [Path(place) for place in os.environ.get("BLKVIZ_TRACEFS", ":".join(PLACES)).split(":")]
    return next((place for place in places if is_folder(place / "instances")), places[0])


def is_folder(path: Path) -> bool:
    """Whether the path is a folder that this user may see."""
    try:
        return path.is_dir()
    except OSError:
        return False


def missing() -> str:
    """The reason why events cannot be recorded; empty if they can."""
    if platform.machine() not in syscall_table.MACHINES:
        return f"system call numbers of {platform.machine()} are unknown"
    if not is_folder(root() / "instances"):
        return f"tracefs is not accessible in {root()}: as root, run mount -t tracefs tracefs {PLACES[0]}"
    if not is_folder(root() / "events" / CALLS[0]):
        return "this kernel has no system call events"
    return ""


def file_of(base: Path) -> Path:
    """The file with the tracefs events of a recording."""
    return base.with_name(base.name + SUFFIX)


@contextlib.contextmanager
def recorded(base: Path, devices: list[str]) -> Iterator[str]:
    """Record events in the context; yields their event systems, as "raw_syscalls, filemap".

    `devices`: MAJOR:MINOR, the traced device first. The instance is always removed afterwards, and
    the file too if there is no trace (ToolError).
    """
    part = base.with_name(f".{base.name}{SUFFIX}.part")
    keep = False
    try:
        # unbuffered: when the disk is full, the file has all that could be written
        with part.open("wb", buffering=0) as out, instance() as folder:
            out.write(f"# blkviz tracefs {platform.machine()}\n# device {' '.join(devices)}\n".encode())
            copier = Copier(folder / "trace_pipe", out)
            try:
                copier.start()
                systems = begin(folder, devices, copier.native_id or 0)
                keep = True
                yield ", ".join(systems)
            finally:
                finish(folder, copier)
    except ToolError:
        keep = False
        raise
    finally:
        if keep:
            part.replace(file_of(base))
        part.unlink(missing_ok=True)
    if copier.error:
        raise ToolError(f"tracefs events: {os_error(copier.error)}: earlier events are in {file_of(base)}")


@contextlib.contextmanager
def instance() -> Iterator[Path]:
    """A new instance; removing it afterwards switches its events off."""
    folder = root() / "instances" / f"blkviz-{os.getpid()}"
    if folder.exists():
        raise ToolError(f"{folder} is left over from a killed recording: rmdir it")
    try:
        folder.mkdir()
        yield folder
    except PermissionError as error:
        raise ToolError(f"{error.filename}: {error.strerror}: run as root") from None
    finally:
        if folder.exists():
            folder.rmdir()


def begin(folder: Path, devices: list[str], copier: int) -> list[str]:
    """Switch the events on, except for those of the copier thread. Returns their event systems."""
    put(folder / "trace_clock", "mono")
    put(folder / "buffer_size_kb", str(BUFFER_KB))
    # missing in some kernels; without it each thread counts as a process
    with contextlib.suppress(ToolError):
        put(folder / "options/record-tgid", "1")
    numbers = " || ".join(f"id == {number}" for number in syscall_table.MACHINES[platform.machine()].values())
    filters = dict.fromkeys(CALLS, f"common_pid != {copier} && ({numbers})")
    filters |= dict.fromkeys(OF_DEVICE, " || ".join(of_device(device) for device in devices))
    there = [event for event in (*CALLS, *OF_DEVICE, *OF_URING) if usable(folder / "events" / event)]
    for event in there:
        if event in filters:
            put(folder / "events" / event / "filter", filters[event])
    put(folder / "trace_marker", f"{WALL} {time.time_ns()}")
    for event in there:
        put(folder / "events" / event / "enable", "1")
    return list(dict.fromkeys(event.partition("/")[0] for event in there))


def usable(event: Path) -> bool:
    """Whether the kernel has a usable event; before Linux 5.19 io_uring_complete lacks the request."""
    if event.name != "io_uring_complete":
        return event.is_dir()
    return event.is_dir() and " req;" in (event / "format").read_text()


def of_device(device: str) -> str:
    """A filter for files on a device, and for the device's own pages."""
    major, minor = map(int, device.split(":"))
    number = major << 20 | minor
    return f"s_dev == {number} || i_ino == {number}"


def put(file: Path, text: str) -> None:
    """Write to a file that the kernel has; PermissionError, or ToolError if it has none or does not take it."""
    try:
        # Path.write_text() would make a file
        handle = os.open(file, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
    except PermissionError:
        raise
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}: the kernel refuses \"{text[:40]}\"") from None


def finish(folder: Path, copier: Copier) -> None:
    """Stop the recording after all events are in the file."""
    try:
        with contextlib.suppress(OSError, ToolError):
            put(folder / "trace_marker", f"{WALL} {time.time_ns()}")
            put(folder / "tracing_on", "0")
        copier.end()
    finally:
        # again, in case of an interrupt: the instance cannot be removed while trace_pipe is open
        copier.end()


class Copier(threading.Thread):
    """Copies trace_pipe to a file, until end() is called and the pipe is empty.

    It sleeps between reads, because poll() on trace_pipe waits until half the buffer is full.
    """

    def __init__(self, pipe: Path, out: FileIO) -> None:
        super().__init__(daemon=True)
        self.pipe, self.out = pipe, out
        self.ending = threading.Event()
        self.error: OSError | None = None

    def end(self) -> None:
        """Copy all remaining events, then stop."""
        self.ending.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        try:
            source = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
            try:
                while not self.ending.wait(PAUSE_S):
                    self.drain(source)
                self.drain(source)
            finally:
                os.close(source)
            self.out.write(f"{END}\n".encode())
        except OSError as error:
            self.error = error

    def drain(self, source: int) -> None:
        while some := self.read(source):
            self.out.write(some)

    def read(self, source: int) -> bytes:
        try:
            return os.read(source, CHUNK)
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
            return b""
