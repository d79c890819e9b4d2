// SPDX-License-Identifier: GPL-2.0
// The page: rows, view, mouse and keys, filter, theme, and updates in live mode.

const MOST_LANES = 40,
  FIRST_LANES = 12,
  FEW = 6;
/** An element of viewer.html. @type {(id: string) => HTMLElement} */
const $ = (id) => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no #${id}`);
  return found;
};
const filter = /** @type {HTMLInputElement} */ ($("filter"));
const late = /** @type {HTMLInputElement} */ ($("late"));
const started = performance.now();

// load() sets trace, view and the selection
const page = /** @type {Page} */ (
  /** @type {Partial<Page>} */ ({
    tooltip: new Tooltip($("tooltip")),
    selected: -1,
    focusLane: -1,
    checked: new Set(),
    touched: false,
    rows: [],
    laneRows: [],
    shownLanes: [],
    few: [],
    cursor: -1,
    drawing: false,
    figuresTimer: 0,
    timings: { draws: [] },
  })
);

// --- building ---

/**
 * @param {string} id @param {string} className @param {number} height @param {string} [title]
 * @param {string} [text] @returns {Row}
 */
function buildRow(id, className, height, title, text) {
  const row = add($("rows"), "section", undefined, `row ${className}`);
  row.id = id;
  const info = add(row, "div", undefined, "info"),
    plot = add(row, "div", undefined, "plot");
  plot.style.height = `${height}px`;
  if (title) add(info, "h2", title);
  if (text) add(info, "p", text);
  const canvas = add(plot, "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title || id);
  canvas.tabIndex = 0;
  return { id, row, info, plot, canvas, draw: () => {} };
}

function buildRows() {
  const { trace } = page;
  $("rows").replaceChildren();
  page.rows = [];
  page.laneRows = [];
  const time = buildRow("time", "time", 52);
  time.plot.replaceChildren();
  page.overviewCanvas = add(time.plot, "canvas");
  page.axisCanvas = add(time.plot, "canvas");
  for (const canvas of [page.overviewCanvas, page.axisCanvas]) canvas.style.height = "26px";
  page.overviewCanvas.setAttribute("role", "img");
  page.overviewCanvas.setAttribute("aria-label", "Throughput over the whole recording; the frame is the range shown");
  page.overviewCanvas.title = "The whole recording: click or drag to move the view";
  add(time.info, "h2", "", "span").id = "range";
  add(time.info, "p", "", "cursor").id = "cursor";
  time.draw = () => {
    drawOverview(page.overviewCanvas, trace, page.view);
    drawAxis(page.axisCanvas, page.view);
  };
  page.rows.push(time);
  watchOverview(page.overviewCanvas);
  for (const place of page.shownLanes) buildLane(trace.lanes[place]);
  buildPanels();
  for (const row of page.rows.slice(1)) watchPlot(row);
  watchPlot({ ...time, canvas: page.axisCanvas });
}

/** @param {Lane} lane */
function buildLane(lane) {
  const { process } = lane,
    built = buildRow(`lane-${process.pid}`, "lane", 88),
    histogram = histogramsOf(built, process.name);
  /** @type {LaneRow} */
  const row = Object.assign(built, {
    lane,
    values: {},
    reads: histogram("read() times", "read() times: how long the system call took, logarithmic, 10 µs to 10 s"),
    drive: histogram("Dispatch to completion", "dispatch to completion: time in the drive, cut at 20 ms"),
  });
  row.canvas.setAttribute(
    "aria-label",
    `Time line of ${process.name} (${process.pid}): n and p select the next and previous request`,
  );
  const facts = document.createElement("div");
  row.info.prepend(facts);
  const name = add(facts, "h2", process.name);
  name.title = `${process.name}, process ${process.pid}`;
  const list = add(facts, "dl");
  for (const [key, title] of [
    ["pid", "PID"],
    ["bandwidth", "bandwidth"],
    ["reserved", "reserved"],
    ["request", "request"],
    ["files", "files/s"],
  ]) {
    add(list, "dt", title);
    row.values[key] = add(list, "dd", "–");
  }
  row.values.pid.textContent = process.pid + (process.cls ? ` ${process.cls}` : "");
  row.values.reserved.textContent = process.reserved ? formatBytes(process.reserved, "/s") : "–";
  row.draw = () => drawLane(row.canvas, page.trace, lane, page.view, page.selected);
  page.rows.push(row);
  page.laneRows.push(row);
}

function buildPanels() {
  const { trace } = page;
  for (const panel of trace.head.panels) {
    const row = buildRow(panel.name, "panel", panel.pixels, panel.title, panel.text);
    const paint = painterOf(panel);
    row.draw = () => paint(row.canvas, trace, page.view, page.shown, page.few);
    page.rows.push(row);
    if (panel.values) seriesLegend(row, panel);
    if (panel.name === "throughput")
      lineLegend(
        row.info,
        page.few.map((place) => trace.processes[place]),
      );
  }
}

/**
 * Adds canvases for histograms of a process to a row.
 * @param {Row} row @param {string} name
 */
function histogramsOf(row, name) {
  /** @param {string} title @param {string} about */
  return (title, about) => {
    const box = add(row.info, "div", undefined, "histogram"),
      canvas = add(box, "canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${title} of ${name}`);
    canvas.title = about;
    return canvas;
  };
}

/**
 * The function that draws a panel of the table in panels.py.
 * @param {Panel} panel @returns {Painter}
 */
function painterOf(panel) {
  if (panel.note) return (canvas) => note(canvas, panel.note);
  if (panel.values) return (canvas, trace, view, shown) => drawSeries(canvas, trace, view, shown, panel);
  return PAINTERS[panel.name];
}

/** @param {HTMLCanvasElement} canvas @param {string} text */
function note(canvas, text) {
  const s = surface(canvas);
  if (!s) return;
  s.g.fillStyle = theme.colours.soft;
  s.g.fillText(text, 6, s.height / 2);
}

/** @param {Row} row @param {Panel} panel */
function seriesLegend(row, { name, values }) {
  const { trace } = page,
    pids = [...trace.seriesRows(name).keys()].slice(0, FEW);
  lineLegend(
    row.info,
    pids.map((pid) => trace.processes[trace.byPid.get(pid) ?? -1] || { name: "?", pid }),
    !values?.line,
  );
}

/**
 * Adds a legend: the name of each process with its line or mark.
 * @param {HTMLElement} parent @param {{ name: string; pid: number }[]} processes @param {boolean} [marks]
 */
function lineLegend(parent, processes, marks = false) {
  const box = add(parent, "p");
  processes.forEach((process, rank) => {
    const entry = add(box, "span");
    entry.style.cssText = "display:inline-flex;gap:4px;align-items:center;margin-right:12px";
    const canvas = add(entry, "canvas");
    canvas.style.cssText = "width:30px;height:10px";
    canvas.dataset.rank = String(rank);
    if (marks) canvas.dataset.mark = String(rank % 3);
    add(entry, "span", `${process.name} ${process.pid}`);
  });
}

function paintLegends() {
  /** @type {NodeListOf<HTMLCanvasElement>} */
  const canvases = document.querySelectorAll("canvas[data-rank]");
  for (const canvas of canvases) {
    const s = surface(canvas),
      rank = Number(canvas.dataset.rank) % 6;
    if (!s) continue;
    s.g.strokeStyle = s.g.fillStyle = theme.colours[`p${rank}`];
    if (canvas.dataset.mark) {
      mark(s.g, Number(canvas.dataset.mark), 15, 5, 3);
      continue;
    }
    s.g.lineWidth = 2;
    s.g.setLineDash(PROCESS_DASHES[rank]);
    s.g.beginPath();
    s.g.moveTo(0, 5);
    s.g.lineTo(30, 5);
    s.g.stroke();
  }
  const { cachedBelow, seekAbove } = page.trace.head;
  /** @type {Record<string, string>} */
  const words = {
    cached: `cached, below ${formatSpan(cachedBelow)}`,
    sequential: `sequential, ${cachedBelow / 1e6} to ${formatSpan(seekAbove)}`,
    seek: `seek, above ${formatSpan(seekAbove)}`,
    unfinished: "unfinished: dispatch or completion missing",
  };
  $("legend").replaceChildren();
  KINDS.forEach((name, k) => {
    const entry = add($("legend"), "span"),
      canvas = add(entry, "canvas");
    canvas.style.cssText = "width:52px;height:14px";
    const s = surface(canvas);
    if (s) {
      s.g.fillStyle = theme.patterns[name];
      s.g.fillRect(0, 1, 18, 12);
      paintRequestSample(s.g, k);
    }
    add(entry, "span", words[name]);
  });
  const entry = add($("legend"), "span"),
    canvas = add(entry, "canvas");
  canvas.style.cssText = "width:26px;height:14px";
  const s = surface(canvas);
  if (s) {
    s.g.fillStyle = theme.colours.call;
    s.g.fillRect(1, 1, 24, 12);
    s.g.fillStyle = theme.colours["border-call"];
    s.g.fillRect(0, 0, 1.5, 14);
    s.g.fillRect(24.5, 0, 1.5, 14);
  }
  add(entry, "span", page.trace.calls ? "in a system call" : "in a system call (none in this trace: no VFS messages)");
}

/** @param {Context} g @param {number} k */
function paintRequestSample(g, k) {
  g.strokeStyle = g.fillStyle = theme.colours[KINDS[k]];
  g.lineWidth = 1.4;
  g.setLineDash(DASHES[KINDS[k]]);
  g.beginPath();
  g.moveTo(22, 1);
  g.lineTo(44, 10);
  g.stroke();
  g.setLineDash([]);
  mark(g, k, 46, 10, 2.2);
}

function showHead() {
  const { head } = page.trace;
  $("title").textContent = head.title;
  const when = head.clock ? `, ${new Date(head.clock * 1000).toISOString().replace("T", " ").slice(0, 19)} UTC` : "";
  $("facts").textContent =
    `device ${head.device}${when}, ${formatSpan(head.duration)}, ${head.events} events, ` +
    `${page.trace.requests} requests, ${page.trace.calls} system calls, ${head.processes.length} processes`;
  const lines = [...head.problems, ...head.hints];
  const banner = $("banner");
  banner.hidden = !lines.length;
  banner.className = head.problems.length ? "" : "hint";
  banner.replaceChildren();
  if (head.problems.length)
    add(banner, "strong", "Incomplete: some events could not be read or recorded.");
  if (lines.length === 1) add(banner, "div", lines[0]);
  else if (lines.length) {
    const list = add(banner, "ul");
    for (const line of lines.slice(0, 8)) add(list, "li", line);
    if (lines.length > 8) add(list, "li", `and ${lines.length - 8} more`);
  }
}

// --- which processes ---

function choose() {
  const { trace } = page,
    text = filter.value.trim().toLowerCase();
  const places = trace.processes
    .map((_, place) => place)
    .filter((place) => {
      const process = trace.processes[place];
      if (late.checked && !process.missed) return false;
      return text ? `${process.name} ${process.pid}`.toLowerCase().includes(text) : page.checked.has(process.pid);
    });
  page.shown = new Uint8Array(trace.processes.length);
  for (const place of places) page.shown[place] = 1;
  page.shownLanes = places.slice(0, MOST_LANES);
  page.few = places.slice(0, FEW);
  $("chosen").textContent =
    `${places.length} of ${trace.processes.length} shown` + (places.length > MOST_LANES ? `, ${MOST_LANES} lanes` : "");
  buildRows();
  paintLegends();
  changed();
}

function buildChoices() {
  const { trace } = page,
    box = $("choices");
  box.replaceChildren();
  const sets = add(box, "div", undefined, "sets");
  /** @param {string} title @param {number} count */
  const choice = (title, count) =>
    add(sets, "button", title).addEventListener("click", () => {
      page.touched = true;
      page.checked = new Set(trace.processes.slice(0, count).map((process) => process.pid));
      buildChoices();
      choose();
    });
  choice("All", Infinity);
  choice(`First ${FIRST_LANES}`, FIRST_LANES);
  choice("None", 0);
  for (const process of trace.processes.slice(0, 300)) {
    const line = add(box, "label"),
      tick = add(line, "input");
    tick.type = "checkbox";
    tick.checked = page.checked.has(process.pid);
    tick.addEventListener("change", () => {
      page.touched = true;
      if (tick.checked) page.checked.add(process.pid);
      else page.checked.delete(process.pid);
      choose();
    });
    line.append(` ${process.name} (${process.pid}), ${formatBytes(process.bytes)}`);
  }
  if (trace.processes.length > 300) add(box, "p", `and ${trace.processes.length - 300} more: use the filter`);
}

// --- drawing ---

/** @param {boolean} [now] */
function changed(now = false) {
  if (now) {
    draw();
    return;
  }
  if (page.drawing) return;
  page.drawing = true;
  requestAnimationFrame(() => {
    page.drawing = false;
    draw();
  });
}

function draw() {
  const from = performance.now(),
    { view } = page;
  if (!page.rows.length) return;
  view.width = page.axisCanvas.clientWidth || 1;
  for (const row of page.rows) {
    const box = row.plot.getBoundingClientRect();
    if (box.bottom > -50 && box.top < innerHeight + 50) row.draw();
  }
  $("range").textContent =
    `${formatTime(view.t0, view.span / 1000)} – ${formatTime(view.t1, view.span / 1000)} s (${formatSpan(view.span)})`;
  drawCursor();
  page.timings.draws.push(performance.now() - from);
  if (page.timings.draws.length > 2000) page.timings.draws.shift();
  clearTimeout(page.figuresTimer);
  page.figuresTimer = setTimeout(showFigures, page.timings.firstPicture ? 120 : 0);
}

function showFigures() {
  const { view, trace } = page,
    t0 = Math.max(0, view.t0),
    t1 = Math.min(trace.duration, view.t1);
  for (const row of page.laneRows) {
    const found = trace.figures(row.lane, t0, t1);
    row.figures = found;
    row.values.bandwidth.textContent = formatBytes(found.bandwidth, "/s");
    row.values.request.textContent = found.requests ? formatBytes(found.requestBytes) : "–";
    row.values.files.textContent = found.calls ? short(found.filesPerSecond) : "–";
    drawHistogram(
      row.reads,
      found.reads,
      found.readCount,
      () => "",
      "10 µs",
      "read() 10 s",
      trace.calls ? "no read()" : "read(): no VFS",
    );
    drawHistogram(
      row.drive,
      found.drive,
      found.driveCount,
      (bin) => driveKind(trace, bin),
      "0",
      "D2C ≥20 ms",
      "no request",
    );
  }
  page.timings.firstFigures ||= performance.now() - started;
}

/** Draws the vertical line at the mouse through all panels. */
function drawCursor() {
  for (const row of page.rows) {
    row.line ||= add(row.plot, "div");
    row.line.style.cssText =
      "position:absolute;top:0;bottom:0;width:1px;background:var(--accent);opacity:.7;pointer-events:none;" +
      `left:${page.cursor}px;display:${page.cursor < 0 ? "none" : "block"}`;
  }
  $("cursor").textContent = page.cursor < 0 ? "" : `at ${formatTime(page.view.time(page.cursor))} s`;
}

// --- moving ---

/** @param {number} t0 @param {number} t1 */
function setView(t0, t1) {
  page.view.set(t0, t1);
  page.following = page.view.t1 >= page.view.duration;
  changed();
}
/** @param {number} factor @param {number} [at] */
function zoom(factor, at = (page.view.t0 + page.view.t1) / 2) {
  const { t0, t1 } = page.view;
  setView(at - (at - t0) * factor, at + (t1 - at) * factor);
}
/** @param {number} part */
function pan(part) {
  const way = page.view.span * part;
  setView(page.view.t0 + way, page.view.t1 + way);
}

/** @param {Row} row */
function watchPlot(row) {
  const { canvas, plot } = row;
  /** @type {Drag | null} */
  let drag = null;
  canvas.addEventListener(
    "wheel",
    (event) => {
      const x = event.clientX - canvas.getBoundingClientRect().left;
      if (event.ctrlKey || event.metaKey)
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 250))), page.view.time(x));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        pan((event.deltaX || event.deltaY) / page.view.width);
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = {
      x: event.clientX,
      t0: page.view.t0,
      t1: page.view.t1,
      moved: false,
      select: event.shiftKey,
      from: event.clientX - canvas.getBoundingClientRect().left,
    };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect(),
      x = event.clientX - box.left;
    page.cursor = x;
    if (drag && Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
    if (drag && drag.moved && !drag.select) {
      const way = ((drag.x - event.clientX) / page.view.width) * (drag.t1 - drag.t0);
      plot.classList.add("dragging");
      page.tooltip.hide();
      setView(drag.t0 + way, drag.t1 + way);
      return;
    }
    drawCursor();
    if (!drag) point(row, x, event.clientY - box.top, event);
  });
  /** @param {PointerEvent} event */
  const finish = (event) => {
    plot.classList.remove("dragging");
    if (!drag) return;
    const x = event.clientX - canvas.getBoundingClientRect().left,
      { moved, select: chosen, from } = drag;
    drag = null;
    if (moved && chosen)
      setView(Math.min(page.view.time(from), page.view.time(x)), Math.max(page.view.time(from), page.view.time(x)));
    else if (!moved) {
      page.tooltip.hide(true);
      point(row, x, event.clientY - canvas.getBoundingClientRect().top, event);
      page.tooltip.keep();
    }
  };
  canvas.addEventListener("pointerup", finish);
  canvas.addEventListener("pointercancel", finish);
  canvas.addEventListener("pointerleave", () => {
    page.cursor = -1;
    drawCursor();
    if (!page.tooltip.kept) {
      page.tooltip.hide();
      select(-1);
    }
  });
  canvas.addEventListener("dblclick", (event) =>
    zoom(0.4, page.view.time(event.clientX - canvas.getBoundingClientRect().left)),
  );
  canvas.addEventListener("focus", () => {
    if (row.lane) page.focusLane = row.lane.place;
  });
}

