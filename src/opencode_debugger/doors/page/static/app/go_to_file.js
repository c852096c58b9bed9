/** Opens any file of the project or of the program by a part of its name. */
import { html, useEffect, useRef, useSignal } from "./framework.js";
import { bringSourceForward } from "./layout.js";
import { visibleText } from "./visible_text.js";
import { baseName, pathFrom } from "./words.js";

const MOST_FOUND = 50;

export function GoToFile({ store, onClose }) {
  const dialog = useRef(null);
  const query = useSignal("");
  const found = useSignal([]);
  const chosen = useSignal(0);
  /** the search for what the field says now */
  const search = useRef(null);
  const find = (asked) => {
    query.value = asked;
    search.current = findFiles(store, asked.replace(/:\d+$/, "")).then((files) => {
      if (asked !== query.value) return;
      found.value = files;
      chosen.value = 0;
    });
  };
  useEffect(() => {
    dialog.current.showModal();
    find("");
  }, []);
  const open = (path) => {
    if (path) {
      bringSourceForward();
      store.showPlace(path, Number(/:(\d+)$/.exec(query.value)?.[1] ?? 0) || null);
    }
    onClose();
  };
  // Somebody quick presses Enter before the files are there that fit what he wrote.
  const openChosen = async () => {
    const own = search.current;
    await own;
    if (own === search.current && dialog.current?.open) open(found.value[chosen.value]);
  };
  const press = (event) => {
    const to = { ArrowDown: chosen.value + 1, ArrowUp: chosen.value - 1 }[event.key];
    if (event.key === "Enter") openChosen();
    if (to === undefined || !found.value.length) return;
    chosen.value = (to + found.value.length) % found.value.length;
    document.getElementById(`file-${chosen.value}`)?.scrollIntoView({ block: "nearest" });
    event.preventDefault();
  };
  const root = store.session.value?.config.project_root;
  return html`<dialog class="picker" ref=${dialog} aria-label="Go to file" onClose=${onClose}
      onClick=${(event) => event.target === dialog.current && onClose()}>
    <input class="field" role="combobox" aria-expanded="true" aria-controls="files" aria-activedescendant=${`file-${chosen.value}`}
      aria-label="Name of a file, or file:line" placeholder="Name of a file, or file:line" spellcheck=${false} value=${query.value}
      onInput=${(event) => find(event.target.value)} onKeyDown=${press} />
    <ul id="files" role="listbox" aria-label="Files">
      ${found.value.map((path, index) => html`<li key=${path} id=${`file-${index}`} role="option" aria-selected=${index === chosen.value}
          onClick=${() => open(path)} onMouseMove=${() => (chosen.value = index)}>
        <span>${visibleText(baseName(path))}</span> <span class="muted">${visibleText(folderOf(pathFrom(root, path)))}</span>
      </li>`)}
    </ul>
    ${!found.value.length && html`<p class="empty">No file has a name like this.</p>`}
  </dialog>`;
}

const folderOf = (path) => path.slice(0, Math.max(0, path.length - baseName(path).length - 1));

/** Files by name: those of the project as the relay finds them, and those that the page knows already. */
async function findFiles(store, text) {
  const known = [
    store.place.value?.path, ...store.frames.value.map((frame) => frame.path), ...store.breakpoints.byFile.value.keys(),
  ].filter((path) => path?.startsWith("/") && fits(path, text));
  const files = await store.get("files", { query: text, limit: MOST_FOUND }).then((answer) => answer.files, () => []);
  const ranked = files.map(({ path }) => path);
  return [...new Set(text ? [...ranked, ...known] : [...known, ...ranked])].slice(0, MOST_FOUND);
}

/** Whether the letters of a text are in a path, in their order. */
function fits(path, text) {
  const wanted = text.toLowerCase();
  let at = 0;
  for (const letter of path.toLowerCase()) if (letter === wanted[at]) at += 1;
  return at >= wanted.length;
}
