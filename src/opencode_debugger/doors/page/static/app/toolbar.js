/** The bar at the top of a session: where it stands, the buttons that move it, and who drives. */
import { html } from "./framework.js";
import { IconButton } from "./icons.js";
import { commands, perform } from "./session_commands.js";
import { SessionMenu } from "./session_menu.js";
import { visibleText } from "./visible_text.js";
import { WheelBar } from "./wheel_bar.js";
import { baseName, endWords } from "./words.js";

const BUTTONS = ["over", "into", "out", "restart", "stop"];
/** shown where there is a recording to go back in */
const BACK_BUTTONS = ["reverse", "stepBack"];

export function Toolbar({ store }) {
  const parent = store.session.value?.parent_session_id;
  return html`<header class="toolbar">
    <a class="home" href="#/" aria-label="All sessions" title="All sessions"><img src="/page/icon.svg" alt="" width="20" height="20" /></a>
    <h1 class="session-name" title=${store.id}>${visibleText(store.session.value?.name ?? store.id)}</h1>
    ${parent && html`<a class="parent" href=${`#/sessions/${parent}`} title="The session of the process that started this one">parent</a>`}
    <div class="controls" role="toolbar" aria-label="Run and step">
      ${store.recording.value?.recordings && store.status.value !== "created" && BACK_BUTTONS.map((name) => html`<${CommandButton} key=${name} store=${store} name=${name} />`)}
      <${MainButton} store=${store} />
      ${BUTTONS.map((name) => html`<${CommandButton} key=${name} store=${store} name=${name} />`)}
    </div>
    <${StatusWords} store=${store} />
    <span class="gap" />
    <${WheelBar} store=${store} />
    <${IconButton} icon="file" label="Go to file" keys="Ctrl+P" onClick=${() => (store.dialog.value = "file")} />
    <${SessionMenu} store=${store} />
  </header>`;
}

/** Continue, pause or launch: the one that makes sense now. */
function MainButton({ store }) {
  const name = ["continue", "pause", "launch"].find((each) => commands[each].when(store)) ?? "continue";
  return html`<${CommandButton} store=${store} name=${name} isMain />`;
}

function CommandButton({ store, name, isMain }) {
  const { title, keys, when } = commands[name];
  const isOff = Boolean(store.gone.value) || !when(store);
  return html`<${IconButton} icon=${name} label=${title} keys=${keys} aria-disabled=${isOff}
    class=${`icon-button command ${name} ${isMain ? "main" : ""}`} onClick=${() => perform(store, name)} />`;
}

/** The state in words: "Paused · breakpoint · shop.py:30". */
function StatusWords({ store }) {
  const status = store.gone.value ? "gone" : store.past.value ? "past" : store.status.value;
  return html`<p class=${`status-words state-${status}`}>
    <span class="state-dot" aria-hidden="true" /><strong>${titleOf(store, status)}</strong>
    <span class="status-more">${visibleText(detailsOf(store, status))}</span>
  </p>`;
}

function titleOf(store, status) {
  if (status === "running" && store.waitingForInput.value) return "Waits for input";
  return { created: "Not started", launching: "Starting", running: "Running", paused: "Paused", terminated: "Ended",
    failed: "Failed", past: "In the past", gone: "Gone" }[status] ?? "…";
}

function detailsOf(store, status) {
  if (status === "terminated" || status === "failed") return endWords(store.end.value);
  if (status !== "paused" && status !== "past") return "";
  const place = store.location.value;
  const where = place && (place.path ? `${baseName(place.path)}:${place.line}` : place.function);
  return [REASONS[store.stopReason.value] ?? store.stopReason.value, where].filter(Boolean).join(" · ");
}

const REASONS = { data_breakpoint: "value changed", "data breakpoint": "value changed" };
