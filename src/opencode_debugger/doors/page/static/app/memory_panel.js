/** Memory of a native program, sixteen bytes a line, from an address or from where an expression is. */
import { html, signal, useEffect } from "./framework.js";
import { post } from "./relay.js";
import { placeOf } from "./console_panel.js";
import { stateOf } from "./panel_state.js";
import { attempt } from "./toasts.js";
import { VirtualList } from "./virtual_list.js";
import { hexAndText } from "./value_tree_model.js";

const PER_ROW = 16;
const COUNTS = [64, 256, 1024, 4096];
const ROW_HEIGHT = 20;

class Memory {
  constructor(store) {
    this.store = store;
    this.address = signal("$sp");
    this.count = signal(256);
    /** {start: BigInt, bytes, changed: offsets, unreadable} of the last reading */
    this.shown = signal(null);
    this.error = signal(null);
  }

  async load(offset = 0) {
    const number = this.store.stopNumber.value;
    const query = { address: this.address.value, count: this.count.value, offset: offset || undefined, ...placeOf(this.store) };
    try {
      const answer = await this.store.get("memory", query);
      if (number !== this.store.stopNumber.value) return;
      this.#show(BigInt(answer.address), bytesOf(answer.bytes), answer.unreadable);
    } catch (error) {
      if (!error.code) throw error;
      this.error.value = error;
    }
  }

  #show(start, bytes, unreadable) {
    const before = this.shown.value;
    const changed = new Set();
    bytes.forEach((byte, at) => {
      const old = before && before.bytes[Number(start - before.start) + at];
      if (old !== undefined && old !== null && old !== byte) changed.add(at);
    });
    this.error.value = null;
    this.shown.value = { start, bytes, changed, unreadable };
  }

  /** Show the bytes before or after those that are shown. */
  async move(rows) {
    if (!this.shown.value) return;
    const start = this.shown.value.start + BigInt(rows * PER_ROW);
    this.address.value = `0x${(start > 0n ? start : 0n).toString(16)}`;
    await this.load();
  }
}

const bytesOf = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const offers = (store, feature) => Boolean(store.session.value?.debugger?.capabilities?.includes(feature));

export function MemoryPanel({ store }) {
  const memory = stateOf(store, "memory", (each) => new Memory(each));
  const isPaused = store.status.value === "paused";
  useEffect(() => {
    if (isPaused && store.selected.value) memory.load();
  }, [store.stopNumber.value, store.selected.value, isPaused]);
  const submit = (event) => {
    event.preventDefault();
    if (isPaused) memory.load();
  };
  const shown = memory.shown.value;
  return html`<div class="memory-panel">
    <form class="line-form" onSubmit=${submit}>
      <label>Address <input spellcheck="false" autocomplete="off" value=${memory.address.value}
        onInput=${(event) => (memory.address.value = event.target.value)} /></label>
      <label>Bytes <select value=${memory.count.value} onChange=${(event) => (memory.count.value = Number(event.target.value))}>
        ${COUNTS.map((count) => html`<option value=${count}>${count}</option>`)}</select></label>
      <button type="submit" aria-disabled=${!isPaused}>Read</button>
      <button type="button" aria-label="Bytes before" disabled=${!shown} onClick=${() => memory.move(-8)}>▲</button>
      <button type="button" aria-label="Bytes after" disabled=${!shown} onClick=${() => memory.move(8)}>▼</button>
      ${offers(store, "write_memory") && html`<${WriteForm} store=${store} memory=${memory} />`}
    </form>
    ${memory.error.value && html`<p class="error" role="alert">${memory.error.value.message} ${memory.error.value.suggestion}</p>`}
    ${shown && html`<${MemoryLines} shown=${shown} isStale=${!isPaused} />`}
  </div>`;
}

function MemoryLines({ shown: { start, bytes, changed, unreadable }, isStale }) {
  const count = Math.ceil(bytes.length / PER_ROW);
  const renderRow = (row) => {
    const at = row * PER_ROW;
    const isChanged = [...changed].some((each) => each >= at && each < at + PER_ROW);
    return html`<div key=${row} class=${`memory-line ${isChanged ? "changed" : ""}`}>
      <span class="address">0x${(start + BigInt(at)).toString(16).padStart(12, "0")}</span>
      <span>${hexAndText(bytes.subarray(at, at + PER_ROW))}</span>
    </div>`;
  };
  return html`
    <${VirtualList} class=${`memory-lines ${isStale ? "stale" : ""}`} role="region" aria-label="Memory" tabindex="0" count=${count}
      rowHeight=${ROW_HEIGHT} renderRow=${renderRow} />
    ${unreadable > 0 && html`<p class="muted">${unreadable} bytes cannot be read.</p>`}`;
}

/** Writes bytes where the reading began. */
function WriteForm({ store, memory }) {
  const write = async (event) => {
    const field = event.target.closest(".write-memory").querySelector("input");
    const bytes = field.value.replace(/\s+/g, "");
    if (!bytes) return;
    if (await attempt(post(`${store.path}/memory`, { address: memory.address.value, bytes, ...placeOf(store) }))) field.value = "";
    memory.load();
  };
  return html`<span class="write-memory">
    <label>Write <input size="12" placeholder="48 69" spellcheck="false" autocomplete="off" /></label>
    <button type="button" onClick=${write}>Write</button>
  </span>`;
}
