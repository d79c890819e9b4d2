# SPDX-License-Identifier: GPL-2.0
"""Records the events of a kernel that has no messages of VFS operations: BASE.tracefs.

An instance of tracefs of our own (instances/blkviz-PID) has system calls by number, and of the
traced device page faults, what comes into the page cache, and read-ahead. The file is the text
that trace_pipe gives, between a header and, when it is whole, the line END:

    # blkviz tracefs x86_64
    # device 8:0 8:1
        fio-812     (    810) [001] .....  2071.148213: sys_enter: NR 0 (3, 7f..., 1000, 0, 0, 0)

The numbers of the devices are those of the traced one and its partitions. The clock is mono, that
of block traces. The time of day is in the text, as a mark that the kernel has put a time to.
Needs nothing but Python. tracefs_parse.py reads the file.
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
# The kernel's filter leaves those of other devices out.
OF_DEVICE = ("filemap/mm_filemap_fault", "filemap/mm_filemap_get_pages", "filemap/mm_filemap_add_to_page_cache",
             "readahead/page_cache_sync_ra")
# io_uring_submit_sqe: the name until 6.2
OF_URING = ("io_uring/io_uring_submit_req", "io_uring/io_uring_submit_sqe", "io_uring/io_uring_file_get",
            "io_uring/io_uring_complete")
BUFFER_KB = 4096  # of each CPU
PAUSE_S = 0.05    # in which the busiest CPU does not fill its buffer
CHUNK = 1 << 16


def root() -> Path:
    """Where tracefs is, or should be."""
    places = [Path(place) for place in os.environ.get("BLKVIZ_TRACEFS", ":".join(PLACES)).split(":")]
    return next((place for place in places if is_folder(place / "instances")), places[0])


def is_folder(path: Path) -> bool:
    """Whether it is one that this user sees."""
    try:
        return path.is_dir()
    except OSError:
        return False


def missing() -> str:
    """Why there can be no events here; empty if there can."""
    if platform.machine() not in syscall_table.MACHINES:
        return f"the numbers of system calls of {platform.machine()} are not known"
    if not is_folder(root() / "instances"):
        return f"no tracefs in {root()}, or not for this user: as root, mount -t tracefs tracefs {PLACES[0]}"
    if not is_folder(root() / "events" / CALLS[0]):
        return "this kernel has no events of system calls"
    return ""


def file_of(base: Path) -> Path:
    """Where the events of a recording are."""
    return base.with_name(base.name + SUFFIX)


@contextlib.contextmanager
def recorded(base: Path, devices: list[str]) -> Iterator[str]:
    """Record meanwhile; gives the systems whose events there are, as "raw_syscalls, filemap".

    `devices`: MAJOR:MINOR, the traced one first. Afterwards no instance is left, whatever happens,
    and no file if there is no trace (ToolError).
    """
    part = base.with_name(f".{base.name}{SUFFIX}.part")
    keep = False
    try:
        # no buffer: what could be written is there when the disk is full
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
        raise ToolError(f"tracefs events: {os_error(copier.error)}: what came before is in {file_of(base)}")


@contextlib.contextmanager
def instance() -> Iterator[Path]:
    """A new instance, removed with all that it has switched on."""
    folder = root() / "instances" / f"blkviz-{os.getpid()}"
    if folder.exists():
        raise ToolError(f"{folder} is left of a recording that was killed: rmdir it")
    try:
        folder.mkdir()
        yield folder
    except PermissionError as error:
        raise ToolError(f"{error.filename}: {error.strerror}: run it as root") from None
    finally:
        if folder.exists():
            folder.rmdir()


def begin(folder: Path, devices: list[str], copier: int) -> list[str]:
    """Switch the events on, but for the thread that reads them; returns the systems that they are of."""
    put(folder / "trace_clock", "mono")
    put(folder / "buffer_size_kb", str(BUFFER_KB))
    # not in all kernels; without, the threads of a process are processes of their own
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
    """Whether the kernel has it; what completes is known by its request, which 5.18 and before do not tell."""
    if event.name != "io_uring_complete":
        return event.is_dir()
    return event.is_dir() and " req;" in (event / "format").read_text()


def of_device(device: str) -> str:
    """The kernel's filter for files on a device, and for the device's own pages."""
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
        raise ToolError(f"{file}: {error.strerror}: this kernel does not take \"{text[:40]}\"") from None


def finish(folder: Path, copier: Copier) -> None:
    """End the recording, with all that was recorded in the file."""
    try:
        with contextlib.suppress(OSError, ToolError):
            put(folder / "trace_marker", f"{WALL} {time.time_ns()}")
            put(folder / "tracing_on", "0")
        copier.end()
    finally:
        # an interrupt may have come before; of an open trace_pipe the instance cannot be removed
        copier.end()


class Copier(threading.Thread):
    """Copies trace_pipe to a file, until it is told to end and there is no more.

    A poll() of trace_pipe would wait for half a buffer, so it sleeps.
    """

    def __init__(self, pipe: Path, out: FileIO) -> None:
        super().__init__(daemon=True)
        self.pipe, self.out = pipe, out
        self.ending = threading.Event()
        self.error: OSError | None = None

    def end(self) -> None:
        """Wait until all is copied."""
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
