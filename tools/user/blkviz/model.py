# SPDX-License-Identifier: GPL-2.0
"""Builds the tables of a recording from its events: requests, system calls, slices, processes."""

from __future__ import annotations

import numpy as np

from . import blktrace_format as fmt
from . import messages, process_stats
from .cfq import Scheduler
from .errors import NoTraceError
from .parse import Events, Lost, Trace, clock
from .requests import Matcher
from .tables import (
    CACHED,
    CACHED_BELOW_NS,
    KINDS,
    LOST_COMPLETION,
    NO_COMPLETION,
    NO_DISPATCH,
    NO_ENTER,
    NO_LEAVE,
    SEEK,
    SEEK_ABOVE_NS,
    SEQUENTIAL,
    UNFINISHED,
    UNKNOWN,
    Model,
    Process,
)
from .trace_files import Notes
from .vfs_calls import Stacks

# also re-exports the constants of the tables
__all__ = ["CACHED", "CACHED_BELOW_NS", "KINDS", "LOST_COMPLETION", "NO_COMPLETION", "NO_DISPATCH", "NO_ENTER",
           "NO_LEAVE", "SEEK", "SEEK_ABOVE_NS", "SEQUENTIAL", "UNFINISHED", "UNKNOWN", "Model", "Process",
           "build", "clock", "names", "problems_of"]


def build(trace: Trace, notes: Notes | None = None, device: int | None = None,
          reserved: dict[str, int] | None = None) -> Model:
    """The tables of one device, by default the one with the most events.

    `reserved`: bytes per second by name or ID of a process. NoTraceError if the device
    is not in the trace.
    """
    notes = notes or Notes()
    hints: list[str] = []
    trace, device = _of_one_device(trace, device, hints)
    events = trace.events
    start = int(events.time[0]) if len(events) else 0
    end = int(events.time[-1]) if len(events) else 0
    lost, noted = sorted(trace.lost, key=lambda one: one.start), clock(events) or notes.clock
    matcher, calls, scheduler = Matcher(), Stacks(start), Scheduler(start)
    _walk(events, matcher, calls, scheduler, lost)
    requests = matcher.result(end)
    model = Model(events, start, end, device, (noted[1] + start - noted[0]) / 1e9 if noted else None,
                  requests, calls.result(end), scheduler.result(end), scheduler.series() | {"slack": requests.slack()},
                  [], lost,
                  notes.dropped, [str(problem) for problem in trace.problems], hints)
    if trace.unknown_actions:
        model.problems.append(f"{trace.unknown_actions} events of unknown types were ignored")
    model.processes = process_stats.processes(model, notes.names | names(events))
    _add_known(model.processes, scheduler, notes, reserved or {})
    return model


def _of_one_device(trace: Trace, device: int | None, hints: list[str]) -> tuple[Trace, int]:
    devices = trace.devices()
    if not devices:
        return trace, device or 0
    if device is None:
        device = next(iter(devices))
    elif device not in devices:
        names = ", ".join(fmt.device_name(one) for one in devices)
        raise NoTraceError(f"device {fmt.device_name(device)} is not in the recording; "
                           f"choose one of {names}")
    others = [f"{fmt.device_name(one)} ({count} events)" for one, count in devices.items()
              if one != device]
    if not others:
        return trace, device
    # The name of a process is traced once, on the first device that it uses.
    keep = (trace.events.device == device) | (trace.events.action == fmt.NOTE_PROCESS)
    hints.append(f"also recorded: {', '.join(others[:5])}; choose with --device")
    lost = [one for one in trace.lost if one.device == device]
    return Trace(trace.events.take(keep), trace.problems, lost, trace.unknown_actions), device


def _walk(events: Events, matcher: Matcher, calls: Stacks, scheduler: Scheduler,
          lost: list[Lost]) -> None:
    """Pass each event to the builder of the requests, the calls or the slices."""
    times, sectors, lengths = events.time.tolist(), events.sector.tolist(), events.length.tolist()
    actions, categories = events.action.tolist(), events.category.tolist()
    pids, errors = events.pid.tolist(), events.error.tolist()
    gaps = iter(sorted(one.end for one in lost))
    next_gap = next(gaps, None)
    touching = {fmt.BACKMERGE, fmt.FRONTMERGE, fmt.GETRQ, fmt.SLEEPRQ,
                fmt.INSERT, fmt.BOUNCE}
    for event, action in enumerate(actions):
        time, sector, category = times[event], sectors[event], categories[event]
        while next_gap is not None and time >= next_gap:
            matcher.lose(next_gap)
            next_gap = next(gaps, None)
        write = category & fmt.WRITE
        if action == fmt.QUEUE:
            matcher.queue(event, time, sector, lengths[event], pids[event], write)
        elif action in touching:
            matcher.touch(event, sector, write)
        elif action == fmt.ISSUE:
            matcher.dispatch(event, time, sector, lengths[event], pids[event], category)
        elif action == fmt.COMPLETE:
            matcher.complete(event, time, sector, lengths[event], pids[event], category,
                             errors[event])
        elif action == fmt.NOTE_MESSAGE:
            _message(event, time, pids[event], events.text(event), matcher, calls, scheduler)
        elif action == fmt.REMAP:
            matcher.remap(event, sector)
        elif action == fmt.REQUEUE:
            matcher.requeue(event, sector, write)
        elif action == fmt.SPLIT:
            matcher.split(event, sector, lengths[event], write)


def _message(event: int, time: int, pid: int, text: str, matcher: Matcher, calls: Stacks, scheduler: Scheduler) -> None:
    if text.startswith("cfq "):
        if said := messages.cfq(text):
            scheduler.take(event, time, said, matcher)
    elif text.startswith(("enter ", "leave ")) and (call := messages.vfs(text)):
        calls.take(event, time, pid, call)
    elif text.startswith(messages.SWITCH):
        calls.switch(time, frozenset(text.removeprefix(messages.SWITCH).split(",")))


def names(events: Events) -> dict[int, str]:
    """The last name of each process."""
    found: dict[int, str] = {0: "(kernel)"}
    for index in np.flatnonzero(events.action == fmt.NOTE_PROCESS).tolist():
        found[int(events.pid[index])] = events.text(index)
    return found


def _add_known(processes: list[Process], scheduler: Scheduler, notes: Notes, asked: dict[str, int]) -> None:
    """Set classes and reservations: from CFQ's messages, the notes, or the command line."""
    for process in processes:
        pid = process.pid
        reserved = notes.reserved.get(pid, 0) or scheduler.rates.get(pid, 0)
        process.reserved = asked.get(str(pid), asked.get(process.name, reserved))
        process.cls = scheduler.classes.get(pid, "")


def problems_of(model: Model) -> list[str]:
    """The messages of the banner."""
    said = list(model.problems)
    count = sum(one.count for one in model.lost)
    where = f"at {len(model.lost)} place{'s' * (len(model.lost) > 1)} (hatched in the picture)"
    more = "use larger buffers (blktrace -b, -n)"
    if model.dropped > count:
        # lost messages leave no gap in the sequence numbers, and neither do the last events of a CPU
        shown = f"{count} of them {where}" if count else "at unknown places"
        said.append(f"{model.dropped} events were dropped while recording, {shown}; {more}")
    elif count:
        said.append(f"{count} events were lost while recording, {where}; {more}")
    if not len(model.events):
        said.append("no complete event could be read")
    return said
