// SPDX-License-Identifier: GPL-2.0
// The view, and the panels below the lanes. Each panel draws [view.t0, view.t1] into a canvas; some have tooltips.

const LANE_TOP = 9,
  LANE_BOTTOM = 7,
  JOIN_PIXELS = 2,
  MOST_A_COLUMN = 2,
  MOST_MARKS = 500;

class View {
  /**
   * Shows the recording from its first event; the time before can be reached by panning.
   * @param {Trace} trace
   */
  constructor({ begin, duration }) {
    this.duration = duration;
    this.t0 = begin;
    this.t1 = duration;
    this.width = 1;
  }
  /** @param {number} time */
  x(time) {
    return ((time - this.t0) / (this.t1 - this.t0)) * this.width;
  }
  /** @param {number} x */
  time(x) {
    return this.t0 + (x / this.width) * (this.t1 - this.t0);
  }
  get span() {
    return this.t1 - this.t0;
  }
  /**
   * Shows [t0, t1], limited to the trace and to at least 1 us.
   * @param {number} t0 @param {number} t1
   */
  set(t0, t1) {
    const span = Math.min(Math.max(t1 - t0, 1000), Math.max(this.duration * 1.02, 1000));
    const middle = (t0 + t1) / 2,
      edge = this.duration * 0.01;
    this.t0 = Math.max(-edge, Math.min(middle - span / 2, this.duration + edge - span));
    this.t1 = this.t0 + span;
  }
}

/**
 * Groups rows by process, in their order.
 * @param {Float64Array} pids
 */
function rowsByPid(pids) {
  /** @type {Map<number, number[]>} */
  const found = new Map();
  pids.forEach((pid, i) => {
    const rows = found.get(pid);
    if (rows) rows.push(i);
    else found.set(pid, [i]);
  });
  return found;
}

// --- head position ---

/**
 * Maps sectors to vertical positions in a panel of this height.
 * @param {Trace} trace @param {number} height
 */
function headScale(trace, height) {
  const low = trace.minSector,
    range = Math.max(1, trace.maxSector - low),
    room = height - 16;
  return (/** @type {number} */ sector) => height - 8 - ((sector - low) / range) * room;
}

/** @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view @param {Uint8Array} shown */
function drawHead(canvas, trace, view, shown) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { c, byCompletion, completionTimes, kind } = trace,
    y = headScale(trace, height);
  timeGrid(g, view, width, height);
  const scale = sectorScale(trace, y);
  g.strokeStyle = theme.colours.grid;
  g.beginPath();
  for (const [, at] of scale) {
    g.moveTo(0, at);
    g.lineTo(width, at);
  }
  g.stroke();
  const first = lowerBound(completionTimes.length, (i) => completionTimes[i] >= view.t0);
  const last = lowerBound(completionTimes.length, (i) => completionTimes[i] > view.t1);
  const columns = Math.ceil(width) + 1;
  const lowest = new Float32Array(columns).fill(1e9),
    highest = new Float32Array(columns).fill(-1e9);
  const many = last - first > MOST_MARKS * 4;
  const points = new Uint8Array(many ? columns * height : 0);
  const marks = [];
  g.strokeStyle = theme.colours.soft;
  g.lineWidth = 0.7;
  g.globalAlpha = 0.75;
  g.beginPath();
  let started = false;
  for (let n = Math.max(0, first - 1); n < Math.min(byCompletion.length, last + 1); n++) {
    const i = byCompletion[n];
    if (!shown[c["r.process"][i]] || !c["r.length"][i]) continue;
    const px = view.x(completionTimes[n]),
      py = y(c["r.sector"][i] + c["r.length"][i] / 512);
    if (!many) {
      if (started) g.lineTo(px, py);
      else g.moveTo(px, py);
      started = true;
      marks.push(px, py, kind[i]);
    } else if (px >= 0 && px < width) {
      const column = px | 0;
      lowest[column] = Math.min(lowest[column], py);
      highest[column] = Math.max(highest[column], py);
      points[(py | 0) * columns + column] |= 1 << kind[i];
    }
  }
  g.stroke();
  g.globalAlpha = 0.25;
  g.fillStyle = theme.colours.soft;
  if (many)
    for (let x = 0; x < columns; x++)
      if (highest[x] > 0) g.fillRect(x, lowest[x] - 0.5, 0.7, highest[x] - lowest[x] + 1);
  g.globalAlpha = 1;
  if (many) headPoints(g, points, columns, Math.floor(height));
  else
    for (let n = 0; n < marks.length; n += 3) {
      g.fillStyle = g.strokeStyle = theme.colours[KINDS[marks[n + 2]]];
      mark(g, marks[n + 2], marks[n], marks[n + 1], 2);
    }
  for (const [text, at] of scale) label(g, text, 4, at, theme.colours.soft);
  lostBands(g, trace, view, width, height, false);
}

