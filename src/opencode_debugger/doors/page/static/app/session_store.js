/**
 * One session's state as signals: what the relay said last, kept true by the session's events.
 *
 * An event is applied at once; what it does not tell (locals, stack) is then asked for. `stopNumber` counts the times
 * that the program stopped or ran on: an answer that was asked for before the last of them is thrown away.
 */
import { batch, computed, signal } from "./framework.js";
import { RelayError, follow, get } from "./relay.js";
import { BreakpointStore } from "./breakpoint_store.js";
import { SourceFiles } from "./source_files.js";
import { StackStore } from "./stack_store.js";
import { frameOfReport, framesOf, rowsOf } from "./lean_answers.js";
import { forgetFirstAnswers } from "./first_answers.js";
import { PAST_REPORT_QUERY, REPORT_QUERY, firstPlaceOf } from "./requests.js";

const LIVE_STATES = new Set(["launching", "running", "paused"]);
const HAS_PROGRAM = new Set(["running", "paused", "terminated"]);
const REFRESH_DELAY_MS = 150;
/** Calls of anybody after which values of the paused program may be others. */
const CHANGING_VALUES = new Set(["evaluate", "write_memory"]);
/** Calls of anybody after which there may be a recording, or none that goes on. */
const CHANGING_RECORDING = new Set(["record", "launch", "attach", "restart"]);
/** Parts that can be asked for whether there is a stop to look at or not. */
const ALWAYS_THERE = new Set(["session", "recording", "source"]);

export class SessionStore {
  constructor(id) {
    this.id = id;
    this.path = `/sessions/${id}`;
    /** the whole session as `GET /sessions/{id}` has it; null until it is read */
    this.session = signal(null);
    /** created, launching, running, paused, terminated or failed; null until it is read */
    this.status = signal(null);
    /** connecting, live, lost, or away while nobody sees the page */
    this.connection = signal("connecting");
    /** why there is no such session any more: {code, message, details} */
    this.gone = signal(null);
    this.stopNumber = signal(0);
    /** counts how often values may have changed at a stop: by an evaluation, or because somebody set one */
    this.valuesNumber = signal(0);
    this.stopReason = signal(null);
    /** where it is paused: {path, line, function} */
    this.location = signal(null);
    /** the report of the last stop; `isStale` says that the program has run on since */
    this.report = signal(null);
    this.isStale = computed(() => !this.isHalted.value);
    /** the moment of a recording at which the session stands, as `GET status` tells it; null: in the present */
    this.past = signal(null);
    /** there is a stop to look at: the program is paused, or the session stands in the past */
    this.isHalted = computed(() => this.status.value === "paused" || this.past.value !== null);
    /** what there is of recordings, as `GET record` tells it; null until it is known, or if there can be none */
    this.recording = signal(null);
    /** how it ended: {exit_code, signal, reason} */
    this.end = signal(null);
    /** {prompt} while the running program waits for its stdin */
    this.waitingForInput = signal(null);
    /** what the source view shows: {path, line, frame?}; a new object each time it is to move there */
    this.place = signal(null);
    /** what the person has asked for and is not answered yet */
    this.pending = signal(null);
    /** which dialog of the page is open: file, launch or none */
    this.dialog = signal(null);
    this.stack = new StackStore(this);
    Object.assign(this, signalsOf(this.stack));
    this.breakpoints = new BreakpointStore(this.path);
    this.files = new SourceFiles(this.path);
    /** Have the file that is shown compared with what is there now, and with what the program runs. */
    this.checkSource = () => this.refreshSoon("source");
    this.listeners = new Set();
    this.refreshes = new Map();
  }

  /** Follow the session's events until `close`; answers when the session was first read. */
  open() {
    const reading = this.resync().finally(forgetFirstAnswers);
    this.leave = follow(`${this.path}/events/stream?replay=false&timeline=true`, {
      onEvents: (events) => this.#receive(events.map(({ id, kind, data }) => ({ ...data, kind, cursor: id }))),
      onState: (state, error) => this.#connectionIs(state, error),
    });
    // A person comes back from an editor.
    window.addEventListener("focus", this.checkSource);
    return reading;
  }

  close() {
    this.leave?.();
    window.removeEventListener("focus", this.checkSource);
    this.refreshes.forEach(clearTimeout);
  }

