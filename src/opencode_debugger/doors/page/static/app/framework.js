/** The libraries that the page is built with, under one roof: only this module knows where they are. */
import { Fragment, createContext, h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { Fragment, createContext, h, render };
export { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-hooks.js";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "../vendor/signals.js";

/** Markup as a template literal; values become text nodes and properties, never HTML. */
export const html = htm.bind(h);