/**
 * Draws points, too many for marks; the kinds also differ by their size.
 * @param {Context} g @param {Uint8Array} points @param {number} columns @param {number} rows
 */
function headPoints(g, points, columns, rows) {
  const image = new ImageData(columns, rows),
    pixels = new Uint32Array(image.data.buffer),
    last = columns * (rows - 1) - 1;
  /** @type {[number, number[]][]} the kinds, and the offsets of the further pixels of each */
  const sizes = [
    [UNFINISHED, []],
    [CACHED, []],
    [SEQUENTIAL, [1]],
    [SEEK, [1, columns, columns + 1]],
  ];
  for (const [k, more] of sizes) {
    const colour = theme.pixels[KINDS[k]];
    for (let at = 0; at < last; at++) {
      if (!(points[at] & (1 << k))) continue;
      pixels[at] = colour;
      for (const step of more) pixels[at + step] = colour;
    }
  }
  paintImage(g, image);
}

/**
 * Round head positions and their vertical positions in the panel.
 * @param {Trace} trace @param {(sector: number) => number} y
 * @returns {[string, number][]}
 */
function sectorScale(trace, y) {
  const gib = 2097152,
    { step, values } = ticks(trace.minSector / gib, trace.maxSector / gib, 4);
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step))));
  return values.map((value) => [`${value.toFixed(digits)} GiB`, Math.round(y(value * gib)) + 0.5]);
}

/**
 * The lowest and highest sector of the completions of the processes shown, for each period of the time in view, and
 * the number of the first period. Like process_stats.head_band() in Python.
 * @param {Trace} trace @param {View} view @param {Uint8Array} shown
 */
function headBand(trace, view, shown) {
  const { c, byCompletion, completionTimes, head } = trace,
    from = Math.max(0, Math.floor(view.t0 / head.band)),
    count = Math.max(0, Math.floor(Math.min(view.t1, trace.duration) / head.band) + 1 - from);
  const lowest = new Float64Array(count).fill(Infinity),
    highest = new Float64Array(count).fill(-Infinity);
  const first = lowerBound(completionTimes.length, (i) => completionTimes[i] >= from * head.band);
  for (let n = first; n < completionTimes.length && completionTimes[n] < (from + count) * head.band; n++) {
    const i = byCompletion[n],
      piece = Math.floor(completionTimes[n] / head.band) - from;
    if (!shown[c["r.process"][i]] || !c["r.length"][i] || c["r.flags"][i] & NO_DISPATCH) continue;
    lowest[piece] = Math.min(lowest[piece], c["r.sector"][i]);
    highest[piece] = Math.max(highest[piece], c["r.sector"][i] + c["r.length"][i] / 512);
  }
  return { from, lowest, highest };
}

/** @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view @param {Uint8Array} shown */
function drawHeadBand(canvas, trace, view, shown) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { from, lowest, highest } = headBand(trace, view, shown),
    y = headScale(trace, height),
    scale = sectorScale(trace, y);
  timeGrid(g, view, width, height);
  g.strokeStyle = theme.colours.grid;
  g.beginPath();
  for (const [, at] of scale) {
    g.moveTo(0, at);
    g.lineTo(width, at);
  }
  g.stroke();
  lowest.forEach((sector, piece) => {
    if (sector > highest[piece]) return;
    const x0 = view.x((from + piece) * trace.head.band),
      wide = Math.max(1, view.x((from + piece + 1) * trace.head.band) - x0),
      top = y(highest[piece]),
      bottom = y(sector);
    g.fillStyle = theme.patterns.BW;
    g.fillRect(x0, top, wide, bottom - top);
    // visible even where lowest and highest coincide
    g.fillStyle = theme.colours.bw;
    g.fillRect(x0, top - 1, wide, 1.5);
    g.fillRect(x0, bottom, wide, 1.5);
  });
  for (const [text, at] of scale) label(g, text, 4, at, theme.colours.soft);
  lostBands(g, trace, view, width, height, false);
}

