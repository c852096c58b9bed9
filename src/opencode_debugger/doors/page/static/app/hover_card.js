/** Shows the value of what the pointer rests on; nothing of the program is run for it. */
import { html, useEffect, useMemo, useSignal } from "./framework.js";
import { post } from "./relay.js";
import { visibleText } from "./visible_text.js";

const REST_MS = 120;
const LEAVE_MS = 250;
const MOST_INSIDE = 12;
const NAMES = ".t-name, .t-attribute, .t-call, .t-type, .t-definition, .t-plain";

/** The state of the hover over one file: `card` is {found, x, y} while something is shown. */
export function useHover(store, file) {
  const card = useSignal(null);
  const hover = useMemo(() => new Hover(store, file, card), [file]);
  useEffect(() => () => hover.close(), [hover]);
  return hover;
}

class Hover {
  constructor(store, file, card) {
    this.store = store;
    this.file = file;
    this.card = card;
    this.point = this.point.bind(this);
    this.leave = this.leave.bind(this);
  }

  point(event) {
    if (event.target.closest(".hover-card")) return this.stay();
    clearTimeout(this.timer);
    const { clientX: x, clientY: y } = event;
    this.timer = setTimeout(() => this.#ask(x, y), REST_MS);
    return undefined;
  }

  stay() {
    clearTimeout(this.timer);
  }

  leave() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.close(), LEAVE_MS);
  }

  close() {
    clearTimeout(this.timer);
    this.asked = null;
    if (this.card.peek()) this.card.value = null;
  }

  async #ask(x, y) {
    const at = placeUnder(x, y);
    if (!at || this.store.status.value !== "paused" || this.store.past.value) return this.close();
    const shown = this.card.value?.found.range;
    if (shown && shown.line === at.line && at.column >= shown.column && at.column < shown.end_column) return undefined;
    const asked = (this.asked = { number: this.store.stopNumber.value });
    const { threadId, frameId } = this.store.selected.value ?? {};
    const body = { file: this.file.path, line: at.line, column: at.column, thread_id: threadId, frame_id: frameId };
    const found = await post(`${this.store.path}/hover`, body).catch(() => null);
    if (asked !== this.asked || asked.number !== this.store.stopNumber.value) return undefined;
    this.card.value = found && !found.error ? { found, ...at.box } : null;
    return undefined;
  }
}

/** Which line and column of the source is under a point of the screen, and where the word there is. */
function placeUnder(x, y) {
  const caret = document.caretPositionFromPoint?.(x, y) ?? oldCaret(x, y);
  const node = caret?.offsetNode;
  const code = node?.parentElement?.closest(".code");
  if (!code || node.nodeType !== Node.TEXT_NODE || !node.parentElement.matches(NAMES)) return null;
  const range = document.createRange();
  range.selectNodeContents(node);
  const word = range.getBoundingClientRect();
  if (x < word.left - 2 || x > word.right + 2) return null;
  range.setStart(code, 0);
  range.setEnd(node, Math.min(caret.offset, node.length));
  const before = range.toString();
  return { line: Number(code.dataset.line), column: Array.from(before).length + 1, box: { x: word.left, y: word.bottom, above: word.top } };
}

function oldCaret(x, y) {
  const range = document.caretRangeFromPoint?.(x, y);
  return range && { offsetNode: range.startContainer, offset: range.startOffset };
}

export function HoverCard({ hover, store }) {
  const shown = hover.card.value;
  const inside = useSignal(null);
  const reference = shown?.found.variables_reference;
  useEffect(() => {
    inside.value = null;
    if (!reference) return;
    const query = { count: MOST_INSIDE, lean: true };
    store.get(`variables/${reference}`, query).then((page) => (inside.value = page), () => undefined);
  }, [reference]);
  if (!shown) return null;
  const { found, x, y, above } = shown;
  const isLow = y > window.innerHeight - 220;
  const place = { left: `${Math.max(8, Math.min(x, window.innerWidth - 440))}px`,
    ...(isLow ? { bottom: `${window.innerHeight - above + 4}px` } : { top: `${y + 4}px` }) };
  return html`<div class="hover-card" role="tooltip" style=${place} onMouseEnter=${() => hover.stay()} onMouseLeave=${() => hover.leave()}>
    <div class="hover-head"><code>${visibleText(found.expression)}</code>${found.type && html`<span class="muted">${visibleText(found.type)}</span>`}</div>
    ${found.signature && html`<code class="hover-value">${found.signature}</code>`}
    ${!found.signature && html`<code class="hover-value">${visibleText(found.value)}</code>`}
    ${found.documentation && html`<p class="hover-words">${found.documentation}</p>`}
    ${inside.value?.variables?.length > 0 && html`<dl class="hover-inside">${inside.value.variables.map((each) => html`
      <div key=${each.name}><dt>${visibleText(each.name)}</dt><dd>${visibleText(each.value)}</dd></div>`)}</dl>`}
    ${inside.value?.has_more && html`<p class="muted">and more: see Variables</p>`}
  </div>`;
}
