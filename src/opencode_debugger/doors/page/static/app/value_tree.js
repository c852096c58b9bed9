/** Draws a tree of values, and lets people move in it with the keys of every tree, open, copy and change values. */
import { html, useRef, useSignal } from "./framework.js";
import { VirtualList } from "./virtual_list.js";
import { cutText, visibleText } from "./visible_text.js";
import { attempt, showToast } from "./toasts.js";

export const ROW_HEIGHT = 22;
const SHOWN_VALUE = 400;
const SHOWN_TOOLTIP = 3000;
const PAGE_KEYS = 15;
let lastTreeId = 0;

/**
 * `actions(row)` may give {set(row, text), remove(row), watch(row)}: what can be done to that row. `mostRows` is the
 * height of a tree inside of other content.
 */
export function ValueTreeView({ tree, label, actions = () => ({}), mostRows, isStale }) {
  tree.version.value;
  const active = useSignal(0);
  const edited = useSignal(null);
  const handle = useRef(null);
  const id = useRef(`tree-${++lastTreeId}`).current;
  const count = tree.rowCount;
  const at = Math.min(active.value, count - 1);

  const move = (to) => {
    active.value = Math.max(0, Math.min(to, tree.rowCount - 1));
    handle.current.show(active.value);
  };
  // Keys may come quicker than the tree is drawn: what counts is where it stands, not what is seen.
  const press = (event) => {
    if (edited.value !== null || event.altKey || tree.rowCount === 0) return;
    const pressedAt = Math.min(active.value, tree.rowCount - 1);
    const handler = keyHandlers(tree, pressedAt, { move, actions, edited })[keyOf(event)];
    if (!handler) return;
    event.preventDefault();
    event.stopPropagation();
    handler();
  };
  const renderRow = (position) => {
    const row = tree.rowAt(position);
    return html`<${ValueRow} key=${position} ...${{ id: `${id}-${position}`, row, position, tree, actions, edited }}
      isActive=${position === at} onPick=${() => (active.value = position)} />`;
  };
  const size = mostRows ? { height: `${Math.min(count, mostRows) * ROW_HEIGHT + 2}px` } : undefined;
  return html`<${VirtualList} class=${`value-tree ${isStale ? "stale" : ""} ${mostRows ? "inline" : ""}`} role="tree"
    aria-label=${label} tabindex="0" aria-activedescendant=${count ? `${id}-${at}` : undefined} style=${size}
    count=${count} rowHeight=${ROW_HEIGHT} renderRow=${renderRow} handle=${handle} onKeyDown=${press} />`;
}

const keyOf = (event) => (event.ctrlKey || event.metaKey ? `Ctrl+${event.key}` : event.key);

function keyHandlers(tree, at, { move, actions, edited }) {
  const row = tree.rowAt(at);
  const { set, remove, watch } = row.variable ? actions(row) : {};
  return {
    ArrowDown: () => move(at + 1),
    ArrowUp: () => move(at - 1),
    Home: () => move(0),
    End: () => move(Number.MAX_SAFE_INTEGER),
    PageDown: () => move(at + PAGE_KEYS),
    PageUp: () => move(at - PAGE_KEYS),
    ArrowRight: () => (row.canOpen && !row.isOpen ? tree.toggle(at) : move(at + (row.isOpen ? 1 : 0))),
    ArrowLeft: () => (row.isOpen ? tree.toggle(at) : move(Math.max(tree.positionAbove(at), 0))),
    Enter: () => tree.toggle(at),
    " ": () => tree.toggle(at),
    F2: set && (() => (edited.value = at)),
    Delete: remove && (() => attempt(remove(row))),
    "Ctrl+c": !String(getSelection()) && row.variable && (() => copyValue(row.variable)),
    w: watch && (() => attempt(watch(row))),
  };
}

async function copyValue({ name, value }) {
  await navigator.clipboard.writeText(value);
  showToast({ title: `Copied the value of ${visibleText(name)}` });
}

