/** Short messages in the corner: errors with what to do about them, and what was done. */
import { html, signal } from "./framework.js";
import { visibleText } from "./visible_text.js";

const SHOWN_MS = 8_000;
const MOST_SHOWN = 4;
const toasts = signal([]);
let lastId = 0;

/** Show a message; `tone` is error, warning or info. */
export function showToast({ title, text, tone = "info" }) {
  const repeated = toasts.value.find((each) => each.title === title && each.text === text);
  if (repeated) return dismissLater(repeated);
  const toast = { id: ++lastId, title, text, tone };
  toasts.value = [...toasts.value, toast].slice(-MOST_SHOWN);
  dismissLater(toast);
}

/**
 * Show what a call was refused with; anything else is a fault of the page and is thrown on.
 *
 * That a session is gone is said by its page as a whole, not by each part of it.
 */
export function showError(error) {
  if (error?.name === "AbortError" || error?.isGone) return;
  if (!error?.code) throw error;
  const problems = error.details?.errors?.map(({ field, message }) => `${field}: ${message}`).join("\n");
  showToast({ title: error.message, text: [problems, error.suggestion].filter(Boolean).join("\n"), tone: "error" });
}

/** Do something and show it if that fails; answers with what came of it, or undefined. */
export const attempt = (promise) => Promise.resolve(promise).catch(showError);

function dismissLater(toast) {
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => dismiss(toast), SHOWN_MS);
}

const dismiss = (toast) => (toasts.value = toasts.value.filter((each) => each.id !== toast.id));

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite" aria-label="Messages">
    ${toasts.value.map((toast) => html`
      <div key=${toast.id} class=${`toast ${toast.tone}`} onMouseEnter=${() => clearTimeout(toast.timer)}
           onMouseLeave=${() => dismissLater(toast)}>
        <div class="toast-words">
          <strong>${visibleText(toast.title)}</strong>
          ${toast.text && html`<p>${toast.text}</p>`}
        </div>
        <button class="quiet" aria-label="Dismiss" onClick=${() => dismiss(toast)}>×</button>
      </div>`)}
  </div>`;
}