/** @param {HTMLCanvasElement} canvas */
function watchOverview(canvas) {
  /** @param {PointerEvent} event */
  const go = (event) => {
    const box = canvas.getBoundingClientRect(),
      at = ((event.clientX - box.left) / box.width) * page.trace.duration;
    setView(at - page.view.span / 2, at + page.view.span / 2);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    go(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons) go(event);
  });
}

// --- pointing ---

/** @param {number} request */
function select(request) {
  if (page.selected === request) return;
  page.selected = request;
  changed();
}

/**
 * Shows the item at a point of a panel in the tooltip.
 * @param {Row} row @param {number} x @param {number} y @param {MouseEvent} event
 */
function point(row, x, y, { clientX, clientY }) {
  const { trace, view, tooltip } = page,
    time = view.time(x);
  const pointed = POINTERS[row.id];
  if (pointed) {
    pointed(row, x, y, clientX, clientY);
    return;
  }
  if (!row.lane) {
    tooltip.hide();
    return;
  }
  const request = requestAt(trace, row.lane, view, x, y, row.canvas.clientHeight);
  if (!tooltip.kept) select(request);
  if (request >= 0) {
    showRequest(request, clientX, clientY);
    return;
  }
  const call = callAt(trace, row.lane, time, view.span / view.width);
  if (call >= 0) tooltip.show(`c${call}`, clientX, clientY, (element) => fillCall(element, trace, call));
  else tooltip.hide();
}