function ValueRow({ id, row, position, tree, actions, edited, isActive, onPick }) {
  const { variable, depth, isOpen, canOpen, holder, index } = row;
  const { set, remove, watch } = variable ? actions(row) : {};
  const open = () => {
    onPick();
    tree.toggle(position);
  };
  const classes = ["value-row", isActive && "active", variable?.changed && "changed", variable?.isError && "error",
    variable?.isScope && "scope", variable?.isPart && "part"].filter(Boolean).join(" ");
  return html`<div id=${id} class=${classes} role="treeitem" aria-level=${depth} aria-setsize=${holder.total ?? -1}
      aria-posinset=${index + 1} aria-expanded=${canOpen ? isOpen : undefined} aria-selected=${isActive}
      onClick=${canOpen ? open : onPick} onDblClick=${() => set && (edited.value = position)}
      style=${{ paddingInlineStart: `${(depth - 1) * 14 + 4}px` }}>
    <span class=${`twisty ${canOpen ? (isOpen ? "open" : "closed") : "none"}`} aria-hidden="true" />
    ${variable ? html`<${ValueWords} ...${{ variable }} />` : html`<span class="muted">…</span>`}
    ${edited.value === position && html`<${ValueEditor} row=${row} set=${set} onEnd=${() => endEditing(edited, id)} />`}
    ${isActive && edited.value === null && html`<span class="row-actions">
      ${set && html`<button tabindex="-1" title="Set the value (F2)" onClick=${stopped(() => (edited.value = position))}>Set</button>`}
      ${watch && html`<button tabindex="-1" title="Watch it (W)" onClick=${stopped(() => attempt(watch(row)))}>Watch</button>`}
      ${remove && html`<button tabindex="-1" title="Remove (Delete)" onClick=${stopped(() => attempt(remove(row)))}>Remove</button>`}
    </span>`}
  </div>`;
}

const stopped = (run) => (event) => {
  event.stopPropagation();
  run();
};

function endEditing(edited, id) {
  edited.value = null;
  document.getElementById(id)?.closest("[role=tree]")?.focus();
}

function ValueWords({ variable }) {
  const { name, value = "", type, isPart, isScope, changed, old, error } = variable;
  const text = error ?? value;
  const was = changed ? `\n\nbefore: ${visibleText(cutText(old, SHOWN_TOOLTIP))}` : "";
  const tooltip = `${type ? `${visibleText(type)}\n` : ""}${visibleText(cutText(text, SHOWN_TOOLTIP))}${was}`;
  return html`
    <span class="value-name">${visibleText(cutText(name, SHOWN_VALUE))}</span>
    ${!isScope && !isPart && html`<span class="value-equals" aria-hidden="true">=</span>`}
    <span class=${`value-text ${error ? "error" : kindOf(variable)}`} title=${tooltip}>${visibleText(cutText(text, SHOWN_VALUE))}</span>
    ${type && html`<span class="value-type">${visibleText(cutText(type, 80))}</span>`}`;
}

/** What a value is by its look, for its colour. */
function kindOf({ value = "", type }) {
  if (/^(str|bytes|char|const char)/.test(type ?? "") || /^[bu]?['"]/.test(value)) return "text";
  if (/^-?(0x)?[\d.]+(e[+-]?\d+)?$/i.test(value)) return "number";
  if (/^(True|False|None|true|false|null|nullptr|NULL)$/.test(value)) return "constant";
  return "other";
}

function ValueEditor({ row, set, onEnd }) {
  const save = (event) => {
    if (event.key === "Escape") onEnd();
    if (event.key === "Enter") attempt(set(row, event.target.value)).finally(onEnd);
    event.stopPropagation();
  };
  return html`<input class="value-editor" aria-label=${`New value of ${visibleText(row.variable.name)}`} spellcheck="false"
    value=${row.variable.truncated ? "" : row.variable.value} onKeyDown=${save} onBlur=${onEnd}
    onClick=${(event) => event.stopPropagation()} ref=${(input) => input?.focus()} />`;
}
