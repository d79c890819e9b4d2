# SPDX-License-Identifier: GPL-2.0
"""The page in a headless Chromium: what is drawn, pointed at, typed and filtered."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blkviz import model, page, parse, records, synth
from blkviz.parse import Source

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


def model_of(writer: synth.Writer) -> model.Model:
    return model.build(parse.parse([Source("test", writer.together())]))


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
        file.write_text(page.html(page.payload(shown, "the title")))
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


def inked(tab: Any, selector: str) -> int:
    """How many different colours a canvas holds: 1 is an empty one."""
    count: int = tab.evaluate("""(selector) => {
        const canvas = document.querySelector(selector);
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 4).join());
        return seen.size;
    }""", selector)
    return count


def whole_request(found: model.Model) -> int:
    """A request with a queue time, both ends and a message of CFQ."""
    requests = found.requests
    for i in np.flatnonzero(requests.finished() & (requests.queued >= 0)).tolist():
        if any(found.events.action[event] == records.NOTE_MESSAGE for event in requests.events_of(i)):
            return i
    raise AssertionError("no such request")


def test_every_panel_is_drawn(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    assert tab.title() == "the title"
    lanes = [f"#lane-{process.pid}" for process in found.processes]
    for row in [*lanes, "#position", "#classes", "#slices", "#tokens", "#deadlines", "#throughput"]:
        tab.locator(row).scroll_into_view_if_needed()
        tab.wait_for_function("(row) => document.querySelector(`${row} .plot canvas`).width > 400", arg=row)
        tab.evaluate("blkviz.setView(0, blkviz.page.view.duration)")
        tab.wait_for_timeout(60)
        assert inked(tab, f"{row} .plot canvas") > 3, row
    assert tab.locator("#banner").is_hidden()


def test_facts_of_a_process_are_those_of_the_trace(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    process = next(one for one in found.processes if one.name == "S0")
    tab.wait_for_function("blkviz.page.timings.firstFigures")
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


def test_tooltip_has_all_events_of_the_request(show: Callable[..., Any], found: model.Model) -> None:
    tab = show(found)
    i = whole_request(found)
    requests, events = found.requests, found.events
    sent, done = int(requests.dispatched[i] - found.start), int(requests.completed[i] - found.start)
    tab.evaluate("([t0, t1]) => blkviz.setView(t0 - (t1 - t0), t1 + (t1 - t0))", [sent, done])
    tab.wait_for_timeout(100)
    lane = f"#lane-{int(requests.pid[i])}"
    tab.locator(lane).scroll_into_view_if_needed()
    box = tab.locator(f"{lane} .plot canvas").bounding_box()
    # the middle of its line: a third of the way from either edge, and half the height
    top, bottom = tab.evaluate("[blkviz.LANE_TOP, blkviz.LANE_BOTTOM]")
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + top + (box["height"] - top - bottom) / 2)
    tab.wait_for_selector("#tooltip td.time")
    rows = tab.evaluate("""[...document.querySelectorAll("#tooltip tr")].slice(1).map((row) =>
        Object.fromEntries([...row.cells].map((cell) => [cell.className.split(" ").pop(), cell.textContent])))""")
    numbers = requests.events_of(i)
    assert len(rows) == len(numbers)
    for row, event in zip(rows, numbers, strict=True):
        action = int(events.action[event])
        assert row["time"] == f"{int(events.time[event] - found.start) / 1e9:.9f}"
        assert row["event"] == f"{records.LETTERS[action]} {records.WORDS[action]}"
        assert (int(row["cpu"]), int(row["pid"])) == (int(events.cpu[event]), int(events.pid[event]))
        if action == records.NOTE_MESSAGE:
            assert row["message"] == events.text(event)
        else:
            assert row["where"] == f"{int(events.sector[event])} + {int(events.length[event]) // 512}"


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
    text = page.html(page.payload(found, "x"))
    assert "connect-src 'none'" in text
    assert "http://" not in text and "https://" not in text
