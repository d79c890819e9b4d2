// SPDX-License-Identifier: GPL-2.0
// The lane of a process: time line of its system calls and requests, and histograms.

// --- time line ---

/**
 * @param {HTMLCanvasElement} canvas @param {Trace} trace @param {Lane} lane @param {View} view
 * @param {number} selected
 */
function drawLane(canvas, trace, lane, view, selected) {
  const s = surface(canvas);
  if (!s) return;
  timeGrid(s.g, view, s.width, s.height);
  drawCalls(s, trace, lane, view);
  drawLaneSlices(s, trace, lane, view);
  drawRequests(s, trace, lane, view);
  lostBands(s.g, trace, view, s.width, s.height, true);
  if (selected >= 0 && trace.c["r.process"][selected] === lane.place) drawSelected(s, trace, selected, view);
}

/**
 * Draws system calls: the more of a pixel they fill, the deeper the blue; with grey borders where there is room.
 * @param {Surface} s @param {Trace} trace @param {Lane} lane @param {View} view
 */
function drawCalls(s, trace, lane, view) {
  const { c, callEnd } = trace,
    { g, width, height } = s,
    rows = lane.calls.rows;
  const [first, last] = trace.range(rows, c["c.start"], lane.calls.longest, view.t0, view.t1);
  const cover = new Float32Array(Math.ceil(width) + 1);
  const borders = [];
  for (let k = first; k < last; k++) {
    const i = rows[k];
    if (callEnd[i] < view.t0) continue;
    const x0 = Math.max(0, view.x(c["c.start"][i])),
      x1 = Math.min(width, view.x(callEnd[i]));
    if (x1 - x0 >= 4) borders.push(i);
    if (c["c.depth"][i]) continue;
    for (let x = Math.floor(x0); x <= x1 && x < width; x++)
      cover[x] += Math.max(0, Math.min(x1, x + 1) - Math.max(x0, x));
  }
  g.fillStyle = theme.colours.call;
  for (let x = 0; x < width; ) {
    const level = Math.ceil(Math.min(1, cover[x]) * 8);
    let end = x + 1;
    while (end < width && Math.ceil(Math.min(1, cover[end]) * 8) === level) end++;
    if (level) {
      g.globalAlpha = 0.15 + (0.85 * level) / 8;
      g.fillRect(x, LANE_TOP, end - x, height - LANE_TOP - LANE_BOTTOM);
    }
    x = end;
  }
  g.globalAlpha = 1;
  g.strokeStyle = theme.colours["border-call"];
  g.lineWidth = 1.5;
  g.beginPath();
  for (const i of borders) {
    const inset = Math.min(12, 4 * c["c.depth"][i]),
      x0 = view.x(c["c.start"][i]),
      x1 = view.x(callEnd[i]);
    const seen = [x0, x1].filter((_, end) => !(c["c.flags"][i] & (1 << end)));
    for (const x of seen) {
      g.moveTo(x, LANE_TOP - 2 + inset);
      g.lineTo(x, height - LANE_BOTTOM + 2 - inset);
    }
  }
  g.stroke();
  for (const i of borders) {
    const x0 = Math.max(0, view.x(c["c.start"][i])),
      x1 = Math.min(width, view.x(callEnd[i]));
    const name = trace.head.operations[c["c.op"][i]].replace(/^vfs_/, "");
    if (x1 - x0 > g.measureText(name).width + 12) {
      g.fillStyle = theme.colours.ink;
      g.fillText(name, x0 + 5, height - LANE_BOTTOM - 8 - Math.min(24, 12 * c["c.depth"][i]));
    }
  }
}

/** @param {Surface} s @param {Trace} trace @param {Lane} lane @param {View} view */
function drawLaneSlices(s, trace, lane, view) {
  const { c } = trace,
    { g, width } = s;
  let end = -1;
  for (const i of trace.slices.get(lane.process.pid) || []) {
    const x0 = Math.max(0, view.x(c["s.start"][i])),
      x1 = Math.min(width, view.x(c["s.start"][i] + c["s.lasts"][i]));
    if (x1 < 0 || x0 > width || x1 <= end) continue;
    g.fillStyle = theme.classes[c["s.cls"][i]];
    g.fillRect(Math.max(x0, end), 1, Math.max(1, x1 - Math.max(x0, end)), 4);
    end = Math.max(x0 + 1, x1);
  }
}

/**
 * Draws requests from dispatch (top) to completion (bottom); adjacent requests of a kind are joined. A column of
 * pixels with too many requests for lines is divided in proportion to the kinds, as is each column of a lane with
 * more requests than pixels: lines would be slow and would only show the kind that is drawn last.
 * @param {Surface} s @param {Trace} trace @param {Lane} lane @param {View} view
 */