  /** Have every batch of events passed on, as `{kind, payload, timestamp, cursor}`; answers with how to end it. */
  onEvents(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Ask something about the session, by the path below it. */
  get(path, query, options) {
    return get(`${this.path}/${path}`, query, options);
  }

  /** Tell whether the program has moved since this was called: then an answer is of the past. */
  lateness() {
    const number = this.stopNumber.value;
    return () => number !== this.stopNumber.value;
  }

  selectFrame(frame, whose) {
    return this.stack.selectFrame(frame, whose);
  }

  selectThread(threadId, taskId) {
    return this.stack.selectThread(threadId, taskId);
  }

  /** Show a line of a file in the source view; `frame` is given where the place is that of a frame. */
  showPlace(path, line, frame) {
    if (path || frame) this.place.value = { path, line, frame };
    if (this.files.has(path)) this.checkSource();
  }

  /** Ask for the whole state anew; for the beginning, and after a connection was lost. */
  async resync() {
    const isLate = this.lateness();
    try {
      const session = await get(this.path);
      if (isLate()) return this.refreshSoon("session");
      this.#sessionIs(session);
      this.refreshSoon("recording");
      const [report] = await Promise.all([this.#getReport(), this.breakpoints.load()]);
      if (isLate()) return this.refreshSoon("session");
      batch(() => this.#reportIs(report));
      await this.#loadDetails(report);
    } catch (error) {
      this.#failed(error);
    }
    return undefined;
  }

  #sessionIs(session) {
    batch(() => {
      this.session.value = session;
      this.status.value = session.status;
      this.#pastIs(session.past ?? null);
      if (!session.past) {
        this.stopReason.value = session.stop_reason;
        this.#moveTo(session.current_location);
      }
      this.waitingForInput.value = session.waiting_for_input;
      const { exit_code, signal: killed_by, reason } = session;
      const hasEnded = session.status === "terminated" || session.status === "failed";
      this.end.value = hasEnded ? { exit_code, signal: killed_by, reason } : null;
      const first = firstPlaceOf(session);
      if (!this.place.value && first?.path) this.showPlace(first.path, first.line);
    });
  }

  /** The session stands at a moment of the past, or in the present: with another thread all that is known is old. */
  #pastIs(past) {
    if (past?.thread !== this.past.value?.thread) this.stack.clear();
    this.past.value = past;
  }

  /** The program is there now, or nowhere; the source follows it if that is news. */
  #moveTo(location, frame) {
    const last = this.location.value;
    const isElsewhere = location?.path !== last?.path || location?.line !== last?.line;
    const isNews = location && (isElsewhere || !this.place.value || (!location.path && frame));
    this.location.value = location;
    if (isNews) this.showPlace(location.path, location.line, frame);
  }

  #connectionIs(state, error) {
    if (state === "ended") {
      this.gone.value = error;
      return;
    }
    this.connection.value = state;
    if (state !== "live") this.stopNumber.value += 1; // what happens meanwhile is not told
    if (state === "live") this.resync();
  }

