/** A recorded call in words, as every view of a recording has it. */
import { html } from "./framework.js";
import { cutText, visibleText } from "./visible_text.js";

const SHOWN_VALUE = 200;

const shown = (text) => visibleText(cutText(text ?? "", SHOWN_VALUE));

/** `#41 Cart.total(rate=0.2) → 14.4` */
export function CallWords({ call: { call, function: name, arguments: given, ...end } }) {
  const words = given.map((each) => `${shown(each.name)}=${shown(each.value)}`).join(", ");
  return html`<span class="call-number">#${call}</span> <span class="call-words"><span class="call-name">${shown(name)}</span>(${words})</span> <${CallEnd} ...${end} />`;
}

/** What a call returned, or the exception that left it. */
export function CallEnd({ outcome, value, raised_line: line }) {
  if (outcome === "returned") return html`<span class="call-end">→ ${shown(value)}</span>`;
  if (outcome === "raised") return html`<span class="call-end raised">✗ ${shown(value)}${line && ` at line ${line}`}</span>`;
  return html`<span class="call-end muted">(${outcome})</span>`;
}

/** Milliseconds with as many digits as tell something. */
export const duration = (ms) => (ms === null || ms === undefined ? "" : `${Number(ms.toPrecision(3))} ms`);