function drawRequests(s, trace, lane, view) {
  const { g, width, height } = s,
    { c, completed, kind } = trace,
    rows = lane.drawn.rows;
  const [first, last] = trace.range(rows, c["r.dispatched"], lane.drawn.longest, view.t0, view.t1);
  const columns = requestColumns(trace, rows.subarray(first, last), view, Math.ceil(width)),
    most = last - first > width ? 0 : MOST_A_COLUMN;
  /** @type {number[][]} */
  const lines = KINDS.map(() => []);
  /** @type {number[][]} */
  const areas = KINDS.map(() => []);
  const before = KINDS.map(() => [-9, -9]);
  /** @type {Run | null} */
  let run = null;
  const flush = () => {
    if (!run) return;
    const { k, d0, d1, c0, c1 } = run;
    if (d1 - d0 < 1 && c1 - c0 < 1.5) {
      if (Math.abs(d0 - before[k][0]) >= 0.5 || Math.abs(c1 - before[k][1]) >= 0.8) lines[k].push(d0, c1);
      before[k] = [d0, c1];
    } else areas[k].push(d0, d1, c1, c0);
    run = null;
  };
  for (let n = first; n < last; n++) {
    const i = rows[n];
    if (completed[i] < view.t0 || c["r.flags"][i] & NO_DISPATCH) continue;
    const k = kind[i],
      d = view.x(c["r.dispatched"][i]),
      e = view.x(completed[i]);
    if (e - d < JOIN_PIXELS && columns.all[Math.floor(d)] > most) continue;
    if (run && run.k === k && d - run.d1 <= JOIN_PIXELS && k !== UNFINISHED) {
      run.d1 = d;
      run.c0 = Math.min(run.c0, e);
      run.c1 = Math.max(run.c1, e);
    } else {
      flush();
      run = { k, d0: d, d1: d, c0: e, c1: e };
    }
  }
  flush();
  paintColumns(g, columns, most, LANE_TOP, Math.floor(height - LANE_BOTTOM));
  paintRequests(g, lines, areas, LANE_TOP, height - LANE_BOTTOM);
  paintLate(s, trace, rows.subarray(first, last), view);
}

/**
 * Draws a cross at the end of each request that missed its deadline.
 * @param {Surface} s @param {Trace} trace @param {Int32Array} rows @param {View} view
 */
function paintLate({ g, height }, trace, rows, view) {
  let before = -9;
  g.strokeStyle = theme.colours.ink;
  g.lineWidth = 2;
  for (const i of rows) {
    if (trace.c["r.slack"][i] >= 0) continue;
    const x = view.x(trace.completed[i]);
    if (Math.abs(x - before) < 2) continue;
    mark(g, UNFINISHED, x, height - LANE_BOTTOM - 4, 4);
    before = x;
  }
}

/**
 * Counts the short requests dispatched in each column of pixels: of each kind, and in total.
 * @param {Trace} trace @param {Int32Array} rows @param {View} view @param {number} width
 */
function requestColumns(trace, rows, view, width) {
  const { c, completed, kind } = trace,
    starts = c["r.dispatched"],
    flags = c["r.flags"];
  const kinds = KINDS.map(() => new Uint32Array(width)),
    all = new Uint32Array(width);
  const short = (JOIN_PIXELS / view.width) * view.span;
  for (const i of rows) {
    if (flags[i] & NO_DISPATCH || completed[i] - starts[i] >= short || starts[i] < view.t0) continue;
    const x = Math.floor(view.x(starts[i]));
    if (x < width) {
      kinds[kind[i]][x]++;
      all[x]++;
    }
  }
  return { kinds, all };
}

/**
 * Divides each column with more than `most` requests in proportion to their kinds, at least a pixel for each.
 * @param {Context} g @param {RequestColumns} columns @param {number} most @param {number} top
 * @param {number} bottom
 */
function paintColumns(g, { kinds, all }, most, top, bottom) {
  if (!all.some((count) => count > most)) return;
  const image = new ImageData(all.length, bottom),
    pixels = new Uint32Array(image.data.buffer);
  const tiles = KINDS.map((name) => theme.tiles[name]);
  for (let x = 0; x < all.length; x++) {
    let left = all[x],
      y = top;
    if (left <= most) continue;
    for (let k = 0; k < kinds.length; k++) {
      const count = kinds[k][x];
      if (!count) continue;
      left -= count;
      // leave at least a pixel for each of the others
      const others = kinds.slice(k + 1).filter((counts) => counts[x]).length;
      const end = Math.min(bottom - others, y + Math.max(1, Math.round(((bottom - y) * count) / (count + left))));
      for (; y < end; y++) pixels[y * all.length + x] = tiles[k][((y & 7) << 3) | (x & 7)];
    }
  }
  paintImage(g, image);
}

/**
 * @param {Context} g @param {number[][]} lines @param {number[][]} areas @param {number} top @param {number} bottom
 */
