# SPDX-License-Identifier: GPL-2.0
"""Measure the size and speed of blkviz's page of a long trace: a report, not a test.

Opens the page of a synthetic trace of a million events, or of TRACE, in headless
Chromium. Reports the size of the file (goal: below 40 MB), the time until the first
drawing (goal: below 3 s), and the time of a frame while panning, with the whole trace
and with a twentieth of it in view. `bench page` runs it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tools.base.cli import ToolError

# With the whole trace in view the page can pan by a hundredth: pan forth and back.
PAN = """async (part) => {
    const { view, timings } = blkviz.page, frames = [];
    blkviz.setView(0, view.duration * part);
    await new Promise(requestAnimationFrame);
    const from = timings.draws.length;
    let last = performance.now();
    for (let n = 0; n < 100; n++) {
        const step = part < 1 ? view.span / 50 : view.span / 2000 * (n % 20 < 10 ? 1 : -1);
        blkviz.setView(view.t0 + step, view.t1 + step);
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - last);
        last = performance.now();
    }
    return {frames, draws: timings.draws.slice(from)};
}"""
VIEWS = {"full": (1, "the whole trace"), "part": (1 / 20, "a twentieth of it")}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", nargs="?", metavar="TRACE", help="a recording to use instead of a synthetic trace")
    parser.add_argument("--events", type=int, default=1_000_000,
                        help="size of the synthetic trace (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def command(args: argparse.Namespace) -> int:
    # numpy is required only here, not by other commands of bench
    from tools.user.blkviz import html, model, parse, synth, trace_files
    from tools.user.blkviz.parse import Source

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        raise ToolError("chromium is not installed (Debian: apt install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise ToolError("playwright is not installed: run make venv") from None
    figures: dict[str, float] = {}
    if args.trace:
        trace, notes = trace_files.read([args.trace])
    else:
        print(f"bench: generating a trace of {args.events:,} events", file=sys.stderr)
        data = synth.make(args.events).together()
        figures["trace_mb"] = len(data) / 1e6
        trace, notes = parse.parse([Source("synthetic", data)]), trace_files.Notes()
    begin = time.monotonic()
    found = model.build(trace, notes)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html.render(html.payload(found, "bench")))
        figures |= {"events": len(found.events), "made_s": time.monotonic() - begin,
                    "page_mb": file.stat().st_size / 1e6}
        with sync_playwright() as running:
            browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            tab = browser.new_page(viewport={"width": 1400, "height": 1000})
            tab.goto(file.as_uri())
            tab.wait_for_selector("body[data-ready=yes]", timeout=120_000)
            tab.wait_for_timeout(5000)
            figures["first_picture_s"] = tab.evaluate("blkviz.page.timings.firstPicture") / 1000
            for name, (part, _) in VIEWS.items():
                for what, times in tab.evaluate(PAN, part).items():
                    figures |= {f"{name}_{what[:-1]}_ms_median": statistics.median(times),
                                f"{name}_{what[:-1]}_ms_worst": max(times)}
            browser.close()
    if args.json:
        print(json.dumps(figures, indent=1))
        return 0
    print(f"{figures['events']:,.0f} events: page written in {figures['made_s']:.1f} s, {figures['page_mb']:.1f} MB "
          f"(goal: below 40), first drawing {figures['first_picture_s']:.2f} s (goal: below 3)")
    for name, (_, what) in VIEWS.items():
        print(f"panning {what}: a frame every {figures[f'{name}_frame_ms_median']:.0f} ms "
              f"(worst {figures[f'{name}_frame_ms_worst']:.0f}), drawn in {figures[f'{name}_draw_ms_median']:.1f} ms "
              f"(worst {figures[f'{name}_draw_ms_worst']:.1f})")
    return 0
