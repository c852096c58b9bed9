/** Where the calls of a flame chart are, and how they are painted: only those in sight. */
import { visibleText } from "./visible_text.js";

export const ROW_HEIGHT = 18;
const TITLE_HEIGHT = 20;
const LETTER_WIDTH = 6.7;
const SHORTEST_LABEL = 24;
const FONT = "11px ui-monospace, Menlo, Consolas, monospace";

/** The lanes of an answer, each with its place: {thread, spans, top, height}. */
export function lanesOf({ threads }) {
  let top = 0;
  return threads.map(({ thread, spans }) => {
    const deepest = spans.reduce((most, { depth }) => Math.max(most, depth), 0);
    const lane = { thread, spans, top, height: TITLE_HEIGHT + (deepest + 1) * ROW_HEIGHT + 4 };
    top += lane.height;
    return lane;
  });
}

export const heightOf = (lanes) => (lanes.length ? lanes.at(-1).top + lanes.at(-1).height : 0);

export const topOf = (lane, { depth }) => lane.top + TITLE_HEIGHT + depth * ROW_HEIGHT;

export const endOf = (span) => span.start_ms + span.duration_ms;

/** What is at a time and a height: {lane, span}; a call that is hardly to be seen is met a little beside it, too. */
export function findSpan(lanes, ms, y, nearMs) {
  const lane = lanes.find((each) => y >= each.top && y < each.top + each.height);
  const depth = lane && Math.floor((y - lane.top - TITLE_HEIGHT) / ROW_HEIGHT);
  const span = lane?.spans.find((each) => each.depth === depth && ms >= each.start_ms - nearMs && ms <= endOf(each) + nearMs);
  return span && { lane, span };
}

/** Paint what is in sight: `view` is {start, end} in milliseconds, `top` how far it is scrolled. */
export function paint(context, { lanes, view, top, width, height, chosen, colours }) {
  const scale = width / (view.end - view.start);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const lane of lanes) {
    if (lane.top + lane.height < top || lane.top > top + height) continue;
    context.fillStyle = colours.muted;
    context.fillText(visibleText(lane.thread), 6, lane.top - top + TITLE_HEIGHT / 2);
    for (const span of lane.spans) paintSpan(context, span, { lane, view, top, scale, width, height, colours, isChosen: span === chosen });
  }
}

function paintSpan(context, span, { lane, view, top, scale, width, height, colours, isChosen }) {
  const left = Math.max((span.start_ms - view.start) * scale, -2);
  const right = Math.min((endOf(span) - view.start) * scale, width + 2);
  const y = topOf(lane, span) - top;
  if (right < 0 || left > width || y < -ROW_HEIGHT || y > height) return;
  const wide = Math.max(right - left - 1, 1);
  context.fillStyle = span.raised ? colours.failed : span.count > 1 ? colours.merged : colours.of(span.function);
  context.fillRect(left, y, wide, ROW_HEIGHT - 1);
  if (isChosen) {
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(left + 1, y + 1, Math.max(wide - 2, 1), ROW_HEIGHT - 3);
  }
  if (wide < SHORTEST_LABEL) return;
  const label = span.count > 1 ? `${span.count} calls` : visibleText(span.function);
  const room = Math.floor((wide - 8) / LETTER_WIDTH);
  context.fillStyle = colours.text;
  context.fillText(label.length > room ? `${label.slice(0, room - 1)}…` : label, left + 4, y + ROW_HEIGHT / 2);
}

/** The page's colours as they are now, and one for each function. */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  const named = (name) => style.getPropertyValue(`--${name}`);
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const known = new Map();
  const of = (name) => {
    if (!known.has(name)) known.set(name, isDark ? `hsl(${hueOf(name)} 32% 32%)` : `hsl(${hueOf(name)} 58% 83%)`);
    return known.get(name);
  };
  return { text: named("text"), muted: named("muted"), accent: named("accent"), failed: named("failed-call"), merged: named("strong-line"), of };
}

function hueOf(text) {
  let hash = 7;
  for (const letter of text) hash = (hash * 31 + letter.codePointAt(0)) % 3600;
  // Reds are left to exceptions.
  return 30 + (hash % 300);
}
