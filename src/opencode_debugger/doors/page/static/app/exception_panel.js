/** The exception that the program stopped on: what it says, where it came from, and what led to it. */
import { html, signal, useEffect } from "./framework.js";
import { stateOf } from "./panel_state.js";
import { hasException } from "./panels.js";
import { baseName } from "./words.js";
import { visibleLine, visibleText } from "./visible_text.js";

class ShownException {
  constructor(store) {
    this.store = store;
    this.whole = signal(null);
  }

  async load() {
    const number = this.store.stopNumber.value;
    const whole = await this.store.get("exception").catch(() => null);
    if (number === this.store.stopNumber.value) this.whole.value = whole;
  }
}

const RELATIONS = {
  cause: "which was caused by",
  context: "which was raised while this was handled",
};

export function ExceptionPanel({ store }) {
  const shown = stateOf(store, "exception", (each) => new ShownException(each));
  const isThere = hasException(store);
  useEffect(() => {
    shown.whole.value = null;
    if (isThere && !store.past.value) shown.load();
  }, [store.stopNumber.value, isThere]);
  const short = store.report.value?.exception;
  if (!isThere) return html`<p class="empty">The program has not stopped on an exception.</p>`;
  const exception = shown.whole.value ?? short;
  return html`<div class="exception-panel" tabindex="0" role="group" aria-label="The exception and what led to it">
    <${OneException} store=${store} exception=${exception} isFirst />
    ${exception.chain?.map((each, number) => html`<div key=${number} class="exception-link">
      <p class="exception-relation">${RELATIONS[each.relation] ?? each.relation}</p>
      <${OneException} store=${store} exception=${each} />
    </div>`)}
    ${exception.traceback && html`<details><summary>Traceback as text</summary>
      <pre>${exception.traceback.split("\n").map(visibleLine).join("\n")}</pre></details>`}
  </div>`;
}

function OneException({ store, exception }) {
  const { type, message, notes, frames, exceptions } = exception;
  return html`<div class="exception">
    <h3><span class="exception-type">${visibleText(type)}</span> ${visibleText(message)}</h3>
    ${notes?.map((note, number) => html`<p key=${number} class="exception-note">${visibleText(note)}</p>`)}
    ${frames?.length > 0 && html`<ol class="exception-frames" aria-label="Where it came from, the last call last">
      ${frames.map((frame, number) => html`<li key=${number}>
        <button class="link" onClick=${() => store.showPlace(frame.path, frame.line)}>
          ${visibleText(frame.function)} <span class="muted">${visibleText(baseName(frame.path))}:${frame.line}</span>
        </button>
        ${frame.text && html`<code>${visibleText(frame.text)}</code>`}
      </li>`)}
    </ol>`}
    ${exceptions?.map((each, number) => html`<div key=${number} class="exception-member">
      <${OneException} store=${store} exception=${each} /></div>`)}
  </div>`;
}
