/** Threads, tasks and frames of a session's program, and the frame that is looked at with its locals, as signals. */
import { batch, computed, signal } from "./framework.js";
import { framesOf } from "./lean_answers.js";

const STACK_LEVELS = 200;
const MOST_TASKS = 200;
const LOCALS_BUDGET = 20_000;
/** a report has at least so many frames of a stack that is deeper */
const REPORT_FRAMES = 5;
const IN_ASYNCIO = /[\\/]asyncio[\\/]/;

/** How the relay is asked about a thread, or about an asyncio task. */
const ofWhom = ({ threadId, taskId }) => (taskId ? { task_id: taskId } : { thread_id: threadId });

export class StackStore {
  /** `store` is the session's: it is asked through, and its stop number tells whether an answer is late. */
  constructor(store) {
    this.store = store;
    /** {id, name, status, is_current, location} each */
    this.threads = signal([]);
    /** asyncio tasks that are not over, as `GET tasks` lists them */
    this.tasks = signal([]);
    /** the frame that is looked at: {threadId, taskId, frameId} */
    this.selected = signal(null);
    /** frames of the selected thread or task, top first: {id, name, path, line, presentation_hint} */
    this.frames = signal([]);
    this.selectedFrame = computed(() => this.frames.value.find((frame) => frame.id === this.selected.value?.frameId));
    /** locals of the selected frame */
    this.locals = signal([]);
    /** names of locals that are not what they were at the stop before, if that was in the same function */
    this.changed = signal(new Set());
    this.valuesBefore = null;
    /** which stop was taken over last */
    this.appliedStop = null;
    /** whether threads may have come since they were asked for */
    this.hasNewThreads = true;
  }

  /** Take over what a stop report says: the top of the stack, and the locals of the frame it is about. */
  apply(report, frames, frameId) {
    const place = report.current_location;
    const stop = `${this.store.stopNumber.value} ${report.thread_id} ${place?.path}:${place?.line}`;
    // The same stop told again: what the person looks at by now stays.
    if (stop === this.appliedStop && this.selected.value) return;
    this.appliedStop = stop;
    this.frames.value = frames;
    this.selected.value = { threadId: report.thread_id, frameId };
    this.locals.value = report.locals ?? [];
    this.#compare(this.locals.value, `${report.thread_id} ${place?.path} ${place?.function}`);
  }

  /** Ask for what the report has not: only what may be other than it was, for a step is to be quick. */
  async loadRest(report, hasTasks) {
    const wishes = [];
    const isPaused = report.status === "paused" || Boolean(report.past);
    const mayHaveTasks = this.hasNewThreads || this.tasks.value.length || this.frames.value.some(({ path }) => IN_ASYNCIO.test(path));
    if (isPaused && hasTasks && mayHaveTasks) wishes.push(this.#loadTasks());
    if (this.hasNewThreads || this.threads.value.length !== 1) wishes.push(this.loadThreads());
    if (isPaused && report.thread_id && report.stack?.length >= REPORT_FRAMES) wishes.push(this.#loadWholeStack(report.thread_id));
    if (isPaused && report.omitted?.some(({ what }) => what.includes("local"))) wishes.push(this.#loadLocals(this.selected.value));
    await Promise.all(wishes);
  }

  /** Find what changed since the stop before: reports for pages do not say it, for that is told to agents. */
  #compare(locals, where) {
    const number = this.store.stopNumber.value;
    if (this.valuesBefore?.number === number) return;
    const values = new Map(locals.map(({ name, value }) => [name, value]));
    const before = this.valuesBefore?.where === where ? this.valuesBefore.values : values;
    this.changed.value = new Set([...values.keys()].filter((name) => before.get(name) !== values.get(name)));
    this.valuesBefore = { where, values, number };
  }

  /** Forget all: the program has ended. */
  clear() {
    this.threads.value = [];
    this.tasks.value = [];
    this.frames.value = [];
    this.hasNewThreads = true;
  }

  /** Look at a frame: its source, its locals. */
  async selectFrame(frame, { threadId, taskId } = {}) {
    const whose = { threadId: threadId ?? this.selected.value?.threadId, taskId };
    const selected = { ...whose, frameId: frame.id };
    batch(() => {
      this.selected.value = selected;
      this.store.showPlace(frame.path, frame.line, frame);
    });
    await this.#loadLocals(selected);
  }

  /** Ask for the locals of the frame that is looked at once more. */
  async reloadLocals() {
    if (this.selected.value) await this.#loadLocals(this.selected.value);
  }

  async #loadLocals(selected) {
    const query = { lean: true, budget: LOCALS_BUDGET, ...ofWhom(selected) };
    const { variables } = await this.store.get(`frames/${selected.frameId}/variables`, query);
    if (selected === this.selected.value) this.locals.value = variables ?? [];
  }

  /** Look at another thread, or at an asyncio task: its stack, and the top frame of it. */
  async selectThread(threadId, taskId) {
    const isLate = this.store.lateness();
    const { frames: lean } = await this.store.get("stacktrace", { levels: STACK_LEVELS, lean: true, ...ofWhom({ threadId, taskId }) });
    if (isLate()) return;
    const frames = framesOf(lean);
    this.frames.value = frames;
    const own = frames.find((frame) => frame.presentation_hint !== "subtle") ?? frames[0];
    if (own) await this.selectFrame(own, { threadId, taskId });
  }

  async loadThreads() {
    const isLate = this.store.lateness();
    this.hasNewThreads = false;
    const { threads } = await this.store.get("threads").catch(() => ({ threads: this.threads.value }));
    if (isLate()) this.hasNewThreads = true;
    else this.threads.value = threads;
  }

  removeThread(id) {
    this.threads.value = this.threads.value.filter((thread) => thread.id !== id);
  }

  async #loadTasks() {
    const isLate = this.store.lateness();
    const { tasks } = await this.store.get("tasks", { limit: MOST_TASKS });
    if (!isLate()) this.tasks.value = tasks.filter(({ state }) => state === "pending" || state === "running");
  }

  /** The report has only the top of the stack. */
  async #loadWholeStack(threadId) {
    const isLate = this.store.lateness();
    const query = { thread_id: threadId, levels: STACK_LEVELS, lean: true };
    const { frames, total_frames: total } = await this.store.get("stacktrace", query);
    const isSame = this.selected.value?.threadId === threadId && !this.selected.value.taskId;
    if (!isLate() && isSame && total !== this.frames.value.length) this.frames.value = framesOf(frames);
  }
}
