/** What can be done with a session as a whole, as a menu: clone, export, detach, delete. */
import { html, useEffect, useRef, useSignal } from "./framework.js";
import { IconButton } from "./icons.js";
import { get, post, remove } from "./relay.js";
import { attempt, showToast } from "./toasts.js";

/** Have a text saved as a file by the browser. */
export function saveAs(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

export async function cloneSession(id) {
  const made = await attempt(post(`/sessions/${id}/clone`));
  if (made) location.hash = `#/sessions/${made.session_id}`;
}

export async function exportSession(id) {
  const document = await attempt(get(`/sessions/${id}/export`));
  if (document) saveAs(`${id}.json`, JSON.stringify(document, null, 2), "application/json");
}

export async function deleteSession(id, name) {
  if (!window.confirm(`Delete the session ${name}? Its program ends.`)) return;
  const done = await attempt(remove(`/sessions/${id}`).catch((error) => {
    const isHeld = error.code === "WHEEL_TAKEN" && window.confirm(`${error.message} Delete it all the same?`);
    if (!isHeld) throw error;
    return remove(`/sessions/${id}`, { force: true });
  }));
  if (done && location.hash.includes(id)) location.hash = "#/";
}

const isLive = (store) => ["running", "paused"].includes(store.status.value);

const entriesOf = (store) => [
  { title: "Clone", run: () => cloneSession(store.id) },
  { title: "Export as JSON", run: () => exportSession(store.id) },
  { title: "Copy session id", run: () => copyText(store.id) },
  isLive(store) && { title: "Detach: let the program run on", run: () => attempt(post(`${store.path}/detach`)) },
  { title: "Delete session", run: () => deleteSession(store.id, store.session.value?.name ?? store.id), isDanger: true },
].filter(Boolean);

async function copyText(text) {
  await navigator.clipboard.writeText(text).then(() => showToast({ title: "Copied", text }), () => undefined);
}

/** A button that opens a list of things to do. */
export function Menu({ label, entries }) {
  const isOpen = useSignal(false);
  const list = useRef(null);
  useEffect(() => {
    if (!isOpen.value) return undefined;
    list.current.querySelector("button")?.focus();
    const close = (event) => list.current?.parentElement.contains(event.target) || (isOpen.value = false);
    window.addEventListener("pointerdown", close);
    return () => window.removeEventListener("pointerdown", close);
  }, [isOpen.value]);
  const move = (event) => {
    const buttons = [...list.current.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") {
      isOpen.value = false;
      list.current.parentElement.querySelector("button").focus();
    }
    if (to === undefined) return;
    buttons[(to + buttons.length) % buttons.length].focus();
    event.preventDefault();
  };
  const choose = (entry) => {
    isOpen.value = false;
    entry.run();
  };
  return html`<div class="menu">
    <${IconButton} icon="more" label=${label} aria-haspopup="menu" aria-expanded=${isOpen.value}
      onClick=${() => (isOpen.value = !isOpen.value)} />
    ${isOpen.value && html`<div class="menu-list" role="menu" aria-label=${label} ref=${list} onKeyDown=${move}>
      ${entries().map((entry) => html`<button key=${entry.title} role="menuitem" tabindex="-1"
        class=${entry.isDanger ? "danger" : ""} onClick=${() => choose(entry)}>${entry.title}</button>`)}
    </div>`}
  </div>`;
}

export const SessionMenu = ({ store }) => html`<${Menu} label="More for this session" entries=${() => entriesOf(store)} />`;
