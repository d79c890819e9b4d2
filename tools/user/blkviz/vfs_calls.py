# SPDX-License-Identifier: GPL-2.0
"""Builds system calls and io_uring requests from the messages of VFS operations."""

from __future__ import annotations

from collections import Counter, defaultdict

from . import messages
from .tables import NO_ENTER, NO_LEAVE, UNKNOWN, Calls, columns


class Stacks:
    """Matches the enter and leave messages of each process; calls nest.

    @start: start of the trace, or of its messages: a call that was entered before begins there
    """

    COLUMNS = ("pid", "op", "start", "end", "inode", "offset", "length", "result", "depth", "flags",
               "enter_event", "leave_event")

    def __init__(self, start: int) -> None:
        self.start = start
        self.operations: dict[str, int] = {}
        self.calls: list[list[int]] = []
        self.stacks: dict[int, list[list[int]]] = defaultdict(list)
        self.entered: Counter[tuple[int, int]] = Counter()
        self.requests: dict[tuple[int, int], list[int]] = {}

    def switch(self, time: int, operations: frozenset[str]) -> None:
        """From @time on the trace has messages of @operations only; calls of other operations end here."""
        self.start = time
        traced = {op for name, op in self.operations.items() if name.removeprefix("vfs_") in operations}
        for stack in self.stacks.values():
            for call in stack:
                if call[1] not in traced:
                    call[3], call[9] = time, NO_LEAVE
                    self.entered[call[0], call[1]] -= 1
            stack[:] = [call for call in stack if call[1] in traced]

    def take(self, event: int, time: int, pid: int, said: messages.Vfs) -> None:
        op = self.operations.setdefault(said.operation, len(self.operations))
        if "req" in said.values:
            self.take_request(event, time, pid, op, said)
            return
        stack = self.stacks[pid]
        if said.entering:
            values = said.values
            call = [pid, op, time, UNKNOWN, values.get("ino", UNKNOWN), values.get("off", UNKNOWN),
                    values.get("len", UNKNOWN), 0, len(stack), 0, event, UNKNOWN]
            stack.append(call)
            self.entered[pid, op] += 1
            self.calls.append(call)
            return
        depth = None
        # The count avoids a search of the whole stack for each call that was not entered in the trace.
        if self.entered[pid, op]:
            depth = next(i for i in range(len(stack) - 1, -1, -1) if stack[i][1] == op)
        if depth is None:
            call = [pid, op, self.start, time, said.values.get("ino", UNKNOWN), UNKNOWN, UNKNOWN, 0, 0, NO_ENTER,
                    UNKNOWN, event]
            self.calls.append(call)
        else:
            # The leave events of the calls above it on the stack were lost.
            for lost in stack[depth + 1:]:
                lost[3], lost[9] = time, NO_LEAVE
                self.entered[pid, lost[1]] -= 1
            self.entered[pid, op] -= 1
            call = stack[depth]
            del stack[depth:]
            call[3], call[11] = time, event
        call[7] = said.values.get("ret", 0)

    def take_request(self, event: int, time: int, pid: int, op: int, said: messages.Vfs) -> None:
        """An io_uring request. They complete in any order and block no thread, so they are drawn at depth 1."""
        values = said.values
        if said.entering:
            self.requests[pid, values["req"]] = call = [
                pid, op, time, UNKNOWN, values.get("ino", UNKNOWN), UNKNOWN, UNKNOWN, 0, 1, 0, event, UNKNOWN]
            self.calls.append(call)
        elif call := self.requests.pop((pid, values["req"]), []):
            call[3], call[7], call[11] = time, values.get("ret", 0), event

    def result(self, end: int) -> Calls:
        """All calls; a call without a leave message ends with the trace."""
        for call in self.calls:
            if call[3] == UNKNOWN:
                call[3], call[9] = end, call[9] | NO_LEAVE
        rows = columns(sorted(self.calls, key=lambda call: (call[2], call[8])), self.COLUMNS)
        return Calls(**rows, operations=list(self.operations))
