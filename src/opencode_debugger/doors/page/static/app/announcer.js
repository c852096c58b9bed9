/** Says for screen readers what happened to the program. */
import { html } from "./framework.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

export function Announcer({ store }) {
  return html`<div class="unseen" role="status" aria-live="polite">${visibleText(wordsFor(store))}</div>`;
}

function wordsFor(store) {
  if (store.gone.value) return store.gone.value.message;
  if (store.connection.value === "lost") return "The connection to the relay is lost; trying again.";
  const place = store.location.value;
  if (store.isHalted.value && place) {
    const where = `at ${baseName(place.path) || place.function} line ${place.line}, ${store.stopReason.value}.`;
    return store.past.value ? `In the past, moment ${store.past.value.moment}, ${where}` : `Paused ${where}`;
  }
  if (store.waitingForInput.value) return "The program waits for input.";
  if (store.status.value === "terminated") return "The program has ended.";
  return store.status.value === "running" ? "Running." : "";
}