// --- classes, slices ---

/** @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view @param {Uint8Array} shown */
function drawClasses(canvas, trace, view, shown) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { c, completed } = trace;
  timeGrid(g, view, width, height);
  const rowHeight = height / 4,
    ends = trace.head.classes.map(() => -1);
  /** @type {number[][]} */
  const runs = trace.head.classes.map(() => []);
  const first = lowerBound(trace.requests, (i) => c["r.dispatched"][i] >= view.t0 - trace.longest);
  for (let i = first; i < trace.requests && c["r.dispatched"][i] <= view.t1; i++) {
    const cls = c["r.cls"][i];
    if (!cls || completed[i] < view.t0 || !shown[c["r.process"][i]]) continue;
    const x0 = view.x(c["r.dispatched"][i]),
      x1 = view.x(completed[i]),
      list = runs[cls];
    if (list.length && x0 <= ends[cls] + 1) list[list.length - 1] = ends[cls] = Math.max(ends[cls], x1);
    else {
      list.push(x0, x1);
      ends[cls] = x1;
    }
  }
  trace.head.classes.forEach((name, cls) => {
    if (!cls) return;
    const top = (cls - 1) * rowHeight;
    for (let n = 0; n < runs[cls].length; n += 2) {
      g.fillStyle = theme.patterns[name];
      g.fillRect(runs[cls][n], top + 1, Math.max(1, runs[cls][n + 1] - runs[cls][n]), rowHeight - 2);
      g.fillStyle = theme.classes[cls];
      g.fillRect(runs[cls][n], top + rowHeight - 3, Math.max(1, runs[cls][n + 1] - runs[cls][n]), 2);
    }
    label(g, name, 4, top + rowHeight / 2, theme.classes[cls]);
  });
  lostBands(g, trace, view, width, height, false);
}

/** @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view @param {Uint8Array} shown */
function drawSlices(canvas, trace, view, shown) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { c } = trace,
    top = 4,
    bottom = height - 9;
  timeGrid(g, view, width, height);
  const n = c["s.start"].length;
  let end = -1;
  for (
    let i = Math.max(0, lowerBound(n, (k) => c["s.start"][k] >= view.t0) - 1);
    i < n && c["s.start"][i] <= view.t1;
    i++
  ) {
    const x0 = view.x(c["s.start"][i]),
      x1 = view.x(c["s.start"][i] + c["s.lasts"][i]),
      place = trace.byPid.get(c["s.pid"][i]);
    if (x1 < 0 || x1 - end < 0.5 || (place !== undefined && !shown[place])) continue;
    end = x1;
    const wide = Math.max(1, x1 - x0),
      name = trace.head.classes[c["s.cls"][i]];
    g.fillStyle = theme.patterns[name] || theme.colours.soft;
    g.fillRect(x0, top, wide, bottom - top);
    g.fillStyle = theme.classes[c["s.cls"][i]];
    g.fillRect(x0, top, wide, 2);
    if (wide < 10) continue;
    g.strokeStyle = theme.classes[c["s.cls"][i]];
    g.strokeRect(x0 + 0.5, top + 0.5, wide - 1, bottom - top - 1);
    const who = place === undefined ? c["s.pid"][i] : trace.processes[place].name;
    const why = trace.head.expired[c["s.why"][i]];
    const words = [`${who} ${name}${c["s.level"][i]} → ${why || "?"}`, `${who} ${name}${c["s.level"][i]}`, `${who}`];
    const text = words.find((word) => g.measureText(word).width < Math.min(x1, width) - Math.max(x0, 0) - 8);
    if (text) label(g, text, Math.max(x0, 0) + 4, (top + bottom) / 2, theme.colours.ink);
  }
  drawIdles(g, trace, view, shown, height);
  lostBands(g, trace, view, width, height, false);
}

