/** Says above the source what is wrong with the session as a whole: it is gone, or the relay is. */
import { html } from "./framework.js";

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

const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
