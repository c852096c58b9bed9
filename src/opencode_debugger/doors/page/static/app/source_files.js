/** The source files of a session: read a page at a time, and kept while they are looked at. */
import { signal } from "./framework.js";
import { get } from "./relay.js";
import { PAGE_LINES, sourcePageOf, sourceQuery } from "./requests.js";

const KEPT_FILES = 30;

/** One file: its lines as far as they are read, or why it cannot be shown. */
export class SourceFile {
  constructor(sessionPath, path, frame) {
    this.address = `${sessionPath}/source`;
    this.path = path;
    this.place = isFilePath(path) ? { path } : { frame_id: frame?.id, thread_id: frame?.threadId };
    /** counts up whenever lines have come or an error; whoever shows the file reads it */
    this.version = signal(0);
    this.lines = [];
    /** index of the first line that has come or changed since `takeChange` */
    this.changedFrom = Infinity;
    this.total = 0;
    this.origin = null;
    this.error = null;
    this.pages = new Map();
    /** whether it was edited after the program had loaded it, which runs another text */
    this.isEdited = false;
    /** whether it was there to be read once, and is not now */
    this.isMissing = false;
  }

  get isLoaded() {
    return this.version.value > 0;
  }

  /** Whether what was read is no text. */
  get isBinary() {
    return this.lines.slice(0, 50).some((line) => line?.includes("\u0000"));
  }

  /** Have the page read that a line is on. */
  need(line) {
    const page = sourcePageOf(line);
    if (this.total && page * PAGE_LINES >= this.total) return this.pages.get(0);
    if (!this.pages.has(page)) this.pages.set(page, this.#read(page));
    return this.pages.get(page);
  }

  /** Compare with lines that the relay has just read, {line, text} each; if they differ, read the file again. */
  compare(rows) {
    if (rows.every(({ line, text }) => isLine(this.lines[line - 1] ?? text, text))) return;
    this.#readAgain(rows[0].line);
  }

  /** Ask whether what is shown around a line is still true; if not, read the file again. */
  async check(line) {
    if (this.origin !== "file") return;
    try {
      const source = await get(this.address, sourceQuery(this.place, sourcePageOf(line)));
      const isEdited = source.source_changed ?? false;
      if (source.origin !== "file") this.#isGone();
      else if (this.error || this.isMissing || isEdited !== this.isEdited || source.total_lines !== this.total) this.#readAgain(line);
      else this.compare(source.lines);
    } catch (error) {
      if (error.code === "SOURCE_NOT_FOUND") this.#isGone();
      else if (error.code === "INVALID_PARAMETER") this.#readAgain(1); // it is shorter now
      else throw error;
    }
  }

  #isGone() {
    this.isMissing = true;
    this.version.value += 1;
  }

  #readAgain(line) {
    this.lines.length = 0;
    this.changedFrom = 0;
    this.pages.clear();
    this.need(line);
  }

  /** Tell from which line on, by its index, the text may be another than when this was asked last. */
  takeChange() {
    const from = this.changedFrom;
    this.changedFrom = Infinity;
    return from;
  }

  /** Have all of it read, for a search. */
  async needAll() {
    await this.need(1);
    for (let line = 1; line <= this.total; line += PAGE_LINES) await this.need(line);
  }

  async #read(page) {
    const first = page * PAGE_LINES + 1;
    try {
      const source = await get(this.address, sourceQuery(this.place, page));
      for (const { line, text } of source.lines) this.lines[line - 1] = text;
      this.changedFrom = Math.min(this.changedFrom, first - 1);
      this.total = source.total_lines;
      this.isEdited = source.source_changed ?? false;
      this.isMissing = this.origin === "file" && source.origin !== "file"; // the program itself remembers the text
      this.origin ??= source.origin;
      this.error = null;
    } catch (error) {
      if (page > 0 && this.total) this.pages.delete(page);
      else this.error = error;
    }
    this.version.value += 1;
  }
}

/** Whether a line is one that was told, which may have been cut: at another place than here. */
const isLine = (line, told) => line === told || (told.endsWith("…") && line.startsWith(told.slice(0, -1)));

export class SourceFiles {
  constructor(sessionPath) {
    this.sessionPath = sessionPath;
    this.files = new Map();
    /** counts up when files are to be read anew */
    this.edition = signal(0);
  }

  /** The file of a path, or of a frame whose code has no file; read from where `line` is. */
  open(path, line = 1, frame = null) {
    let file = this.files.get(path);
    if (!file) {
      file = new SourceFile(this.sessionPath, path, frame);
      if (path) this.files.set(path, file);
      if (this.files.size > KEPT_FILES) this.files.delete(this.files.keys().next().value);
    }
    file.need(line);
    return file;
  }

  /** Tell a file that is shown what the relay has just read of it. */
  compare(path, rows) {
    if (rows.length) this.files.get(path)?.compare(rows);
  }

  has(path) {
    return this.files.has(path);
  }

  /** Have a file that is shown looked at again. */
  async check(path, line) {
    await this.files.get(path)?.check(line ?? 1);
  }

  /** Forget a file, so that it is read again: it may have changed. */
  forget(path) {
    this.files.delete(path);
    this.edition.value += 1;
  }

  forgetAll() {
    this.files.clear();
    this.edition.value += 1;
  }
}

export const isFilePath = (path) => /^(\/|[A-Za-z]:[\\/])/.test(path ?? "");
