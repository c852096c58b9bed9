/** Says above the source what holds of the session as a whole: it is gone, or the relay is; it stands in the past. */
import { html } from "./framework.js";
import { commands, perform } from "./session_commands.js";
import { visibleText } from "./visible_text.js";

const ENDINGS = { SESSION_EXPIRED: "This session has expired.", SESSION_NOT_FOUND: "This session is gone." };

export function GoneBanner({ store }) {
  const gone = store.gone.value;
  if (gone) {
    const what = ENDINGS[gone.code] ?? "This session cannot be followed.";
    const last = store.session.value ? " What is shown is what was known last." : "";
    return html`<div class="banner danger" role="alert">
      <strong>${what}</strong> <span>${sentence(gone.message)}${last}</span> <a href="#/">All sessions</a>
    </div>`;
  }
  if (store.connection.value === "lost") {
    return html`<div class="banner warn" role="alert">
      <strong>The relay does not answer.</strong> <span>Trying again; the page comes back by itself.</span>
    </div>`;
  }
  if (store.status.value === "failed") {
    return html`<div class="banner danger" role="alert">
      <strong>The session has failed.</strong> <span>${store.end.value?.reason}</span>
    </div>`;
  }
  return null;
}

const EVENTS = { line: "before line", call: "call at line", return: "return at line", exception: "exception at line" };
const PAST_BUTTONS = ["reverse", "stepBack", "over", "now"];

export function PastBanner({ store }) {
  const past = store.past.value;
  if (!past || store.gone.value) return null;
  const { moment, call, event, line, thread } = past;
  return html`<div class="banner past" role="group" aria-label="The past">
    <p><strong>In the past: #${moment}</strong> of call #${call} · ${EVENTS[event] ?? event} ${line} · ${visibleText(thread)}
      ${store.report.value?.note && html`<span class="muted"> ${visibleText(store.report.value.note)}</span>`}</p>
    <span class="past-buttons">${PAST_BUTTONS.map((name) => html`<button key=${name} title=${commands[name].keys}
      class=${`button ${name === "now" ? "primary" : ""}`} onClick=${() => perform(store, name)}>${commands[name].title}</button>`)}</span>
  </div>`;
}

const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
