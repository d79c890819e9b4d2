# SPDX-License-Identifier: GPL-2.0
"""The picture for a paper, as SVG or PNG: the panels of the page, by matplotlib.

After figure 2.8 of Lunde, Improving Disk I/O Performance on Linux (2009): for each
process its figures, two histograms and a time line; below them the head's position,
the class that is served, CFQ's slices where the trace has them, and the throughput.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import messages
from .errors import BlkvizError, NoTraceError
from .model import CACHED, KINDS, SEEK, SEQUENTIAL, UNFINISHED, Model, Process

MOST = 16
KIND_COLOURS = {CACHED: "#1b7837", SEQUENTIAL: "#d98200", SEEK: "#b2182b", UNFINISHED: "#777777"}
KIND_LINES = {CACHED: ":", SEQUENTIAL: "-", SEEK: "--", UNFINISHED: "-."}
CLASS_HATCHES = ("", "///", "---", "...", "xx")
CLASS_COLOURS = ("#bbbbbb", "#b2182b", "#2166ac", "#5aae61", "#999999")
D2C_CUT_MS = 20
Mask = NDArray[np.bool_]


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise BlkvizError("pictures need matplotlib: make venv, or install python3-matplotlib") from None
    matplotlib.use("Agg")
    # the same trace gives the same file
    matplotlib.rcParams.update({"svg.hashsalt": "blkviz", "svg.fonttype": "none", "font.size": 7})
    from matplotlib import pyplot

    return pyplot


def draw(found: Model, target: Path, title: str, start: float, end: float | None,
         wanted: list[str]) -> None:
    """Write the picture of [start, end) seconds; NoTraceError if that is empty."""
    t0, t1 = start, min(end if end is not None else found.seconds, max(found.seconds, 1e-6))
    if t1 <= t0:
        raise NoTraceError(f"--from {start:g} --to {t1:g}: nothing between them; the trace has {found.seconds:.3f} s")
    processes = choose(found, wanted)
    pyplot = _pyplot()
    below = 4 if len(found.slices) else 3
    heights = [1.0] * len(processes) + [1.6, 0.6] + ([0.6] if below == 4 else []) + [1.4]
    figure = pyplot.figure(figsize=(10, 0.62 * sum(heights) + 0.9))
    grid = figure.add_gridspec(len(heights), 3, width_ratios=(0.9, 0.9, 7), height_ratios=heights,
                               wspace=0.12, hspace=0.28, left=0.13, right=0.985, top=1 - 0.3 / figure.get_figheight(),
                               bottom=0.42 / figure.get_figheight())
    shared: Any = None
    for row, process in enumerate(processes):
        axes = figure.add_subplot(grid[row, 2], sharex=shared)
        shared = shared or axes
        time_line(axes, found, process, t0, t1)
        histograms(figure.add_subplot(grid[row, 0]), figure.add_subplot(grid[row, 1]), found, process,
                   row == 0, row == len(processes) - 1)
    painters = [head_position, classes] + ([slices] if below == 4 else []) + [throughput]
    for place, paint in enumerate(painters):
        axes = figure.add_subplot(grid[len(processes) + place, 1:], sharex=shared)
        position = axes.get_position()
        left = shared.get_position().x0 if shared else position.x0
        axes.set_position([left, position.y0, position.x1 - left, position.height])
        paint(axes, found, processes, t0, t1)
        lost_bands(axes, found)
        axes.set_xlim(t0, t1)
        axes.tick_params(labelbottom=paint is throughput)
    axes.set_xlabel("seconds")
    figure.suptitle(f"{title}: {t0:.3f} to {t1:.3f} s", fontsize=8, y=1 - 0.1 / figure.get_figheight())
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    metadata = {"Date": None} if target.suffix == ".svg" else {"Software": None}
    try:
        figure.savefig(partial, format=target.suffix.lstrip(".") or "svg", metadata=metadata, dpi=130)
        partial.replace(target)
    finally:
        pyplot.close(figure)
        partial.unlink(missing_ok=True)


def choose(found: Model, wanted: list[str]) -> list[Process]:
    """Those that are asked for, or those with the most bytes."""
    chosen = [process for process in found.processes
              if not wanted or any(word == str(process.pid) or word.lower() in process.name.lower() for word in wanted)]
    if wanted and not chosen:
        raise NoTraceError(f"--process {wanted[0]}: no such process; the trace has "
                           + ", ".join(sorted({process.name for process in found.processes})[:8]))
    return [process for process in chosen if process.requests or process.calls or wanted][:MOST]


def _seconds(found: Model, times: NDArray[np.int64]) -> NDArray[np.float64]:
    return (times - found.start) / 1e9


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def _bare(axes: Any) -> None:
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def time_line(axes: Any, found: Model, process: Process, t0: float, t1: float) -> None:
    """Calls as blue with grey borders, requests from dispatch (top) to completion (bottom)."""
    calls, requests = found.calls, found.requests
    begin, finish = _seconds(found, calls.start), _seconds(found, calls.end)
    those: Mask = (calls.pid == process.pid) & (calls.flags == 0) & (calls.depth == 0) & (finish >= t0) & (begin <= t1)
    if those.any():
        axes.broken_barh(np.column_stack((begin[those], (finish - begin)[those])), (0, 1),
                         facecolor="#bcd4ee", edgecolor="#8a8a8a", linewidth=0.35)
    sent, done = _seconds(found, requests.dispatched), _seconds(found, requests.completed)
    kinds = requests.kind()
    mine: Mask = (requests.pid == process.pid) & requests.finished() & (done >= t0) & (sent <= t1)
    for kind in (CACHED, SEQUENTIAL, SEEK):
        places = np.flatnonzero(mine & (kinds == kind))
        lines = np.stack((np.column_stack((sent[places], np.full(len(places), 0.95))),
                          np.column_stack((done[places], np.full(len(places), 0.05)))), axis=1)
        from matplotlib.collections import LineCollection
        axes.add_collection(LineCollection(list(lines), colors=KIND_COLOURS[kind], linestyles=KIND_LINES[kind],
                                           linewidths=0.7, rasterized=len(places) > 20000))
    lost_bands(axes, found)
    axes.set_xlim(t0, t1)
    axes.set_ylim(0, 1)
    _bare(axes)
    axes.tick_params(labelbottom=False)
    facts = [f"{process.name} {process.pid}" + (f" {process.cls}" if process.cls else ""),
             f"{_size(process.bandwidth)}/s of {_size(process.request_bytes)}"]
    if process.reserved:
        facts.append(f"reserved {_size(process.reserved)}/s")
    if process.files:
        facts.append(f"{process.files_per_second:.3g} files/s")
    place = axes.get_position()
    axes.figure.text(0.006, place.y0 + place.height / 2, "\n".join(facts), va="center", ha="left", fontsize=6.5)


def histograms(reads: Any, drive: Any, found: Model, process: Process, titles: bool, scales: bool) -> None:
    """Times of read(), logarithmic; and from dispatch to completion, cut at 20 ms."""
    calls, requests = found.calls, found.requests
    those = calls.of("vfs_read") & (calls.pid == process.pid) & (calls.flags == 0)
    lasted = np.maximum((calls.end - calls.start)[those] / 1e6, 1e-2)
    if len(lasted):
        reads.hist(lasted, bins=np.logspace(-2, 4, 19), color="#4477aa")
    reads.set_xscale("log")
    reads.set_xlim(1e-2, 1e4)
    mine = (requests.pid == process.pid) & requests.finished()
    d2c = np.minimum(requests.d2c()[mine] / 1e6, D2C_CUT_MS)
    bins = np.linspace(0, D2C_CUT_MS, 41)
    for low, high, kind in ((0, 1, CACHED), (1, 5, SEQUENTIAL), (5, D2C_CUT_MS + 1, SEEK)):
        part = d2c[(d2c >= low) & (d2c < high)]
        if len(part):
            drive.hist(part, bins=bins, color=KIND_COLOURS[kind])
    drive.set_xlim(0, D2C_CUT_MS)
    for axes, ticks, names in ((reads, [1e-2, 1, 100, 1e4], ["10 us", "", "0.1 s", ""]),
                               (drive, [0, 10, 20], ["0", "10", "20 ms"])):
        _bare(axes)
        axes.set_xticks(ticks, names if scales else [""] * len(ticks), fontsize=5.5)
        axes.minorticks_off()
    if titles:
        reads.set_title("read()", fontsize=6.5, pad=2)
        drive.set_title("D2C", fontsize=6.5, pad=2)


def head_position(axes: Any, found: Model, processes: list[Process], t0: float, t1: float) -> None:
    requests = found.requests
    done = _seconds(found, requests.completed)
    for kind in (CACHED, SEQUENTIAL, SEEK):
        those = requests.finished() & (requests.length > 0) & (requests.kind() == kind) & (done >= t0) & (done <= t1)
        axes.plot(done[those], requests.sector[those] / 2**21, linestyle="none", marker="os^"[kind], markersize=1.6,
                  color=KIND_COLOURS[kind], label=f"{KINDS[kind]} ({('< 1', '1 to 5', '> 5')[kind]} ms)",
                  rasterized=int(those.sum()) > 20000)
    axes.set_ylabel("head, GiB")
    axes.legend(loc="upper right", fontsize=5.5, ncols=3, framealpha=0.8, borderpad=0.2)


def classes(axes: Any, found: Model, processes: list[Process], t0: float, t1: float) -> None:
    requests = found.requests
    sent, done = _seconds(found, requests.dispatched), _seconds(found, requests.completed)
    for cls in range(1, len(messages.CLASSES)):
        those = (requests.cls == cls) & requests.finished() & (done >= t0) & (sent <= t1)
        if those.any():
            axes.broken_barh(np.column_stack((sent[those], (done - sent)[those])), (4 - cls, 0.9),
                             facecolor=CLASS_COLOURS[cls], hatch=CLASS_HATCHES[cls], linewidth=0)
    axes.set_ylim(0, 4)
    axes.set_yticks([3.5, 2.5, 1.5, 0.5], messages.CLASSES[1:], fontsize=5)
    if not requests.cls.any():
        axes.text(0.5, 0.5, "no messages of CFQ: classes are not known", transform=axes.transAxes,
                  ha="center", va="center")


def slices(axes: Any, found: Model, processes: list[Process], t0: float, t1: float) -> None:
    places = {process.pid: n for n, process in enumerate(processes)}
    begin, finish = _seconds(found, found.slices.start), _seconds(found, found.slices.end)
    for i in np.flatnonzero((finish >= t0) & (begin <= t1)).tolist():
        rank = places.get(int(found.slices.pid[i]))
        axes.broken_barh([(begin[i], finish[i] - begin[i])], (0, 1), linewidth=0.3, edgecolor="white",
                         facecolor="#dddddd" if rank is None else f"C{rank % 10}",
                         hatch=("", "//", "..", "xx")[0 if rank is None else rank // 10 % 4])
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.set_ylabel("slices", fontsize=6)


def throughput(axes: Any, found: Model, processes: list[Process], t0: float, t1: float) -> None:
    requests = found.requests
    done = _seconds(found, requests.completed)
    edges = np.linspace(t0, t1, 101)
    width = edges[1] - edges[0]
    whole = requests.finished()
    total, _ = np.histogram(done[whole], edges, weights=requests.length[whole])
    axes.stairs(total / width / 2**20, edges, fill=True, color="#dddddd", label="all")
    for rank, process in enumerate(processes[:6]):
        mine = whole & (requests.pid == process.pid)
        some, _ = np.histogram(done[mine], edges, weights=requests.length[mine])
        axes.stairs(some / width / 2**20, edges, color=f"C{rank}", linewidth=0.9,
                    linestyle=("-", "--", ":", "-.")[rank % 4], label=f"{process.name} {process.pid}")
        if process.reserved:
            axes.axhline(process.reserved / 2**20, color=f"C{rank}", linewidth=0.6, linestyle=(0, (8, 3)))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("MiB/s")
    axes.legend(loc="upper right", fontsize=5.5, ncols=4, framealpha=0.8, borderpad=0.2)


def lost_bands(axes: Any, found: Model) -> None:
    """Where events were lost: hatched, and not narrower than can be seen."""
    for one in found.lost:
        begin, finish = (one.start - found.start) / 1e9, (one.end - found.start) / 1e9
        axes.axvspan(begin, max(finish, begin + found.seconds / 500), facecolor="none",
                     edgecolor="#cc4444", hatch="\\\\\\\\", linewidth=0)
