# SPDX-License-Identifier: GPL-2.0
"""Draws the panels of the page with matplotlib, as SVG or PNG for print.

After figure 2.8 of Lunde, Improving Disk I/O Performance on Linux (2009): for each
process its statistics, two histograms and a time line; below them the head position,
the class served, CFQ's slices, tokens and slack if the trace has them, and the
throughput. All values are those of the range of time that is drawn.
"""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.base.cli import ToolError
from tools.base.files import write_whole

from . import blktrace_format as fmt
from . import messages, process_stats
from .errors import NoTraceError
from .panels import BAND_NS, PANELS, Panel
from .tables import CACHED, CACHED_BELOW_NS, KINDS, SEEK, SEEK_ABOVE_NS, SEQUENTIAL, UNFINISHED, Model, Process

MOST = 16
GAP_INCHES = 0.2  # between panels, with room for a legend
LEGEND: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.1, "borderpad": 0.1,
                          "fontsize": 5.5, "frameon": False, "columnspacing": 1.2, "ncols": 9}
LINES = ("-", "--", ":", "-.")
RESERVED = (0, (8, 3))
KIND_COLOURS = {CACHED: "#1b7837", SEQUENTIAL: "#d98200", SEEK: "#b2182b", UNFINISHED: "#777777"}
KIND_LINES = {CACHED: ":", SEQUENTIAL: "-", SEEK: "--", UNFINISHED: "-."}
CLASS_HATCHES = ("", "///", "---", "...", "xx")
CLASS_COLOURS = ("#bbbbbb", "#b2182b", "#2166ac", "#5aae61", "#999999")
D2C_CUT_MS = 20
CACHED_MS, SEEK_MS = CACHED_BELOW_NS / 1e6, SEEK_ABOVE_NS / 1e6
KIND_LABELS = {CACHED: f"< {CACHED_MS:g} ms", SEQUENTIAL: f"{CACHED_MS:g} to {SEEK_MS:g} ms", SEEK: f"> {SEEK_MS:g} ms"}
UNITS = {"bytes": (2**20, "MiB"), "us": (1000, "ms")}
Mask = NDArray[np.bool_]


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ToolError("pictures require matplotlib: run make venv, or install python3-matplotlib") from None
    matplotlib.use("Agg")
    # make the output reproducible
    matplotlib.rcParams.update({"svg.hashsalt": "blkviz", "svg.fonttype": "none", "font.size": 7,
                                "hatch.linewidth": 0.6})
    from matplotlib import pyplot

    return pyplot


def draw(found: Model, target: Path, title: str, start: float | None, end: float | None,
         wanted: list[str]) -> None:
    """Write a picture of [start, end) seconds, by default from the first event to the end.

    NoTraceError if the range is empty.
    """
    if start is None:
        start = (found.begin - found.start) / 1e9
    t0, t1 = max(start, 0.0), min(end if end is not None else found.seconds, max(found.seconds, 1e-6))
    if t1 <= t0:
        raise NoTraceError(f"--from {start:g} --to {t1:g}: empty range; the trace has {found.seconds:.3f} s")
    pyplot = _pyplot()
    figure = compose(found, title, t0, t1, wanted)
    metadata = {"Date": None} if target.suffix == ".svg" else {"Software": None}
    drawn = io.BytesIO()
    try:
        figure.savefig(drawn, format=target.suffix.lstrip(".") or "svg", metadata=metadata, dpi=130)
    finally:
        pyplot.close(figure)
    write_whole(target, drawn.getvalue())


def compose(found: Model, title: str, t0: float, t1: float, wanted: list[str]) -> Any:
    """The figure: the processes, and the panels that the trace has data for."""
    processes = choose(found, wanted)
    pids = [process.pid for process in processes]
    panels = [panel for panel in PANELS if panel.without or panel.there(found, pids)]
    rows: list[Process | Panel] = [*processes, *panels]
    heights = [row.height if isinstance(row, Panel) else 1.0 for row in rows]
    inches, above, below = sum(heights) * 0.5, 0.3, 0.42
    whole = inches + GAP_INCHES * (len(rows) - 1) + above + below
    figure = _pyplot().figure(figsize=(10, whole))
    grid = figure.add_gridspec(len(rows), 3, width_ratios=(0.9, 0.9, 7), height_ratios=heights, wspace=0.12,
                               hspace=GAP_INCHES * len(rows) / inches, left=0.13, right=0.985,
                               top=1 - above / whole, bottom=below / whole)
    axes: Any = None
    for place, row in enumerate(rows):
        name = f"lane-{row.pid}" if isinstance(row, Process) else row.name
        axes = figure.add_subplot(grid[place, -1], sharex=axes, label=name)
        if isinstance(row, Process):
            time_line(axes, found, row, t0, t1)
            histograms(figure.add_subplot(grid[place, 0], label=f"reads-{row.pid}"),
                       figure.add_subplot(grid[place, 1], label=f"drive-{row.pid}"), found, row, t0, t1,
                       place == 0, place == len(processes) - 1)
        else:
            paint = partial(values, panel=row) if row.values else PAINTERS[row.name]
            paint(axes, found, processes, t0, t1)
            lost_bands(axes, found)
        axes.set_xlim(t0, t1)
        axes.tick_params(labelbottom=place == len(rows) - 1)
    axes.set_xlabel("seconds")
    figure.suptitle(f"{title}: {t0:.3f} to {t1:.3f} s", fontsize=8, y=1 - 0.1 / whole)
    return figure


