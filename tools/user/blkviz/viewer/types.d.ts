// SPDX-License-Identifier: GPL-2.0
// What the scripts of the page hand to each other; for the type checker only.

/** Columns of numbers by name, as html.py writes them. */
type Columns = Record<string, Float64Array>;
type Numbers = ArrayLike<number>;

/** Where a column is in its chunk. */
interface ColumnPlace {
  at: number;
  bytes: number;
  count: number;
  width: number;
  delta: number;
  text?: number;
}

/** Process of tables.py. */
interface Process {
  pid: number;
  name: string;
  bytes: number;
  reserved: number;
  cls: string;
  first: number;
  last: number;
  pause: number;
  met: number;
  missed: number;
}

/** A row of the table in panels.py; `note` is said in place of what the trace has not. */
interface Panel {
  name: string;
  title: string;
  text: string;
  pixels: number;
  note: string;
  values: { key: string; label: string; unit: string; line: boolean } | null;
}

/** The head of html.payload(). */
interface Head {
  title: string;
  device: string;
  clock: number | null;
  origin: number;
  version: number;
  duration: number;
  begin: number;
  events: number;
  processes: Process[];
  operations: string[];
  lost: { start: number; end: number; count: number; cpu: number }[];
  problems: string[];
  hints: string[];
  letters: Record<number, string>;
  words: Record<number, string>;
  classes: string[];
  expired: string[];
  panels: Panel[];
  band: number;
  cachedBelow: number;
  seekAbove: number;
  live: boolean;
  columns: Record<"picture" | "events", Record<string, ColumnPlace>>;
}

/** Rows of a process, in the order of time. */
interface LaneRows {
  rows: Int32Array;
  longest: number;
}

interface Lane {
  process: Process;
  place: number;
  requests: LaneRows;
  drawn: LaneRows; // requests, or those of them that are asked for
  calls: LaneRows;
}

/** What a lane shows of a range of time. */
interface Figures {
  bytes: number;
  requests: number;
  calls: number;
  files: number;
  reads: Float64Array;
  drive: Float64Array;
  readCount: number;
  driveCount: number;
  bandwidth: number;
  filesPerSecond: number;
  requestBytes: number;
}

interface TraceEvent {
  time: number;
  action: number;
  letter: string;
  word: string;
  cpu: number;
  pid: number;
  sector: number;
  length: number;
  category: number;
  error: number;
  text: string;
}

type Context = CanvasRenderingContext2D;

/** What a canvas of the size of its place is drawn with. */
interface Surface {
  g: Context;
  width: number;
  height: number;
}

type Painter = (canvas: HTMLCanvasElement, trace: Trace, view: View, shown: Uint8Array, few: number[]) => void;

/** A row of the page: facts on the left, something drawn over the time on the right. */
interface Row {
  id: string;
  row: HTMLElement;
  info: HTMLElement;
  plot: HTMLElement;
  canvas: HTMLCanvasElement;
  line?: HTMLElement;
  lane?: Lane;
  draw: () => void;
}

interface LaneRow extends Row {
  lane: Lane;
  values: Record<string, HTMLElement>;
  figures?: Figures;
  reads: HTMLCanvasElement;
  drive: HTMLCanvasElement;
}

type Pointer = (row: Row, x: number, y: number, clientX: number, clientY: number) => void;

/** What the page knows; trace, view and what is shown come with load(). */
interface Page {
  trace: Trace;
  view: View;
  tooltip: Tooltip;
  selected: number;
  focusLane: number;
  checked: Set<number>;
  touched: boolean;
  rows: Row[];
  laneRows: LaneRow[];
  shownLanes: number[];
  shown: Uint8Array;
  few: number[];
  cursor: number;
  drawing: boolean;
  following: boolean;
  figuresTimer: number;
  overviewCanvas: HTMLCanvasElement;
  axisCanvas: HTMLCanvasElement;
  timings: { draws: number[]; unpacked?: number; firstPicture?: number; firstFigures?: number };
}

/** A pan, or with Shift the choice of a range, that goes on. */
interface Drag {
  x: number;
  t0: number;
  t1: number;
  moved: boolean;
  select: boolean;
  from: number;
}

/** Neighbours of a kind: when the first and the last were dispatched, and completed. */
interface Run {
  k: number;
  d0: number;
  d1: number;
  c0: number;
  c1: number;
}

/** How many requests are dispatched in each column of pixels. */
interface RequestColumns {
  kinds: Uint32Array[];
  all: Uint32Array;
}

type Chunk = "picture" | "events";

interface Window {
  /** For the tests. */
  blkviz: object;
}
