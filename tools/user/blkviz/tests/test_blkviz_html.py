# SPDX-License-Identifier: GPL-2.0
"""The page in a headless Chromium: what is drawn, pointed at, typed and filtered."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import cfq, draw, html, messages, model, parse, perfetto, process_stats, synth
from tools.user.blkviz.panels import PANELS, Panel, Values
from tools.user.blkviz.parse import Source

TOOL = Path(__file__).resolve().parents[1]
# A picture of each panel, to be looked at.
SCREENSHOTS = Path(os.environ.get("BLKVIZ_SCREENSHOTS", TOOL.parents[2] / "build/check/screenshots"))
# So much of a panel's left has the scale, where it has one.
SCALE = 70
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


def model_of(writer: synth.Writer, reserved: dict[str, int] | None = None) -> model.Model:
    return model.build(parse.parse([Source("test", writer.together())]), reserved=reserved)


@pytest.fixture(scope="module")
def found() -> model.Model:
    return model_of(synth.make(20000))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open the page of a model; whatever the browser complains of fails the test."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def opened(shown: model.Model, **options: Any) -> Any:
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(html.render(html.payload(shown, "the title")))
        context = browser.new_context(viewport={"width": 1400, "height": 1000}, offline=True, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(file.as_uri())
        tab.wait_for_selector("body[data-ready=yes]", timeout=30000)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def span(tab: Any) -> tuple[float, float]:
    t0, t1 = tab.evaluate("[blkviz.page.view.t0, blkviz.page.view.t1]")
    return t0, t1


def wait_for_figures(tab: Any) -> None:
    """Those of the processes come after the first picture. The page's policy forbids wait_for_function()."""
    for _ in range(600):
        if tab.evaluate("Boolean(blkviz.page.timings.firstFigures)"):
            return
        tab.wait_for_timeout(100)
    raise AssertionError("no figures after a minute")


def look_at(tab: Any, row: str, t0: float = 0, t1: float | None = None) -> None:
    """Bring a row into view, and [t0, t1] into the row; by default all of it."""
    tab.locator(row).scroll_into_view_if_needed()
    tab.evaluate("""async ([t0, t1]) => {
        blkviz.setView(t0, t1 ?? blkviz.page.view.duration);
        for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
    }""", [t0, t1])


def pixels(
    tab: Any, row: str, names: tuple[str, ...], left: int = SCALE, canvas: str = ".plot canvas", alpha: int = 200
) -> list[list[int]]:
    """For each line of pixels of a row's canvas, how many have each of these colours of the theme."""
    counts: list[list[int]] = tab.evaluate("""([selector, names, left, alpha]) => {
        const canvas = document.querySelector(selector), style = getComputedStyle(document.documentElement);
        const parts = (text) => text.match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16));
        const colours = names.map((name) => parts(style.getPropertyValue(`--${name}`)));
        // reading from a copy leaves the page's canvas as it is
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const { data, width, height } = copy.getImageData(left, 0, canvas.width - left, canvas.height);
        return Array.from({ length: height }, (_, y) => colours.map((colour) => {
            let count = 0;
            for (let i = 4 * y * width; i < 4 * (y + 1) * width; i += 4) {
                if (data[i + 3] > alpha && colour.every((part, k) => Math.abs(data[i + k] - part) < 9)) count++;
            }
            return count;
        }));
    }""", [f"{row} {canvas}", names, left, alpha])
    return counts


def coloured(tab: Any, row: str, names: tuple[str, ...], **where: Any) -> dict[str, int]:
    """How many pixels of a row have each of these colours of the theme."""
    return {name: sum(line[place] for line in pixels(tab, row, names, **where)) for place, name in enumerate(names)}


def words(tab: Any, row: str) -> list[str]:
    """What is written into a row's canvas."""
    said: list[str] = tab.evaluate("""async (selector) => {
        const canvas = document.querySelector(selector), said = [], kept = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
            if (this.canvas === canvas) said.push(text);
            kept.call(this, text, ...where);
        };
        const { t0, t1 } = blkviz.page.view;
        blkviz.setView(t0, t1);
        for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
        CanvasRenderingContext2D.prototype.fillText = kept;
        return said;
    }""", f"{row} .plot canvas")
    return said


