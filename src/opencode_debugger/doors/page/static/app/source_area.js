/** The source of a session: the files that are open as tabs, and the one that is looked at. */
import { html, useMemo, useSignal, useSignalEffect } from "./framework.js";
import { IconButton } from "./icons.js";
import { perform } from "./session_commands.js";
import { SourceView } from "./source_view.js";
import { SearchBar } from "./source_search.js";
import { visibleText } from "./visible_text.js";
import { baseName, pathFrom } from "./words.js";

const MOST_TABS = 10;

export function SourceArea({ store }) {
  const tabs = useSignal([]);
  const bar = useSignal(null);
  useSignalEffect(() => {
    const path = store.place.value?.path;
    if (!path || tabs.peek().includes(path)) return;
    tabs.value = [...tabs.peek(), path].slice(-MOST_TABS);
  });
  const place = store.place.value;
  const { edition } = store.files;
  const file = useMemo(
    () => place && (place.path || place.frame) ? store.files.open(place.path, place.line, frameWithThread(store, place.frame)) : null,
    [place, edition.value]);
  return html`<div class="source-area">
    ${tabs.value.length > 0 && html`<${FileTabs} store=${store} tabs=${tabs} />`}
    ${bar.value && file && html`<${SearchBar} file=${file} store=${store} bar=${bar} />`}
    <${Body} store=${store} file=${file} bar=${bar} />
  </div>`;
}

const frameWithThread = (store, frame) => frame && { ...frame, threadId: store.selected.peek()?.threadId };

function FileTabs({ store, tabs }) {
  const root = store.session.value?.config.project_root;
  const current = store.place.value?.path;
  const close = (path) => {
    const left = tabs.value.filter((each) => each !== path);
    tabs.value = left;
    if (path === current) store.place.value = left.length ? { path: left.at(-1), line: null } : null;
  };
  return html`<nav class="file-tabs" aria-label="Open files">
    ${tabs.value.map((path) => html`<span key=${path} class=${`file-tab ${path === current ? "chosen" : ""}`}>
      <button class="file-name" aria-current=${path === current ? "page" : undefined} title=${path}
        onClick=${() => store.showPlace(path, null)} onAuxClick=${(event) => event.button === 1 && close(path)}>
        ${visibleText(baseName(path))}</button>
      <button class="file-close" aria-label=${`Close ${baseName(path)}`} onClick=${() => close(path)}>×</button>
    </span>`)}
    <span class="file-path" title=${current}>${visibleText(pathFrom(root, current))}</span>
    ${current && html`<${IconButton} icon="restart" label="Read the file again" onClick=${() => store.files.forget(current)} />`}
  </nav>`;
}

function Body({ store, file, bar }) {
  if (!file) {
    const canLaunch = store.status.value === "created" && !store.gone.value;
    return html`<${Message} title=${titleWithoutFile(store)} text=${textWithoutFile(store)}>
      ${canLaunch && html`<button class="button primary" onClick=${() => perform(store, "launch")}>Launch a program…</button>`}
    </${Message}>`;
  }
  if (!file.isLoaded) return html`<div class="source-wait" aria-busy="true" />`;
  if (file.error) return html`<${Message} title=${file.error.message} text=${file.error.suggestion} />`;
  if (file.isBinary) {
    return html`<${Message} title=${`${baseName(file.path)} is a binary file`} text="It has no lines to show." />`;
  }
  if (file.total === 0) return html`<${Message} title=${`${baseName(file.path)} is empty`} />`;
  return html`
    ${file.isEdited && html`<p class="source-note" role="status">This file was edited. The program runs what it has loaded; lines may be
      elsewhere there until it is restarted.</p>`}
    ${file.isMissing && html`<p class="source-note" role="status">This file cannot be read any more. What is shown is how it was.</p>`}
    <${SourceView} key=${file.path} store=${store} file=${file} bar=${bar} />`;
}

function Message({ title, text, children }) {
  return html`<div class="source-message"><h2>${visibleText(title)}</h2>${text && html`<p>${visibleText(text)}</p>`}${children}</div>`;
}

function titleWithoutFile(store) {
  if (!store.session.value) return store.gone.value ? "There is no such session" : "";
  return store.status.value === "created" ? "The program has not been started" : "No file is open";
}

const textWithoutFile = (store) => (store.session.value
  ? "Ctrl+P opens a file of the project; a stop opens the one it is in. F5 starts the program." : "");
