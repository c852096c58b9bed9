/** One line of source: its number with the breakpoint, its coloured text, the values beside it. */
import { html } from "./framework.js";
import { runTo } from "./session_commands.js";
import { attempt, showToast } from "./toasts.js";
import { visibleLine, visibleText } from "./visible_text.js";

const LONGEST_LINE = 2_000;

export function SourceLine({ line, file, tokens, store, breakpoint, values, marks, state, isCursor, edited, cursor }) {
  const isRead = file.version.value > 0; // reading a signal here lets a line whose properties stay the same be left alone
  const text = isRead ? file.lines[line - 1] : undefined;
  const toggle = (event) => {
    cursor.value = line;
    if (event.ctrlKey || event.metaKey) runTo(store, file.path, line);
    else if (event.altKey) edited.value = line;
    else toggleBreakpoint(store, file.path, line);
  };
  const edit = (event) => {
    event.preventDefault();
    cursor.value = line;
    edited.value = line;
  };
  return html`<div class=${`line ${state ?? ""} ${isCursor ? "cursor" : ""}`} role="row" id=${`line-${line}`} aria-rowindex=${line}
      aria-current=${state === "current" ? "location" : undefined} onMouseDown=${() => (cursor.value = line)}>
    <span class="gutter" role="gridcell" onContextMenu=${edit}>
      <button class=${`line-number ${markOf(breakpoint)}`} tabindex="-1" title=${breakpointWords(breakpoint)}
        aria-label=${`Line ${line}: ${breakpoint ? breakpointWords(breakpoint) : "set a breakpoint"}`} onClick=${toggle}>${line}</button>
    </span>
    <span class="code" role="gridcell" data-line=${line}>${text === undefined ? "…" : parts(tokens, text, marks)}${
      values && html`<span class="values">${values.map(({ name, value, isChanged }) => html`
        <span key=${name} class=${isChanged ? "changed" : ""}>${name} = ${visibleText(value)}</span>`)}</span>`}</span>
  </div>`;
}

/** The coloured parts of a line, with what was searched for marked. */
function parts(tokens, text, marks) {
  const shown = text.length > LONGEST_LINE ? cut(tokens) : tokens;
  const marked = marks ? withMarks(shown, marks) : shown;
  return marked.map(({ type, text: part, mark }, index) => (
    type === "other" && !mark ? visibleLine(part)
      : html`<span key=${index} class=${mark ? `t-${type} ${mark}` : `t-${type}`}>${visibleLine(part)}</span>`));
}

function cut(tokens) {
  const shown = [];
  let room = LONGEST_LINE;
  for (const { type, text } of tokens) {
    if (room <= 0) break;
    shown.push({ type, text: text.slice(0, room) });
    room -= text.length;
  }
  const length = tokens.reduce((sum, { text }) => sum + text.length, 0);
  return [...shown, { type: "cut", text: ` … ${length - LONGEST_LINE} more characters` }];
}

/** Divide tokens where a match begins and ends. */
function withMarks(tokens, marks) {
  const divided = [];
  let at = 0;
  for (const { type, text } of tokens) {
    const edges = new Set([0, text.length]);
    for (const { start, end } of marks) for (const edge of [start - at, end - at]) if (edge > 0 && edge < text.length) edges.add(edge);
    const sorted = [...edges].sort((one, other) => one - other);
    for (let index = 0; index + 1 < sorted.length; index += 1) {
      const [from, to] = [sorted[index], sorted[index + 1]];
      const match = marks.find(({ start, end }) => start <= at + from && at + to <= end);
      divided.push({ type, text: text.slice(from, to), mark: match && (match.isCurrent ? "match current-match" : "match") });
    }
    at += text.length;
  }
  return divided;
}

/** Which mark a breakpoint has: off, unverified, log, conditional or plain. */
function markOf(breakpoint) {
  if (!breakpoint) return "";
  const kind = breakpoint.log_message ? "log" : breakpoint.condition || breakpoint.hit_condition ? "conditional" : "";
  return `breakpoint ${kind} ${breakpoint.enabled ? "" : "off"} ${breakpoint.verified ? "" : "unverified"}`;
}

/** Set or remove the breakpoint of a line, and say why if it will not stop. */
export async function toggleBreakpoint(store, path, line) {
  const made = await attempt(store.breakpoints.toggle(path, line));
  if (made && !made.verified && made.message) {
    const { line: near, text } = made.suggestion ?? {};
    showToast({ title: made.message, text: near ? `Line ${near} has code: ${text ?? ""}` : "", tone: "warning" });
  }
}

export function breakpointWords(breakpoint) {
  if (!breakpoint) return undefined;
  const said = [
    breakpoint.log_message ? `logs: ${breakpoint.log_message}` : "breakpoint",
    breakpoint.condition && `if ${breakpoint.condition}`,
    breakpoint.hit_condition && `hits ${breakpoint.hit_condition}`,
    !breakpoint.enabled && "switched off",
    !breakpoint.verified && `not verified: ${breakpoint.message ?? "the program has not loaded this file yet"}`,
    breakpoint.error && `condition failed: ${breakpoint.error}`,
    breakpoint.hit_count > 0 && `hit ${breakpoint.hit_count} times`,
  ];
  return said.filter(Boolean).join(", ");
}
