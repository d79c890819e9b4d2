# SPDX-License-Identifier: GPL-2.0
"""The picture for a paper: what is in which panel, and of which time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.user.blkviz import draw, model, parse, process_stats, synth
from tools.user.blkviz.errors import NoTraceError
from tools.user.blkviz.model import Model
from tools.user.blkviz.panels import PANELS
from tools.user.blkviz.parse import Source

pytest.importorskip("matplotlib")

T0, T1 = 1.0, 2.5
RATES = {"S0": 3 << 20, "S1": 4 << 20}


def model_of(writer: synth.Writer) -> Model:
    return model.build(parse.parse([Source("test", writer.together())]), reserved=RATES)


@pytest.fixture(scope="module")
def found() -> Model:
    return model_of(synth.make(12000))


@pytest.fixture(scope="module")
def compose() -> Iterator[Callable[..., dict[str, Any]]]:
    """The axes of a picture of [T0, T1] by their names."""
    from matplotlib import pyplot

    def composed(shown: Model, wanted: Sequence[str] = ()) -> dict[str, Any]:
        drawn = draw.compose(shown, "the title", T0, T1, [*wanted])
        return {axes.get_label(): axes for axes in drawn.axes}

    yield composed
    pyplot.close("all")


@pytest.fixture(scope="module")
def whole(compose: Callable[..., dict[str, Any]], found: Model) -> dict[str, Any]:
    """The axes of the picture with all panels."""
    return compose(found)


def svg_text(path: Path) -> str:
    return "\n".join(ET.parse(path).getroot().itertext())


def lines_of(axes: Any, marked: bool) -> list[Any]:
    """The lines of data, or the marks without a line; not the line of nothing, nor what is in the legend only."""
    return [line for line in axes.lines if len(line.get_xdata()) and line.get_transform() == axes.transData
            and (line.get_linestyle() == "None") == marked]


def inside(times: Any, shown: Model) -> Any:
    seconds = (times - shown.start) / 1e9
    return (seconds >= T0) & (seconds <= T1)


def test_all_that_the_trace_has_is_drawn(
    compose: Callable[..., dict[str, Any]], whole: dict[str, Any], found: Model
) -> None:
    below = ["position", "headband", "classes", "slices", "tokens", "slack", "throughput"]
    assert [name for name in whole if "-" not in name] == below
    of_each = {f"{what}-{process.pid}" for process in found.processes for what in ("lane", "reads", "drive")}
    assert of_each == set(whole) - set(below)
    assert all(axes.get_xlim() == (T0, T1) for name, axes in whole.items() if not name.startswith(("reads", "drive")))
    without = compose(model_of(synth.make(4000, messages=False)))
    assert [name for name in without if "-" not in name] == ["position", "headband", "classes", "throughput"]
    unreserved = compose(found, wanted=["R0"])
    assert [name for name in unreserved if "-" not in name] == [
        "position", "headband", "classes", "slices", "throughput"]


def test_tokens_and_slack_are_those_of_the_trace(whole: dict[str, Any], found: Model, tmp_path: Path) -> None:
    drawn = {line.get_label(): line for line in lines_of(whole["tokens"], marked=False)}
    assert set(drawn) == {"S0 8590", "S1 8591"}
    for name, line in drawn.items():
        series = found.series["tokens"]
        mine = series.pid == int(name.split()[1])
        times, values = (series.time[mine] - found.start) / 1e9, series.value[mine] / 2**20
        those = (times >= T0) & (times < T1)
        # and what holds when the range begins
        before = np.flatnonzero(times < T0)[-1]
        expected = np.concatenate((values[[before]], values[those]))
        assert list(line.get_ydata()[:len(expected)]) == pytest.approx(list(expected))
        assert line.get_drawstyle() == "steps-post" and line.get_xdata()[0] < T0
    marks = lines_of(whole["slack"], marked=True)
    values = found.series["slack"].value[inside(found.series["slack"].time, found)] / 1000
    assert sorted(np.concatenate([line.get_ydata() for line in marks])) == pytest.approx(sorted(values))
    late = np.concatenate([line.get_ydata() for line in marks if line.get_marker() == "x"])
    assert (values < 0).any() and sorted(late) == pytest.approx(sorted(values[values < 0]))
    draw.draw(found, tmp_path / "a.svg", "title", T0, T1, [])
    text = svg_text(tmp_path / "a.svg")
    assert "tokens, MiB" in text and "slack, ms" in text and "deadline missed" in text


def test_head_moves_along_a_thin_line_under_the_marks(whole: dict[str, Any], found: Model) -> None:
    head = whole["position"]
    (way,) = lines_of(head, marked=False)
    marks = lines_of(head, marked=True)
    assert way.get_linewidth() < 0.5 and all(way.get_zorder() < mark.get_zorder() for mark in marks)
    points = {point for mark in marks for point in zip(mark.get_xdata(), mark.get_ydata(), strict=True)}
    along = list(zip(way.get_xdata(), way.get_ydata(), strict=True))
    assert points == set(along[1:-1])
    assert list(way.get_xdata()) == sorted(way.get_xdata()) and along[0][0] < T0 and along[-1][0] > T1
    requests = found.requests
    assert len(points) == int((requests.finished() & inside(requests.completed, found)).sum())


def band_of(found: Model) -> dict[int, tuple[int, int]]:
    """Lowest and highest sector of each piece of 100 ms, request by request."""
    pieces: dict[int, tuple[int, int]] = {}
    requests = found.requests
    for i in np.flatnonzero(requests.finished() & (requests.length > 0)).tolist():
        piece = int(requests.completed[i] - found.start) // 100_000_000
        first, last = int(requests.sector[i]), int(requests.sector[i] + requests.length[i] // 512)
        low, high = pieces.get(piece, (first, last))
        pieces[piece] = min(low, first), max(high, last)
    return pieces


def test_band_is_from_the_lowest_to_the_highest_sector_of_each_piece(whole: dict[str, Any], found: Model) -> None:
    lowest, highest = process_stats.head_band(found)
    expected = band_of(found)
    assert {piece: (low, highest[piece]) for piece, low in enumerate(lowest) if low == low} == expected
    (band,) = whole["headband"].patches
    drawn = band.get_data()
    pieces = range(10, 10 + len(drawn.values))
    assert list(drawn.edges) == pytest.approx([*(piece / 10 for piece in pieces), T1 + 0.1])
    assert [*drawn.values] == pytest.approx([expected[piece][1] / 2**21 for piece in pieces])
    assert [*drawn.baseline] == pytest.approx([expected[piece][0] / 2**21 for piece in pieces])
    assert whole["headband"].get_ylabel() == "band, GiB"


def test_band_has_a_gap_where_the_head_rests(compose: Callable[..., dict[str, Any]]) -> None:
    writer = synth.Writer()
    for start, sector in ((0, 1 << 21), (1_050_000_000, 3 << 21), (1_060_000_000, 5 << 21), (2_000_000_000, 7 << 21)):
        writer.request((start, start + 1000, start + 5_000_000), sector, 512 * 1024)
    shown = model_of(writer)
    lowest, highest = process_stats.head_band(shown)
    assert [piece for piece in range(len(lowest)) if lowest[piece] == lowest[piece]] == [0, 10, 20]
    assert (lowest[10], highest[10]) == (3 << 21, (5 << 21) + 1024)
    drawn = compose(shown)["headband"].patches[0].get_data()
    assert np.isfinite(drawn.values).tolist() == [True, *[False] * 9, True]
    # nothing at all
    nothing = draw.compose(shown, "the title", 0.2, 0.9, [])
    (band,) = [axes for axes in nothing.axes if axes.get_label() == "headband"]
    assert not band.patches


def test_figures_are_those_of_the_range(found: Model, tmp_path: Path) -> None:
    process = next(one for one in found.processes if one.name == "MF0")
    requests, calls = found.requests, found.calls
    mine = (requests.pid == process.pid) & inside(requests.completed, found)
    opened = calls.of("vfs_open") & (calls.pid == process.pid) & inside(calls.end, found)
    assert 0 < mine.sum() < process.requests and 0 < opened.sum() < process.files
    length = int(requests.length[mine].sum())
    expected = (length / (T1 - T0), length / int(mine.sum()), int(opened.sum()) / (T1 - T0))
    assert process_stats.of_range(found, process, T0, T1) == pytest.approx(expected)
    for one in found.processes:
        assert process_stats.of_range(found, one, 0, found.seconds) == pytest.approx(
            (one.bandwidth, one.request_bytes, one.files_per_second))
    draw.draw(found, tmp_path / "a.svg", "title", T0, T1, ["MF0"])
    text = svg_text(tmp_path / "a.svg")
    assert f"{expected[0] / 2**20:.3g} MiB/s of {expected[1] / 1024:.3g} KiB" in text
    assert f"{expected[2]:.3g} files/s" in text
    # nothing of the range
    quiet = synth.Writer()
    quiet.request((0, 1000, 9000), 8, 4096)
    quiet.request((int(4e9), int(4e9) + 1000, int(4e9) + 9000), 8, 4096)
    assert process_stats.of_range(model_of(quiet), model_of(quiet).processes[0], T0, T1) == (0, 0, 0)


def test_the_empty_beginning_is_skipped(tmp_path: Path) -> None:
    found = model.build(parse.parse([Source("test", synth.paced(begin_s=5).together())]))
    draw.draw(found, tmp_path / "a.svg", "title", None, None, [])
    text = svg_text(tmp_path / "a.svg")
    assert f"title: 5.000 to {found.seconds:.3f} s" in text
    said = [float(rate) for rate in re.findall(r"([0-9.]+) MiB/s of", text)]
    assert said == pytest.approx([3] * 5, rel=0.02)
    # it is there for those who ask for it, and in no figure
    draw.draw(found, tmp_path / "b.svg", "title", 0, None, [])
    text = svg_text(tmp_path / "b.svg")
    assert "title: 0.000 to" in text
    said = [float(rate) for rate in re.findall(r"([0-9.]+) MiB/s of", text)]
    assert said == pytest.approx([3] * 5, rel=0.02)


def test_histograms_are_those_of_the_range(whole: dict[str, Any], found: Model) -> None:
    requests, calls = found.requests, found.calls
    driven = requests.finished() & inside(requests.completed, found)
    read = calls.of("vfs_read") & (calls.flags == 0) & inside(calls.end, found)
    for process in found.processes:
        for name, count in (("drive", driven & (requests.pid == process.pid)),
                            ("reads", read & (calls.pid == process.pid))):
            drawn = sum(bar.get_height() for bar in whole[f"{name}-{process.pid}"].patches)
            assert drawn == int(count.sum()), (name, process.name)


def test_legends_cover_nothing(compose: Callable[..., dict[str, Any]], whole: dict[str, Any], found: Model) -> None:
    for axes in (whole, compose(found, ["R0"])):
        drawn = next(iter(axes.values())).figure
        drawn.canvas.draw()
        legends = {name: one.get_legend().get_window_extent() for name, one in axes.items() if one.get_legend()}
        assert set(legends) == {"position", "tokens", "slack", "throughput"} & set(axes)
        title = drawn._suptitle.get_window_extent()
        for name, legend in legends.items():
            assert not any(legend.overlaps(one.get_window_extent()) for one in axes.values()), name
            assert not legend.overlaps(title), name
        assert not any(one.overlaps(other) for one, other in combinations(legends.values(), 2))
    names = [text.get_text() for text in whole["throughput"].get_legend().get_texts()]
    assert "reserved" in names and "S0 8590" in names


def test_reservations_are_lines_of_their_process(whole: dict[str, Any], found: Model) -> None:
    drawn = {line.get_ydata()[0]: line.get_color() for line in whole["throughput"].lines if len(line.get_xdata())}
    ranks = {process.name: rank for rank, process in enumerate(found.processes)}
    assert drawn == {rate / 2**20: f"C{ranks[name]}" for name, rate in RATES.items()}


def test_panels_are_those_of_the_processes(compose: Callable[..., dict[str, Any]], found: Model) -> None:
    axes = compose(found, ["S0"])
    assert [name for name in axes if "-" not in name] == [panel.name for panel in PANELS]
    # only the lowest panel has a time axis
    assert axes["throughput"].get_xlabel() == "seconds" and not axes["position"].get_xlabel()
    assert [text.get_text() for text in axes["throughput"].get_xticklabels() if text.get_visible()]
    # a range without such a message
    drawn = draw.compose(found, "the title", found.seconds + 1, found.seconds + 2, [])
    (slack,) = [axes for axes in drawn.axes if axes.get_label() == "slack"]
    assert "no such messages" in slack.texts[0].get_text()
    with pytest.raises(NoTraceError, match="no such process"):
        compose(found, ["nobody"])
