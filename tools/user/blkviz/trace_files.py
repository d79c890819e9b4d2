# SPDX-License-Identifier: GPL-2.0
"""Finds and reads the files of a recording; blktrace writes one per CPU, DEV.blktrace.N.

An argument is such a file, the common prefix of several (`sda` for sda.blktrace.*), a
folder with a recording, a file with the events of all CPUs (`blkparse -d`, `blktrace
-o -`), or `-` for a pipe. The recording may include notes (capture.py) and tracefs
events (tracefs_capture.py).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.base.cli import ToolError

from . import tracefs_capture, tracefs_parse
from .capture import NOTES_SUFFIX
from .errors import NoTraceError
from .parse import Problem, Source, Trace, is_trace, parse
from .tracefs_calls import merge

PER_CPU = re.compile(r"\.blktrace\.\d+$")


@dataclass
class Notes:
    """Data of a recording besides the events.

    `dropped`: blktrace's count of dropped events; `reserved`: bytes per second by thread;
    `names` and `clock` (see model.clock): from events that were discarded.
    """

    dropped: int = 0
    reserved: dict[int, int] = field(default_factory=dict)
    command: str = ""
    names: dict[int, str] = field(default_factory=dict)
    clock: tuple[int, int] | None = None


def find(argument: str) -> list[Path]:
    """The files that an argument names; NoTraceError if there are none."""
    path = Path(argument)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if PER_CPU.search(file.name))
        if not files:
            raise NoTraceError(f"{argument}: no files *.blktrace.N in this folder")
        return _in_order(files)
    if path.exists():
        return [path]
    folder = path.parent
    stem = path.name.removesuffix(".blktrace") + ".blktrace."
    files = sorted(folder.glob(f"{_escape(stem)}*")) if folder.is_dir() else []
    files = [file for file in files if PER_CPU.search(file.name)]
    if not files:
        raise NoTraceError(f"{argument}: no such file, and no {path.name}.blktrace.N: "
                           "give a recording of blktrace")
    return _in_order(files)


def _escape(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _in_order(files: Sequence[Path]) -> list[Path]:
    return sorted(files, key=lambda file: (file.name.rpartition(".")[0],
                                           int(file.name.rpartition(".")[2])))


def read(arguments: Sequence[str]) -> tuple[Trace, Notes]:
    """Read and parse a recording; NoTraceError if it is not one."""
    sources: list[Source] = []
    notes = Notes()
    events: dict[Path, None] = {}
    seen: set[str] = set()
    for argument in arguments:
        if argument == "-":
            sources.append(Source("the pipe", sys.stdin.buffer.read()))
            continue
        for file in find(argument):
            if str(file) not in seen:
                seen.add(str(file))
                sources.append(Source(str(file), _bytes_of(file)))
                _add_notes(notes, file, seen)
                events[tracefs_capture.file_of(file.with_name(PER_CPU.sub("", file.name)))] = None
    trace = parse_checked(sources)
    for file in events:
        if file.is_file():
            trace = merge(trace, tracefs_parse.read(str(file), _bytes_of(file)))
    return trace, notes


def parse_checked(sources: Sequence[Source]) -> Trace:
    """Parse the sources; those that are not a trace become a problem, or an error if none is a trace."""
    traces = [source for source in sources if is_trace(source.data)]
    if not traces:
        named = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
        if not any(source.data for source in sources):
            raise NoTraceError(f"{named}: empty, nothing was recorded")
        raise NoTraceError(f"{named}: not a block trace (no blktrace records found)")
    trace = parse(traces)
    trace.problems += [Problem(source.name, "not a block trace: left out")
                       for source in sources if source.data and source not in traces]
    return trace


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from None


def notes_file(file: Path) -> Path:
    """The file with the notes of a recording that @file belongs to."""
    return file.with_name(PER_CPU.sub("", file.name) + NOTES_SUFFIX)


def _add_notes(notes: Notes, file: Path, seen: set[str]) -> None:
    path = notes_file(file)
    if str(path) in seen or not path.is_file():
        return
    seen.add(str(path))
    try:
        known: dict[str, Any] = json.loads(path.read_text())
        dropped = int(known.get("dropped", 0))
        reserved = {int(pid): int(rate) for pid, rate in known.get("reserved", {}).items()}
        notes.command = str(known.get("command", notes.command))
    except (OSError, ValueError, TypeError, AttributeError):
        print(f"blkviz: {path}: damaged, ignoring it", file=sys.stderr)
        return
    notes.dropped += dropped
    notes.reserved.update(reserved)
