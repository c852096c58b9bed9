/** Reads server-sent events over fetch, and opens the stream again by itself where it was. */

const SILENCE_LIMIT_MS = 45_000;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 3_000;
const FINAL_STATUSES = new Set([401, 403, 404, 410]);

export class EventStream {
  constructor(address, { onEvents, onState }) {
    this.address = address;
    this.onEvents = onEvents;
    this.onState = onState;
    this.lastId = null;
    this.isClosed = false;
  }

  /** Follow the stream until it ends for good or is closed. */
  async open() {
    let delay = FIRST_DELAY_MS;
    let isLost = false;
    while (!this.isClosed) {
      const wasOpened = await this.#readOnce();
      if (this.isClosed) return;
      if (wasOpened || !isLost) this.onState("lost");
      isLost = true;
      delay = wasOpened ? FIRST_DELAY_MS : Math.min(delay * 2, LONGEST_DELAY_MS);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }

  close() {
    this.isClosed = true;
    this.abort?.abort();
  }

  /** Read until the connection breaks; tell whether it was opened at all. */
  async #readOnce() {
    this.abort = new AbortController();
    let isOpened = false;
    try {
      const headers = { Accept: "text/event-stream", "X-Debug-Door": "page" };
      if (this.lastId) headers["Last-Event-ID"] = this.lastId;
      const response = await fetch(this.address, { headers, signal: this.abort.signal, cache: "no-store" });
      if (!response.ok) return await this.#refused(response);
      isOpened = true;
      this.onState("live");
      await this.#readBody(response.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch {
      /* broken off, which is seen by whether it was opened */
    }
    return isOpened;
  }

  async #refused(response) {
    const envelope = await response.json().catch(() => null);
    if (FINAL_STATUSES.has(response.status)) {
      const error = envelope?.error ?? { code: `HTTP_${response.status}`, message: response.statusText };
      this.#end({ ...error, status: response.status });
    } else if (response.status === 400) {
      this.lastId = null;
    }
    return false;
  }

  #end(error) {
    this.isClosed = true;
    this.onState("ended", error);
  }

  async #readBody(reader) {
    let rest = "";
    while (true) {
      const watchdog = setTimeout(() => this.abort.abort(), SILENCE_LIMIT_MS);
      const { value, done } = await reader.read().finally(() => clearTimeout(watchdog));
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      const events = blocks.map(parseBlock).filter(Boolean).filter(isNoRepeatedHint);
      if (events.length) this.#deliver(events);
    }
  }

  #deliver(events) {
    this.lastId = events.findLast((event) => event.id)?.id ?? this.lastId;
    const ending = events.find((event) => event.kind === "error");
    const others = events.filter((event) => event.kind !== "error");
    if (others.length) this.onEvents(others);
    if (ending) {
      this.#end(ending.data);
      this.abort.abort();
    }
  }
}

/** Output may be plenty, and whoever shows it reads it in pages: only that there is some is passed on. */
const OUTPUT_HINT = { payload: {} };

const isNoRepeatedHint = (event, index, events) => event.data !== OUTPUT_HINT || events[index + 1]?.data !== OUTPUT_HINT;

function parseBlock(block) {
  const event = { id: null, kind: "message", data: null };
  let text = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("data:")) text += (text && "\n") + line.slice(5).trimStart();
    else if (line.startsWith("id:")) event.id = line.slice(3).trim();
    else if (line.startsWith("event:")) event.kind = line.slice(6).trim();
  }
  if (!text) return null;
  event.data = event.kind === "output" ? OUTPUT_HINT : JSON.parse(text);
  return event;
}
