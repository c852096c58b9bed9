/** All breakpoints of a session: on lines, functions and exceptions; each can be switched off, changed and removed. */
import { html, useSignal } from "./framework.js";
import { IconButton } from "./icons.js";
import { bringSourceForward } from "./layout.js";
import { attempt } from "./toasts.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

const FILTERS = { uncaught: "Uncaught exceptions", raised: "Every exception that is raised" };

export function BreakpointsTable({ store }) {
  const { breakpoints } = store;
  return html`<div class="breakpoints">
    ${breakpoints.all.value.length === 0 && html`<p class="empty">None yet. Click beside a line number, or write one below.</p>`}
    <ul aria-label="Breakpoints">
      ${breakpoints.all.value.map((each) => html`<${BreakpointRow} key=${each.id} store=${store} breakpoint=${each} />`)}
      ${breakpoints.onExceptions.value.map((each) => html`<${ExceptionRow} key=${each.id} store=${store} breakpoint=${each} />`)}
    </ul>
    <${NewBreakpoint} store=${store} />
    <div class="breakpoint-extras">
      ${Object.entries(FILTERS).map(([filter, title]) => html`<${ExceptionSwitch} key=${filter} store=${store} filter=${filter} title=${title} />`)}
      ${breakpoints.all.value.length > 1 && html`<button class="link" onClick=${() => attempt(breakpoints.removeAll())}>Remove all breakpoints</button>`}
    </div>
  </div>`;
}

const titleOf = (breakpoint) => visibleText(breakpoint.function ?? `${baseName(breakpoint.source?.path)}:${breakpoint.line}`);

function BreakpointRow({ store, breakpoint }) {
  const { breakpoints } = store;
  const show = () => {
    if (!breakpoint.source) return;
    bringSourceForward();
    store.showPlace(breakpoint.source.path, breakpoint.line);
  };
  const title = titleOf(breakpoint);
  return html`<li class=${`breakpoint-row ${breakpoint.verified ? "" : "unverified"}`}>
    <input type="checkbox" checked=${breakpoint.enabled} aria-label=${`Active: ${title}`}
      onChange=${(event) => attempt(breakpoints.change(breakpoint.id, { enabled: event.target.checked }))} />
    <button class="breakpoint-place" onClick=${show} title=${breakpoint.source?.path ?? ""}>
      <span>${title}</span>
      ${breakpoint.hit_count > 0 && html`<span class="muted">hit ${breakpoint.hit_count}×</span>`}
      <${Rules} breakpoint=${breakpoint} />
      ${breakpoint.message && html`<span class=${breakpoint.verified ? "note" : "note warn"}>${visibleText(breakpoint.message)}</span>`}
      ${breakpoint.error && html`<span class="note warn">${visibleText(breakpoint.error)}</span>`}
    </button>
    <${IconButton} icon="close" label=${`Remove ${title}`} onClick=${() => attempt(breakpoints.remove(breakpoint.id))} />
  </li>`;
}

function Rules({ breakpoint }) {
  return [
    breakpoint.condition && html`<code class="rule">if ${visibleText(breakpoint.condition)}</code>`,
    breakpoint.hit_condition && html`<code class="rule">hits ${breakpoint.hit_condition}</code>`,
    breakpoint.log_message && html`<code class="rule">log ${visibleText(breakpoint.log_message)}</code>`,
  ];
}

function ExceptionRow({ store, breakpoint }) {
  const title = `${breakpoint.exceptions.join(", ") || "Exceptions"}: ${breakpoint.filters.join(", ")}`;
  if (!breakpoint.exceptions.length && !breakpoint.condition) return null;
  return html`<li class="breakpoint-row">
    <span class="breakpoint-place"><span>${title}</span>${breakpoint.condition && html`<code class="rule">if ${breakpoint.condition}</code>`}</span>
    <${IconButton} icon="close" label=${`Remove ${title}`} onClick=${() => attempt(store.breakpoints.removeException(breakpoint.id))} />
  </li>`;
}

/** A switch for stopping on all exceptions of a kind. */
function ExceptionSwitch({ store, filter, title }) {
  const present = store.breakpoints.onExceptions.value.find(
    (each) => !each.exceptions.length && !each.condition && each.filters.includes(filter));
  const toggle = () => attempt(present ? store.breakpoints.removeException(present.id) : store.breakpoints.stopOnExceptions([filter]));
  return html`<label class="check"><input type="checkbox" checked=${Boolean(present)} onChange=${toggle} /> ${title}</label>`;
}

function NewBreakpoint({ store }) {
  const text = useSignal("");
  const add = async (event) => {
    event.preventDefault();
    if (!text.value.trim()) return;
    const isSet = await attempt(store.breakpoints.addSpelled(text.value.trim()).then(() => true));
    if (isSet) text.value = "";
  };
  return html`<form class="new-breakpoint" onSubmit=${add}>
    <input class="field" value=${text.value} onInput=${(event) => (text.value = event.target.value)}
      aria-label="New breakpoint" placeholder="cart.py:42 if x > 1, or Cart.add" spellcheck=${false} />
  </form>`;
}
