/** The page's pictures: drawn in a field of 16 by 16, in the colour of the text around them. */
import { html } from "./framework.js";

const FILLED = {
  continue: "M4 3v10l3-2V5zM8 3l6 5-6 5z",
  reverse: "M12 3v10L9 11V5zM8 3 2 8l6 5z",
  launch: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  stop: "M3.5 3.5h9v9h-9z",
  more: "M8 2.5a1.3 1.3 0 1 1 0 2.6 1.3 1.3 0 0 1 0-2.6zm0 4.2a1.3 1.3 0 1 1 0 2.6 1.3 1.3 0 0 1 0-2.6zm0 4.2a1.3 1.3 0 1 1 0 2.6 1.3 1.3 0 0 1 0-2.6z",
};
const DRAWN = {
  over: "M2 9c0-4 3-6 6-6 2.600 0 5 1.500 5.600 4.500M14 3.500v4h-4M8 12.500h.01",
  into: "M8 1.500v7.500M4.500 6 8 9.500 11.500 6M8 13.500h.01",
  out: "M8 10V2M4.500 5 8 1.500 11.500 5M8 13.500h.01",
  stepBack: "M14 9c0-4-3-6-6-6-2.600 0-5 1.500-5.600 4.500M2 3.500v4h4M8 12.500h.01",
  restart: "M13 8a5 5 0 1 1-1.600-3.700M13.500 2v3h-3",
  search: "M7 2.500a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9zM10.300 10.300 14 14",
  file: "M4 1.500h5l3 3v10H4zM9 1.500v3h3",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  back: "M10 3 5 8l5 5",
  trash: "M3 4.500h10M6.500 4V2.500h3V4M4.500 4.500l.6 9h5.800l.6-9",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  download: "M8 2v8M4.500 7 8 10.500 11.500 7M2.500 13.500h11",
  link: "M6.500 9.500l3-3M7 4.500l1.500-1.500a3 3 0 0 1 4.500 4.500L11.500 9M9 11.500 7.500 13A3 3 0 0 1 3 8.500L4.500 7",
};

export function Icon({ name }) {
  const isDrawn = name in DRAWN;
  return html`<svg class=${isDrawn ? "icon drawn" : "icon"} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d=${DRAWN[name] ?? FILLED[name]} />
  </svg>`;
}

/** A button with a picture; its words are for tooltips and screen readers. */
export function IconButton({ icon, label, keys, ...others }) {
  const title = keys ? `${label} (${keys})` : label;
  return html`<button class="icon-button" aria-label=${label} title=${title} aria-keyshortcuts=${ariaKeys(keys)}
    ...${others}><${Icon} name=${icon} /></button>`;
}

const ariaKeys = (keys) => keys?.replace("Ctrl", "Control");