def choose(found: Model, wanted: list[str]) -> list[Process]:
    """The processes that --process selects, or those with the most bytes."""
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
    """System calls in blue with grey borders; requests as lines from dispatch (top) to completion (bottom)."""
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
    late = done[mine & (requests.left() < 0)]
    axes.plot(late, np.full(len(late), 0.12), linestyle="none", marker="x", markersize=4, color="black",
              label="deadline missed")
    lost_bands(axes, found)
    axes.set_ylim(0, 1)
    _bare(axes)
    bandwidth, request_bytes, files = process_stats.of_range(found, process, t0, t1)
    facts = [f"{process.name} {process.pid}" + (f" {process.cls}" if process.cls else ""),
             f"{_size(bandwidth)}/s" + (f" of {_size(request_bytes)}" if request_bytes else "")]
    if process.reserved:
        facts.append(f"reserved {_size(process.reserved)}/s")
    if process.missed:
        facts.append(f"{process.missed:,} of {process.met + process.missed:,} deadlines missed")
    if files:
        facts.append(f"{files:.3g} files/s")
    place = axes.get_position()
    axes.figure.text(0.006, place.y0 + place.height / 2, "\n".join(facts), va="center", ha="left", fontsize=6.5)


def histograms(reads: Any, drive: Any, found: Model, process: Process, t0: float, t1: float,
               titles: bool, scales: bool) -> None:
    """Histograms of what ended in the range: duration of read(), and dispatch to completion, cut at 20 ms."""
    calls, requests = found.calls, found.requests
    left, done = _seconds(found, calls.end), _seconds(found, requests.completed)
    those = calls.of("vfs_read") & (calls.pid == process.pid) & (calls.flags == 0) & (left >= t0) & (left <= t1)
    lasted = np.maximum((calls.end - calls.start)[those] / 1e6, 1e-2)
    if len(lasted):
        reads.hist(lasted, bins=np.logspace(-2, 4, 19), color="#4477aa")
    reads.set_xscale("log")
    reads.set_xlim(1e-2, 1e4)
    mine = (requests.pid == process.pid) & requests.finished() & (done >= t0) & (done <= t1)
    d2c = np.minimum(requests.d2c()[mine] / 1e6, D2C_CUT_MS)
    bins = np.linspace(0, D2C_CUT_MS, 41)
    for low, high, kind in ((0, CACHED_MS, CACHED), (CACHED_MS, SEEK_MS, SEQUENTIAL), (SEEK_MS, D2C_CUT_MS + 1, SEEK)):
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
    sector = requests.sector + requests.length // fmt.SECTOR_BYTES
    moved = np.flatnonzero(requests.finished() & (requests.length > 0))
    moved = moved[np.argsort(done[moved], kind="stable")]
    # include the last point before the range and the first one after it
    first, last = np.searchsorted(done[moved], (t0, t1), "left")
    path = moved[max(0, first - 1):last + 1]
    axes.plot(done[path], sector[path] / 2**21, color="#999999", linewidth=0.4, zorder=1, rasterized=len(path) > 20000)
    for kind in (CACHED, SEQUENTIAL, SEEK):
        those = requests.finished() & (requests.length > 0) & (requests.kind() == kind) & (done >= t0) & (done <= t1)
        axes.plot(done[those], sector[those] / 2**21, linestyle="none", marker="os^"[kind], markersize=1.6,
                  color=KIND_COLOURS[kind], label=f"{KINDS[kind]} ({KIND_LABELS[kind]})",
                  rasterized=int(those.sum()) > 20000)
    axes.set_ylabel("head, GiB")
    axes.legend(**LEGEND)


