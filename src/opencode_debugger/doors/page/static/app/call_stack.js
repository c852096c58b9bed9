/** Threads, asyncio tasks and children of a program, and the frames of the one that is looked at. */
import { html } from "./framework.js";
import { bringSourceForward } from "./layout.js";
import { isFilePath } from "./source_files.js";
import { attempt } from "./toasts.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

export function CallStack({ store }) {
  const threads = store.threads.value;
  const selected = store.selected.value;
  const children = store.session.value?.children ?? [];
  const isPaused = store.isHalted.value;
  return html`<div class=${`call-stack`}>
    ${!isPaused && html`<p class="empty">${emptyWords(store)}</p>`}
    ${isPaused && threads.length < 2 && html`<${Frames} store=${store} />`}
    ${threads.length > 1 && html`<ul class="threads" aria-label="Threads">
      ${threads.map((thread) => html`<li key=${thread.id}>
        <${ThreadRow} store=${store} thread=${thread} isChosen=${isChosen(selected, thread)} />
        ${isPaused && isChosen(selected, thread) && html`<${Frames} store=${store} />`}
      </li>`)}
    </ul>`}
    <${Tasks} store=${store} />
    ${children.length > 0 && html`<h3 class="small-title">Child processes</h3>
      <ul class="threads" aria-label="Child processes">${children.map((child) => html`<li key=${child.session_id}>
        <a class="thread-row" href=${`#/sessions/${child.session_id}`}>
          <span class=${`state-dot state-${child.status}`} aria-hidden="true" />
          <span class="thread-name">${visibleText(baseName(child.program) || child.name)}</span>
          <span class="thread-state">pid ${child.pid} · ${child.status}</span>
        </a></li>`)}
      </ul>`}
  </div>`;
}

const isChosen = (selected, thread) => !selected?.taskId && selected?.threadId === thread.id;

function emptyWords(store) {
  if (store.status.value === "running") return "The program runs. Pause it to see its stack.";
  if (store.status.value === "created") return "The program has not been started.";
  return "There is no program to look at.";
}

function ThreadRow({ store, thread, isChosen: chosen }) {
  const isPaused = thread.status === "paused";
  const where = thread.location ? `${baseName(thread.location.path)}:${thread.location.line}` : thread.status;
  return html`<button class="thread-row" aria-pressed=${chosen} aria-disabled=${!isPaused}
      onClick=${() => isPaused && attempt(store.selectThread(thread.id))}>
    <span class=${`state-dot state-${thread.status}`} aria-hidden="true" />
    <span class="thread-name">${visibleText(thread.name)}</span>
    <span class="thread-state">${visibleText(where)}</span>
  </button>`;
}

/** Whether a frame is of the program's own code, as far as its path tells. */
const isOwn = ({ path, presentation_hint: hint }, root) => hint !== "subtle" && (!root || !isFilePath(path) || path.startsWith(root));

/** The frames of the selected thread or task; arrow keys move between them. */
function Frames({ store }) {
  const frames = store.frames.value;
  const root = store.session.value?.config.project_root;
  const chosenId = store.selected.value?.frameId;
  const choose = (frame) => {
    bringSourceForward();
    attempt(store.selectFrame(frame, store.selected.value));
  };
  const moveByKey = (event) => {
    const at = frames.findIndex((frame) => frame.id === chosenId);
    const next = frames[{ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: frames.length - 1 }[event.key]];
    if (!next) return;
    choose(next);
    event.currentTarget.querySelector(`[data-frame="${next.id}"]`)?.focus();
    event.preventDefault();
  };
  return html`<ul class="frames" role="listbox" aria-label="Frames" onKeyDown=${moveByKey}>
    ${frames.map((frame) => html`<li key=${frame.id} role="option" data-frame=${frame.id}
        class=${`frame ${isOwn(frame, root) ? "" : "subtle"}`} aria-selected=${frame.id === chosenId}
        tabindex=${frame.id === chosenId ? 0 : -1} onClick=${() => choose(frame)} title=${`${frame.path ?? "no source"}:${frame.line}`}>
      <span class="frame-name">${visibleText(frame.name)}</span>
      <span class="frame-place">${frame.path ? visibleText(`${baseName(frame.path)}:${frame.line}`) : "no source"}</span>
    </li>`)}
  </ul>`;
}

function Tasks({ store }) {
  const tasks = store.tasks.value;
  if (!tasks.length) return null;
  const chosen = store.selected.value?.taskId;
  const isPaused = store.status.value === "paused";
  return html`<h3 class="small-title">Tasks</h3>
    <ul class="threads" aria-label="Asyncio tasks">${tasks.map((task) => html`<li key=${task.id}>
      <button class="thread-row" aria-pressed=${task.id === chosen} aria-disabled=${!isPaused}
          onClick=${() => isPaused && attempt(store.selectThread(task.thread_id, task.id))}
          title=${task.waits_for ? `waits for ${task.waits_for}` : task.state}>
        <span class=${`state-dot state-task-${task.state}`} aria-hidden="true" />
        <span class="thread-name">${visibleText(task.name)} <span class="muted">${visibleText(task.coroutine)}</span></span>
        <span class="thread-state">${visibleText(task.waits_for ?? task.state)}</span>
      </button>
      ${task.id === chosen && html`<${Frames} store=${store} />`}
    </li>`)}</ul>`;
}
