/** Calls over time as a flame chart: what is in sight is asked for, and what is too short to be seen is one mark. */
import { html, signal, useEffect, useLayoutEffect, useRef, useSignal } from "./framework.js";
import { duration } from "./call_words.js";
import { coloursOf, endOf, findSpan, heightOf, lanesOf, paint, ROW_HEIGHT, topOf } from "./flame_drawing.js";
import { visibleText } from "./visible_text.js";

const ZOOM = 1.5;
const KEY_SHARE = 0.2;
const SHORTEST_MS = 0.0005;
/** After this long without another move, what is in sight now is asked for. */
const ASK_MS = 80;
const NEAR_PIXELS = 3;
const MOST_PARTS = 4000;
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** What of the recording is in sight, and what is known of it. */
export class FlameState {
  constructor(question) {
    this.question = question;
    /** {start, end} in milliseconds of the recording; null: all of it */
    this.view = signal(null);
    /** the call that is chosen, of the recording of this name: {lane, span} */
    this.chosen = signal(null);
    this.recording = null;
    this.lanes = signal([]);
  }

  get whole() {
    const { first_ms: start = 0, last_ms: end = 1 } = this.question.answer.value ?? {};
    return { start, end: Math.max(end, start + SHORTEST_MS) };
  }

  get shown() {
    return this.view.value ?? this.whole;
  }

  /** Ask for what is in sight; the calls that were known are drawn until the others come. */
  async load(width) {
    const { start, end } = this.view.value ?? {};
    await this.question.ask({ start_ms: start, end_ms: end, parts: Math.min(Math.max(Math.round(width), 1), MOST_PARTS) });
    const answer = this.question.answer.value;
    if (!answer) return;
    const before = this.recording === this.question.recordings.name ? this.chosen.value : null;
    this.recording = this.question.recordings.name;
    this.lanes.value = lanesOf(answer);
    this.chosen.value = before && this.#again(before);
  }

  /** The chosen call among those that came. It stays chosen while it is out of sight, or one of several. */
  #again({ lane, span }) {
    const same = this.lanes.value.find((each) => each.thread === lane.thread) ?? lane;
    return { lane: same, span: same.spans.find((each) => each.call === span.call && each.depth === span.depth) ?? span };
  }

  /** Show the time around a moment, `factor` times as much of it. */
  zoom(factor, at = this.#middle()) {
    const { start, end } = this.shown;
    this.show(at - (at - start) * factor, at + (end - at) * factor);
  }

  pan(ms) {
    const { start, end } = this.shown;
    this.show(start + ms, end + ms);
  }

  show(start, end) {
    const { whole } = this;
    const length = Math.max(end - start, SHORTEST_MS);
    const from = Math.min(Math.max(start, whole.start), whole.end - length);
    this.view.value = length < whole.end - whole.start ? { start: from, end: from + length } : null;
  }

  #middle() {
    const { span } = this.chosen.value ?? {};
    const { start, end } = this.shown;
    const chosen = span && span.start_ms + span.duration_ms / 2;
    return chosen >= start && chosen <= end ? chosen : (start + end) / 2;
  }

  choose(found) {
    this.chosen.value = found;
    const { start, end } = this.shown;
    if (found && (endOf(found.span) < start || found.span.start_ms > end)) {
      this.pan(found.span.start_ms - (start + end) / 2);
    }
  }

  /** The next call from the chosen one: beside it (`along`), or in it or around it (`down`). */
  neighbour(along, down) {
    const { lane, span } = this.chosen.value ?? {};
    const first = this.lanes.value[0];
    if (!span) return first && { lane: first, span: first.spans[0] };
    const rows = lane.spans.filter(({ depth }) => depth === span.depth + down);
    const isOver = (each) => endOf(each) > span.start_ms && each.start_ms < endOf(span);
    const found = down ? rows.find(isOver) : besides(rows, span, along);
    return found ? { lane, span: found } : this.#otherLane(lane, down);
  }

  #otherLane(lane, down) {
    const next = this.lanes.value[this.lanes.value.indexOf(lane) + down];
    return down && next ? { lane: next, span: next.spans[0] } : null;
  }
}

/** The row before or behind a call, which may be out of sight and so none of them. */
function besides(rows, span, along) {
  const index = rows.indexOf(span);
  if (index >= 0) return rows[index + along];
  return along > 0 ? rows.find((each) => each.start_ms > span.start_ms) : rows.findLast((each) => each.start_ms < span.start_ms);
}

