/** The timeline of a session: read from where it was read to, whenever there is more. */
import { signal } from "./framework.js";
import { PageReader } from "./page_reader.js";

const PAGE_ENTRIES = 500;
const MOST_ENTRIES = 20_000;

export class TimelineLog {
  constructor(store) {
    this.store = store;
    this.entries = [];
    /** entries that the session has not kept, or that are too many for the page */
    this.missing = 0;
    /** counts up whenever there is more to show */
    this.version = signal(0);
    /** the entry that is looked at, with its report once that is read */
    this.chosen = signal(null);
    this.reader = new PageReader(store, "timeline", PAGE_ENTRIES, (page) => this.#take(page));
    store.onEvents((events) => events.some(({ kind }) => kind === "timeline") && this.pull());
  }

  /** Read on until there is no more. */
  pull() {
    return this.reader.pull();
  }

  #take(page) {
    this.missing += page.dropped ?? 0;
    if (!page.entries.length) return;
    // A command comes when it is done, after the stop that it led to: it belongs where it was asked.
    const all = [...this.entries, ...page.entries].sort((one, other) => one.at.localeCompare(other.at) || one.id - other.id);
    this.missing += Math.max(0, all.length - MOST_ENTRIES);
    this.entries = all.slice(-MOST_ENTRIES);
    this.version.value += 1;
  }

  /** Look at an entry: what was answered, or what the report of a stop said then. */
  async choose(entry) {
    this.chosen.value = entry;
    try {
      const whole = await this.store.get(`timeline/${entry.id}`);
      if (this.chosen.value?.id === entry.id) this.chosen.value = whole;
    } catch (error) {
      if (!error.code) throw error;
      if (this.chosen.value?.id === entry.id) this.chosen.value = { ...entry, report: error.message };
    }
  }
}

/** What an entry is about: what was asked for, or what happened. */
export const wordsOf = ({ kind, operation, arguments: given }) =>
  kind === "command" ? `${(operation ?? "").replaceAll("_", " ")} ${given ?? ""}`.trim() : kind;

export const whoOf = ({ client, door }) => [client, door && `(${door})`].filter(Boolean).join(" ");

export const tookOf = ({ duration_ms: took }) => (took === null || took === undefined ? "" : `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`);
