/** Parts of the page that are loaded when the source is shown: with fewer modules before, that is much sooner. */
import { html, signal } from "./framework.js";

/** The parts by their names, once they are there. */
const parts = signal(null);

const RETRY_MS = 1000;
const REASON_KEY = "began-anew";

export async function loadParts() {
  try {
    parts.value ??= (await import("./session_parts.js")).parts;
  } catch (error) {
    if (error instanceof SyntaxError && isNews(error.message)) {
      location.reload(); // the relay was upgraded between the first file of the page and this one
      return;
    }
    if (!(error instanceof TypeError)) throw error;
    // The relay has gone just now. A module that once failed to come fails for ever, so the page begins anew.
    await relayIsBack();
    location.reload();
  }
}

/** Whether this tab has not begun anew for the same reason already: then that is no help. */
function isNews(reason) {
  const isAnother = sessionStorage.getItem(REASON_KEY) !== reason;
  sessionStorage.setItem(REASON_KEY, reason);
  return isAnother;
}

async function relayIsBack() {
  while (!(await fetch(location.pathname, { cache: "no-store" }).catch(() => null))?.ok) {
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Shows a part as soon as it is there; the other properties are the part's. */
export function LaterPart({ name, ...properties }) {
  const part = parts.value?.[name];
  return part ? html`<${part} ...${properties} />` : null;
}