def first_slice(found: model.Model, pid: int) -> tuple[int, int]:
    """A process's first slice, and something before and behind it."""
    i = int(np.flatnonzero(found.slices.pid == pid)[0])
    start, end = int(found.slices.start[i] - found.start), int(found.slices.end[i] - found.start)
    return start - (end - start) // 8, end + (end - start) // 8


def kinds_of(found: model.Model, t0: int, t1: int, pid: int | None = None) -> set[str]:
    """The kinds of the requests that were in the drive within a range."""
    requests = found.requests
    those = (requests.dispatched - found.start > t0) & (requests.completed - found.start < t1) & requests.finished()
    if pid is not None:
        those &= requests.pid == pid
    return {model.KINDS[kind] for kind in requests.kind()[those].tolist()}


def whole_requests(found: model.Model) -> list[int]:
    """A request of each process and kind, with a queue time and both ends; those of CFQ have a message."""
    requests, kinds = found.requests, found.requests.kind()
    chosen: dict[tuple[int, int], int] = {}
    for i in np.flatnonzero(requests.finished() & (requests.queued >= 0)).tolist():
        if any(found.events.action[event] == fmt.NOTE_MESSAGE for event in requests.events_of(i)):
            chosen.setdefault((int(requests.pid[i]), int(kinds[i])), i)
    return list(chosen.values())


def tooltip_rows(tab: Any) -> list[dict[str, str]]:
    """The table of the tooltip."""
    tab.wait_for_selector("#tooltip td.time")
    rows: list[dict[str, str]] = tab.evaluate("""[...document.querySelectorAll("#tooltip tr")].slice(1).map((row) =>
        Object.fromEntries([...row.cells].map((cell) => [cell.className.split(" ").pop(), cell.textContent])))""")
    return rows


def event_rows(found: model.Model, i: int) -> list[dict[str, str]]:
    """The events of a request as the tooltip has to tell them."""
    events, rows = found.events, []
    numbers = found.requests.events_of(i)
    for event in numbers:
        action, time = int(events.action[event]), int(events.time[event])
        note, category = action == fmt.NOTE_MESSAGE, int(events.category[event])
        rows.append({
            "time": f"{(time - found.start) / 1e9:.9f}", "after": f"{(time - int(events.time[numbers[0]])) / 1e3:.1f}",
            "event": f"{fmt.LETTERS[action]} {fmt.WORDS[action]}",
            "cpu": str(events.cpu[event]), "pid": str(events.pid[event]),
            "io": "" if note else ("W" if category & fmt.WRITE else "R") + ("S" if category & fmt.SYNC else ""),
            "where": "" if note else f"{events.sector[event]} + {events.length[event] // 512}",
            "message": events.text(event) if note else "",
        })
    return rows