export function FlameChart({ store, recordings, flame }) {
  const scroller = useRef(null);
  const canvas = useRef(null);
  const size = useSignal({ width: 0, height: 0 });
  const top = useSignal(0);
  const { width, height } = size.value;
  const lanes = flame.lanes.value;
  const view = flame.shown;

  useLayoutEffect(() => {
    const measure = () => (size.value = { width: scroller.current.clientWidth, height: scroller.current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!width || store.status.value === "running") return undefined;
    const timer = setTimeout(() => flame.load(width), lanes.length ? ASK_MS : 0);
    return () => clearTimeout(timer);
  }, [recordings.name, recordings.edition.value, store.status.value, flame.view.value, width]);
  usePainting(canvas, { lanes, view, top: top.value, width, height, chosen: flame.chosen.value?.span });
  useWheel(canvas, (event, x) => {
    if (event.ctrlKey) flame.zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, timeAt(x));
    else flame.pan(((event.shiftKey ? event.deltaY : event.deltaX) / width) * (flame.shown.end - flame.shown.start));
  });

  const timeAt = (x) => flame.shown.start + (x / width) * (flame.shown.end - flame.shown.start);
  const foundAt = ({ offsetX, offsetY }) => {
    const nearMs = (NEAR_PIXELS / width) * (view.end - view.start);
    return findSpan(lanes, timeAt(offsetX), offsetY + top.value, nearMs);
  };
  const go = (found) => found && recordings.goTo(found.span.call);
  const choose = (found) => {
    if (!found) return;
    flame.choose(found);
    const row = topOf(found.lane, found.span);
    if (row < top.value) scroller.current.scrollTop = row;
    else if (row + ROW_HEIGHT > top.value + height) scroller.current.scrollTop = row + ROW_HEIGHT - height;
  };
  const share = (view.end - view.start) * KEY_SHARE;
  const keys = {
    ArrowLeft: () => choose(flame.neighbour(-1, 0)), ArrowRight: () => choose(flame.neighbour(1, 0)),
    ArrowUp: () => choose(flame.neighbour(0, -1)), ArrowDown: () => choose(flame.neighbour(0, 1)),
    "+": () => flame.zoom(1 / ZOOM), "=": () => flame.zoom(1 / ZOOM), "-": () => flame.zoom(ZOOM), Home: () => (flame.view.value = null),
    PageUp: () => flame.pan(-share), PageDown: () => flame.pan(share), Enter: () => go(flame.chosen.value),
  };
  const press = (event) => {
    const run = !event.ctrlKey && !event.altKey && keys[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  };
  const drag = useDrag((pixels) => flame.pan((-pixels / width) * (flame.shown.end - flame.shown.start)));
  const zoomTo = ({ span }) => flame.show(span.start_ms - span.duration_ms * 0.05, endOf(span) + span.duration_ms * 0.05);
  return html`<div class="flame-chart">
    <div class="flame-tools">
      <button class="button" onClick=${() => flame.zoom(1 / ZOOM)} aria-label="Zoom in">+</button>
      <button class="button" onClick=${() => flame.zoom(ZOOM)} aria-label="Zoom out">−</button>
      <button class="button" onClick=${() => (flame.view.value = null)}>Whole</button>
      <span class="flame-times">${duration(view.start)} – ${duration(view.end)}</span>
      <${ChosenCall} found=${flame.chosen.value} go=${go} />
    </div>
    <div class="flame-scroller" ref=${scroller} onScroll=${(event) => (top.value = event.currentTarget.scrollTop)}>
      <canvas ref=${canvas} class="flame-canvas" role="application" tabindex="0" aria-label="Flame chart" aria-busy=${!lanes.length}
        aria-describedby="flame-keys" onKeyDown=${press} onPointerDown=${drag.start}
        onClick=${(event) => !drag.hasMoved() && choose(foundAt(event))}
        onDblClick=${(event) => foundAt(event) && zoomTo(foundAt(event))} />
      <div class="flame-height" style=${{ height: `${Math.max(heightOf(lanes), height) - height}px` }} />
    </div>
    <p id="flame-keys" class="flame-hint muted">Drag moves, Ctrl and the wheel zoom, a double click zooms to a call. Keys: arrows choose a call,
      Enter goes there, + and − zoom, Page Up and Page Down move. The call tree has the same calls.</p>
  </div>`;
}

/** What is chosen, in words that screen readers say. */
function ChosenCall({ found, go }) {
  if (!found) return html`<span role="status" class="muted">Choose a call.</span>`;
  const { call, function: name, count, start_ms: start, duration_ms: took, raised } = found.span;
  const what = count > 1 ? `${count} calls, the first is #${call} ${visibleText(name)}` : `#${call} ${visibleText(name)}`;
  return html`<span role="status" class=${raised ? "raised" : ""}>${what} · ${duration(took)} from ${duration(start)} on${raised && " · raised"}</span>
    <button class="button" onClick=${() => go(found)}>Go there</button>`;
}

function usePainting(canvas, scene) {
  const isDark = useSignal(DARK.matches);
  useEffect(() => {
    const change = () => (isDark.value = DARK.matches);
    DARK.addEventListener("change", change);
    return () => DARK.removeEventListener("change", change);
  }, []);
  useLayoutEffect(() => {
    const { width, height } = scene;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    const element = canvas.current;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    element.style.width = `${width}px`;
    element.style.height = `${height}px`;
    const context = element.getContext("2d");
    context.scale(ratio, ratio);
    paint(context, { ...scene, colours: coloursOf(element) });
  }, [...Object.values(scene), scene.view.start, scene.view.end, isDark.value]);
}

/** The wheel zooms and moves in time; up and down it scrolls as everywhere. */
function useWheel(canvas, turn) {
  const latest = useRef(turn);
  latest.current = turn;
  useEffect(() => {
    const listen = (event) => {
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
      event.preventDefault();
      latest.current(event, event.offsetX);
    };
    const element = canvas.current;
    element.addEventListener("wheel", listen, { passive: false });
    return () => element.removeEventListener("wheel", listen);
  }, []);
}

/** Follow the pointer while it is pressed: `move` gets the pixels to the side since it was told last. */
function useDrag(move) {
  const state = useRef({ hasMoved: false }).current;
  const start = (event) => {
    const element = event.currentTarget;
    let last = event.clientX;
    state.hasMoved = false;
    const follow = (at) => {
      if (Math.abs(at.clientX - last) < NEAR_PIXELS && !state.hasMoved) return;
      if (!state.hasMoved) element.setPointerCapture(event.pointerId);
      state.hasMoved = true;
      move(at.clientX - last);
      last = at.clientX;
    };
    const end = () => {
      element.removeEventListener("pointermove", follow);
      element.removeEventListener("pointerup", end);
      element.removeEventListener("pointercancel", end);
    };
    element.addEventListener("pointermove", follow);
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
  };
  return { start, hasMoved: () => state.hasMoved };
}
