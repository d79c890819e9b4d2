// SPDX-License-Identifier: GPL-2.0
// The trace: columns, the order of completions, one lane per process, and the statistics
// of a range of time. Times are ns from the first event.

const CACHED = 0,
  SEQUENTIAL = 1,
  SEEK = 2,
  UNFINISHED = 3;
const KINDS = ["cached", "sequential", "seek", "unfinished"];
const NOT_WHOLE = 7,
  NO_DISPATCH = 1,
  OPEN = 6;

const NO_ROWS = { rows: new Int32Array(0), longest: 0 };

class Trace {
  /** Time of completion and kind of each request. */
  completed = new Float64Array(0);
  kind = new Uint8Array(0);
  minSector = Infinity;
  maxSector = 0;
  callEnd = new Float64Array(0);
  /** Requests in the order of completion, and the times of completion. */
  byCompletion = new Int32Array(0);
  completionTimes = new Float64Array(0);
  /** Rows of the series by process. @type {Record<string, Map<number, number[]>>} */
  series = {};
  /** Set while the second chunk loads or when it is loaded. @type {Promise<void> | undefined} */
  eventsReady = undefined;
  /** @type {Columns} */
  e = {};
  firstEvent = new Float64Array(0);
  /** Messages by event. @type {Map<number, string>} */
  texts = new Map();

  /** @param {Head} head @param {Columns} columns @param {() => string} eventsText the second chunk */
  constructor(head, columns, eventsText) {
    this.head = head;
    this.c = columns;
    this.eventsText = eventsText;
    this.duration = Math.max(head.duration, 1);
    this.begin = Math.min(head.begin, this.duration - 1);
    this.processes = head.processes;
    this.byPid = new Map(head.processes.map((process, place) => [process.pid, place]));
    this.requests = columns["r.dispatched"].length;
    this.calls = columns["c.start"].length;
    this.prepareRequests();
    /** @type {Lane[]} */
    this.lanes = this.processes.map((process, place) => ({
      process,
      place,
      requests: NO_ROWS,
      drawn: NO_ROWS,
      calls: NO_ROWS,
    }));
    this.fillLanes("requests", columns["r.process"], columns["r.dispatched"], this.completed);
    this.fillLanes("calls", columns["c.process"], columns["c.start"], this.callEnd);
    this.draw(false);
    this.slices = rowsByPid(columns["s.pid"]);
    this.longest = this.lanes.reduce((most, lane) => Math.max(most, lane.requests.longest), 0);
    this.overview = new Float64Array(400);
    this.byCompletion.forEach((i) => {
      const bin = Math.min(399, Math.floor((this.completed[i] / this.duration) * 400));
      this.overview[bin] += columns["r.length"][i];
    });
  }