/**
 * Marks idle waits of CFQ for the next request of a queue, and preemptions.
 * @param {Context} g @param {Trace} trace @param {View} view @param {Uint8Array} shown @param {number} height
 */
function drawIdles(g, trace, view, shown, height) {
  const { c } = trace;
  g.fillStyle = theme.colours.ink;
  for (const [name, letter] of [
    ["idles", "…"],
    ["preemptions", "▼"],
  ]) {
    let end = -9;
    const times = c[`${name}.time`];
    const first = lowerBound(times.length, (i) => times[i] >= view.t0);
    for (let i = first; i < times.length && times[i] <= view.t1; i++) {
      const x = view.x(times[i]),
        place = trace.byPid.get(c[`${name}.pid`][i]);
      if (x - end < 9 || (place !== undefined && !shown[place])) continue;
      g.fillText(letter, x - 4, name === "idles" ? height - 7 : 5);
      end = x;
    }
  }
}

// --- tokens and slack ---

/**
 * Draws values of each process as lines or marks; values below zero have a cross.
 * @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view @param {Uint8Array} shown
 * @param {Panel} panel
 */
function drawSeries(canvas, trace, view, shown, { name, values: about }) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { c } = trace,
    asLine = Boolean(about?.line),
    inBytes = about?.unit === "bytes";
  const times = c[`${name}.time`],
    values = c[`${name}.value`];
  /** @type {[number, number[]][]} */
  const series = [];
  timeGrid(g, view, width, height);
  let low = 0,
    high = 0;
  [...trace.seriesRows(name)].forEach(([pid, rows], rank) => {
    const place = trace.byPid.get(pid);
    if (place !== undefined && !shown[place]) return;
    // include the last message before the view and the first one after it
    const first = Math.max(0, lowerBound(rows.length, (k) => times[rows[k]] >= view.t0) - Number(asLine));
    const last = lowerBound(rows.length, (k) => times[rows[k]] > view.t1);
    for (let k = first; k < last; k++) {
      low = Math.min(low, values[rows[k]]);
      high = Math.max(high, values[rows[k]]);
    }
    series.push([rank, rows.slice(first, last + Number(asLine))]);
  });
  if (high === low) high = low + 1;
  /** @param {number} value */
  const y = (value) => height - 7 - ((value - low) / (high - low)) * (height - 14);
  if (low < 0) {
    g.fillStyle = theme.patterns.idle;
    g.globalAlpha = 0.25;
    g.fillRect(0, y(0), width, height - y(0));
    g.globalAlpha = 1;
  }
  for (const [rank, rows] of series) {
    g.strokeStyle = g.fillStyle = theme.colours[`p${rank % 6}`];
    if (asLine) seriesLine(g, view, times, values, rows, y, rank);
    else seriesMarks(g, view, times, values, rows, y, rank);
  }
  g.strokeStyle = theme.colours.soft;
  g.beginPath();
  g.moveTo(0, y(0));
  g.lineTo(width, y(0));
  g.stroke();
  // bytes are shown in powers of 1024
  /** @param {number} value */
  const format = (value) => (inBytes ? formatBytes(value) : formatSpan(value * 1000));
  const unit = inBytes ? 1024 ** Math.floor(Math.log2(high - low) / 10) : 1;
  for (const value of ticks(low / unit, high / unit, 3).values)
    label(g, format(value * unit), 4, y(value * unit), theme.colours.soft);
  lostBands(g, trace, view, width, height, false);
}

/**
 * @param {Context} g @param {View} view @param {Numbers} times @param {Numbers} values @param {number[]} rows
 * @param {(value: number) => number} y @param {number} rank
 */