/** @type {Pointer} */
function pointAtSlice(_row, x, _y, clientX, clientY) {
  const { trace, view, tooltip } = page,
    time = view.time(x);
  const starts = trace.c["s.start"],
    i = lowerBound(starts.length, (k) => starts[k] > time) - 1;
  if (i >= 0 && starts[i] + trace.c["s.lasts"][i] >= time) {
    tooltip.show(`s${i}`, clientX, clientY, (element) => fillSlice(element, trace, i));
  } else tooltip.hide();
}

/** @type {Pointer} */
function pointAtHead(row, x, y, clientX, clientY) {
  const { trace, view } = page,
    { completionTimes, byCompletion, c } = trace,
    place = headScale(trace, row.canvas.clientHeight);
  const first = lowerBound(completionTimes.length, (i) => completionTimes[i] >= view.time(x - 6));
  let best = -1,
    distance = 49;
  for (let n = first; n < completionTimes.length && completionTimes[n] <= view.time(x + 6); n++) {
    const i = byCompletion[n];
    if (!page.shown[c["r.process"][i]] || !c["r.length"][i]) continue;
    const away = (view.x(completionTimes[n]) - x) ** 2 + (place(c["r.sector"][i] + c["r.length"][i] / 512) - y) ** 2;
    if (away < distance) {
      distance = away;
      best = i;
    }
  }
  if (best >= 0) {
    if (!page.tooltip.kept) select(best);
    showRequest(best, clientX, clientY);
  } else page.tooltip.hide();
}

