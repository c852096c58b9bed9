/** The front page: every session of the relay, live, and how to start another. */
import { computed, html, signal, useEffect, useSignal } from "./framework.js";
import { AttachDialog } from "./attach_dialog.js";
import { IconButton } from "./icons.js";
import { NewSession } from "./new_session.js";
import { RelayError, follow, post } from "./relay.js";
import { Menu, cloneSession, deleteSession, exportSession } from "./session_menu.js";
import { isSignedIn, signOut } from "./sign_in_page.js";
import { attempt, showError } from "./toasts.js";
import { visibleText } from "./visible_text.js";
import { age, baseName } from "./words.js";

const AGE_REFRESH_MS = 10_000;

/** session_id -> item; null until the relay has told */
const items = signal(null);
const connection = signal("connecting");
const now = signal(Date.now());
/** parents first, each followed by its children: {item, depth} */
const rows = computed(() => asTree([...(items.value?.values() ?? [])]));

export function SessionList() {
  const dialog = useSignal(null);
  useEffect(() => followSessions(), []);
  useEffect(() => {
    document.title = "Debug sessions";
    const timer = setInterval(() => (now.value = Date.now()), AGE_REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const close = () => (dialog.value = null);
  return html`<div class="list-page">
    <header class="toolbar">
      <img class="home" src="/page/icon.svg" alt="" width="20" height="20" />
      <h1 class="session-name">Debug sessions</h1>
      <span class="gap" />
      ${isSignedIn.value && html`<button class="button" onClick=${signOut}>Sign out</button>`}
      <button class="button" onClick=${() => (dialog.value = "attach")}>Attach…</button>
      <button class="button primary" onClick=${() => (dialog.value = "new")}>New session…</button>
    </header>
    ${connection.value === "lost" && html`<div class="banner warn" role="alert"><strong>The relay does not answer.</strong>
      <span> Trying again; the page comes back by itself.</span></div>`}
    <main class="list-body" aria-label="Sessions">
      ${items.value && (rows.value.length ? html`<${SessionTable} />` : html`<${Welcome} />`)}
    </main>
    ${dialog.value === "new" && html`<${NewSession} onClose=${close} />`}
    ${dialog.value === "attach" && html`<${AttachDialog} onClose=${close} />`}
  </div>`;
}

function followSessions() {
  return follow("/sessions/stream", {
    onEvents: (events) => events.forEach(({ kind, data }) => APPLIED[kind]?.(data.payload ?? data)),
    onState: (state, error) => {
      connection.value = state;
      if (error) showError(new RelayError(error, error.status));
    },
  });
}

const changed = (change) => {
  const map = new Map(items.value);
  change(map);
  items.value = map;
};

const APPLIED = {
  sessions: ({ items: all }) => (items.value = new Map(all.map((item) => [item.session_id, item]))),
  session_changed: (item) => changed((map) => map.set(item.session_id, item)),
  session_deleted: ({ session_id }) => changed((map) => map.delete(session_id)),
};

/** Newest first; children under their parents. */
function asTree(list) {
  const ids = new Set(list.map((item) => item.session_id));
  const byAge = list.toSorted((one, other) => (other.created_at ?? "").localeCompare(one.created_at ?? ""));
  const below = (parent, depth) => byAge
    .filter((item) => (ids.has(item.parent_session_id) ? item.parent_session_id : null) === parent)
    .flatMap((item) => [{ item, depth }, ...below(item.session_id, depth + 1)]);
  return below(null, 0);
}

function SessionTable() {
  return html`<table class="sessions">
    <thead><tr><th scope="col">Session</th><th scope="col">State</th><th scope="col">Where</th><th scope="col">Driven by</th>
      <th scope="col" class="number">Age</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
    <tbody>${rows.value.map(({ item, depth }) => html`<${SessionRow} key=${item.session_id} item=${item} depth=${depth} />`)}</tbody>
  </table>`;
}

function SessionRow({ item, depth }) {
  const address = `#/sessions/${item.session_id}`;
  const open = (event) => event.target.closest("a, button, .menu") || (location.hash = address);
  return html`<tr class="session-row" onClick=${open}>
    <td class=${`session-cell depth-${Math.min(depth, 6)}`}>
      <a href=${address}>${visibleText(item.name)}</a>
      <span class="session-program" title=${item.program}>${visibleText(baseName(item.program)) || "no program yet"}${item.pid ? ` · pid ${item.pid}` : ""}</span>
    </td>
    <td><span class=${`state-words state-${item.status}`}><span class="state-dot" aria-hidden="true" />${item.status}</span></td>
    <td class="session-where">${whereOf(item)}</td>
    <td class="session-driver">${driverOf(item)}</td>
    <td class="number" title=${item.created_at}>${item.created_at ? age(item.created_at, now.value) : ""}</td>
    <td class="session-actions"><${RowActions} item=${item} /></td>
  </tr>`;
}

function whereOf({ location: place }) {
  return place ? html`<code>${visibleText(place)}</code>` : "";
}

function driverOf({ driver, wheel }) {
  if (wheel) return html`<span class="wheel-holder">${visibleText(wheel.holder)} has the wheel</span>`;
  if (!driver) return html`<span class="muted">nobody yet</span>`;
  const isNamed = driver.client && driver.client !== driver.door;
  return html`${visibleText(isNamed ? driver.client : driver.door)}${isNamed && html` <span class="muted">(${driver.door})</span>`}`;
}

function RowActions({ item }) {
  const { session_id: id, name } = item;
  const entries = () => [
    { title: "Clone", run: () => cloneSession(id) },
    { title: "Export as JSON", run: () => exportSession(id) },
  ];
  return html`
    ${item.status !== "created" && !item.parent_session_id && html`<${IconButton} icon="restart" label=${`Restart ${name}`} onClick=${() => attempt(post(`/sessions/${id}/restart`, { wait: false }))} />`}
    <${IconButton} icon="trash" label=${`Delete ${name}`} onClick=${() => deleteSession(id, name)} />
    <${Menu} label=${`More for ${name}`} entries=${entries} />`;
}

function Welcome() {
  return html`<section class="welcome">
    <h2>Nothing is being debugged</h2>
    <p>Start a session here, or from a shell or an agent: it appears by itself.</p>
    <pre>ocdb run app.py -b app.py:42</pre>
    <p class="muted">The API is described at <a href="/docs">/docs</a>.</p>
  </section>`;
}
