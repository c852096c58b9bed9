/** Lines of a file: only those in sight are in the document, so that long files scroll as smoothly as short ones. */
import { html, useComputed, useEffect, useLayoutEffect, useMemo, useRef, useSignal } from "./framework.js";
import { BreakpointEditor } from "./breakpoint_editor.js";
import { HoverCard, useHover } from "./hover_card.js";
import { inlineValues } from "./inline_values.js";
import { SourceLine, toggleBreakpoint } from "./source_line.js";
import { LineColours, languageOf } from "./source_colours.js";
import { runTo } from "./session_commands.js";
import { sourceActions } from "./source_actions.js";
import { baseName } from "./words.js";

const LINE_HEIGHT = 20;
const LINES_BEYOND = 12;
const MARGIN_LINES = 3;
const EDITOR_HEIGHT = 190;
const TALLEST = 15_000_000;

export function SourceView({ store, file, bar }) {
  const scroller = useRef(null);
  const offset = useSignal(0);
  const top = useSignal(0);
  const height = useSignal(600);
  const cursor = useSignal(store.place.peek()?.line ?? 1);
  const edited = useSignal(null);
  const colours = useMemo(() => new LineColours(file.lines, languageOf(file.path)), [file]);
  // Lines that were read before keep their colours: a long file comes in many pages.
  useMemo(() => colours.forgetFrom(file.takeChange()), [file.version.value]);
  const hover = useHover(store, file);
  const values = useValues(store, file, colours);
  useResize(scroller, height);
  usePlace(store, file, { scroller, cursor });
  useActions(store, file, { cursor, edited, bar });

  const scroll = (event) => {
    offset.value = event.currentTarget.scrollTop;
    top.value = Math.floor(offset.value / LINE_HEIGHT);
    hover.close();
  };
  const first = Math.max(1, top.value - LINES_BEYOND);
  const last = Math.min(file.total, top.value + Math.ceil(height.value / LINE_HEIGHT) + LINES_BEYOND);
  useEffect(() => {
    file.need(first);
    file.need(last);
  }, [first, last]);
  const here = currentLines(store, file);
  const marks = marksByLine(bar.value);
  const rows = [];
  for (let line = first; line <= last; line += 1) {
    rows.push(html`<${SourceLine} key=${line} line=${line} file=${file} tokens=${colours.of(line - 1)} store=${store}
      breakpoint=${store.breakpoints.at(file.path, line)} values=${values.value.get(line)} marks=${marks?.get(line)}
      state=${here.get(line)} isCursor=${cursor.value === line} edited=${edited} cursor=${cursor} />`);
  }
  const digits = String(file.total).length;
  return html`<div class="source-frame"><div class=${`source-view ${store.isStale.value ? "left-behind" : ""} digits-${Math.min(digits, 7)}`} ref=${scroller}
      role="grid" tabindex="0" aria-label=${`Source of ${baseName(file.path) || "this frame"}`} aria-rowcount=${file.total}
      aria-activedescendant=${cursor.value >= first && cursor.value <= last ? `line-${cursor.value}` : undefined}
      onScroll=${scroll} onKeyDown=${(event) => moveCursor(event, { store, file, cursor, edited, scroller: scroller.current })}
      onMouseMove=${hover.point} onMouseLeave=${hover.leave}>
    <div class="source-height" role="presentation" style=${{ height: `${Math.min(file.total * LINE_HEIGHT, TALLEST)}px` }}>
      <div class="source-rows" role="rowgroup" style=${{ transform: `translateY(${(first - 1) * LINE_HEIGHT}px)` }}>${rows}</div>
    </div>
  </div>
  ${edited.value && html`<${BreakpointEditor} key=${edited.value} store=${store} path=${file.path} line=${edited.value}
    top=${editorTop(edited.value, offset.value, height.value)} onClose=${() => closeEditor(edited, scroller)} />`}
  <${HoverCard} hover=${hover} store=${store} /></div>`;
}

function closeEditor(edited, scroller) {
  edited.value = null;
  scroller.current.focus();
}