/** Panels with tooltips. @type {Record<string, Pointer>} */
const POINTERS = { position: pointAtHead, slices: pointAtSlice };

/** @param {number} request @param {number} x @param {number} y */
function showRequest(request, x, y) {
  const { trace } = page;
  return page.tooltip.show(`r${request}`, x, y, (element, still) =>
    fillRequest(element, trace, request, still, () => {
      page.tooltip.hide(true);
      select(-1);
    }),
  );
}

/**
 * Selects the next or previous request of the focused lane and brings it into view.
 * @param {number} direction
 */
async function step(direction) {
  const { trace, view } = page;
  const row = page.laneRows.find((one) => one.lane.place === page.focusLane) || page.laneRows[0];
  if (!row) return;
  const { rows } = row.lane.drawn,
    starts = trace.c["r.dispatched"];
  let at =
    page.selected >= 0 && trace.c["r.process"][page.selected] === row.lane.place
      ? rows.indexOf(page.selected) + direction
      : lowerBound(rows.length, (k) => starts[rows[k]] >= view.t0);
  at = Math.max(0, Math.min(rows.length - 1, at));
  if (!rows.length) return;
  const request = rows[at],
    middle = (starts[request] + trace.completed[request]) / 2;
  if (middle < view.t0 || middle > view.t1) setView(middle - view.span / 2, middle + view.span / 2);
  page.tooltip.hide(true);
  select(request);
  changed(true);
  const box = row.canvas.getBoundingClientRect();
  await showRequest(request, box.left + view.x(middle), box.top + box.height / 2);
  page.tooltip.keep();
  $("announce").textContent = `${requestTitle(trace, request)}, ${requestFacts(trace, request)}`;
}

