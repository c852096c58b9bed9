/** The values that a name or attribute had, one after the other; of a value, where it was seen. */
import { html } from "./framework.js";
import { BUDGET } from "./recording_questions.js";
import { AnswerTable, MomentButton } from "./recording_tables.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

const NAME = /^\.?[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$/u;
const MOST_VALUES = 1000;
const CONSTANTS = new Set(["None", "True", "False"]);
const isName = (text) => NAME.test(text) && !CONSTANTS.has(text);

export function ValueHistory({ store, recordings, values, origin, asked }) {
  const question = isName(asked.value) ? values : origin;
  const submit = (event) => {
    event.preventDefault();
    const text = event.target.elements.name.value.trim();
    if (!text) return;
    asked.value = text;
    if (isName(text)) values.ask({ name: text, limit: MOST_VALUES, budget: BUDGET });
    else origin.ask({ value: text, budget: BUDGET });
  };
  const rows = isName(asked.value) ? values.answer.value?.changes : origin.answer.value?.sightings.map(rowOfSighting);
  return html`
    <form class="line-form" onSubmit=${submit}>
      <input name="name" aria-label="Name, attribute or value" placeholder="amount, order.total, .total of any object, or a value: 195.0" spellcheck="false"
        autocomplete="off" list="recorded-names" defaultValue=${asked.value} />
      <datalist id="recorded-names">${store.locals.value.map(({ name }) => html`<option key=${name} value=${name} />`)}</datalist>
      <button type="submit">Show</button>
    </form>
    ${asked.value && html`
      <${ValueCurve} rows=${rows ?? []} />
      <${AnswerTable} question=${question} label="Values" empty="" heads=${["Moment", "Name", "Value", "How", "Where"]}>
        ${(rows ?? []).map((row, index) => html`<${ValueRow} key=${index} row=${row} recordings=${recordings} isHere=${row.moment === store.past.value?.moment} />`)}
      </${AnswerTable}>
      ${(values.answer.value?.has_more && isName(asked.value)) && html`<p class="empty">${rows.length} of ${values.answer.value.total} values</p>`}`}`;
}

const rowOfSighting = ({ call, line, ...rest }) =>
  ({ ...rest, moment: call.call, call: call.call, function: call.function, path: call.path, line: line ?? call.line });

function ValueRow({ row, recordings, isHere }) {
  const { moment, name, value, was, how, call, function: called, path, line } = row;
  return html`<tr class=${isHere ? "here" : ""}>
    <td><${MomentButton} recordings=${recordings} call=${call} moment=${moment} /></td>
    <td>${visibleText(name ?? "")}</td>
    <td class="value-cell">${visibleText(value)}${was !== undefined && html` <span class="muted">was ${visibleText(was)}</span>`}</td>
    <td>${how}</td>
    <td>#${call} ${visibleText(called)} <span class="muted">${visibleText(baseName(path))}:${line}</span></td>
  </tr>`;
}

/** Numbers as a curve above their table, which has the same. */
function ValueCurve({ rows }) {
  const numbers = rows.map(({ value }) => (value === "" ? NaN : Number(value))).filter(Number.isFinite);
  if (numbers.length < 3 || numbers.length < rows.length / 2) return null;
  const low = Math.min(...numbers);
  const range = Math.max(...numbers) - low || 1;
  const points = numbers.map((number, index) => `${(index / (numbers.length - 1)) * 1000},${38 - ((number - low) / range) * 36}`);
  return html`<svg class="value-curve" viewBox="0 0 1000 40" preserveAspectRatio="none" aria-hidden="true"><polyline points=${points.join(" ")} /></svg>`;
}
