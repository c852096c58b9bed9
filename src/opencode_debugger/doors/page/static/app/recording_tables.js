/** Exceptions of a recorded run, and where its time went, as tables. */
import { html } from "./framework.js";
import { CallWords, duration } from "./call_words.js";
import { BUDGET, useRecorded } from "./recording_questions.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

const MOST_FUNCTIONS = 200;

/** A table that is scrolled, and says why it is not there; `question` is asked again with another recording. */
export function AnswerTable({ question, label, heads, children, empty }) {
  const error = question.error.value;
  if (error) return html`<p class="error" role="alert">${visibleText(error.message)} ${visibleText(error.suggestion)}</p>`;
  if (!question.answer.value) return html`<p class="empty" aria-busy="true">…</p>`;
  if (!children.length) return html`<p class="empty">${[empty, ...question.answer.value.notes].map(visibleText).join(" ")}</p>`;
  return html`<div class="answer-table" tabindex="0" role="region" aria-label=${label}>
    <table><thead><tr>${heads.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
      <tbody>${children}</tbody></table>
  </div>`;
}

/** A button that goes to a moment, with its number. */
export const MomentButton = ({ recordings, call, moment = call }) =>
  html`<button class="link" onClick=${() => recordings.goTo(call, `#${moment}`)}>#${moment}</button>`;

const placeOf = ({ path, line }) => visibleText(`${baseName(path)}:${line ?? "?"}`);

export function ErrorsTable({ store, recordings, errors }) {
  useRecorded(store, recordings, () => errors.ask({ budget: BUDGET }));
  return html`<${AnswerTable} question=${errors} label="Exceptions" heads=${["Times", "Exception", "Where", "First call", "What became of it"]}
      empty="No exception was recorded.">
    ${errors.answer.value?.errors.map((each, index) => html`<tr key=${index}>
      <td class="number">${each.count}</td>
      <td class="raised">${visibleText(each.error)}</td>
      <td><button class="link" onClick=${() => recordings.goTo(each.first.call, `#${each.first.call}:end`)}>${visibleText(each.function)} ${placeOf(each)}</button></td>
      <td class="call-cell"><${CallWords} call=${each.first} /></td>
      <td>${visibleText(each.fate)}</td>
    </tr>`) ?? []}
  </${AnswerTable}>`;
}

export function SlowTable({ store, recordings, slow }) {
  useRecorded(store, recordings, () => slow.ask({ budget: BUDGET, limit: MOST_FUNCTIONS }));
  return html`<${AnswerTable} question=${slow} label="Time by function" empty="Nothing was called."
      heads=${["Own time", "In all", "Waited", "Calls", "Function", "Slowest call"]}>
    ${slow.answer.value?.functions.map((each, index) => html`<tr key=${index}>
      <td class="number">${duration(each.own_ms)}</td><td class="number">${duration(each.total_ms)}</td>
      <td class="number">${each.waited_ms > 0 && duration(each.waited_ms)}</td><td class="number">${each.count}</td>
      <td><button class="link" onClick=${() => store.showPlace(each.path, each.line)}>${visibleText(each.function)}</button> <span class="muted">${placeOf(each)}</span></td>
      <td><${MomentButton} recordings=${recordings} call=${each.slowest} /> <span class="muted">${duration(each.slowest_ms)}</span></td>
    </tr>`) ?? []}
  </${AnswerTable}>`;
}
