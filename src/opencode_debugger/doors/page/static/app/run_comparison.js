/** Two recorded runs beside each other: where they part first, and what else differs. */
import { html, signal, useEffect } from "./framework.js";
import { CallWords } from "./call_words.js";
import { BUDGET } from "./recording_questions.js";
import { get } from "./relay.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

const KINDS = {
  arguments: "Other arguments", outcome: "Another outcome", line: "Another value or line",
  only_a: "Only A calls it", only_b: "Only B calls it",
};
const SESSION = /^(sess_[0-9a-f]{8})/;
/** Sessions that can be compared with, as the list has them: read when the view is opened. */
const sessions = signal([]);

export function RunComparison({ store, recordings, diff, other }) {
  useEffect(() => {
    get("/sessions", { limit: 100 }).then(({ items }) => (sessions.value = items.filter((each) => each.session_id !== store.id)), () => undefined);
  }, []);
  const submit = (event) => {
    event.preventDefault();
    other.value = event.target.elements.other.value.trim();
    if (other.value) diff.ask({ other: other.value, budget: BUDGET });
  };
  const earlier = recordings.names.filter((name) => name !== recordings.name);
  const error = diff.error.value;
  return html`
    <form class="line-form" onSubmit=${submit}>
      <label for="other-run">This run is A. B is</label>
      <input id="other-run" name="other" placeholder="a session, another recording of this one, or the path of an exported file" spellcheck="false"
        autocomplete="off" list="other-runs" defaultValue=${other.value} />
      <datalist id="other-runs">
        ${earlier.map((name) => html`<option key=${name} value=${name}>an earlier run of this session</option>`)}
        ${sessions.value.map(({ session_id: id, name }) => html`<option key=${id} value=${id}>${visibleText(name)}</option>`)}
      </datalist>
      <button type="submit">Compare</button>
    </form>
    ${error && html`<p class="error" role="alert">${visibleText(error.message)} ${visibleText(error.suggestion)}</p>`}
    ${!error && diff.answer.value && html`<${Differences} answer=${diff.answer.value} recordings=${recordings} />`}`;
}

function Differences({ answer, recordings }) {
  const { first, parting, further, other, notes, matched, only_a: onlyA, only_b: onlyB } = answer;
  const shown = [["First difference", first], ["First on another way", parting], ...further.map((each) => ["", each])];
  return html`<div class="differences" tabindex="0" role="region" aria-label="Differences">
    <p class="muted">${matched} calls of both were compared; B is ${visibleText(other)}. ${notes.map(visibleText).join(" ")}</p>
    ${!first && html`<p>Both runs are the same.</p>`}
    ${shown.filter(([, each]) => each).map(([title, each], index) => html`
      <${Difference} key=${index} title=${title} difference=${each} recordings=${recordings} session=${SESSION.exec(other)?.[1]} />`)}
    <${OnlyOne} run="A" functions=${onlyA} /><${OnlyOne} run="B" functions=${onlyB} />
  </div>`;
}

function Difference({ title, difference, recordings, session }) {
  const { kind, function: name, path, a, b, values, line_a: lineA, line_b: lineB, source, same_arguments: sameArguments, count } = difference;
  const words = sameArguments ? "Same arguments, another outcome" : KINDS[kind] ?? kind;
  return html`<section class="difference" aria-label=${title || words}>
    <h3>${title && html`<span class="difference-title">${title}</span>`} ${words} <span class="muted">${visibleText(name)} ${visibleText(baseName(path))}${count > 1 && ` · ${count} calls`}</span></h3>
    <dl>
      <${Side} run="A" call=${a} line=${lineA} onGo=${() => recordings.goTo(a.call)} />
      <${Side} run="B" call=${b} line=${lineB} session=${session} />
    </dl>
    ${source && html`<code class="difference-source">${visibleText(source)}</code>`}
    ${values.length > 0 && html`<table><thead><tr><th scope="col">Name</th><th scope="col">A</th><th scope="col">B</th></tr></thead>
      <tbody>${values.map((each) => html`<tr key=${each.name}><td>${visibleText(each.name)}</td>
        <td class="value-cell">${visibleText(each.a ?? "none")}</td><td class="value-cell">${visibleText(each.b ?? "none")}</td></tr>`)}</tbody></table>`}
  </section>`;
}

/** One side's call: of this session it can be gone to, of another session there is a link to its page. */
function Side({ run, call, line, onGo, session }) {
  if (!call) return null;
  const words = html`<${CallWords} call=${call} />`;
  return html`<div class="side-call"><dt>${run}</dt><dd>
    ${onGo ? html`<button class="link" onClick=${onGo}>${words}</button>` : session ? html`<a href=${`#/sessions/${session}`}>${words}</a>` : words}
    ${line && html` <span class="muted">line ${line}</span>`}</dd></div>`;
}

function OnlyOne({ run, functions }) {
  if (!functions.length) return null;
  return html`<p>Only ${run} calls ${functions.map(({ function: name, count }) => `${visibleText(name)} (${count}×)`).join(", ")}.</p>`;
}
