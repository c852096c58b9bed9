/** The breakpoints of a session as signals, and what can be done to them. */
import { computed, signal } from "./framework.js";
import { get, patch, post, remove } from "./relay.js";

export class BreakpointStore {
  constructor(sessionPath) {
    this.path = `${sessionPath}/breakpoints`;
    this.exceptionPath = `${sessionPath}/exception-breakpoints`;
    /** on lines and functions, as `GET breakpoints` lists them; `error` is what a condition raised last */
    this.all = signal([]);
    this.onExceptions = signal([]);
    /** id -> changes that are not answered yet: what is told of a breakpoint meanwhile is from before them */
    this.underway = new Map();
    /** path -> line -> breakpoint */
    this.byFile = computed(() => groupByFile(this.all.value));
  }

  async load() {
    const [lines, exceptions] = await Promise.all([get(this.path), get(this.exceptionPath)]);
    const errors = new Map(this.all.value.map((each) => [each.id, each.error]));
    this.all.value = lines.breakpoints.map((each) => ({ ...each, ...this.underway.get(each.id), error: errors.get(each.id) }));
    this.onExceptions.value = exceptions.exception_breakpoints;
  }

  /** Apply an event: one was set, changed or removed, or its condition failed. */
  apply({ reason, breakpoint, error }) {
    this.all.value = changed(this.all.value, reason, { ...breakpoint, ...this.underway.get(breakpoint.id), error });
  }

  applyException({ reason, exception_breakpoint: breakpoint }) {
    this.onExceptions.value = changed(this.onExceptions.value, reason, breakpoint);
  }

  at(path, line) {
    return this.byFile.value.get(path)?.get(line);
  }

  async add(path, line, options = {}) {
    const { breakpoints } = await post(this.path, { breakpoints: [{ file: path, line, ...options }] });
    breakpoints.forEach((breakpoint) => this.apply({ reason: "new", breakpoint }));
    return breakpoints[0];
  }

  /** Set one that is spelled as a text, such as `cart.py:42 if total > 100`. */
  async addSpelled(text) {
    const { breakpoints } = await post(this.path, { breakpoints: [text] });
    breakpoints.forEach((breakpoint) => this.apply({ reason: "new", breakpoint }));
  }

  async change(id, changes) {
    this.underway.set(id, changes);
    this.all.value = this.all.value.map((each) => (each.id === id ? { ...each, ...changes } : each));
    const isAnswered = () => this.underway.get(id) === changes && this.underway.delete(id);
    try {
      const breakpoint = await patch(`${this.path}/${id}`, changes);
      isAnswered();
      this.apply({ reason: "changed", breakpoint });
    } catch (error) {
      isAnswered();
      await this.load();
      throw error;
    }
  }

  async remove(id) {
    await remove(`${this.path}/${id}`);
    this.apply({ reason: "removed", breakpoint: { id } });
  }

  async removeAll() {
    await remove(this.path);
    this.all.value = [];
  }

  /** Set a breakpoint on a line, or remove the one that is there; answers with one that was set. */
  async toggle(path, line) {
    const present = this.at(path, line);
    return present ? this.remove(present.id) : this.add(path, line);
  }

  async stopOnExceptions(filters, exceptions) {
    await post(this.exceptionPath, exceptions?.length ? { filters, exceptions } : { filters });
    await this.load();
  }

  async removeException(id) {
    await remove(`${this.exceptionPath}/${id}`);
    this.applyException({ reason: "removed", exception_breakpoint: { id } });
  }
}

function changed(list, reason, item) {
  const others = list.filter((each) => each.id !== item.id);
  if (reason === "removed") return others;
  return others.length === list.length ? [...list, item] : list.map((each) => (each.id === item.id ? item : each));
}

function groupByFile(breakpoints) {
  const files = new Map();
  const put = (path, line, breakpoint) => {
    if (!path || !line) return;
    if (!files.has(path)) files.set(path, new Map());
    files.get(path).set(line, breakpoint);
  };
  for (const breakpoint of breakpoints) {
    put(breakpoint.source?.path, breakpoint.line, breakpoint);
    breakpoint.locations?.forEach(({ path, line }) => put(path, line, breakpoint));
  }
  return files;
}