function zoomToSelected() {
  if (page.selected < 0) return;
  const from = page.trace.c["r.dispatched"][page.selected] - Math.max(0, page.trace.c["r.in_queue"][page.selected]),
    to = page.trace.completed[page.selected];
  setView(from - (to - from), to + (to - from));
}

// --- keys and buttons ---

function toggleTheme() {
  document.documentElement.classList.toggle("dark");
  theme.load();
  paintLegends();
  changed();
}

const showAll = () => setView(page.trace.begin, page.trace.duration);
const showHelp = () => {
  $("help").hidden = !$("help").hidden;
  $("help-button").setAttribute("aria-expanded", String(!$("help").hidden));
  changed();
};

/** @type {Record<string, (event: KeyboardEvent) => unknown>} */
const KEYS = {
  ArrowLeft: (event) => pan(event.shiftKey ? -0.8 : -0.1),
  ArrowRight: (event) => pan(event.shiftKey ? 0.8 : 0.1),
  a: () => pan(-0.1),
  d: () => pan(0.1),
  "+": () => zoom(0.6),
  "=": () => zoom(0.6),
  w: () => zoom(0.6),
  "-": () => zoom(1 / 0.6),
  s: () => zoom(1 / 0.6),
  0: showAll,
  Home: showAll,
  n: () => step(1),
  p: () => step(-1),
  Enter: zoomToSelected,
  t: toggleTheme,
  "?": showHelp,
  "/": () => filter.focus(),
  Escape: () => {
    page.tooltip.hide(true);
    select(-1);
  },
};

