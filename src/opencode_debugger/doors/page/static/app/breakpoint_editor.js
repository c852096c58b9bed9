/** A small form under a line: when its breakpoint stops, and what it writes instead. */
import { html, useLayoutEffect, useRef, useSignal } from "./framework.js";
import { runTo } from "./session_commands.js";
import { attempt } from "./toasts.js";

const FIELDS = [
  { name: "condition", title: "Only if", hint: "total > 100" },
  { name: "hit_condition", title: "On hits", hint: "5, >=3, %10" },
  { name: "log_message", title: "Log instead of stopping", hint: "total is {total}" },
];

export function BreakpointEditor({ store, path, line, top, onClose }) {
  const present = store.breakpoints.at(path, line);
  const form = useRef(null);
  const draft = useSignal(Object.fromEntries(FIELDS.map(({ name }) => [name, present?.[name] ?? ""])));
  const isEnabled = useSignal(present?.enabled ?? true);
  useLayoutEffect(() => {
    form.current.querySelector("input").focus(); // at once: later, it would take what is typed into another field
  }, []);
  const save = async (event) => {
    event.preventDefault();
    const given = Object.fromEntries(Object.entries(draft.value).map(([name, text]) => [name, text.trim() || null]));
    const isSaved = await attempt(saveBreakpoint(store, { path, line, present, given, enabled: isEnabled.value }).then(() => true));
    if (isSaved) onClose();
  };
  const press = (event) => {
    if (event.key === "Escape") onClose();
    if (event.key === "Escape" || event.key.startsWith("F") === false) event.stopPropagation();
  };
  const removeIt = async () => {
    await attempt(store.breakpoints.remove(present.id));
    onClose();
  };
  const runHere = () => {
    runTo(store, path, line);
    onClose();
  };
  return html`<div class="breakpoint-editor" role="dialog" aria-label=${`Breakpoint at line ${line}`} style=${{ top: `${top}px` }}
      onKeyDown=${press}><form ref=${form} onSubmit=${save}>
    ${present && !present.verified && html`<p class="note warn">${present.message ?? "Not verified: the program has not loaded this file yet."}</p>`}
    ${FIELDS.map(({ name, title, hint }) => html`<label key=${name}>
      <span>${title}</span>
      <input class="field" value=${draft.value[name]} placeholder=${hint} spellcheck=${false} autocomplete="off"
        onInput=${(event) => (draft.value = { ...draft.value, [name]: event.target.value })} />
    </label>`)}
    <div class="editor-buttons">
      <label class="check"><input type="checkbox" checked=${isEnabled.value} onChange=${(event) => (isEnabled.value = event.target.checked)} /> Active</label>
      <span class="gap" />
      ${store.status.value === "paused" && !store.past.value && html`<button type="button" class="button" title="Ctrl+F10, or Ctrl and click" onClick=${runHere}>Run to here</button>`}
      ${present && html`<button type="button" class="button danger" onClick=${removeIt}>Remove</button>`}
      <button type="button" class="button" onClick=${onClose}>Cancel</button>
      <button type="submit" class="button primary">${present ? "Save" : "Set"}</button>
    </div>
  </form></div>`;
}

async function saveBreakpoint(store, { path, line, present, given, enabled }) {
  if (present) return store.breakpoints.change(present.id, { ...given, enabled });
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  const made = await store.breakpoints.add(path, line, options);
  if (!enabled) await store.breakpoints.change(made.id, { enabled });
}
