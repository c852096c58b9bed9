/** Values as a tree: which of them are open, and what was read of each, a page at a time. */
import { signal } from "./framework.js";

const PAGE_ROWS = 100;
const TEXT_PER_ROW = 120;
const BYTES_PER_ROW = 16;
const MOST_OPEN_PATHS = 1000;

/** A value that was opened: its rows as far as they were read, and those of its rows that are open themselves. */
class OpenValue {
  constructor(variable, path, depth, before) {
    this.variable = variable;
    this.path = path;
    this.depth = depth;
    /** what this value showed at the stop before: shown until it is read again, and compared with */
    this.before = before;
    if (before) before.before = null;
    this.form = before?.form ?? "rows";
    this.total = before?.total ?? null;
    this.pages = new Map();
    this.asked = new Set();
    this.open = new Map();
    this.error = null;
  }

  get rowCount() {
    let count = this.total ?? 1;
    for (const inner of this.open.values()) count += inner.rowCount;
    return count;
  }

  rowOf(index) {
    const page = Math.floor(index / PAGE_ROWS);
    const rows = this.pages.get(page) ?? this.before?.pages.get(page);
    return rows?.[index % PAGE_ROWS];
  }

  /** Find the row at a position among all that are seen, as {holder, index}. */
  find(position) {
    let passed = 0;
    for (const index of [...this.open.keys()].sort((one, other) => one - other)) {
      const own = position - passed;
      if (own <= index) break;
      const inner = this.open.get(index);
      if (own <= index + inner.rowCount) return inner.find(own - index - 1);
      passed += inner.rowCount;
    }
    return { holder: this, index: position - passed };
  }
}

export class ValueTree {
  /** `readPage(reference, start, count)` answers as `GET variables/{reference}` does. */
  constructor(readPage) {
    this.readPage = readPage;
    /** counts up whenever the tree is to be drawn anew */
    this.version = signal(0);
    this.openPaths = new Set();
    /** those that would be open by themselves, and were closed */
    this.closedPaths = new Set();
    this.context = null;
    this.root = new OpenValue(null, "", 0, null);
    this.root.total = 0;
  }

  get rowCount() {
    return this.root.total === 0 ? 0 : this.root.rowCount;
  }

  /** Show other values. In the same context (a function, say) those that differ from before are marked. */
  setRoots(variables, context) {
    const before = context === this.context ? this.root : null;
    this.context = context;
    this.root = new OpenValue(null, "", 0, before);
    this.root.total = variables.length;
    for (let page = 0; page * PAGE_ROWS < variables.length; page += 1) {
      this.root.asked.add(page);
      this.#pageCame(this.root, page, variables.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS));
    }
    this.version.value += 1;
  }

  /** Tell what is at a position: {holder, index, setSize, variable, path, depth, isOpen, canOpen}; has it read if need be. */
  rowAt(position) {
    const { holder, index } = this.root.find(position);
    const variable = holder.rowOf(index);
    if (holder !== this.root) this.#need(holder, Math.floor(index / PAGE_ROWS));
    const inner = holder.open.get(index);
    const path = variable && pathBelow(holder, variable);
    const canOpen = Boolean(variable?.variables_reference) && !variable.isPart;
    return { holder, index, setSize: holder.total ?? -1, variable, path, depth: holder.depth + 1, isOpen: Boolean(inner), canOpen };
  }

  /** The position of the row that a row is inside of; -1 for a root. */
  positionAbove(position) {
    const { holder } = this.root.find(position);
    if (holder === this.root) return -1;
    for (let above = position - 1; above >= 0; above -= 1) {
      const row = this.rowAt(above);
      if (row.holder.open.get(row.index) === holder) return above;
      if (row.holder === holder) above -= row.index;
    }
    return -1;
  }

  toggle(position) {
    const row = this.rowAt(position);
    if (!row.canOpen) return;
    if (row.isOpen) this.#close(row);
    else this.#open(row.holder, row.index, row.variable);
    this.version.value += 1;
  }

