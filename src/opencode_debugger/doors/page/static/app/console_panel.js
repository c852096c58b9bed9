/** A console: expressions are evaluated in the frame that is looked at, results can be opened. */
import { html, signal, useEffect, useRef } from "./framework.js";
import { post } from "./relay.js";
import { ConsoleInput } from "./console_input.js";
import { stateOf } from "./panel_state.js";
import { ValueTree } from "./value_tree_model.js";
import { ValueTreeView } from "./value_tree.js";
import { pageReader } from "./variables_tree.js";
import { cutText, visibleLine } from "./visible_text.js";

const MOST_ENTRIES = 200;
const SHOWN_RESULT = 10_000;
const ROWS_OF_RESULT = 12;

class Console {
  constructor(store) {
    this.store = store;
    /** what was asked and came of it: {id, expression, result?, error?, output?, tree?} */
    this.entries = signal([]);
    this.lastId = 0;
  }

  /** Evaluate an expression, in the frame that is looked at. */
  async evaluate(expression) {
    const { store } = this;
    const entry = { id: ++this.lastId, expression };
    this.entries.value = [...this.entries.value, entry].slice(-MOST_ENTRIES);
    try {
      this.#change(entry, resultOf(store, await post(`${store.path}/evaluate`, { expression, context: "repl", ...placeOf(store) })));
    } catch (error) {
      if (!error.code) throw error;
      this.#change(entry, { error });
    }
  }

  #change(entry, changes) {
    this.entries.value = this.entries.value.map((each) => (each.id === entry.id ? { ...each, ...changes } : each));
  }

  clear() {
    this.entries.value = [];
  }
}

/** Where an expression is evaluated: the frame that is looked at. */
export function placeOf(store) {
  const { frameId, threadId, taskId } = store.selected.value ?? {};
  if (!store.isHalted.value || frameId === undefined) return {};
  return taskId ? { frame_id: frameId, task_id: taskId } : { frame_id: frameId, thread_id: threadId };
}

function resultOf(store, { result, output, type, error, traceback, variables_reference: reference }) {
  if (error) return { error: { message: traceback?.trimEnd() || error }, output };
  if (!reference) return { result, output };
  const tree = new ValueTree(pageReader(store));
  tree.setRoots([{ name: "", value: result, type, variables_reference: reference }], "result");
  return { result, output, tree };
}

export function ConsolePanel({ store }) {
  const console = stateOf(store, "console", (each) => new Console(each));
  const end = useRef(null);
  const entries = console.entries.value;
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [entries]);
  return html`
    <div class="console-panel">
      <div class="console-entries" role="log" aria-label="Results" tabindex="0">
        ${entries.length === 0 && html`<p class="empty">Expressions are evaluated in the frame that is looked at.
          Tab completes, the arrow keys bring back what was entered before.</p>`}
        ${entries.map((entry) => html`<${ConsoleEntry} key=${entry.id} entry=${entry} />`)}
        <div ref=${end} />
      </div>
      <${ConsoleInput} store=${store} place=${placeOf} onEnter=${(text) => console.evaluate(text)}
        onClear=${() => console.clear()} />
    </div>`;
}

function ConsoleEntry({ entry: { expression, result, error, output, tree } }) {
  const isPending = result === undefined && !error;
  return html`<div class="console-entry">
    <div class="console-expression">${linesOf(expression)}</div>
    ${output?.map((piece) => html`<pre class=${`console-output ${piece.category}`}>${linesOf(piece.output)}</pre>`)}
    ${tree ? html`<${ValueTreeView} tree=${tree} label="Result" mostRows=${ROWS_OF_RESULT} />`
      : result && html`<pre class="console-result">${linesOf(cutText(result, SHOWN_RESULT))}</pre>`}
    ${error && html`<pre class="console-error">${linesOf(error.message)}${error.suggestion && `\n→ ${error.suggestion}`}</pre>`}
    ${isPending && html`<span class="muted">…</span>`}
  </div>`;
}

/** Text of several lines, each of which shows every character. */
const linesOf = (text) => text.split("\n").map(visibleLine).join("\n");
