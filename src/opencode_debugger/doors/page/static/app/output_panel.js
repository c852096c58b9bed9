/** What the program writes, as it comes, and a line to answer it with. */
import { html, useEffect, useMemo, useSignal } from "./framework.js";
import { post, remove } from "./relay.js";
import { AnsiReader } from "./ansi_text.js";
import { OutputLog, textOf } from "./output_log.js";
import { stateOf } from "./panel_state.js";
import { attempt } from "./toasts.js";
import { VirtualList } from "./virtual_list.js";
import { visibleText } from "./visible_text.js";

const ROW_HEIGHT = 18;
const CATEGORY_NAMES = { stdout: "out", stderr: "err", console: "log", log: "log" };

export function OutputPanel({ store }) {
  const log = stateOf(store, "output", (each) => new OutputLog(each));
  const follows = useSignal(true);
  const filter = useSignal("");
  useEffect(() => {
    if (store.connection.value === "live") log.pull();
  }, [store.connection.value]);
  const lines = useFiltered(log, filter.value);
  const clear = () => attempt(remove(`${store.path}/output`)).then(() => log.cleared());
  return html`
    <div class="output-panel">
      <div class="panel-tools">
        <input type="search" aria-label="Show lines that contain" placeholder="Filter" value=${filter.value}
          onInput=${(event) => (filter.value = event.target.value)} />
        <label><input type="checkbox" checked=${follows.value}
          onChange=${(event) => (follows.value = event.target.checked)} /> Follow</label>
        <button onClick=${clear}>Clear</button>
        <span class="muted">${log.missing > 0 && `${log.missing} older entries are gone · `}${lines.length === 1 ? "1 line" : `${lines.length} lines`}${store.past.value && " by now"}</span>
      </div>
      ${store.past.value ? html`<${PastOutput} store=${store} />`
        : html`<${OutputLines} lines=${lines} version=${log.version.value} follows=${follows} />`}
      <${InputLine} store=${store} />
    </div>`;
}

/** The lines that contain a text; those that are new since the last time are looked at only. */
function useFiltered(log, text) {
  const known = useMemo(() => ({ all: null, seen: 0, found: [] }), [text]);
  const wanted = text.toLowerCase();
  if (!wanted) return log.openLines.length ? new Joined(log.lines, log.openLines) : log.lines;
  if (known.all !== log.lines) Object.assign(known, { all: log.lines, seen: 0, found: [] });
  for (; known.seen < log.lines.length; known.seen += 1) {
    if (textOf(log.lines[known.seen]).toLowerCase().includes(wanted)) known.found.push(log.lines[known.seen]);
  }
  return new Joined(known.found, log.openLines.filter((line) => textOf(line).toLowerCase().includes(wanted)));
}

/** Two lists as one, without copying the long one. */
class Joined {
  constructor(first, second) {
    this.first = first;
    this.second = second;
    this.length = first.length + second.length;
  }

  at(index) {
    return index < this.first.length ? this.first[index] : this.second[index - this.first.length];
  }
}

/** `lines` grow in place: `version` tells that they have. */
function OutputLines({ lines, follows }) {
  const renderRow = (index) => html`<${OutputLine} key=${index} line=${lines.at(index)} />`;
  return html`<${VirtualList} class="output-lines" role="log" aria-label="Output of the program" aria-live="off" tabindex="0"
    count=${lines.length} rowHeight=${ROW_HEIGHT} renderRow=${renderRow} follow=${follows.value}
    onAtEnd=${(isAtEnd) => (follows.value = isAtEnd)} />`;
}

/** The last lines that had been written by the moment of the past at which the session stands. */
function PastOutput({ store }) {
  const reader = new AnsiReader();
  const entries = store.report.value?.output ?? [];
  const lines = entries.flatMap(({ category, output }) =>
    reader.read(output.endsWith("\n") ? output : `${output}\n`).map((pieces) => ({ pieces, category })));
  return html`<div class="output-lines past-output" role="log" aria-label="Output by then" tabindex="0">
    <p class="empty">${lines.length ? "The last that had been written by then:" : "Nothing had been written by then."}</p>
    ${lines.map((line, index) => html`<${OutputLine} key=${index} line=${line} />`)}
  </div>`;
}

function OutputLine({ line: { pieces, category } }) {
  return html`<div class=${`output-line ${category}`}>
    <span class="output-category" title=${category}>${CATEGORY_NAMES[category] ?? category}</span>
    ${pieces.map(({ text, classes }) => (classes ? html`<span class=${classes}>${text}</span>` : text))}
    ${pieces.length === 0 && " "}
  </div>`;
}

/** A line for the program's stdin; it says when the program waits for one. */
function InputLine({ store }) {
  const text = useSignal("");
  const session = store.session.value;
  const isLive = store.status.value === "running" || store.status.value === "paused";
  if (!isLive || !session || session.attached) return null;
  const waiting = store.waitingForInput.value;
  const send = (body) => attempt(post(`${store.path}/stdin`, body));
  const submit = async (event) => {
    event.preventDefault();
    if (await send({ input: `${text.value}\n` })) text.value = "";
  };
  return html`<form class=${`line-form input-line ${waiting ? "waiting" : ""}`} onSubmit=${submit}>
    <label for="stdin">${waiting ? html`<strong>Waits for input</strong> ${visibleText(waiting.prompt)}` : "Input"}</label>
    <input id="stdin" autocomplete="off" spellcheck="false" value=${text.value}
      onInput=${(event) => (text.value = event.target.value)} />
    <button type="submit">Send</button>
    <button type="button" title="No more input follows" onClick=${() => send({ eof: true })}>End input</button>
  </form>`;
}
