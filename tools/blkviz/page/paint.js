// SPDX-License-Identifier: GPL-2.0
// Colours, patterns and the drawing that several panels share. No meaning is in a
// colour alone: kinds have patterns, line styles and marks, classes have rows and patterns.

const DASHES = { cached: [1.5, 2.5], sequential: [], seek: [7, 3], unfinished: [2, 6] };
const PROCESS_DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3], [4, 2, 1, 2], [12, 4]];

const theme = {
  colours: {}, patterns: {},
  /** Read the colours from the style sheet; make the patterns anew. */
  load() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "panel", "ink", "soft", "line", "grid", "border-call", "call", "cached", "sequential", "seek",
                   "unfinished", "rt", "bw", "be", "idle", "lost", "accent", "p0", "p1", "p2", "p3", "p4", "p5"];
    for (const name of names) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    const { colours } = this;
    this.patterns = {
      cached: pattern(colours.cached, "dots"), sequential: pattern(colours.sequential, "rows"),
      seek: pattern(colours.seek, "slant"), unfinished: pattern(colours.unfinished, "cross"),
      lost: pattern(colours.lost, "back"), idle: pattern(colours.soft, "slant"),
      RT: pattern(colours.rt, "slant"), BW: pattern(colours.bw, "rows"), BE: pattern(colours.be, "dots"),
    };
    this.classes = ["soft", "rt", "bw", "be", "idle"].map((name) => colours[name]);
  },
};

/** A tile to fill with: something of the colour, and marks of it. */
function pattern(colour, marks) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const g = tile.getContext("2d");
  g.fillStyle = colour;
  g.globalAlpha = 0.32;
  g.fillRect(0, 0, 8, 8);
  g.globalAlpha = 1;
  g.strokeStyle = colour;
  g.lineWidth = 1.4;
  g.beginPath();
  const lines = { rows: [[0, 2, 8, 2], [0, 6, 8, 6]], slant: [[-1, 9, 9, -1], [-5, 5, 5, -5], [3, 13, 13, 3]],
                  back: [[-1, -1, 9, 9], [3, -5, 13, 5], [-5, 3, 5, 13]], cross: [[0, 4, 8, 4], [4, 0, 4, 8]] }[marks] || [];
  for (const [x0, y0, x1, y1] of lines) { g.moveTo(x0, y0); g.lineTo(x1, y1); }
  g.stroke();
  if (marks === "dots") for (const [x, y] of [[1, 1], [5, 5]]) g.fillRect(x, y, 2, 2);
  return g.createPattern(tile, "repeat");
}

/** A canvas as large as its place, cleared; null while it is not visible. */
function surface(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return null;
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  g.textBaseline = "middle";
  return { g, width, height };
}

/** Round steps of a scale with about so many of them. */
function niceStep(range, count) {
  const raw = range / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
}

function ticks(low, high, count) {
  const step = niceStep(high - low || 1, count);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step) found.push(value);
  return { step, values: found };
}

/** Lines of time through a panel. */
function timeGrid(g, view, width, height) {
  g.strokeStyle = theme.colours.grid;
  g.lineWidth = 1;
  g.beginPath();
  for (const time of ticks(view.t0, view.t1, width / 110).values) {
    const x = Math.round(view.x(time)) + 0.5;
    g.moveTo(x, 0);
    g.lineTo(x, height);
  }
  g.stroke();
}

/** Where events were lost: hatched, at least three pixels wide. */
function lostBands(g, trace, view, width, height, label) {
  let lastLabel = -1e9;
  for (const lost of trace.head.lost) {
    if (lost.end < view.t0 || lost.start > view.t1) continue;
    const x0 = Math.max(0, view.x(lost.start)), x1 = Math.min(width, view.x(lost.end));
    const wide = Math.max(3, x1 - x0);
    g.fillStyle = theme.patterns.lost;
    g.fillRect(x0, 0, wide, height);
    if (label && x0 - lastLabel > 90) {
      g.fillStyle = theme.colours.lost;
      g.fillText(`✕ ${lost.count} lost`, Math.min(x0 + 3, width - 60), height - 7);
      lastLabel = x0;
    }
  }
}

/** A small mark whose shape is the kind's. */
function mark(g, kind, x, y, size) {
  g.beginPath();
  if (kind === CACHED) g.arc(x, y, size, 0, 7);
  else if (kind === SEQUENTIAL) g.rect(x - size, y - size, 2 * size, 2 * size);
  else if (kind === SEEK) { g.moveTo(x, y - size - 1); g.lineTo(x + size + 1, y + size); g.lineTo(x - size - 1, y + size); g.closePath(); }
  else { g.moveTo(x - size, y - size); g.lineTo(x + size, y + size); g.moveTo(x + size, y - size); g.lineTo(x - size, y + size); }
  if (kind === UNFINISHED) g.stroke();
  else g.fill();
}

/** A label with the paper behind it, so that it can be read over lines. */
function label(g, text, x, y, colour) {
  const width = g.measureText(text).width;
  g.globalAlpha = 0.82;
  g.fillStyle = theme.colours.paper;
  g.fillRect(x - 2, y - 7, width + 4, 14);
  g.globalAlpha = 1;
  g.fillStyle = colour;
  g.fillText(text, x, y);
}