function paintRequests(g, lines, areas, top, bottom) {
  const count = lines.reduce((sum, list) => sum + list.length / 2, 0);
  for (const k of [UNFINISHED, CACHED, SEQUENTIAL, SEEK]) {
    const name = KINDS[k];
    g.strokeStyle = theme.colours[name];
    g.fillStyle = theme.patterns[name];
    g.lineWidth = 1;
    if (areas[k].length) {
      g.beginPath();
      for (let n = 0; n < areas[k].length; n += 4) {
        g.moveTo(areas[k][n], top);
        g.lineTo(areas[k][n + 1], top);
        g.lineTo(areas[k][n + 2], bottom);
        g.lineTo(areas[k][n + 3], bottom);
        g.closePath();
      }
      g.fill();
      if (areas[k].length < 8000) g.stroke();
    }
    g.lineWidth = k === SEEK ? 1.5 : 1.2;
    if (count < MOST_MARKS * 2) g.setLineDash(DASHES[name]);
    g.beginPath();
    for (let n = 0; n < lines[k].length; n += 2) {
      g.moveTo(lines[k][n], top);
      g.lineTo(lines[k][n + 1], bottom);
    }
    g.stroke();
    g.setLineDash([]);
    if (count < MOST_MARKS) {
      g.fillStyle = theme.colours[name];
      for (let n = 0; n < lines[k].length; n += 2) mark(g, k, lines[k][n + 1], bottom + 2, 2);
    }
  }
}

/** @param {Surface} s @param {Trace} trace @param {number} i @param {View} view */
function drawSelected(s, trace, i, view) {
  const { g, height } = s,
    d = view.x(trace.c["r.dispatched"][i]),
    e = view.x(trace.completed[i]);
  g.strokeStyle = theme.colours.accent;
  g.lineWidth = 3;
  g.beginPath();
  g.moveTo(d, LANE_TOP);
  g.lineTo(e, height - LANE_BOTTOM);
  g.stroke();
  g.fillStyle = theme.colours.accent;
  mark(g, CACHED, d, LANE_TOP, 3.5);
  mark(g, CACHED, e, height - LANE_BOTTOM, 3.5);
}

/**
 * Finds the request whose line is nearest to a point of a lane, or -1.
 * @param {Trace} trace @param {Lane} lane @param {View} view @param {number} x @param {number} y
 * @param {number} height
 */
function requestAt(trace, lane, view, x, y, height) {
  const { c, completed } = trace,
    rows = lane.drawn.rows;
  const part = Math.min(1, Math.max(0, (y - LANE_TOP) / (height - LANE_TOP - LANE_BOTTOM)));
  const [first, last] = trace.range(rows, c["r.dispatched"], lane.drawn.longest, view.time(x - 6), view.time(x + 6));
  let best = -1,
    distance = 6;
  for (let n = first; n < last; n++) {
    const i = rows[n];
    if (c["r.flags"][i] & NO_DISPATCH) continue;
    const d = view.x(c["r.dispatched"][i]);
    const away = Math.abs(d + (view.x(completed[i]) - d) * part - x);
    if (away < distance) {
      distance = away;
      best = i;
    }
  }
  return best;
}

/**
 * Finds the innermost call of a process at a time, or -1.
 * @param {Trace} trace @param {Lane} lane @param {number} time @param {number} [slack]
 */
function callAt(trace, lane, time, slack = 0) {
  const { c, callEnd } = trace,
    rows = lane.calls.rows;
  const [first, last] = trace.range(rows, c["c.start"], lane.calls.longest, time - slack, time + slack);
  let best = -1;
  for (let n = first; n < last; n++) {
    const i = rows[n];
    if (callEnd[i] >= time - slack && (best < 0 || c["c.depth"][i] >= c["c.depth"][best])) best = i;
  }
  return best;
}

// --- histograms ---

/**
 * @param {HTMLCanvasElement} canvas @param {Float64Array} bins @param {number} count
 * @param {(bin: number) => string} kindOfBin @param {string} low @param {string} high @param {string} none
 */
function drawHistogram(canvas, bins, count, kindOfBin, low, high, none) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    base = height - 13,
    most = Math.max(1, ...bins),
    step = width / bins.length;
  g.fillStyle = theme.colours.soft;
  g.fillText(low, 0, height - 6);
  g.fillText(high, width - g.measureText(high).width, height - 6);
  g.strokeStyle = theme.colours.line;
  g.beginPath();
  g.moveTo(0, base + 0.5);
  g.lineTo(width, base + 0.5);
  g.stroke();
  if (!count) {
    g.fillText(none, 2, base / 2 + 6);
    return;
  }
  bins.forEach((number, n) => {
    if (!number) return;
    const tall = Math.max(1.5, ((base - 16) * number) / most),
      kind = kindOfBin(n);
    g.fillStyle = kind ? theme.patterns[kind] : theme.colours.call;
    g.fillRect(n * step + 0.5, base - tall, Math.max(1, step - 1), tall);
    g.fillStyle = kind ? theme.colours[kind] : theme.colours["border-call"];
    g.fillRect(n * step + 0.5, base - tall, Math.max(1, step - 1), 1.5);
  });
  g.fillStyle = theme.colours.soft;
  const text = `n=${count}`;
  g.fillText(text, width - g.measureText(text).width, 5);
}

/** @param {Trace} trace @param {number} bin */
function driveKind({ head }, bin) {
  const from = bin * DRIVE_BIN_NS;
  return from < head.cachedBelow ? "cached" : from < head.seekAbove ? "sequential" : "seek";
}
