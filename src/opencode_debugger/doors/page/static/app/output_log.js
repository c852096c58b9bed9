/** The output of a session as lines: read from where it was read to, whenever there is more. */
import { signal } from "./framework.js";
import { AnsiReader } from "./ansi_text.js";
import { PageReader } from "./page_reader.js";

const PAGE_ENTRIES = 1000;
const MOST_LINES = 200_000;
/** Beyond that many lines the oldest go; this many more are let in before, so that not each line moves all others. */
const SLACK = 20_000;

export class OutputLog {
  constructor(store) {
    this.store = store;
    /** lines that have ended: {pieces, category} */
    this.lines = [];
    this.readers = new Map();
    /** how many lines or entries are missing before the first */
    this.missing = 0;
    /** counts up whenever there is more to show */
    this.version = signal(0);
    this.reader = new PageReader(store, "output", PAGE_ENTRIES, (page) => this.#take(page));
    store.onEvents((events) => events.some(({ kind }) => kind === "output" || kind === "terminated") && this.pull());
  }

  /** Lines that are shown: those that ended, then the one of each category that has not. */
  get openLines() {
    return [...this.readers].filter(([, reader]) => reader.open.length)
      .map(([category, reader]) => ({ pieces: reader.open, category }));
  }

  /** Read on until there is no more. */
  pull() {
    return this.reader.pull();
  }

  #take(page) {
    if (page.cleared) this.#forget();
    this.missing += page.dropped ?? 0;
    page.entries.forEach(({ category, output }) => this.#add(category, output));
    if (page.entries.length || page.dropped || page.cleared) this.version.value += 1;
  }

  #forget() {
    this.lines = [];
    this.readers.clear();
    this.missing = 0;
  }

  #add(category, output) {
    if (!this.readers.has(category)) this.readers.set(category, new AnsiReader());
    for (const pieces of this.readers.get(category).read(output)) this.lines.push({ pieces, category });
    if (this.lines.length <= MOST_LINES + SLACK) return;
    this.missing += this.lines.length - MOST_LINES;
    this.lines = this.lines.slice(-MOST_LINES);
  }

  /** Throw away what was written so far, for everybody. */
  cleared() {
    this.#forget();
    this.version.value += 1;
  }
}

export const textOf = ({ pieces }) => pieces.map((piece) => piece.text).join("");