/** Where the editor of a line's breakpoint is: under the line, and always in sight. */
function editorTop(line, offset, height) {
  return Math.max(0, Math.min(line * LINE_HEIGHT - offset, height - EDITOR_HEIGHT));
}

/** The lines where the program is: the top of the stack, and the frame that is looked at. */
function currentLines(store, file) {
  const lines = new Map();
  if (!store.isHalted.value) {
    const last = store.location.value;
    if (last?.path === file.path && store.status.value === "running") lines.set(last.line, "left");
    return lines;
  }
  const frame = store.selectedFrame.value;
  const location = store.location.value;
  if (location && location.path === file.path) lines.set(location.line, "current");
  if (frame && frame.path === file.path && frame.line !== location?.line) lines.set(frame.line, "in-frame");
  return lines;
}

function marksByLine(bar) {
  if (!bar?.matches?.length) return null;
  const marks = new Map();
  bar.matches.forEach((match, index) => {
    if (!marks.has(match.line)) marks.set(match.line, []);
    marks.get(match.line).push({ ...match, isCurrent: index === bar.current });
  });
  return marks;
}

/** Values to show beside lines, of the frame that is looked at. */
function useValues(store, file, colours) {
  const version = file.version.value;
  return useComputed(() => {
    const frame = store.selectedFrame.value;
    if (version === 0 || !store.isHalted.value || frame?.path !== file.path) return new Map();
    return inlineValues({
      lines: file.lines, colours, currentLine: frame.line, functionName: frame.name, locals: store.locals.value,
      changed: store.changed.value,
    });
  });
}

function useResize(scroller, height) {
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => (height.value = scroller.current.clientHeight));
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
}

/** Move to where the program is, or to what was asked for. */
function usePlace(store, file, { scroller, cursor }) {
  const place = store.place.value;
  useLayoutEffect(() => {
    if (place?.path !== file.path || !place.line) return;
    cursor.value = place.line;
    reveal(scroller.current, place.line);
  }, [place]);
}

/** Scroll only as far as needed: not at all if the line is in sight, else to the middle. */
function reveal(scroller, line) {
  const at = (line - 1) * LINE_HEIGHT;
  const margin = MARGIN_LINES * LINE_HEIGHT;
  const isInSight = at >= scroller.scrollTop + margin && at + margin <= scroller.scrollTop + scroller.clientHeight - LINE_HEIGHT;
  if (!isInSight) scroller.scrollTop = Math.max(0, at - scroller.clientHeight / 2.5);
}

/** What keys do that are pressed anywhere on the page. */
function useActions(store, file, { cursor, edited, bar }) {
  useEffect(() => {
    const open = (kind) => {
      bar.value = { kind, from: cursor.value, opened: Date.now(), text: bar.value?.text ?? "", matches: bar.value?.matches };
      return true;
    };
    const own = {
      toggleBreakpoint: () => Boolean(toggleBreakpoint(store, file.path, cursor.value)),
      runToCursor: () => Boolean(runTo(store, file.path, cursor.value)),
      goToLine: () => open("line"),
      search: () => open("search"),
    };
    Object.assign(sourceActions, own);
    // Another file's view may have filled in its own before this one goes.
    return () => Object.keys(own).forEach((name) => sourceActions[name] === own[name] && delete sourceActions[name]);
  }, [store, file]);
}

/** Move the cursor's line with the keys of an editor. */
function moveCursor(event, { store, file, cursor, edited, scroller }) {
  if (event.target !== scroller) return;
  const page = Math.max(1, Math.floor(scroller.clientHeight / LINE_HEIGHT) - 2);
  const hasCtrl = event.ctrlKey || event.metaKey;
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  const isMenu = event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
  if (isMenu) {
    edited.value = cursor.value;
  } else if (event.key in steps && !(hasCtrl && event.key.startsWith("Arrow"))) {
    cursor.value = Math.min(Math.max(cursor.value + steps[event.key], 1), file.total);
    reveal(scroller, cursor.value);
  } else {
    return;
  }
  event.preventDefault();
}
