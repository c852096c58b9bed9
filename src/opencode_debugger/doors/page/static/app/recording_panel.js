/** What was recorded of a Python program, in several views; a click on anything that happened goes there. */
import { html, signal, useEffect } from "./framework.js";
import { CallLife } from "./call_life.js";
import { CallTree, CallTreeView } from "./call_tree.js";
import { FlameChart, FlameState } from "./flame_chart.js";
import { IconButton } from "./icons.js";
import { stateOf } from "./panel_state.js";
import { Question, Recordings, shownView } from "./recording_questions.js";
import { ErrorsTable, SlowTable } from "./recording_tables.js";
import { post } from "./relay.js";
import { API, queryText } from "./requests.js";
import { RunComparison } from "./run_comparison.js";
import { attempt } from "./toasts.js";
import { ValueHistory } from "./value_history.js";

/** The views by their names, each with its title; they share what `makeViews` makes. */
const VIEWS = {
  tree: { title: "Call tree", component: CallTreeView },
  life: { title: "One call", component: CallLife },
  flame: { title: "Flame chart", component: FlameChart },
  values: { title: "Values over time", component: ValueHistory },
  diff: { title: "Compare", component: RunComparison },
  errors: { title: "Exceptions", component: ErrorsTable },
  slow: { title: "Time", component: SlowTable },
};

function makeViews(store) {
  const recordings = new Recordings(store);
  const question = (path) => new Question(recordings, path);
  return {
    recordings, tree: new CallTree(recordings), life: question("calls"), flame: new FlameState(question("spans")), values: question("values"),
    origin: question("origin"), asked: signal(""), diff: question("diff"), other: signal(""), errors: question("errors"),
    slow: question("slow"),
  };
}

export function RecordingPanel({ store }) {
  const views = stateOf(store, "recording", makeViews);
  useEffect(() => store.refreshSoon("recording"), [store.status.value]);
  const current = VIEWS[shownView.value] ?? VIEWS.tree;
  return html`<div class="recording-panel">
    <${RecordingTools} store=${store} views=${views} current=${current} />
    ${views.recordings.names.length > 0 ? html`<${current.component} store=${store} ...${views} />`
      : html`<p class="empty">Nothing is recorded yet. A recording has every call of the program's own code: arguments, results, exceptions, times.</p>`}
  </div>`;
}

function RecordingTools({ store, views: { recordings, tree }, current }) {
  const isOn = Boolean(store.recording.value?.recording);
  const isLive = ["running", "paused"].includes(store.status.value);
  const record = async () => {
    const told = await attempt(post(`${store.path}/record`, { enabled: !isOn }));
    if (told) store.refreshSoon("recording");
  };
  const link = (format) => `${API}${store.path}/recording/export${queryText({ recording: recordings.name, format })}`;
  return html`<div class="panel-tools">
    ${isLive && html`<button onClick=${record} aria-pressed=${isOn}>${isOn ? "Stop recording" : "Record"}</button>`}
    ${recordings.names.length > 0 && html`
      <fieldset class="choice"><legend class="unseen">What to see of the recording</legend>
        ${Object.entries(VIEWS).map(([name, { title }]) => html`<label key=${name}>
          <input type="radio" name="recording-view" value=${name} checked=${current === VIEWS[name]}
            onChange=${() => (shownView.value = name)} />${title}</label>`)}
      </fieldset>
      <${IconButton} icon="restart" label="Read the recording again" onClick=${() => (recordings.edition.value += 1)} />
      ${recordings.names.length > 1 && html`<select aria-label="Recording" value=${recordings.name}
        onChange=${(event) => (recordings.chosen.value = event.target.value)}>
        ${recordings.names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select>`}
      <a class="button" href=${link()} download=${`${store.id}.ocrec`} title="One file; ocdb open FILE opens it anywhere">Export</a>
      <a class="button" href=${link("chrome")} download=${`${store.id}.trace.json`} title="For Perfetto and chrome://tracing">Chrome trace</a>`}
    <span class="muted">${factsOf(store, tree.answer.value)}</span>
  </div>`;
}

function factsOf(store, answer) {
  const { calls = answer?.recorded_calls, functions, bytes, dropped_calls: dropped, message } = store.recording.value ?? {};
  if (calls === undefined) return message ?? "";
  return [`${calls} calls`, functions && `${functions} functions`, bytes && `${(bytes / 1e6).toFixed(1)} MB`,
    dropped && `the oldest ${dropped} calls fell out`].filter(Boolean).join(" · ");
}