def time_of(text: str, what: str) -> float:
    """A time in the text of a tooltip, in ns."""
    match = re.search(rf"{what} ([0-9.]+) (ns|µs|ms|s)\b", text)
    assert match, text
    return float(match[1]) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[match[2]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_panel_is_drawn(show: Callable[..., Any], found: model.Model, scheme: str) -> None:
    tab = show(found, color_scheme=scheme)
    assert tab.title() == "the title"
    assert tab.locator("#banner").is_hidden()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def check(row: str, expected: set[str]) -> None:
        assert expected, row
        counts = coloured(tab, row, tuple(sorted(expected)))
        assert min(counts.values()) > 3, (row, counts)
        tab.locator(row).screenshot(path=SCREENSHOTS / f"{row.strip('#')}-{scheme}.png")

    for process in found.processes:
        where = first_slice(found, process.pid)
        look_at(tab, f"#lane-{process.pid}", *where)
        check(f"#lane-{process.pid}", kinds_of(found, *where, process.pid) | ({"call"} if process.calls else set()))
    where = first_slice(found, 8592)
    look_at(tab, "#position", *where)
    check("#position", kinds_of(found, *where))
    panels = {"#headband": {"bw"},
              "#classes": {messages.CLASSES[cls].lower() for cls in found.requests.cls.tolist()},
              "#slices": {messages.CLASSES[cls].lower() for cls in found.slices.cls.tolist()},
              "#tokens": {f"p{rank}" for rank in range(len(set(found.series["tokens"].pid.tolist())))},
              "#slack": {f"p{rank}" for rank in range(len(set(found.series["slack"].pid.tolist())))},
              "#throughput": {f"p{rank}" for rank in range(6)}}
    for row, names in panels.items():
        look_at(tab, row)
        check(row, names)
    tab.locator("#time").screenshot(path=SCREENSHOTS / f"time-{scheme}.png")
    # what is left without a process is no data
    panels["#position"] = set(model.KINDS)
    panels["#slices"].add("ink")
    tab.fill("#filter", "nobody")
    assert tab.locator("section.lane").count() == 0
    for row, names in panels.items():
        look_at(tab, row)
        counts = coloured(tab, row, tuple(names))
        assert not any(counts.values()), (row, counts)


def test_requests_too_many_for_lines_are_shown_by_their_shares(show: Callable[..., Any]) -> None:
    writer = synth.Writer()
    for number in range(8000):
        sent = number * 10_000_000
        writer.request((sent, sent + 1000, sent + (6_000_000 if number % 4 == 0 else 500_000)), 8 * number, 4096)
    tab = show(model_of(writer))
    look_at(tab, "#lane-100")
    counts = coloured(tab, "#lane-100", ("cached", "sequential", "seek"), alpha=50)
    assert 3 * counts["seek"] == pytest.approx(counts["cached"], rel=0.1) and not counts["sequential"]
    # a few of them are lines
    look_at(tab, "#lane-100", 0, 2e9)
    tilted = coloured(tab, "#lane-100", ("cached", "seek"))
    assert min(tilted.values()) > 0 and sum(tilted.values()) < counts["seek"] / 2


def test_tokens_are_held_between_their_messages(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    times = np.sort(found.series["tokens"].time - found.start)
    gap = int(np.argmax(np.diff(times)))
    t0, t1 = int(times[gap]), int(times[gap + 1])
    assert set(found.series["tokens"].pid[found.series["tokens"].time - found.start <= t0]) == {8590, 8591}
    look_at(tab, "#tokens", t0 + (t1 - t0) / 3, t1 - (t1 - t0) / 3)
    counts = coloured(tab, "#tokens", ("p0", "p1"))
    assert min(counts.values()) > 400, counts
    # and bytes have a scale of bytes
    assert any(re.fullmatch(r"-?\d+ [KM]iB", word) for word in words(tab, "#tokens")), words(tab, "#tokens")


def test_legend_has_what_is_drawn(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    for row, at_the_edge in (("#tokens", True), ("#slack", False)):
        counts = [coloured(tab, row, ("p0",), left=left, canvas=".info canvas")["p0"] for left in (0, 25)]
        assert counts[0] > 3 and bool(counts[1]) == at_the_edge, (row, counts)
    # the filter creates the panels again
    tab.fill("#filter", "s")
    for row in ("#tokens", "#slack", "#throughput"):
        assert coloured(tab, row, ("p0",), left=0, canvas=".info canvas")["p0"] > 3, row


def test_throughput_is_grey_where_there_is_some_only(show: Callable[..., Any]) -> None:
    writer = synth.Writer()
    for start in (0, 900_000_000):
        for number in range(10):
            sent = start + number * 4_000_000
            writer.request((sent, sent + 1000, sent + 3_000_000), 1000 * number, 1 << 20)
    tab = show(model_of(writer))
    look_at(tab, "#throughput")
    # a fifth of the way from the beginning, well above the line of nothing and off the scale's lines
    seen = tab.evaluate("""() => {
        const canvas = document.querySelector("#throughput .plot canvas"), half = Math.floor(canvas.height / 2);
        const { data } = canvas.getContext("2d").getImageData(Math.floor(canvas.width / 5), 0, 2, canvas.height);
        return data.filter((value, i) => i % 4 === 3 && value && i >= half * 8).length;
    }""")
    assert seen < 20


def test_band_is_that_of_the_picture_and_of_the_processes_shown(
    show: Callable[..., Any], found: model.Model
) -> None:
    tab = show(found)

    def drawn() -> dict[int, tuple[int, int]]:
        band = tab.evaluate("""() => {
            const { trace, view, shown } = blkviz.page, { from, lowest, highest } = blkviz.headBand(trace, view, shown);
            return { from, lowest: [...lowest], highest: [...highest] };
        }""")
        pieces = enumerate(zip(band["lowest"], band["highest"], strict=True), band["from"])
        return {piece: (low, high) for piece, (low, high) in pieces if low <= high}

    def band_of(shown: model.Model) -> dict[int, tuple[int, int]]:
        pieces = enumerate(zip(*process_stats.head_band(shown), strict=True))
        return {piece: (low, high) for piece, (low, high) in pieces if low == low}

    look_at(tab, "#headband")
    assert drawn() == band_of(found)
    look_at(tab, "#headband", 3e8, 5e8)
    assert drawn() == {piece: band for piece, band in band_of(found).items() if 3 <= piece <= 5}
    tab.fill("#filter", "S0")
    look_at(tab, "#headband")
    mine = replace(found, requests=replace(found.requests, flags=np.where(
        found.requests.pid == 8590, found.requests.flags, model.NO_DISPATCH)))
    assert drawn() == band_of(mine) != band_of(found)


def test_band_is_filled_from_the_lowest_to_the_highest(show: Callable[..., Any]) -> None:
    writer = synth.Writer()
    # two thirds of the disk for a while, then its beginning alone
    for number in range(20):
        sent = number * 50_000_000
        writer.request((sent, sent + 1000, sent + 3_000_000), (number % 2) * 200_000 * (number < 10), 4096)
    writer.request((10**9, 10**9 + 1000, 10**9 + 2000), 300_000, 4096)
    tab = show(model_of(writer))
    look_at(tab, "#headband", 0, 1e9)
    wide, tall = (tab.locator("#headband .plot canvas").bounding_box()[side] for side in ("width", "height"))
    filled = pixels(tab, "#headband", ("bw",), left=0, alpha=40)
    lines = [y for y, (count,) in enumerate(filled) if count > 0.05 * wide]
    assert min(lines) == pytest.approx(8 + (tall - 16) / 3, abs=3) and max(lines) == pytest.approx(tall - 8, abs=3)
    # the border at the bottom goes on, the one at the top ends in the middle
    whole = [count for (count,) in pixels(tab, "#headband", ("bw",), left=0)]
    assert max(whole[int(tall) - 12:]) > 0.9 * wide and 0.4 * wide < max(whole[:int(tall) // 2]) < 0.6 * wide


def reserved_lines(tab: Any, colour: str) -> list[int]:
    """Lines of pixels above the line of nothing that have this colour for most of the throughput's width."""
    look_at(tab, "#throughput")
    lines = pixels(tab, "#throughput", (colour,))
    width = tab.locator("#throughput .plot canvas").bounding_box()["width"]
    return [y for y, (count,) in enumerate(lines[:-9]) if count > 0.5 * (width - SCALE)]


def test_reservation_is_told_and_drawn(show: Callable[..., Any]) -> None:
    rates = {"S0": 6 << 20, "S1": 8 << 20}
    shown = model_of(synth.make(10000, players=synth.default_players(streams=2)), rates)
    tab = show(shown)
    wait_for_figures(tab)
    for process in shown.processes:
        facts = tab.locator(f"#lane-{process.pid} dl").inner_text().split("\n")
        said = f"{rates[process.name] >> 20} MiB/s" if process.name in rates else "–"
        assert facts[facts.index("reserved") + 1] == said
    # these two only: other lanes would make the scale too large
    tab.fill("#filter", "859")
    ranks = {process.name: rank for rank, process in enumerate(one for one in shown.processes if one.name in rates)}
    places = {name: np.mean(reserved_lines(tab, f"p{rank}")) for name, rank in ranks.items()}
    bottom = tab.locator("#throughput .plot canvas").bounding_box()["height"] - 5
    assert (bottom - places["S0"]) / (bottom - places["S1"]) == pytest.approx(3 / 4, abs=0.05)
    assert {f"{name} reserved {rate >> 20} MiB/s" for name, rate in rates.items()} <= set(words(tab, "#throughput"))
    # none without a reservation
    tab = show(model_of(synth.make(10000, players=synth.default_players(streams=2, reserved=0))))
    tab.fill("#filter", "859")
    assert [reserved_lines(tab, f"p{rank}") for rank in ranks.values()] == [[], []]


def test_equal_reservations_are_all_seen(show: Callable[..., Any]) -> None:
    players = synth.default_players(streams=6)[:6] + synth.default_players()[-2:]
    shown = model_of(synth.make(6000, players=players), {f"S{number}": 5 << 20 for number in range(6)})
    tab = show(shown)
    tab.fill("#filter", "859")
    look_at(tab, "#throughput")
    names = tuple(f"p{rank}" for rank in range(6))
    lines = pixels(tab, "#throughput", names)[:-9]
    assert any(min(line) > 20 for line in lines), "a line is under another one"


def test_facts_of_a_process_are_those_of_the_trace(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    process = next(one for one in found.processes if one.name == "S0")
    wait_for_figures(tab)
    shown = tab.locator(f"#lane-{process.pid} .info").inner_text()
    assert f"{process.pid} {process.cls}" in shown
    figures = tab.evaluate("""(pid) => {
        const found = blkviz.page.laneRows.find((row) => row.lane.process.pid === pid).figures;
        return [found.bytes, found.requests, found.readCount];
    }""", process.pid)
    requests, calls = found.requests, found.calls
    mine = (requests.pid == process.pid) & requests.finished()
    reads = calls.of("vfs_read") & (calls.pid == process.pid) & (calls.flags == 0)
    assert figures == [int(requests.length[mine].sum()), int(mine.sum()), int(reads.sum())]


def test_the_empty_beginning_is_skipped_and_in_no_figure(show: Callable[..., Any]) -> None:
    def bandwidths() -> list[float]:
        """Of each lane, in MiB/s."""
        tab.wait_for_timeout(500)
        facts = [lane.inner_text().split("\n") for lane in tab.locator("section.lane dl").all()]
        said = [one[one.index("bandwidth") + 1] for one in facts]
        return [0 if one == "0 B/s" else float(one.removesuffix(" MiB/s")) for one in said]

    tab = show(model_of(synth.paced(begin_s=5)))
    wait_for_figures(tab)
    t0, t1 = span(tab)
    assert t0 == 5e9 and bandwidths() == pytest.approx([3] * 5, rel=0.02)
    # it is there, a drag away
    tab.evaluate("blkviz.setView(0, blkviz.page.view.duration)")
    assert span(tab)[0] == 0 and bandwidths() == pytest.approx([3] * 5, rel=0.02)
    tab.keyboard.press("0")
    assert span(tab) == (t0, t1)
    # of what is shown: half a pause and a burst
    tab.evaluate("blkviz.setView(7.5e9, 8.5e9)")
    assert bandwidths() == pytest.approx([3] * 5, rel=0.02)
    tab.evaluate("blkviz.setView(7.5e9, 7.9e9)")
    assert bandwidths()[0] == 0


def test_wheel_and_buttons_zoom_and_all_panels_follow(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    before = span(tab)
    canvas = tab.locator("#lane-8590 .plot canvas")
    box = canvas.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.keyboard.down("Control")
    for _ in range(8):
        tab.mouse.wheel(0, -240)
    tab.keyboard.up("Control")
    after = span(tab)
    assert after[1] - after[0] < (before[1] - before[0]) / 50
    middle = (before[0] + before[1]) / 2
    assert after[0] < middle < after[1]
    tab.click("#all")
    assert span(tab) == before
    tab.click("#zoom-in")
    assert span(tab)[1] - span(tab)[0] == pytest.approx(0.6 * (before[1] - before[0]))


def test_zoom_in_one_panel_is_drawn_in_the_others(show: Callable[..., Any], found: model.Model) -> None:
    def seen() -> dict[str, str]:
        tab.wait_for_timeout(100)
        texts = tab.evaluate("""(rows) => rows.map((row) =>
            document.querySelector(`${row} .plot canvas:last-of-type`).toDataURL())""", rows)
        return {row: hashlib.sha256(text.encode()).hexdigest() for row, text in zip(rows, texts, strict=True)}

    tab = show(found)
    rows = ["#time", "#lane-8590", "#position", "#headband", "#classes", "#slices", "#tokens", "#slack",
            "#throughput"]
    # one lane, so that all of them are on the screen
    tab.fill("#filter", "s0")
    assert tab.evaluate("document.querySelector('#throughput').getBoundingClientRect().bottom < innerHeight")
    before = seen()
    box = tab.locator("#position .plot canvas").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.keyboard.down("Control")
    tab.mouse.wheel(0, -240)
    tab.keyboard.up("Control")
    after = seen()
    assert [row for row in rows if after[row] == before[row]] == []
    tab.click("#all")
    assert seen() == before


def test_drag_pans(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    tab.evaluate("blkviz.setView(1e9, 2e9)")
    box = tab.locator("#lane-8590 .plot canvas").bounding_box()
    tab.mouse.move(box["x"] + 500, box["y"] + 30)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 400, box["y"] + 30, steps=4)
    tab.mouse.up()
    t0, t1 = span(tab)
    assert t1 - t0 == pytest.approx(1e9)
    assert t0 == pytest.approx(1e9 + 1e9 * 100 / box["width"], rel=0.01)


def test_keys_move_and_zoom(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    tab.evaluate("blkviz.setView(1e9, 2e9)")
    tab.keyboard.press("ArrowRight")
    assert span(tab)[0] == pytest.approx(1.1e9)
    tab.keyboard.press("ArrowLeft")
    assert span(tab)[0] == pytest.approx(1.0e9)
    tab.keyboard.press("+")
    assert span(tab)[1] - span(tab)[0] == pytest.approx(0.6e9)
    tab.keyboard.press("0")
    assert span(tab)[0] == 0


def test_tooltip_has_all_of_a_request(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    requests = found.requests
    chosen = whole_requests(found)
    assert {int(requests.pid[i]) for i in chosen} == {process.pid for process in found.processes}
    for i in chosen:
        sent, done = int(requests.dispatched[i] - found.start), int(requests.completed[i] - found.start)
        lane = f"#lane-{int(requests.pid[i])}"
        look_at(tab, lane, sent - (done - sent), done + (done - sent))
        box = tab.locator(f"{lane} .plot canvas").bounding_box()
        # the middle of its line: a third of the way from either edge, and half the height
        top, bottom = tab.evaluate("[blkviz.LANE_TOP, blkviz.LANE_BOTTOM]")
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + top + (box["height"] - top - bottom) / 2)
        rows = tooltip_rows(tab)
        assert rows == event_rows(found, i)
        after = {row["event"][0]: float(row["after"]) * 1e3 for row in rows}
        text = tab.locator("#tooltip").inner_text()
        queued, driven = int(requests.dispatched[i] - requests.queued[i]), done - sent
        assert after["D"] - after["Q"] == pytest.approx(queued, abs=101)
        assert after["C"] - after["D"] == pytest.approx(driven, abs=101)
        assert time_of(text, "queue to dispatch") == pytest.approx(queued, rel=0.006)
        assert time_of(text, "dispatch to completion") == pytest.approx(driven, rel=0.006)
        assert model.KINDS[int(requests.kind()[i])] in text.split("\n")[1]
        tab.mouse.move(box["x"] - 20, box["y"])
        assert tab.locator("#tooltip").is_hidden()


def test_tooltip_of_a_mark_of_the_head(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    requests = found.requests
    low, high = requests.sector.min(), (requests.sector + requests.length // 512).max()
    for kind in (model.CACHED, model.SEQUENTIAL, model.SEEK):
        i = int(np.flatnonzero(requests.kind() == kind)[100])
        done = int(requests.completed[i] - found.start)
        look_at(tab, "#position", done - 4e6, done + 4e6)
        box = tab.locator("#position .plot canvas").bounding_box()
        part = (int(requests.sector[i] + requests.length[i] // 512) - low) / (high - low)
        x, y = box["width"] / 2, box["height"] - 8 - part * (box["height"] - 16)
        lines = pixels(tab, "#position", (model.KINDS[kind],), left=int(x) - 1)
        assert lines[int(y)][0], "there is no mark"
        tab.mouse.move(box["x"] + x, box["y"] + y)
        assert tooltip_rows(tab) == event_rows(found, i)
        assert tab.evaluate("blkviz.page.selected") == i
        tab.mouse.move(box["x"] + x, box["y"] + (y + 60 if y < 95 else y - 60))
        assert tab.locator("#tooltip").is_hidden()


def test_keys_go_from_request_to_request(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    tab.locator("#lane-8590 .plot canvas").focus()
    tab.keyboard.press("n")
    first = tab.evaluate("blkviz.page.selected")
    tab.keyboard.press("n")
    second = tab.evaluate("blkviz.page.selected")
    mine = np.flatnonzero(found.requests.pid == 8590).tolist()
    assert [first, second] == mine[:2]
    tab.keyboard.press("p")
    assert tab.evaluate("blkviz.page.selected") == first
    tab.keyboard.press("Escape")
    assert tab.evaluate("blkviz.page.selected") == -1


def test_late_only_leaves_the_requests_that_missed_their_deadlines(show: Callable[..., Any]) -> None:
    writer = synth.Writer()
    for number, pid in enumerate((7, 8, 7, 9)):
        sent, sector, left = 100_000_000 * number, 1000 * number, {7: 1, 8: 50_000, 9: None}[pid]
        writer.event(sent, fmt.QUEUE, sector, 4096, pid=pid)
        writer.message(sent + 1, f"cfq {pid}S BW2 dispatch {sector}+8 queued 0 in drive 1")
        if left:
            writer.message(sent + 1, f"cfq {pid}S BW2 tokens 5 rate 9000 deadline_us {left * (1 if sent else 90_000)}")
        writer.event(sent + 2, fmt.ISSUE, sector, 4096, pid=pid)
        writer.event(sent + 4_000_000, fmt.COMPLETE, sector, 4096, pid=pid)
    tab = show(model_of(writer))
    assert tab.evaluate("[...document.querySelectorAll('[id^=lane-]')].map((lane) => lane.id)") == [
        "lane-7", "lane-8", "lane-9"]
    drawn = "page.trace.lanes.map((lane) => [lane.process.pid, lane.drawn.rows.length])"
    assert dict(tab.evaluate(f"blkviz.{drawn}")) == {7: 2, 8: 1, 9: 1}
    tab.check("#late")
    assert tab.evaluate("[...document.querySelectorAll('[id^=lane-]')].map((lane) => lane.id)") == ["lane-7"]
    assert dict(tab.evaluate(f"blkviz.{drawn}")) == {7: 1, 8: 0, 9: 0}
    look_at(tab, "#lane-7")
    tab.uncheck("#late")
    assert dict(tab.evaluate(f"blkviz.{drawn}")) == {7: 2, 8: 1, 9: 1}


def test_late_only_is_not_offered_where_nothing_is_late(show: Callable[..., Any]) -> None:
    tab = show(model_of(synth.make(2000, messages=False)))
    assert not tab.is_visible("#late")


def test_filter_leaves_the_processes_that_match(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    tab.fill("#filter", "s0")
    assert tab.locator("section.lane").count() == 1
    assert "S0" in tab.locator("section.lane").inner_text()
    tab.fill("#filter", "")
    assert tab.locator("section.lane").count() == len(found.processes)
    tab.fill("#filter", "nobody")
    assert tab.locator("section.lane").count() == 0


def test_dark_is_followed_and_can_be_switched(show: Callable[..., Any], found: model.Model) -> None:
    def paper(tab: Any) -> str:
        colour: str = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return colour

    light, dark = show(found, color_scheme="light"), show(found, color_scheme="dark")
    assert paper(light) != paper(dark)
    light.click("#theme")
    assert paper(light) == paper(dark)


def test_what_could_not_be_read_is_in_a_banner(show: Callable[..., Any]) -> None:
    data = synth.make(2000).together()
    damaged = parse.parse([Source("cut.blktrace.0", data[:len(data) // 2 - 7])])
    tab = show(model.build(damaged))
    assert "cut.blktrace.0" in tab.locator("#banner").inner_text()


def test_lost_events_are_shown_where_they_were_lost(show: Callable[..., Any]) -> None:
    writer = synth.make(2000)
    writer.lose(0, 50)
    for number in range(20):
        start = 10_000_000_000 + number * 10_000_000
        writer.request((start, start + 1000, start + 3_000_000), 1000 * number, 4096)
    shown = model_of(writer)
    assert shown.lost
    tab = show(shown)
    row = f"#lane-{shown.processes[0].pid}"
    look_at(tab, row)
    assert coloured(tab, row, ("paper",))["paper"] > 300, "the label cannot be read over what is hatched"
    assert tab.evaluate("blkviz.page.trace.head.lost.length") == len(shown.lost)
    assert "lost" in tab.locator("#banner").inner_text()


def test_text_of_a_trace_is_no_markup(show: Callable[..., Any]) -> None:
    writer = synth.Writer()
    writer.process(0, 100, "<img src=x>")
    writer.message(1, "</script><script>window.hacked=1</script>")
    writer.request((1000, 2000, 9000), 8, 4096, pid=100)
    tab = show(model_of(writer))
    assert tab.evaluate("window.hacked") is None
    assert "<img" in tab.locator("section.lane").first.inner_text()


def test_page_asks_nothing_of_a_network(found: model.Model) -> None:
    text = html.render(html.payload(found, "x"))
    assert "connect-src 'none'" in text
    assert "http://" not in text and "https://" not in text


def test_bench_page_measures_both_views() -> None:
    pytest.importorskip("playwright.sync_api")
    done = subprocess.run([TOOL.parents[1] / "dev/bench/bench", "page", "--events", "3000", "--json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["events"] >= 3000 and figures["page_mb"] < 1
    assert figures["first_picture_s"] > 0
    for view in ("part", "full"):
        assert figures[f"{view}_frame_ms_median"] > 0 and figures[f"{view}_draw_ms_median"] > 0


def missing(panels: Sequence[Panel], in_the_page: Sequence[str]) -> list[str]:
    """What a panel of the table still needs, by the place."""
    places = []
    for panel in panels:
        if panel.values:
            continue
        if panel.name not in draw.PAINTERS:
            places.append(f"draw.py: PAINTERS has no {panel.name}")
        if panel.name not in in_the_page:
            places.append(f"viewer/panels.js: PAINTERS has no {panel.name}")
        if panel.perfetto and panel.name not in perfetto.TRACKS:
            places.append(f"perfetto.py: TRACKS has no {panel.name}; or say perfetto=False")
    return places


def test_every_panel_of_the_table_is_drawn_everywhere(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    in_the_page = tab.evaluate("Object.keys(blkviz.PAINTERS)")
    assert missing(PANELS, in_the_page) == []
    rows = tab.locator("section.panel").evaluate_all("(rows) => rows.map((row) => row.id)")
    assert rows == [panel.name for panel in PANELS]
    # what of a new one is missing
    new = replace(PANELS[0], name="seeks")
    assert [place.split(":")[0] for place in missing([*PANELS, new], in_the_page)] == [
        "draw.py", "viewer/panels.js", "perfetto.py"]


def test_a_panel_of_values_is_a_row_of_the_table(
    show: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    new = Panel("waits", "Waits", "How long CFQ waits.", 60, 0.9, values=Values("window_us", "wait", "us", line=False))
    for module in (cfq, draw, html, perfetto):
        monkeypatch.setattr(module, "PANELS", (*PANELS, new), raising=False)
    monkeypatch.setitem(cfq.KEYS, "waits", "window_us")
    shown = model_of(synth.make(6000))
    assert len(shown.series["waits"])
    tab = show(shown)
    look_at(tab, "#waits")
    assert coloured(tab, "#waits", ("p0",))["p0"] > 3
    assert "waits" in [axes.get_label() for axes in draw.compose(shown, "title", 0, shown.seconds, []).axes]
    assert '"name":"window_us ' in perfetto.document(shown)
