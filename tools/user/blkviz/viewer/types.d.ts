// SPDX-License-Identifier: GPL-2.0
// Types shared by the scripts of the page; for the type checker only.

/** Columns of numbers by name, as html.py writes them. */
type Columns = Record<string, Float64Array>;
type Numbers = ArrayLike<number>;

/** Position of a column in its chunk. */
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

/** A row of the table in panels.py; `note` is shown if the trace has no data for it. */
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
  drawn: LaneRows; // the selection of requests that is drawn
  calls: LaneRows;
}

/** Statistics of a lane in a range of time. */
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

/** A canvas with its drawing context and size. */
interface Surface {
  g: Context;
  width: number;
  height: number;
}

type Painter = (canvas: HTMLCanvasElement, trace: Trace, view: View, shown: Uint8Array, few: number[]) => void;

/** A row of the page: information on the left, a plot over time on the right. */
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

/** State of the page; load() sets trace, view and the selection. */
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

/** A pan, or a selection of a range (with Shift), in progress. */
interface Drag {
  x: number;
  t0: number;
  t1: number;
  moved: boolean;
  select: boolean;
  from: number;
}

/** Adjacent requests of a kind: times of the first and last dispatch and completion. */
interface Run {
  k: number;
  d0: number;
  d1: number;
  c0: number;
  c1: number;
}

/** Number of requests dispatched in each column of pixels. */
interface RequestColumns {
  kinds: Uint32Array[];
  all: Uint32Array;
}

type Chunk = "picture" | "events";

interface Window {
  /** For the tests. */
  blkviz: object;
}