document.addEventListener("keydown", (event) => {
  const at = event.target instanceof HTMLElement ? event.target : document.body,
    tag = at.tagName;
  if (tag === "INPUT" && event.key === "Escape") at.blur();
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    tag === "INPUT" ||
    (tag === "BUTTON" && event.key === "Enter") ||
    (tag === "SUMMARY" && event.key === "Enter")
  )
    return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

const BUTTONS = {
  "zoom-in": () => zoom(0.6),
  "zoom-out": () => zoom(1 / 0.6),
  left: () => pan(-0.25),
  right: () => pan(0.25),
  all: showAll,
  theme: toggleTheme,
  "help-button": showHelp,
};

for (const [id, act] of Object.entries(BUTTONS)) $(id).addEventListener("click", act);
filter.addEventListener("input", () => choose());
late.addEventListener("change", () => {
  page.trace.draw(late.checked);
  choose();
});
addEventListener("resize", () => changed());
addEventListener("scroll", () => changed(), { passive: true });

// --- start and live updates ---

/** @param {Head} data @param {(chunk: Chunk) => string} text */
async function load(data, text) {
  const before = page.trace,
    { columns } = await unpack(text("picture"), data.columns.picture);
  page.timings.unpacked ||= performance.now() - started;
  const trace = new Trace(data, columns, () => text("events"));
  const missed = trace.processes.some((process) => process.missed);
  $("late-only").hidden = !missed;
  late.checked &&= missed;
  trace.draw(late.checked);
  page.trace = trace;
  if (!page.touched) page.checked = new Set(trace.processes.slice(0, FIRST_LANES).map((process) => process.pid));
  moveView(before, trace);
  page.selected = -1;
  if (!page.tooltip.kept) page.tooltip.hide();
  showHead();
  buildChoices();
  choose();
  changed(true);
}

/**
 * After an update in live mode, keeps the same range in view, or follows the end if that was in view.
 * @param {Trace | undefined} before @param {Trace} trace
 */
function moveView(before, trace) {
  const old = page.view,
    view = new View(trace);
  page.view = view;
  if (!before || (page.following && old.span >= before.duration - before.begin)) return;
  const shift = before.head.origin - trace.head.origin;
  if (page.following) view.set(trace.duration - old.span, trace.duration);
  else view.set(old.t0 + shift, old.t1 + shift);
}

/** Requests the current recording repeatedly. */
async function news() {
  let version = page.trace.head.version;
  while (page.trace.head.live) {
    await new Promise((done) => setTimeout(done, 1000));
    if (page.tooltip.kept || document.hidden) continue;
    try {
      const answer = await fetch(`data?after=${version}`);
      if (answer.status === 204) continue;
      const data = await answer.json();
      version = data.head.version;
      await load(data.head, (chunk) => data[chunk]);
    } catch {
      $("facts").textContent += " (the recorder has ended)";
      return;
    }
  }
}

async function begin() {
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
  theme.load();
  page.following = true;
  await load(JSON.parse($("head").textContent), (chunk) => $(chunk).textContent);
  page.timings.firstPicture = performance.now();
  window.blkviz = {
    page,
    ready: true,
    setView,
    select,
    step,
    requestAt,
    callAt,
    throughput,
    headBand,
    PAINTERS,
    LANE_TOP,
    LANE_BOTTOM,
  };
  document.body.dataset.ready = "yes";
  setTimeout(() => page.trace.loadEvents(), 300);
  if (page.trace.head.live) news();
}

begin().catch((error) => {
  const banner = $("banner");
  banner.hidden = false;
  banner.textContent =
    `This page could not be drawn: ${error.message}. ` +
    "It requires a browser from 2023 or later (DecompressionStream).";
  throw error;
});