def headband(axes: Any, found: Model, processes: list[Process], t0: float, t1: float) -> None:
    """The lowest and highest head position in each BAND_NS, after figure 4.2 of the same thesis."""
    lowest, highest = process_stats.head_band(found)
    first, last = int(t0 * 1e9 // BAND_NS), int(t1 * 1e9 // BAND_NS) + 1
    lowest, highest = lowest[first:last], highest[first:last]
    if np.isfinite(lowest).any():
        edges = np.arange(first, first + len(lowest) + 1) * BAND_NS / 1e9
        axes.stairs(highest / 2**21, edges, baseline=lowest / 2**21, fill=True, facecolor="#9ebbda",
                    edgecolor="#2166ac", linewidth=0.5)
    axes.set_ylabel("band, GiB")


def classes(axes: Any, found: Model, processes: list[Process], t0: float, t1: float) -> None:
    requests = found.requests
    sent, done = _seconds(found, requests.dispatched), _seconds(found, requests.completed)
    for cls in range(1, len(messages.CLASSES)):
        those = (requests.cls == cls) & requests.finished() & (done >= t0) & (sent <= t1)
        if those.any():
            axes.broken_barh(np.column_stack((sent[those], (done - sent)[those])), (4 - cls, 0.9),
                             facecolor=CLASS_COLOURS[cls], hatch=CLASS_HATCHES[cls], edgecolor="white", linewidth=0)
    axes.set_ylim(0, 4)
    axes.set_yticks([3.5, 2.5, 1.5, 0.5], messages.CLASSES[1:], fontsize=5)
    if not requests.cls.any():
        why = next(panel.without for panel in PANELS if panel.name == "classes")
        axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center")


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


def values(axes: Any, found: Model, processes: list[Process], t0: float, t1: float, panel: Panel) -> None:
    """Values from CFQ's messages: lines or marks, with a cross for each value below zero."""
    assert panel.values
    series = found.series[panel.name]
    factor, unit = UNITS[panel.values.unit]
    (_lines if panel.values.line else _marks)(axes, processes, series.pid, _seconds(found, series.time),
                                              series.value / factor, t0, t1)
    _zero(axes, f"{panel.values.label}, {unit}")


def _lines(axes: Any, processes: list[Process], pids: Any, time: Any, value: Any, t0: float, t1: float) -> None:
    """Step lines: the value of a message holds until the next one."""
    for rank, process in enumerate(processes):
        mine = np.flatnonzero(pids == process.pid)
        first, last = np.searchsorted(time[mine], (t0, t1), "left")
        mine = mine[max(0, first - 1):last + 1]
        if len(mine):
            axes.step(time[mine], value[mine], where="post", color=f"C{rank % 10}", linewidth=0.9,
                      linestyle=LINES[rank % 4], label=f"{process.name} {process.pid}")


def _marks(axes: Any, processes: list[Process], pids: Any, time: Any, value: Any, t0: float, t1: float) -> None:
    """A mark for each value; below zero the deadline was missed."""
    inside, late = (time >= t0) & (time <= t1), value < 0
    if (inside & late & np.isin(pids, [process.pid for process in processes])).any():
        axes.plot([], [], linestyle="none", marker="x", markersize=2.5, color="black", label="deadline missed")
    for rank, process in enumerate(processes):
        mine = inside & (pids == process.pid)
        if not mine.any():
            continue
        for those, marker, name in ((mine & ~late, "os^"[rank % 3], f"{process.name} {process.pid}"),
                                    (mine & late, "x", None)):
            axes.plot(time[those], value[those], linestyle="none", marker=marker, markersize=2.5,
                      color=f"C{rank % 10}", label=name, rasterized=int(those.sum()) > 20000)


def _zero(axes: Any, what: str) -> None:
    """Draw the zero line, and a legend of the first processes."""
    axes.axhline(0, color="#555555", linewidth=0.6, zorder=1)
    axes.set_ylabel(what, fontsize=6)
    axes.tick_params(axis="y", labelsize=5.5)
    handles, names = axes.get_legend_handles_labels()
    if handles:
        axes.legend(handles[:LEGEND["ncols"]], names[:LEGEND["ncols"]], **LEGEND)
    else:
        axes.text(0.5, 0.5, "no such messages of CFQ in the trace", transform=axes.transAxes, ha="center", va="center")


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
                    linestyle=LINES[rank % 4], label=f"{process.name} {process.pid}")
        if process.reserved:
            axes.axhline(process.reserved / 2**20, color=f"C{rank}", linewidth=0.6, linestyle=RESERVED)
    if any(process.reserved for process in processes[:6]):
        axes.plot([], [], color="black", linewidth=0.6, linestyle=RESERVED, label="reserved")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("MiB/s")
    axes.legend(**LEGEND)


# The functions that draw the panels other than those of values.
PAINTERS = {"position": head_position, "headband": headband, "classes": classes, "slices": slices,
            "throughput": throughput}


def lost_bands(axes: Any, found: Model) -> None:
    """Hatch the times where events were lost, wide enough to be visible."""
    for one in found.lost:
        begin, finish = (one.start - found.start) / 1e9, (one.end - found.start) / 1e9
        axes.axvspan(begin, max(finish, begin + found.seconds / 500), facecolor="none",
                     edgecolor="#cc4444", hatch="\\\\\\\\", linewidth=0)