  #failed(error) {
    if (!(error instanceof RelayError)) throw error;
    if (error.isGone) this.gone.value = { code: error.code, message: error.message, details: error.details };
  }

  #receive(events) {
    batch(() => {
      if (!HAS_PROGRAM.has(this.status.value)) this.refreshSoon("session"); // somebody has launched it
      events.forEach((event) => APPLIED[event.kind]?.(this, event.payload));
    });
    this.listeners.forEach((listener) => listener(events));
  }

  /** The program stopped, or the session went to a moment of the past: show where at once, and ask for the rest. */
  stopped(payload) {
    const { past = null } = payload;
    const wasPaused = this.status.value === "paused" && !past && !this.past.value;
    this.stopNumber.value += 1;
    this.#pastIs(past);
    if (!past) this.status.value = "paused";
    this.waitingForInput.value = null;
    if (!wasPaused || payload.thread_id === this.selected.value?.threadId) {
      this.stopReason.value = payload.reason;
      const isOwnPlace = payload.reason !== "exception" && payload.reason !== "pause";
      if (isOwnPlace && payload.location) {
        this.location.value = payload.location;
        this.showPlace(payload.location.path, payload.location.line);
      }
    }
    this.#loadStop();
  }

  ranOn({ all_threads_continued: all, thread_id: thread }) {
    this.stopNumber.value += 1;
    if (!all && this.threads.value.some((each) => each.id !== thread && each.status === "paused")) {
      this.#loadStop();
      return;
    }
    this.status.value = "running";
    this.#pastIs(null);
    this.end.value = null;
  }

  ended({ exit_code, reason, signal: killed_by }) {
    this.stopNumber.value += 1;
    this.status.value = "terminated";
    this.#pastIs(null);
    this.end.value = { exit_code, reason, signal: killed_by };
    this.waitingForInput.value = null;
    this.stack.clear();
    this.refreshSoon("session");
    this.refreshSoon("recording");
    this.checkSource();
  }

  /** Ask for a part again in a moment; more wishes meanwhile are one. */
  refreshSoon(part) {
    if (this.refreshes.has(part)) return;
    const refresh = () => {
      this.refreshes.delete(part);
      if (this.gone.value || (!ALWAYS_THERE.has(part) && !this.isHalted.value)) return;
      const load = { session: () => this.#loadSession(), threads: () => this.stack.loadThreads(), values: () => this.#loadValues(),
        recording: () => this.#loadRecording(), source: () => this.#checkPlace() };
      load[part]().catch((error) => this.#failed(error));
    };
    this.refreshes.set(part, setTimeout(refresh, REFRESH_DELAY_MS));
  }

  async #loadSession() {
    const isLate = this.lateness();
    const session = await get(this.path);
    if (isLate()) this.refreshSoon("session");
    else this.#sessionIs(session);
  }

  /** Ask what is recorded, if that is a question for the program's debugger; a file's has no program. */
  async #loadRecording() {
    const adapter = this.session.value?.debugger?.adapter;
    if (!adapter || adapter === "debugpy") this.recording.value = await this.get("record");
  }

  async #checkPlace() {
    const { path, line } = this.place.value ?? {};
    await this.files.check(path, line);
  }

  async #loadValues() {
    this.valuesNumber.value += 1;
    await this.stack.reloadLocals();
  }

  #getReport() {
    return this.get("report", this.past.value ? PAST_REPORT_QUERY : REPORT_QUERY);
  }

  async #loadStop() {
    const isLate = this.lateness();
    try {
      const report = await this.#getReport();
      if (isLate()) return;
      batch(() => this.#reportIs(report));
      await Promise.all([this.#loadDetails(report), report.hit_breakpoint_ids?.length && this.breakpoints.load()]);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Ask for what a report does not have. */
  async #loadDetails(report) {
    if (!LIVE_STATES.has(this.status.value) && !report.past) return;
    const hasTasks = !report.past && this.session.value?.debugger?.capabilities.includes("tasks");
    await this.stack.loadRest(report, hasTasks);
  }

  #reportIs(report) {
    if (report.status !== "paused" && !report.past) return;
    if (this.report.value) this.checkSource(); // else it is just being read
    this.report.value = report;
    const frames = framesOf(report.stack, report.current_location?.path);
    const location = report.current_location ?? null;
    const frameId = frameOfReport(report);
    this.files.compare(location?.path, rowsOf(report.source));
    this.status.value = report.status;
    this.#pastIs(report.past ?? null);
    this.stopReason.value = report.stop_reason;
    this.stack.apply(report, frames, frameId);
    this.#moveTo(location, frames.find((frame) => frame.id === frameId));
  }
}

/** The stack's signals, for panels to read as the session's own. */
function signalsOf({ threads, tasks, selected, frames, selectedFrame, locals, changed }) {
  return { threads, tasks, selected, frames, selectedFrame, locals, changed };
}

/** What each kind of event does to the state. */
const APPLIED = {
  stopped: (store, payload) => store.stopped(payload),
  continued: (store, payload) => store.ranOn(payload),
  terminated: (store, payload) => store.ended(payload),
  restarted: (store) => {
    store.files.forgetAll();
    store.ranOn({ all_threads_continued: true });
    store.refreshSoon("session");
  },
  input_requested: (store, { prompt }) => (store.waitingForInput.value = { prompt }),
  output: (store) => (store.waitingForInput.value = null),
  thread: (store, { reason, thread_id }) => {
    store.stack.hasNewThreads = true;
    if (reason === "exited") store.stack.removeThread(thread_id);
    else if (store.status.value === "paused") store.refreshSoon("threads"); // of one that runs at its next stop
  },
  subprocess_spawned: (store, { session_id }) => session_id && store.refreshSoon("session"),
  variable: (store) => store.refreshSoon("values"),
  timeline: (store, { operation }) => {
    if (CHANGING_VALUES.has(operation)) store.refreshSoon("values");
    if (CHANGING_RECORDING.has(operation)) store.refreshSoon("recording");
    // A return to the present of a program that has ended is no stop.
    if (store.past.value) store.refreshSoon("session");
  },
  breakpoint: (store, payload) => store.breakpoints.apply(payload),
  exception_breakpoint: (store, payload) => store.breakpoints.applyException(payload),
};
