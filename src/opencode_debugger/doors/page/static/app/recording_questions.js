/** Questions to a recorded run, and going to what they are answered with. */
import { signal, useEffect } from "./framework.js";
import { bringSourceForward, remembered } from "./layout.js";
import { RelayError } from "./relay.js";
import { canGoBack, goTo } from "./session_commands.js";

/** Characters of an answer: as many as a person looks through. */
export const BUDGET = 50_000;

/** The name of the view that is shown. */
export const shownView = remembered("recording-view", "tree");

/** One of the questions: what it was answered with last, or why it was not. */
export class Question {
  constructor(recordings, path) {
    this.recordings = recordings;
    this.path = path;
    this.answer = signal(null);
    this.error = signal(null);
    this.asked = 0;
  }

  /** Ask; the answer to a question that was asked before is thrown away. */
  async ask(query = {}, path = this.path) {
    const number = ++this.asked;
    try {
      const answer = await this.recordings.ask(path, query);
      if (number !== this.asked) return;
      this.answer.value = answer;
      this.error.value = null;
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      if (number === this.asked) this.error.value = error;
    }
  }
}

/** Have `load` called when a view is opened, when `what` it is about changes, and when there may be more; not while the program runs. */
export const useRecorded = (store, recordings, load, what) => useEffect(() => {
  if (recordings.name && store.status.value !== "running") load();
}, [recordings.name, recordings.edition.value, store.status.value, what]);

/** The recordings of a session: which one is looked at, and the way to ask it. */
export class Recordings {
  constructor(store) {
    this.store = store;
    /** the name of the one that is looked at; null: the last */
    this.chosen = signal(null);
    /** number of the call that was looked at last */
    this.looked = signal(null);
    /** counts how often somebody wanted all of it read again */
    this.edition = signal(0);
  }

  get names() {
    return this.store.recording.value?.recordings ?? [];
  }

  get name() {
    return this.names.includes(this.chosen.value) ? this.chosen.value : this.names.at(-1);
  }

  ask(path, query) {
    return this.store.get(`recording/${path}`, { recording: this.name, ...query });
  }

  /** Stand at a call, or at a moment of it; where nobody can (the program runs, or there is only a file), look at the call. */
  goTo(call, moment = `#${call}`) {
    this.looked.value = call;
    if (canGoBack(this.store)) {
      bringSourceForward();
      goTo(this.store, moment, this.name);
    } else shownView.value = "life";
  }
}
