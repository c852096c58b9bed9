/** Parts of the page that are loaded when the source is shown: with fewer modules before, that is much sooner. */
import { html, signal } from "./framework.js";

/** The parts by their names, once they are there. */
const parts = signal(null);

const RETRY_MS = 1000;

export async function loadParts() {
  try {
    parts.value ??= (await import("./session_parts.js")).parts;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The relay has gone just now. A module that once failed to come fails for ever, so the page begins anew.
    await relayIsBack();
    location.reload();
  }
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
