// SPDX-License-Identifier: GPL-2.0
// The tooltip: a request with all its events, a system call, or a time slice.

/** @type {Record<number, string>} */
const ERRORS = {
  5: "EIO",
  11: "EAGAIN",
  28: "ENOSPC",
  61: "ENODATA",
  84: "EILSEQ",
  95: "EOPNOTSUPP",
  110: "ETIMEDOUT",
  121: "EREMOTEIO",
};

class Tooltip {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.kept = false;
    this.key = "";
    this.loading = Promise.resolve();
  }

  /** @param {boolean} [force] */
  hide(force = false) {
    if (this.kept && !force) return;
    this.kept = false;
    this.key = "";
    this.element.hidden = true;
    this.element.classList.remove("kept");
  }

  keep() {
    if (this.element.hidden) return;
    this.kept = true;
    this.element.classList.add("kept");
  }

  /**
   * Shows the tooltip, with contents from `fill` unless they are for the same key.
   * @param {string} key @param {number} x @param {number} y
   * @param {(element: HTMLElement, still: () => boolean) => void | Promise<void>} fill
   */
  show(key, x, y, fill) {
    if (this.kept) return this.loading;
    if (this.key !== key) {
      this.key = key;
      this.element.replaceChildren();
      this.loading = Promise.resolve(fill(this.element, () => this.key === key)).then(() => this.place(x, y));
    }
    this.element.hidden = false;
    this.place(x, y);
    return this.loading;
  }

  /** @param {number} x @param {number} y */
  place(x, y) {
    const { offsetWidth, offsetHeight } = this.element;
    const left = x + 16 + offsetWidth < innerWidth ? x + 16 : Math.max(4, x - offsetWidth - 16);
    const top = y + 16 + offsetHeight < innerHeight ? y + 16 : Math.max(4, y - offsetHeight - 12);
    this.element.style.left = `${left}px`;
    this.element.style.top = `${top}px`;
  }
}

/**
 * Appends a new child to an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {HTMLElement} parent @param {K} tag @param {string} [text] @param {string} [className]
 * @returns {HTMLElementTagNameMap[K]}
 */
function add(parent, tag, text, className) {
  const child = document.createElement(tag);
  if (text !== undefined) child.textContent = text;
  if (className) child.className = className;
  parent.append(child);
  return child;
}

/** @param {Trace} trace @param {number} pid */
const processName = (trace, pid) => {
  const place = trace.byPid.get(pid);
  return place === undefined ? String(pid) : `${trace.processes[place].name} (${pid})`;
};

/** @param {Trace} trace @param {number} i */
function requestTitle(trace, i) {
  const { c } = trace,
    length = c["r.length"][i];
  const io = kindOfIo(c["r.category"][i]);
  const verb = io.startsWith("R")
    ? "read"
    : io.startsWith("W")
      ? "write"
      : io.startsWith("D")
        ? "discard"
        : io.startsWith("F")
          ? "flush"
          : io;
  return `${verb} ${formatBytes(length)} at sector ${c["r.sector"][i]}: ${KINDS[trace.kind[i]]}`;
}

/** @param {Trace} trace @param {number} i */
function requestFacts(trace, i) {
  const { c, head } = trace,
    flags = c["r.flags"][i],
    facts = [];
  facts.push(`by ${processName(trace, trace.processes[c["r.process"][i]].pid)}`);
  if (c["r.in_queue"][i] >= 0) facts.push(`queue to dispatch ${formatSpan(c["r.in_queue"][i])}`);
  if (flags & 1) facts.push("dispatch not in the trace");
  else if (flags & 2) facts.push("still in the drive at the end of the trace");
  else if (flags & 4) facts.push("completion event lost");
  else facts.push(`dispatch to completion ${formatSpan(c["r.in_drive"][i])}`);
  if (c["r.cls"][i]) facts.push(`class ${head.classes[c["r.cls"][i]]}`);
  const slack = c["r.slack"][i];
  if (slack < 0) facts.push(`deadline missed by ${formatSpan(-slack)}`);
  else if (slack) facts.push(`deadline met, slack ${formatSpan(slack)}`);
  const error = c["r.error"][i];
  if (error) facts.push(`error ${ERRORS[65536 - error] || 65536 - error}`);
  return facts.join(", ");
}

