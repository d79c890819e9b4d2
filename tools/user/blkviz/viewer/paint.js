// SPDX-License-Identifier: GPL-2.0
// Colours, patterns and drawing functions of several panels. Colour is never the only
// distinction: kinds also have patterns, line styles and marks, classes have rows and patterns.

/** @type {Record<string, number[]>} */
const DASHES = { cached: [1.5, 2.5], sequential: [], seek: [7, 3], unfinished: [2, 6] };
/** @type {number[][]} */
const PROCESS_DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3], [4, 2, 1, 2], [12, 4]];

/** The lines in the tile of a pattern: from x, y to x, y. @type {Record<string, number[][]>} */
const TILES = {
  rows: [
    [0, 2, 8, 2],
    [0, 6, 8, 6],
  ],
  slant: [
    [-1, 9, 9, -1],
    [-5, 5, 5, -5],
    [3, 13, 13, 3],
  ],
  back: [
    [-1, -1, 9, 9],
    [3, -5, 13, 5],
    [-5, 3, 5, 13],
  ],
  cross: [
    [0, 4, 8, 4],
    [4, 0, 4, 8],
  ],
};

const theme = {
  /** @type {Record<string, string>} */
  colours: {},
  /** @type {Record<string, CanvasPattern>} */
  patterns: {},
  /** The pixels of a pattern's tile. @type {Record<string, Uint32Array>} */
  tiles: {},
  /** A pixel of a kind's colour. @type {Record<string, number>} */
  pixels: {},
  /** The colours of the classes. @type {string[]} */
  classes: [],
  /** Reads the colours from the style sheet and creates the patterns. */
  load() {
    const style = getComputedStyle(document.documentElement);
    const names =
      "paper panel ink soft line grid border-call call cached sequential seek unfinished rt bw be idle lost accent " +
      "p0 p1 p2 p3 p4 p5";
    for (const name of names.split(" ")) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    const { colours } = this;
    const kinds = { cached: "dots", sequential: "rows", seek: "slant", unfinished: "cross" };
    for (const [name, marks] of Object.entries(kinds)) {
      const drawn = tile(colours[name], marks);
      this.patterns[name] = patternOf(drawn);
      this.tiles[name] = new Uint32Array(contextOf(drawn).getImageData(0, 0, 8, 8).data.buffer);
      const parts = colours[name].match(/[0-9a-f]{2}/gi) || [];
      const [red, green, blue] = parts.map((part) => parseInt(part, 16));
      [this.pixels[name]] = new Uint32Array(Uint8Array.of(red, green, blue, 255).buffer);
    }
    this.patterns = {
      ...this.patterns,
      lost: pattern(colours.lost, "back"),
      idle: pattern(colours.soft, "slant"),
      RT: pattern(colours.rt, "slant"),
      BW: pattern(colours.bw, "rows"),
      BE: pattern(colours.be, "dots"),
    };
    this.classes = ["soft", "rt", "bw", "be", "idle"].map((name) => colours[name]);
  },
};

/** @param {HTMLCanvasElement} canvas */
function contextOf(canvas) {
  const g = canvas.getContext("2d");
  if (!g) throw new Error("the browser cannot draw on a canvas");
  return g;
}

/** @param {HTMLCanvasElement} drawn */
function patternOf(drawn) {
  const made = contextOf(drawn).createPattern(drawn, "repeat");
  if (!made) throw new Error("the browser has no canvas patterns");
  return made;
}

/** @param {string} colour @param {string} marks */
const pattern = (colour, marks) => patternOf(tile(colour, marks));

/**
 * A tile of a pattern, eight pixels wide and high: marks on a light background of the same colour.
 * @param {string} colour @param {string} marks
 */
function tile(colour, marks) {
  const drawn = document.createElement("canvas");
  drawn.width = drawn.height = 8;
  const g = contextOf(drawn);
  g.fillStyle = colour;
  g.globalAlpha = 0.32;
  g.fillRect(0, 0, 8, 8);
  g.globalAlpha = 1;
  g.strokeStyle = colour;
  g.lineWidth = 1.4;
  g.beginPath();
  for (const [x0, y0, x1, y1] of TILES[marks] || []) {
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
  }
  g.stroke();
  if (marks === "dots")
    for (const [x, y] of [
      [1, 1],
      [5, 5],
    ])
      g.fillRect(x, y, 2, 2);
  return drawn;
}