  #open(holder, index, variable) {
    const path = pathBelow(holder, variable);
    const before = [...(holder.before?.open.values() ?? [])].find((each) => each.path === path);
    const inner = new OpenValue(variable, path, holder.depth + 1, before);
    holder.open.set(index, inner);
    if (this.openPaths.size < MOST_OPEN_PATHS) this.openPaths.add(path);
    this.closedPaths.delete(path);
    this.#need(inner, 0);
  }

  #close({ holder, index, path, variable }) {
    holder.open.delete(index);
    this.openPaths.delete(path);
    if (variable.startsOpen) this.closedPaths.add(path);
  }

  async #need(value, page) {
    if (value.asked.has(page)) return;
    value.asked.add(page);
    const { root } = this;
    try {
      const answer = await this.#read(value, page);
      if (root !== this.root) return;
      value.total = answer.total;
      this.#pageCame(value, page, answer.rows);
    } catch (error) {
      // A step that was quicker: what is shown is of the stop before, and the next is on its way.
      if (root !== this.root || value.before) return;
      value.total ??= 1;
      value.pages.set(page, [{ name: "", value: error.message, isPart: true, isError: true }]);
    }
    this.version.value += 1;
  }

  /** Read a page; a long text or long bytes turn out as such at the first look, and have rows of their own form. */
  async #read(value, page) {
    const perRow = { rows: 1, text: TEXT_PER_ROW, bytes: BYTES_PER_ROW }[value.form];
    const count = PAGE_ROWS * perRow;
    const answer = await this.readPage(value.variable.variables_reference, page * count, count);
    const form = answer.text !== undefined ? "text" : answer.base64 !== undefined ? "bytes" : "rows";
    if (form !== value.form) {
      value.form = form;
      return this.#read(value, page);
    }
    if (form === "rows") return { total: answer.total, rows: await this.#readRest(value, page, answer) };
    const rows = form === "text" ? rowsOfText(answer.text, page * count) : rowsOfBytes(answer.base64, page * count);
    return { total: Math.ceil(answer.total / perRow), rows };
  }

  /** An answer has only as many rows as it has room for: read those that are missing. */
  async #readRest(value, page, { total, variables }) {
    const start = page * PAGE_ROWS;
    const expected = Math.min(total - start, PAGE_ROWS);
    const rows = [...variables];
    while (rows.length < expected) {
      const more = await this.readPage(value.variable.variables_reference, start + rows.length, expected - rows.length);
      if (!more.variables.length) break;
      rows.push(...more.variables);
    }
    return rows;
  }

  #pageCame(value, page, rows) {
    const before = new Map((value.before?.pages.get(page) ?? []).map((row) => [row.name, row.value]));
    value.pages.set(page, rows.map((row) => {
      const old = before.get(row.name);
      return old !== undefined && old !== row.value ? { ...row, changed: true, old } : row;
    }));
    value.pages.get(page).forEach((row, number) => {
      const index = page * PAGE_ROWS + number;
      const path = pathBelow(value, row);
      const isWanted = this.openPaths.has(path) || (row.startsOpen && !this.closedPaths.has(path));
      if (isWanted && row.variables_reference && !value.open.has(index)) this.#open(value, index, row);
    });
  }
}

const pathBelow = (holder, variable) => `${holder.path}\u0000${variable.name}`;

function rowsOfText(text, start) {
  const rows = [];
  for (let at = 0; at < text.length; at += TEXT_PER_ROW) {
    rows.push({ name: String(start + at), value: text.slice(at, at + TEXT_PER_ROW), isPart: true });
  }
  return rows;
}

function rowsOfBytes(base64, start) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const rows = [];
  for (let at = 0; at < bytes.length; at += BYTES_PER_ROW) {
    rows.push({ name: String(start + at), value: hexAndText(bytes.subarray(at, at + BYTES_PER_ROW)), isPart: true });
  }
  return rows;
}

/** Bytes as people read them: in hexadecimal digits, and as the characters that they are in ASCII. */
export function hexAndText(bytes) {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const text = Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
  return `${hex.padEnd(BYTES_PER_ROW * 3 - 1)}  ${text}`;
}