  prepareRequests() {
    const { c } = this;
    const n = this.requests;
    this.completed = new Float64Array(n);
    this.kind = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      const lasts = c["r.in_drive"][i];
      this.completed[i] = c["r.dispatched"][i] + lasts;
      this.kind[i] =
        c["r.flags"][i] & NOT_WHOLE
          ? UNFINISHED
          : lasts < this.head.cachedBelow
            ? CACHED
            : lasts > this.head.seekAbove
              ? SEEK
              : SEQUENTIAL;
      if (c["r.length"][i]) {
        this.minSector = Math.min(this.minSector, c["r.sector"][i]);
        this.maxSector = Math.max(this.maxSector, c["r.sector"][i] + c["r.length"][i] / 512);
      }
    }
    if (this.minSector > this.maxSector) this.minSector = 0;
    this.callEnd = new Float64Array(this.calls);
    for (let i = 0; i < this.calls; i++) this.callEnd[i] = c["c.start"][i] + c["c.lasts"][i];
    const done = [];
    for (let i = 0; i < n; i++) if (!(c["r.flags"][i] & OPEN)) done.push(i);
    this.byCompletion = Int32Array.from(done);
    const times = this.completed;
    this.byCompletion.sort((a, b) => times[a] - times[b]);
    this.completionTimes = Float64Array.from(this.byCompletion, (i) => times[i]);
  }

  /**
   * The rows of a series for each process, sorted by process; the position selects colour and line style.
   * @param {string} name
   */
  seriesRows(name) {
    return (this.series[name] ||= new Map([...rowsByPid(this.c[`${name}.pid`])].sort((a, b) => a[0] - b[0])));
  }

  /**
   * Collects the rows of each process, in the order of time, and the duration of the longest.
   * @param {"requests" | "calls"} what @param {Numbers} process @param {Numbers} start @param {Numbers} end
   */
  fillLanes(what, process, start, end) {
    const counts = new Int32Array(this.lanes.length);
    for (let i = 0; i < process.length; i++) counts[process[i]]++;
    const fill = new Int32Array(this.lanes.length);
    for (const lane of this.lanes) lane[what] = { rows: new Int32Array(counts[lane.place]), longest: 0 };
    for (let i = 0; i < process.length; i++) {
      const mine = this.lanes[process[i]][what];
      mine.rows[fill[process[i]]++] = i;
      mine.longest = Math.max(mine.longest, end[i] - start[i]);
    }
  }

  /**
   * Selects the requests that the lanes show: all, or those that missed their deadlines.
   * @param {boolean} lateOnly
   */
  draw(lateOnly) {
    const slack = this.c["r.slack"];
    for (const lane of this.lanes) {
      const { rows, longest } = lane.requests;
      lane.drawn = lateOnly ? { rows: rows.filter((i) => slack[i] < 0), longest } : lane.requests;
    }
  }

  /**
   * The range [first, last) of rows of a lane that may touch [t0, t1], including some before t0.
   * @param {Int32Array} rows @param {Numbers} start @param {number} longest @param {number} t0 @param {number} t1
   */
  range(rows, start, longest, t0, t1) {
    return [
      lowerBound(rows.length, (i) => start[rows[i]] >= t0 - longest),
      lowerBound(rows.length, (i) => start[rows[i]] > t1),
    ];
  }

  /**
   * Computes the statistics and histograms of a lane for [t0, t1].
   * @param {Lane} lane @param {number} t0 @param {number} t1
   */
  figures(lane, t0, t1) {
    const { c } = this;
    /** @type {Figures} */
    const found = {
      bytes: 0,
      requests: 0,
      calls: 0,
      files: 0,
      reads: new Float64Array(READ_BINS),
      drive: new Float64Array(DRIVE_BINS),
      readCount: 0,
      driveCount: 0,
      bandwidth: 0,
      filesPerSecond: 0,
      requestBytes: 0,
    };
    const rows = lane.requests.rows;
    const [first, last] = this.range(rows, c["r.dispatched"], lane.requests.longest, t0, t1);
    for (let k = first; k < last; k++) {
      const i = rows[k];
      if (c["r.flags"][i] & OPEN || this.completed[i] < t0 || this.completed[i] > t1) continue;
      found.requests++;
      found.bytes += c["r.length"][i];
      if (this.kind[i] === UNFINISHED) continue;
      found.driveCount++;
      found.drive[Math.min(DRIVE_BINS - 1, Math.floor(c["r.in_drive"][i] / DRIVE_BIN_NS))]++;
    }
    const calls = lane.calls.rows;
    const [firstCall, lastCall] = this.range(calls, c["c.start"], lane.calls.longest, t0, t1);
    const { operations } = this.head;
    for (let k = firstCall; k < lastCall; k++) {
      const i = calls[k];
      if (this.callEnd[i] < t0 || this.callEnd[i] > t1) continue;
      found.calls++;
      if (c["c.flags"][i]) continue;
      const operation = operations[c["c.op"][i]];
      if (operation === "vfs_open" && c["c.result"][i] >= 0) found.files++;
      if (operation !== "vfs_read") continue;
      found.readCount++;
      found.reads[readBin(c["c.lasts"][i])]++;
    }
    const seconds = timeIn(lane.process, t0, t1) / 1e9;
    found.bandwidth = seconds ? found.bytes / seconds : 0;
    found.filesPerSecond = seconds ? found.files / seconds : 0;
    found.requestBytes = found.requests ? found.bytes / found.requests : 0;
    return found;
  }

  /**
   * The events of a request, oldest first; the first call loads the second chunk.
   * @param {number} request
   */
  async eventsOf(request) {
    await this.loadEvents();
    const found = [];
    for (let k = this.firstEvent[request]; k < this.firstEvent[request + 1]; k++)
      found.push(this.event(this.e["r.event"][k]));
    return found;
  }

  /** @param {number} index */
  event(index) {
    const { e, head } = this;
    const action = e["e.action"][index];
    return {
      time: e["e.time"][index],
      action,
      letter: head.letters[action] || "?",
      word: head.words[action] || "unknown",
      cpu: e["e.cpu"][index],
      pid: e["e.pid"][index],
      sector: e["e.sector"][index],
      length: e["e.length"][index],
      category: e["e.category"][index],
      error: e["e.error"][index],
      text: this.texts.get(index) || "",
    };
  }

  loadEvents() {
    this.eventsReady ||= (async () => {
      const { columns, texts } = await unpack(this.eventsText(), this.head.columns.events);
      this.e = columns;
      this.firstEvent = new Float64Array(this.requests + 1);
      for (let i = 0; i < this.requests; i++) this.firstEvent[i + 1] = this.firstEvent[i] + this.c["r.events"][i];
      this.e["m.event"].forEach((index, k) => this.texts.set(index, texts["m.text"][k]));
    })();
    return this.eventsReady;
  }
}