/**
 * Draws an image over the canvas: many times faster than a rectangle for each pixel.
 * @param {Context} g @param {ImageData} image
 */
function paintImage(g, image) {
  const drawn = new OffscreenCanvas(image.width, image.height);
  drawn.getContext("2d")?.putImageData(image, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(drawn, 0, 0);
}

/**
 * Resizes a canvas to its place and clears it; returns null while it is not visible.
 * @param {HTMLCanvasElement} canvas
 */
function surface(canvas) {
  const width = canvas.clientWidth,
    height = canvas.clientHeight;
  if (!width || !height) return null;
  const ratio = window.devicePixelRatio || 1;
  const w = Math.round(width * ratio),
    h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const g = contextOf(canvas);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  g.textBaseline = "middle";
  return { g, width, height };
}

/**
 * A round step for a scale with about this number of steps.
 * @param {number} range @param {number} count
 */
function niceStep(range, count) {
  const raw = range / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 5].find((factor) => factor * power >= raw) || 10) * power;
}

/** @param {number} low @param {number} high @param {number} count */
function ticks(low, high, count) {
  const step = niceStep(high - low || 1, count);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-6; n++) found.push(n * step);
  return { step, values: found };
}

/**
 * Draws the vertical grid lines of a panel.
 * @param {Context} g @param {View} view @param {number} width @param {number} height
 */
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

/**
 * Hatches the times where events were lost, at least three pixels wide.
 * @param {Context} g @param {Trace} trace @param {View} view @param {number} width @param {number} height
 * @param {boolean} labelled
 */
function lostBands(g, trace, view, width, height, labelled) {
  let lastLabel = -1e9;
  for (const lost of trace.head.lost) {
    if (lost.end < view.t0 || lost.start > view.t1) continue;
    const x0 = Math.max(0, view.x(lost.start)),
      x1 = Math.min(width, view.x(lost.end));
    const wide = Math.max(3, x1 - x0);
    g.fillStyle = theme.patterns.lost;
    g.globalAlpha = 0.55;
    g.fillRect(x0, 0, wide, height);
    g.globalAlpha = 1;
    if (labelled && x0 - lastLabel > 90) {
      label(g, `✕ ${lost.count} lost`, Math.min(x0 + 3, width - 60), height - 7, theme.colours.lost);
      lastLabel = x0;
    }
  }
}

/**
 * Draws a small mark; its shape depends on the kind.
 * @param {Context} g @param {number} kind @param {number} x @param {number} y @param {number} size
 */
function mark(g, kind, x, y, size) {
  g.beginPath();
  if (kind === CACHED) g.arc(x, y, size, 0, 7);
  else if (kind === SEQUENTIAL) g.rect(x - size, y - size, 2 * size, 2 * size);
  else if (kind === SEEK) {
    g.moveTo(x, y - size - 1);
    g.lineTo(x + size + 1, y + size);
    g.lineTo(x - size - 1, y + size);
    g.closePath();
  } else {
    g.moveTo(x - size, y - size);
    g.lineTo(x + size, y + size);
    g.moveTo(x + size, y - size);
    g.lineTo(x - size, y + size);
  }
  if (kind === UNFINISHED) g.stroke();
  else g.fill();
}

/**
 * Draws a label with a background, so that it is legible over lines.
 * @param {Context} g @param {string} text @param {number} x @param {number} y @param {string} colour
 */
function label(g, text, x, y, colour) {
  const width = g.measureText(text).width;
  g.globalAlpha = 0.82;
  g.fillStyle = theme.colours.paper;
  g.fillRect(x - 2, y - 7, width + 4, 14);
  g.globalAlpha = 1;
  g.fillStyle = colour;
  g.fillText(text, x, y);
}
