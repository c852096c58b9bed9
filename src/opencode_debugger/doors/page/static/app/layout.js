/** How the page is divided: by the width of the window, and by splitters that people drag or move with arrow keys. */
import { html, signal } from "./framework.js";

const NARROW = matchMedia("(max-width: 759.98px)");
const WIDE = matchMedia("(min-width: 1500px)");

const widthOf = () => (NARROW.matches ? "narrow" : WIDE.matches ? "wide" : "middle");

/** narrow: one thing at a time, as tabs. middle: source and one side. wide: source between two sides. */
export const width = signal(widthOf());
for (const query of [NARROW, WIDE]) query.addEventListener("change", () => (width.value = widthOf()));

/** A signal whose value outlives the page's life; what cannot be kept (private windows) is only for now. */
export function remembered(name, initial) {
  const kept = signal(initial);
  try {
    kept.value = JSON.parse(localStorage.getItem(`page:${name}`)) ?? initial;
  } catch {
    kept.value = initial;
  }
  let isFirst = true;
  kept.subscribe((value) => {
    if (isFirst) return (isFirst = false);
    try {
      localStorage.setItem(`page:${name}`, JSON.stringify(value));
    } catch {
      /* no room, or no permission: it holds for this visit */
    }
    return undefined;
  });
  return kept;
}

/** The tab that is shown where there is room for one thing only. */
export const narrowTab = remembered("narrow-tab", "source");

/** Show the source where it may be behind another tab: a person asked for a place in it. */
export const bringSourceForward = () => (narrowTab.value = "source");

const share = (part, least, most) => Math.round(Math.min(Math.max(window.innerWidth * part, least), most));

/** Sizes in pixels of what the splitters move. */
export const sizes = {
  left: remembered("left", share(0.16, 240, 480)),
  right: remembered("right", share(0.25, 320, 900)),
  bottom: remembered("bottom", Math.round(Math.max(200, window.innerHeight * 0.3))),
};
const LIMITS = { left: [160, 900], right: [200, 1600], bottom: [80, 1400] };
const KEY_STEP = 24;

const clamped = (name, size) => Math.round(Math.min(Math.max(size, LIMITS[name][0]), LIMITS[name][1]));

/** A bar between two parts; it moves the size of the part `name`, which is before or after it. */
export function Splitter({ name, label, isVertical, isAfter }) {
  const size = sizes[name];
  const direction = isAfter ? -1 : 1;
  const drag = (event) => {
    const from = isVertical ? event.clientX : event.clientY;
    const before = size.value;
    const bar = event.currentTarget;
    bar.setPointerCapture(event.pointerId);
    const move = (at) => (size.value = clamped(name, before + direction * ((isVertical ? at.clientX : at.clientY) - from)));
    const end = () => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", end);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", end);
    event.preventDefault();
  };
  const moveByKey = (event) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step) return;
    size.value = clamped(name, size.value + direction * step * KEY_STEP);
    event.preventDefault();
  };
  return html`<div class=${`splitter ${isVertical ? "vertical" : "horizontal"}`} role="separator" tabindex="0"
    aria-label=${label} aria-orientation=${isVertical ? "vertical" : "horizontal"} aria-valuenow=${size.value}
    aria-valuemin=${LIMITS[name][0]} aria-valuemax=${LIMITS[name][1]} onPointerDown=${drag} onKeyDown=${moveByKey} />`;
}