function seriesLine(g, view, times, values, rows, y, rank) {
  g.lineWidth = 1.4;
  g.setLineDash(rows.length < 6000 ? PROCESS_DASHES[rank % 6] : []);
  g.beginPath();
  let before = NaN,
    column = -1,
    low = 0,
    high = 0;
  const flush = () => {
    if (column >= 0 && high > low) {
      g.moveTo(column, high);
      g.lineTo(column, low);
      g.moveTo(column, before);
    }
  };
  for (const i of rows) {
    const x = view.x(times[i]),
      py = y(values[i]);
    if (Number.isNaN(before)) g.moveTo(x, py);
    else if (Math.round(x) === column) {
      low = Math.min(low, py);
      high = Math.max(high, py);
      before = py;
      continue;
    } else {
      flush();
      g.lineTo(x, before);
      g.lineTo(x, py);
    }
    column = Math.round(x);
    low = high = before = py;
  }
  flush();
  g.stroke();
  g.setLineDash([]);
}

/**
 * @param {Context} g @param {View} view @param {Numbers} times @param {Numbers} values @param {number[]} rows
 * @param {(value: number) => number} y @param {number} rank
 */
function seriesMarks(g, view, times, values, rows, y, rank) {
  let column = -1,
    lowest = 0;
  /** @param {number} x @param {number} value */
  const put = (x, value) => mark(g, value < 0 ? UNFINISHED : rank % 3, x, y(value), 2);
  g.lineWidth = 1.4;
  for (const i of rows) {
    const x = Math.round(view.x(times[i]) / 2) * 2;
    if (x === column) {
      lowest = Math.min(lowest, values[i]);
      continue;
    }
    if (column >= 0) put(column, lowest);
    column = x;
    lowest = values[i];
  }
  if (column >= 0) put(column, lowest);
}

// --- throughput ---

/**
 * Counts the bytes completed in each step of time: of all processes shown, and of each of the first few.
 * @param {Trace} trace @param {View} view @param {Uint8Array} shown @param {number[]} few
 */
function throughput(trace, view, shown, few) {
  const { c, byCompletion, completionTimes } = trace;
  const step = niceStep(view.span, Math.min(150, view.width / 6)),
    from = Math.floor(view.t0 / step) * step;
  const count = Math.ceil((view.t1 - from) / step) + 1;
  const total = new Float64Array(count),
    each = new Map(few.map((place) => [place, new Float64Array(count)]));
  const first = lowerBound(completionTimes.length, (i) => completionTimes[i] >= from);
  for (let n = first; n < completionTimes.length && completionTimes[n] < from + count * step; n++) {
    const i = byCompletion[n],
      place = c["r.process"][i];
    if (!shown[place]) continue;
    const bin = Math.floor((completionTimes[n] - from) / step),
      length = c["r.length"][i];
    total[bin] += length;
    const mine = each.get(place);
    if (mine) mine[bin] += length;
  }
  return { step, from, total, each };
}

/**
 * @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view @param {Uint8Array} shown
 * @param {number[]} few
 */
