/** The bar above the source that finds a text in the file or goes to a line. */
import { html, useEffect, useRef, useSignal } from "./framework.js";
import { IconButton } from "./icons.js";

const MOST_MATCHES = 10_000;

/** Every place of a text in a file: {line, start, end}. */
export function findMatches(lines, text) {
  const matches = [];
  if (!text) return matches;
  const isExact = text !== text.toLowerCase();
  const wanted = isExact ? text : text.toLowerCase();
  for (let index = 0; index < lines.length && matches.length < MOST_MATCHES; index += 1) {
    const line = isExact ? lines[index] : lines[index]?.toLowerCase();
    for (let at = line?.indexOf(wanted) ?? -1; at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
      matches.push({ line: index + 1, start: at, end: at + wanted.length });
    }
  }
  return matches;
}

/** `bar` is a signal: {kind: "search", text, matches, current} or {kind: "line"}. */
export function SearchBar({ file, store, bar }) {
  return bar.value.kind === "line" ? html`<${LineBar} file=${file} store=${store} bar=${bar} />`
    : html`<${TextBar} file=${file} store=${store} bar=${bar} />`;
}

function useFocus(bar) {
  const input = useRef(null);
  useEffect(() => input.current.select(), [bar.value.opened]);
  return input;
}

const closeOnEscape = (event, bar) => {
  if (event.key !== "Escape") return;
  bar.value = null;
  document.querySelector(".source-view")?.focus();
};

function TextBar({ file, store, bar }) {
  const input = useFocus(bar);
  const { text = "", matches = [], current = 0 } = bar.value;
  const show = (found, at) => {
    bar.value = { ...bar.value, matches: found, current: at };
    if (found[at]) store.showPlace(file.path, found[at].line, store.place.value?.frame);
  };
  const search = async (wanted) => {
    bar.value = { ...bar.value, text: wanted };
    await file.needAll();
    if (bar.value?.text !== wanted) return;
    const found = findMatches(file.lines, wanted);
    const from = bar.value.from ?? 1;
    show(found, Math.max(0, found.findIndex((match) => match.line >= from)));
  };
  const move = (step) => matches.length && show(matches, (current + step + matches.length) % matches.length);
  const press = (event) => {
    closeOnEscape(event, bar);
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
  };
  return html`<div class="search-bar" role="search">
    <input ref=${input} class="field" aria-label="Find in this file" placeholder="Find in this file" value=${text} spellcheck=${false}
      onInput=${(event) => search(event.target.value)} onKeyDown=${press} />
    <span class="search-count" role="status">${text ? (matches.length ? `${current + 1} of ${matches.length}` : "none") : ""}</span>
    <${IconButton} icon="out" label="Previous" keys="Shift+Enter" onClick=${() => move(-1)} />
    <${IconButton} icon="into" label="Next" keys="Enter" onClick=${() => move(1)} />
    <${IconButton} icon="close" label="Close search" keys="Escape" onClick=${() => (bar.value = null)} />
  </div>`;
}

function LineBar({ file, store, bar }) {
  const input = useFocus(bar);
  const text = useSignal("");
  const go = (event) => {
    event.preventDefault();
    const line = Math.min(Math.max(Number.parseInt(text.value, 10) || 1, 1), file.total);
    store.showPlace(file.path, line, store.place.value?.frame);
    bar.value = null;
    document.querySelector(".source-view")?.focus();
  };
  return html`<form class="search-bar" onSubmit=${go}>
    <input ref=${input} class="field" inputmode="numeric" aria-label="Go to line" placeholder=${`Line, 1 to ${file.total}`}
      value=${text.value} onInput=${(event) => (text.value = event.target.value)} onKeyDown=${(event) => closeOnEscape(event, bar)} />
    <button class="button" type="submit">Go</button>
  </form>`;
}