// Histogram of read(): three bins per decade from 10 us; of the time in the drive: bins of 0.5 ms, cut at 20 ms.
const READ_BINS = 19,
  DRIVE_BINS = 40,
  DRIVE_BIN_NS = 500000;

/** @param {number} ns */
function readBin(ns) {
  return Math.min(READ_BINS - 1, Math.max(0, Math.floor(3 * Math.log10(ns / 10000) + 1e-9)));
}

/**
 * How much of [t0, t1] a process was active: see Process.time_in() in tables.py.
 * @param {Process} process @param {number} t0 @param {number} t1
 */
function timeIn(process, t0, t1) {
  const there = Math.min(process.last, t1) - Math.max(process.first, t0);
  return there >= 0 ? Math.min(there + process.pause, t1 - t0) : 0;
}

/**
 * The first i in [0, n) for which test(i) is true, or n.
 * @param {number} n @param {(i: number) => boolean} test
 */
function lowerBound(n, test) {
  let low = 0,
    high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// --- formatting of numbers ---

/** @param {number} ns @param {number} [step] */
function formatTime(ns, step = 0) {
  const digits = step ? Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9)))) : 6;
  return (ns / 1e9).toFixed(digits);
}

/** @param {number} ns */
function formatSpan(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns.toFixed(0)} ns`;
  if (size < 1e6) return `${short(ns / 1e3)} µs`;
  if (size < 1e9) return `${short(ns / 1e6)} ms`;
  return `${short(ns / 1e9)} s`;
}

/** @param {number} bytes @param {string} [suffix] */
function formatBytes(bytes, suffix = "") {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = Math.abs(bytes),
    unit = 0;
  while (size >= 1024 && unit < 4) {
    size /= 1024;
    unit++;
  }
  return `${bytes < 0 ? "-" : ""}${short(size)} ${units[unit]}${suffix}`;
}

/** @param {number} value */
function short(value) {
  const size = Math.abs(value);
  return Number.isInteger(value) && size < 1e6 ? String(value) : value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

/** @param {number} category */
function kindOfIo(category) {
  let word =
    category & 0x2000
      ? "D"
      : category & 0x3f0000
        ? "Z"
        : category & 0x400000
          ? "WZ"
          : category & 2
            ? "W"
            : category & 1
              ? "R"
              : "N";
  if (category & 4) word = "F" + word;
  if (category & 0x8000) word += "F";
  if (category & 0x800) word += "A";
  if (category & 8) word += "S";
  if (category & 0x1000) word += "M";
  return word;
}