function drawThroughput(canvas, trace, view, shown, few) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { step, from, total, each } = throughput(trace, view, shown, few);
  timeGrid(g, view, width, height);
  const perSecond = 1e9 / step;
  const reserved = few.map((place) => trace.processes[place].reserved);
  const most =
    Math.max(1, ...reserved.map((rate) => rate * 1.1), ...Array.from(total, (bytes) => bytes * perSecond)) * 1.05;
  /** @param {number} rate */
  const y = (rate) => height - 5 - (rate / most) * (height - 12);
  /** @type {[number, number][]} */
  const scale = ticks(0, most / 1048576, 4).values.map((value) => [value, Math.round(y(value * 1048576)) + 0.5]);
  g.strokeStyle = theme.colours.grid;
  g.beginPath();
  for (const [, at] of scale) {
    g.moveTo(0, at);
    g.lineTo(width, at);
  }
  g.stroke();
  /** @param {Float64Array | undefined} bins */
  const path = (bins) => {
    bins?.forEach((bytes, bin) => {
      const x0 = view.x(from + bin * step),
        x1 = view.x(from + (bin + 1) * step),
        at = y(bytes * perSecond);
      g.lineTo(x0, at);
      g.lineTo(x1, at);
    });
  };
  g.beginPath();
  g.moveTo(view.x(from), y(0));
  path(total);
  g.lineTo(view.x(from + total.length * step), y(0));
  g.fillStyle = theme.colours.grid;
  g.globalAlpha = 0.6;
  g.fill();
  g.globalAlpha = 1;
  g.strokeStyle = theme.colours.soft;
  g.lineWidth = 1;
  g.beginPath();
  path(total);
  g.stroke();
  few.forEach((place, rank) => {
    g.strokeStyle = theme.colours[`p${rank % 6}`];
    g.lineWidth = 1.7;
    g.setLineDash(PROCESS_DASHES[rank % 6]);
    g.beginPath();
    path(each.get(place));
    g.stroke();
    g.setLineDash([]);
  });
  const promised = few.map((place, rank) => [place, rank, y(reserved[rank])]).filter(([, rank]) => reserved[rank]);
  for (const [, rank, at] of promised) {
    // lines at the same height alternate their dashes
    const same = promised.filter(([, , other]) => Math.abs(other - at) < 2);
    g.strokeStyle = theme.colours[`p${rank % 6}`];
    g.lineWidth = 2.2;
    g.setLineDash([16, 20 * same.length - 16]);
    g.lineDashOffset = -20 * same.findIndex(([, other]) => other === rank);
    g.beginPath();
    g.moveTo(0, at);
    g.lineTo(width, at);
    g.stroke();
  }
  g.setLineDash([]);
  g.lineDashOffset = 0;
  for (const [place, rank, at] of promised) {
    const text = `${trace.processes[place].name} reserved ${formatBytes(reserved[rank], "/s")}`;
    label(
      g,
      text,
      width - g.measureText(text).width - 6 - (rank % 3) * 165,
      Math.max(7, at - 9 - Math.floor(rank / 3) * 14),
      theme.colours[`p${rank % 6}`],
    );
  }
  for (const [value, at] of scale) label(g, `${short(value)} MiB/s`, 4, Math.min(at, height - 7), theme.colours.soft);
  lostBands(g, trace, view, width, height, false);
}

/** The functions that draw the panels of panels.py, other than those of values. @type {Record<string, Painter>} */
const PAINTERS = {
  position: drawHead,
  headband: drawHeadBand,
  classes: drawClasses,
  slices: drawSlices,
  throughput: drawThroughput,
};

// --- the axis and the overview ---

/** @param {HTMLCanvasElement} canvas @param {View} view */
function drawAxis(canvas, view) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    { step, values } = ticks(view.t0, view.t1, width / 110);
  g.fillStyle = theme.colours.ink;
  g.strokeStyle = theme.colours.soft;
  for (const time of values) {
    const x = view.x(time),
      text = `${formatTime(time, step)} s`;
    g.beginPath();
    g.moveTo(x, height - 5);
    g.lineTo(x, height);
    g.stroke();
    g.fillText(
      text,
      Math.min(Math.max(2, x - g.measureText(text).width / 2), width - g.measureText(text).width - 2),
      height - 12,
    );
  }
}

/** @param {HTMLCanvasElement} canvas @param {Trace} trace @param {View} view */
function drawOverview(canvas, trace, view) {
  const s = surface(canvas);
  if (!s) return;
  const { g, width, height } = s,
    bins = trace.overview,
    most = Math.max(1, ...bins);
  g.fillStyle = theme.colours.grid;
  g.fillRect(0, 0, width, height);
  g.fillStyle = theme.colours.soft;
  bins.forEach((bytes, n) =>
    g.fillRect((n * width) / bins.length, height - (bytes / most) * (height - 2), width / bins.length, height),
  );
  for (const lost of trace.head.lost) {
    g.fillStyle = theme.colours.lost;
    g.fillRect(
      (lost.start / trace.duration) * width,
      0,
      Math.max(2, ((lost.end - lost.start) / trace.duration) * width),
      height,
    );
  }
  const x0 = Math.max(0, (view.t0 / trace.duration) * width),
    x1 = Math.min(width, (view.t1 / trace.duration) * width);
  g.fillStyle = theme.colours.paper;
  g.globalAlpha = 0.65;
  g.fillRect(0, 0, x0, height);
  g.fillRect(x1, 0, width - x1, height);
  g.globalAlpha = 1;
  g.strokeStyle = theme.colours.accent;
  g.lineWidth = 2;
  g.strokeRect(x0 + 1, 1, Math.max(3, x1 - x0 - 2), height - 2);
}
