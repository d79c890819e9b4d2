# SPDX-License-Identifier: GPL-2.0
"""Sets the I/O scheduler of each disk when it appears, as a rule of udev would, in a guest without udev.

usage: scheduler.py SCHEDULER SETTLED

The file SETTLED has the number of the last event (/sys/kernel/uevent_seqnum) that was dealt with. A line for each
disk goes to stdout: its name, and the scheduler or why it has another one.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from pathlib import Path

NETLINK_KOBJECT_UEVENT = 15
KERNEL = 1  # the multicast group of the kernel's own events
BUFFER = 16 << 20
TRIES = 50  # the one who made a disk may be switching its scheduler


def fields(message: bytes) -> dict[str, str]:
    """The variables of an event, whose first part is a title."""
    return dict(part.decode(errors="replace").partition("=")[::2] for part in message.split(b"\0")[1:] if part)


def is_new_disk(event: dict[str, str]) -> bool:
    return (event.get("ACTION"), event.get("SUBSYSTEM"), event.get("DEVTYPE")) == ("add", "block", "disk")


def choose(folder: Path, scheduler: str) -> str:
    """What came of giving it to a disk; @folder: its folder in sysfs."""
    for _ in range(TRIES):
        try:
            # in one write and without buffer, or closing would try again
            handle = os.open(folder / "queue/scheduler", os.O_WRONLY)
            try:
                os.write(handle, scheduler.encode())
            finally:
                os.close(handle)
            return scheduler
        except OSError as error:
            if error.errno != errno.EBUSY:
                return error.strerror or str(error)
            time.sleep(0.02)
    return "busy"


def settle(path: Path, number: str) -> None:
    """Whole at once: somebody reads it in a loop."""
    new = path.with_suffix(".new")
    new.write_text(f"{number}\n")
    new.replace(path)


def main() -> None:
    scheduler, settled = sys.argv[1], Path(sys.argv[2])
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_KOBJECT_UEVENT)
    events.setsockopt(socket.SOL_SOCKET, 33, BUFFER)  # SO_RCVBUFFORCE
    events.bind((0, KERNEL))
    number = int(Path("/sys/kernel/uevent_seqnum").read_text())
    for disk in sorted(Path("/sys/block").iterdir()):
        print(disk.name, choose(disk, scheduler), flush=True)
    settle(settled, str(number))
    while True:
        event = fields(events.recv(1 << 16))
        if is_new_disk(event):
            print(Path(event["DEVPATH"]).name, choose(Path(f"/sys{event['DEVPATH']}"), scheduler), flush=True)
        number = max(number, int(event.get("SEQNUM", 0)))
        settle(settled, str(number))


if __name__ == "__main__":
    main()
