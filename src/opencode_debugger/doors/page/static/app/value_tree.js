/** Draws a tree of values, and lets people open, copy and change them. */
import { html, useLayoutEffect, useRef, useSignal } from "./framework.js";
import { TreeView } from "./tree_view.js";
import { cutText, visibleText } from "./visible_text.js";
import { attempt, showToast } from "./toasts.js";

export const ROW_HEIGHT = 22;
const SHOWN_VALUE = 400;
const SHOWN_TOOLTIP = 3000;

/**
 * `actions(row)` may give {set(row, text), remove(row), watch(row)}: what can be done to that row. `mostRows` is the
 * height of a tree inside of other content.
 */
export function ValueTreeView({ tree, label, actions = () => ({}), mostRows, isStale }) {
  const edited = useSignal(null);
  const actionsOf = (row) => (row.variable ? actions(row) : {});
  const keysOf = (row, position) => {
    const { set, remove, watch } = actionsOf(row);
    return {
      F2: set && (() => (edited.value = keyOfEdit(row, position))),
      Delete: remove && (() => attempt(remove(row))),
      "Ctrl+c": !String(getSelection()) && row.variable && (() => copyValue(row.variable)),
      w: watch && (() => attempt(watch(row))),
    };
  };
  const rowClass = ({ variable }) => ["value-row", variable?.changed && "changed", variable?.isError && "error",
    variable?.isScope && "scope", variable?.isPart && "part"].filter(Boolean).join(" ");
  const size = mostRows ? { height: `${Math.min(tree.rowCount, mostRows) * ROW_HEIGHT + 2}px` } : undefined;
  return html`<${TreeView} class=${`value-tree ${isStale ? "stale" : ""} ${mostRows ? "inline" : ""}`} tree=${tree} label=${label}
    style=${size} rowHeight=${ROW_HEIGHT} rowClass=${rowClass} keysOf=${keysOf}
    onDoubleChoose=${(row, position) => actionsOf(row).set && (edited.value = keyOfEdit(row, position))}
    renderRow=${(row, at) => html`<${ValueInRow} row=${row} actions=${actionsOf(row)} edited=${edited} ...${at} />`} />`;
}

/** What is edited: a value, and not whatever stands there after the tree was read again. */
const keyOfEdit = ({ path }, position) => `${position} ${path}`;

async function copyValue({ name, value }) {
  await navigator.clipboard.writeText(value);
  showToast({ title: `Copied the value of ${visibleText(name)}` });
}

function ValueInRow({ row, actions: { set, remove, watch }, edited, id, position, isActive }) {
  const { variable } = row;
  const key = keyOfEdit(row, position);
  return html`
    ${variable ? html`<${ValueWords} ...${{ variable }} />` : html`<span class="muted">…</span>`}
    ${set && edited.value === key && html`<${ValueEditor} key=${key} row=${row} set=${set} onEnd=${() => endEditing(edited, key, id)} />`}
    ${isActive && edited.value !== key && html`<span class="row-actions">
      ${set && html`<button tabindex="-1" title="Set the value (F2)" onClick=${stopped(() => (edited.value = key))}>Set</button>`}
      ${watch && html`<button tabindex="-1" title="Watch it (W)" onClick=${stopped(() => attempt(watch(row)))}>Watch</button>`}
      ${remove && html`<button tabindex="-1" title="Remove (Delete)" onClick=${stopped(() => attempt(remove(row)))}>Remove</button>`}
    </span>`}`;
}

const stopped = (run) => (event) => {
  event.stopPropagation();
  run();
};

function endEditing(edited, key, id) {
  if (edited.peek() !== key) return;
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
  const field = useRef(null);
  useLayoutEffect(() => {
    field.current.focus();
    return onEnd;
  }, []);
  const save = (event) => {
    if (event.key === "Escape") onEnd();
    if (event.key === "Enter") attempt(set(row, event.target.value)).finally(onEnd);
    event.stopPropagation();
  };
  return html`<input class="value-editor" aria-label=${`New value of ${visibleText(row.variable.name)}`} spellcheck="false"
    value=${row.variable.truncated ? "" : row.variable.value} onKeyDown=${save} onBlur=${onEnd}
    onClick=${(event) => event.stopPropagation()} ref=${field} />`;
}