/**
 * Fills the tooltip of a request: a summary, then a table of its events.
 * @param {HTMLElement} element @param {Trace} trace @param {number} i @param {() => boolean} still
 * @param {() => void} close
 */
async function fillRequest(element, trace, i, still, close) {
  const button = add(element, "button", "✕");
  button.setAttribute("aria-label", "close");
  button.addEventListener("click", close);
  add(element, "h3", requestTitle(trace, i));
  add(element, "p", requestFacts(trace, i));
  const lane = trace.lanes[trace.c["r.process"][i]];
  const queued = trace.c["r.dispatched"][i] - Math.max(0, trace.c["r.in_queue"][i]);
  const call = callAt(trace, lane, queued);
  if (call >= 0) add(element, "p", `in ${callTitle(trace, call)}`);
  const table = add(element, "table");
  const titles = add(table, "tr");
  for (const title of ["time (s)", "after (µs)", "event", "CPU", "PID", "I/O", "sector + blocks", "message"])
    add(titles, "th", title);
  const events = await trace.eventsOf(i);
  if (!still()) return;
  for (const event of events) {
    const row = add(table, "tr");
    const note = event.letter === "m";
    add(row, "td", (event.time / 1e9).toFixed(9), "number time");
    add(row, "td", ((event.time - events[0].time) / 1e3).toFixed(1), "number after");
    add(row, "td", `${event.letter} ${event.word}`, "event");
    add(row, "td", String(event.cpu), "number cpu");
    add(row, "td", String(event.pid), "number pid");
    add(row, "td", note ? "" : kindOfIo(event.category), "io");
    add(row, "td", note ? "" : `${event.sector} + ${event.length / 512}`, "where");
    add(row, "td", event.text + (event.error ? ` error ${65536 - event.error}` : ""), "message");
  }
}

/** @param {Trace} trace @param {number} i */
function callTitle(trace, i) {
  const { c, head } = trace,
    flags = c["c.flags"][i],
    words = [head.operations[c["c.op"][i]]];
  for (const [name, word] of [
    ["inode", "ino"],
    ["offset", "off"],
    ["length", "len"],
  ]) {
    if (c[`c.${name}`][i] >= 0) words.push(`${word} ${c[`c.${name}`][i]}`);
  }
  words.push(flags & 2 ? "(no end in this trace)" : `ret ${c["c.result"][i]}`, formatSpan(c["c.lasts"][i]));
  return words.join(" ");
}

/** @param {HTMLElement} element @param {Trace} trace @param {number} i */
function fillCall(element, trace, i) {
  add(element, "h3", callTitle(trace, i));
  add(
    element,
    "p",
    `by ${processName(trace, trace.processes[trace.c["c.process"][i]].pid)}, ` +
      `from ${formatTime(trace.c["c.start"][i])} s to ${formatTime(trace.callEnd[i])} s`,
  );
}

/** @param {HTMLElement} element @param {Trace} trace @param {number} i */
function fillSlice(element, trace, i) {
  const { c, head } = trace;
  add(element, "h3", `slice of ${processName(trace, c["s.pid"][i])}`);
  add(
    element,
    "p",
    `${head.classes[c["s.cls"][i]]}${c["s.level"][i]}, ${c["s.sync"][i] ? "synchronous" : "asynchronous"}, ` +
      `${formatSpan(c["s.lasts"][i])} of ${formatSpan(c["s.length_us"][i] * 1000)}, ` +
      `${c["s.dispatched"][i]} requests, ended by: ${head.expired[c["s.why"][i]] || "unknown"}`,
  );
}
