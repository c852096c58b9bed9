/** Machine instructions around where a native program is, and steps of one instruction. */
import { html, signal, useEffect } from "./framework.js";
import { placeOf } from "./console_panel.js";
import { stateOf } from "./panel_state.js";
import { commands, perform } from "./session_commands.js";
import { baseName } from "./words.js";
import { visibleText } from "./visible_text.js";

const BEFORE = 12;
const COUNT = 60;
const STEPS = ["instructionOver", "instructionInto"];

class Disassembly {
  constructor(store) {
    this.store = store;
    this.address = signal("");
    this.instructions = signal([]);
    this.error = signal(null);
  }

  async load() {
    const number = this.store.stopNumber.value;
    const address = this.address.value.trim() || undefined;
    const query = { address, count: COUNT, offset: address ? undefined : -BEFORE, ...placeOf(this.store) };
    try {
      const { instructions } = await this.store.get("disassembly", query);
      if (number !== this.store.stopNumber.value) return;
      this.instructions.value = instructions;
      this.error.value = null;
    } catch (error) {
      if (!error.code) throw error;
      this.error.value = error;
    }
  }
}

export function DisassemblyPanel({ store }) {
  const shown = stateOf(store, "disassembly", (each) => new Disassembly(each));
  const isPaused = store.status.value === "paused";
  useEffect(() => {
    if (isPaused && store.selected.value) shown.load();
  }, [store.stopNumber.value, store.selected.value, isPaused]);
  const submit = (event) => {
    event.preventDefault();
    if (isPaused) shown.load();
  };
  return html`<div class="disassembly-panel">
    <form class="line-form" onSubmit=${submit}>
      <label>From <input placeholder="where the frame is" spellcheck="false" autocomplete="off" value=${shown.address.value}
        onInput=${(event) => (shown.address.value = event.target.value)} /></label>
      <button type="submit" aria-disabled=${!isPaused}>Show</button>
      ${STEPS.map((name) => html`<button key=${name} type="button" aria-disabled=${!isPaused} onClick=${() => perform(store, name)}>
        ${commands[name].title}</button>`)}
    </form>
    ${shown.error.value && html`<p class="error" role="alert">${shown.error.value.message} ${shown.error.value.suggestion}</p>`}
    <${Instructions} store=${store} list=${shown.instructions.value} isStale=${!isPaused} />
  </div>`;
}

function Instructions({ store, list, isStale }) {
  return html`<div class=${`instructions ${isStale ? "stale" : ""}`} tabindex="0" role="region" aria-label="Instructions">
    <table>
      <thead class="unseen"><tr><th>Address</th><th>Bytes</th><th>Instruction</th><th>Line</th></tr></thead>
      <tbody>${list.map((each, number) => html`
        <tr key=${each.address} class=${each.is_current ? "current" : ""} aria-current=${each.is_current ? "step" : undefined}
            ref=${(row) => each.is_current && row?.scrollIntoView({ block: "nearest" })}>
          <td class="address">${each.address}</td>
          <td class="muted">${each.bytes}</td>
          <td>${visibleText(each.instruction)}</td>
          <td>${each.path && isNewLine(list, number) && html`<button class="link" onClick=${() => store.showPlace(each.path, each.line)}>
            ${visibleText(baseName(each.path))}:${each.line}</button>`}</td>
        </tr>`)}</tbody>
    </table>
  </div>`;
}

const isNewLine = (list, number) =>
  number === 0 || list[number].line !== list[number - 1].line || list[number].path !== list[number - 1].path;
