/** One recorded call: the lines that it took with what each changed and called, or the calls that it made. */
import { html, useEffect } from "./framework.js";
import { CallWords } from "./call_words.js";
import { BUDGET, useRecorded } from "./recording_questions.js";
import { AnswerTable } from "./recording_tables.js";
import { visibleLine, visibleText } from "./visible_text.js";

export function CallLife({ store, recordings, life }) {
  const here = store.past.value?.call;
  useEffect(() => {
    if (here) recordings.looked.value = here;
  }, [here]);
  const number = recordings.looked.value ?? here;
  useRecorded(store, recordings, () => number && life.ask({ budget: BUDGET }, `calls/${number}`), number);
  if (!number) return html`<p class="empty">Choose a call in another view: its lines are shown here.</p>`;
  const { call, lines_recorded: hasLines, lines, calls, locals = [] } = life.answer.value ?? {};
  const rows = hasLines ? lines : calls?.map((each) => ({ line: each.caller_line, source: "", changes: [], calls: [each] }));
  return html`
    ${call && html`<p class="life-head"><${CallWords} call=${call} /></p>`}
    <${AnswerTable} question=${life} label="The call" heads=${["Line", "Source", "Changes", "Calls"]} empty="It called nothing of the program's own.">
      ${(rows ?? []).map((row, index) => html`<${LifeLine} key=${index} recordings=${recordings} ...${row} />`)}
    </${AnswerTable}>
    ${locals.length > 0 && html`<p class="life-head muted">Where it was left: ${namedWords(locals)}</p>`}`;
}

function LifeLine({ recordings, line, source, changes, calls, more_calls: more, skipped_rounds: rounds }) {
  if (rounds) return html`<tr><td /><td class="muted" colspan="3">${rounds} more rounds the same way</td></tr>`;
  return html`<tr><td class="number">${line}</td><td class="source-cell">${visibleLine(source)}</td>
    <td class="value-cell">${namedWords(changes)}</td>
    <td>${calls.map((call) => html`<button key=${call.call} class="link call-cell" onClick=${() => recordings.goTo(call.call)}>
      <${CallWords} call=${call} /></button>`)}${more > 0 && ` and ${more} more`}</td></tr>`;
}

const namedWords = (list) => list.map(({ name, value }) => `${visibleText(name)} = ${visibleText(value)}`).join(", ");
