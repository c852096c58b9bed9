/** The line of the console: what was entered before comes back, and what may follow is offered. */
import { html, useRef, useSignal } from "./framework.js";
import { post } from "./relay.js";
import { visibleText } from "./visible_text.js";

const MOST_KEPT = 200;
const MOST_OFFERED = 50;
const HISTORY_KEY = "page:console-history";

const readHistory = () => {
  try {
    return JSON.parse(localStorage.getItem(HISTORY_KEY)) ?? [];
  } catch {
    return [];
  }
};

function keepInHistory(text) {
  const others = readHistory().filter((each) => each !== text);
  try {
    localStorage.setItem(HISTORY_KEY, JSON.stringify([...others, text].slice(-MOST_KEPT)));
  } catch {
    /* no room, or no permission: there is no history then */
  }
}

export function ConsoleInput({ store, place, onEnter, onClear }) {
  const field = useRef(null);
  const back = useRef({ steps: 0, draft: "" });
  /** what may follow: {items, chosen} */
  const offered = useSignal(null);
  const setText = (text, cursor = text.length) => {
    field.current.value = text;
    field.current.setSelectionRange(cursor, cursor);
    fitHeight(field.current);
  };

  const goBack = (steps) => {
    const history = readHistory();
    const wanted = Math.max(0, Math.min(steps, history.length));
    if (wanted === back.current.steps) return;
    if (back.current.steps === 0) back.current.draft = field.current.value;
    back.current.steps = wanted;
    setText(wanted === 0 ? back.current.draft : history[history.length - wanted]);
  };

  const enter = () => {
    const text = field.current.value.trim();
    if (!text) return;
    keepInHistory(text);
    back.current = { steps: 0, draft: "" };
    setText("");
    onEnter(text);
  };

  const complete = async () => {
    const text = field.current.value.slice(0, field.current.selectionStart);
    const body = { text, ...place(store) };
    const items = (await post(`${store.path}/completions`, body).catch(() => ({ items: [] }))).items;
    if (!field.current || field.current.value.slice(0, field.current.selectionStart) !== text) return;
    if (items.length === 1) take(items[0]);
    else offered.value = items.length ? { items: items.slice(0, MOST_OFFERED), chosen: 0 } : null;
  };

  const take = ({ label, text, start, length = 0 }) => {
    const { value, selectionStart } = field.current;
    const inserted = text ?? label;
    const from = start ? start - 1 : selectionStart - length;
    setText(value.slice(0, from) + inserted + value.slice(from + length), from + inserted.length);
    offered.value = null;
    field.current.focus();
  };

  const choose = (step) => {
    const { items, chosen } = offered.value;
    offered.value = { items, chosen: (chosen + step + items.length) % items.length };
  };

  const press = (event) => {
    const handler = offered.value
      ? { ArrowDown: () => choose(1), ArrowUp: () => choose(-1), Escape: () => (offered.value = null),
          Enter: () => take(offered.value.items[offered.value.chosen]),
          Tab: () => take(offered.value.items[offered.value.chosen]) }[event.key]
      : plainKeys(event, { enter, goBack, complete, back, field, onClear });
    if (!handler) return;
    event.preventDefault();
    handler();
  };

  const list = offered.value;
  return html`<div class="console-input">
    ${list && html`<ul class="completions" role="listbox" id="completions" aria-label="Completions">
      ${list.items.map((item, number) => html`<li role="option" id=${`completion-${number}`} key=${number}
          aria-selected=${number === list.chosen} onMouseDown=${(event) => event.preventDefault() ?? take(item)}
          ref=${(row) => number === list.chosen && row?.scrollIntoView({ block: "nearest" })}>
        ${visibleText(item.label)} <span class="muted">${item.type ?? ""}</span></li>`)}
    </ul>`}
    <span class="prompt" aria-hidden="true">›</span>
    <textarea ref=${field} rows="1" role="combobox" aria-label="Expression" aria-autocomplete="list" spellcheck="false"
      autocomplete="off" placeholder="Expression, e.g. len(items)" aria-expanded=${Boolean(list)} aria-controls="completions"
      aria-activedescendant=${list ? `completion-${list.chosen}` : undefined} onKeyDown=${press}
      onInput=${() => fitHeight(field.current) ?? (offered.value = null)} onBlur=${() => (offered.value = null)} />
  </div>`;
}

/** Keys while nothing is offered. Tab completes only where there is a word to complete, so that it also leaves. */
function plainKeys(event, { enter, goBack, complete, back, field, onClear }) {
  const { value, selectionStart: at } = field.current;
  const key = event.ctrlKey ? `Ctrl+${event.key}` : event.shiftKey ? `Shift+${event.key}` : event.key;
  const isOnFirstLine = !value.slice(0, at).includes("\n");
  const isOnLastLine = !value.slice(at).includes("\n");
  return {
    Enter: enter,
    ArrowUp: isOnFirstLine && (() => goBack(back.current.steps + 1)),
    ArrowDown: isOnLastLine && (() => goBack(back.current.steps - 1)),
    Tab: /[\w.\]"')]$/.test(value.slice(0, at)) && complete,
    "Ctrl+ ": complete,
    "Ctrl+l": onClear,
  }[key];
}

function fitHeight(field) {
  field.rows = Math.min(8, field.value.split("\n").length);
}
