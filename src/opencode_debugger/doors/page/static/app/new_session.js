/** The dialog that starts a program, in a new session or in one that has none yet. */
import { html, useSignal } from "./framework.js";
import { Check, Dialog, Field } from "./dialog.js";
import { remembered } from "./layout.js";
import { post } from "./relay.js";
import { splitWords } from "./words.js";

const KINDS = {
  script: { title: "Script", hint: "/home/you/project/main.py" },
  module: { title: "Module", hint: "package.module" },
  program: { title: "Program", hint: "/home/you/project/build/app" },
  test: { title: "Test", hint: "/home/you/project/tests/test_cart.py::test_total" },
  code: { title: "Code", hint: "print(sum(range(10)))" },
};
const STOPS = { "": "as usual (uncaught)", uncaught: "uncaught ones", raised: "every one that is raised", never: "never" };

/** What was typed last, for the next time; but for the environment, which may hold secrets. */
const lastDraft = remembered("new-session", { kind: "script" });

export function NewSession({ store, onClose }) {
  const draft = useSignal({ ...lastDraft.value, env: "" });
  const isBusy = useSignal(false);
  const error = useSignal(null);
  const kind = store && draft.value.kind === "test" ? "script" : draft.value.kind;
  const start = async () => {
    isBusy.value = true;
    error.value = null;
    try {
      await (store ? launchIn(store, draft.value) : runNew(draft.value));
      lastDraft.value = { ...draft.value, env: "" };
      onClose();
    } catch (refused) {
      error.value = refused;
    }
    isBusy.value = false;
  };
  return html`<${Dialog} title=${store ? "Launch a program" : "New session"} submitTitle="Start" isBusy=${isBusy.value} error=${error.value} onClose=${onClose} onSubmit=${start}>
    <fieldset class="choice"><legend class="unseen">What to run</legend>
      ${Object.entries(KINDS).filter(([name]) => !store || name !== "test").map(([name, { title }]) => html`<label key=${name}>
        <input type="radio" name="kind" value=${name} checked=${kind === name}
          onChange=${() => (draft.value = { ...draft.value, kind: name })} />${title}</label>`)}
    </fieldset>
    <${Field} draft=${draft} name="what" title=${KINDS[kind].title} hint=${KINDS[kind].hint} required autofocus rows=${kind === "code" ? 4 : undefined} />
    <${Field} draft=${draft} name="args" title="Arguments" hint="--verbose 'two words'" />
    <${Field} draft=${draft} name="cwd" title="Working directory" hint="the folder of the script" />
    <${Field} draft=${draft} name="breakpoints" title="Breakpoints, one a line" hint=${"main.py:42 if total > 100\nCart.add"} rows="3" />
    <${Field} draft=${draft} name="env" title="Environment, one a line" hint="DEBUG=1" rows="2" />
    ${!store && html`<${Field} draft=${draft} name="name" title="Name of the session" hint="optional" />`}
    <div class="form-checks">
      <${Check} draft=${draft} name="stop_on_entry" title="Stop at the first line" />
      <${Check} draft=${draft} name="record" title="Record its calls (Python)" />
      <${Check} draft=${draft} name="debug_subprocesses" title="Debug child processes" />
      <label class="check">Stop on exceptions
        <select class="field" value=${draft.value.stop_on_exception ?? ""}
            onChange=${(event) => (draft.value = { ...draft.value, stop_on_exception: event.target.value })}>
          ${Object.entries(STOPS).map(([value, title]) => html`<option key=${value} value=${value}>${title}</option>`)}
        </select></label>
    </div>
  </${Dialog}>`;
}

async function runNew(draft) {
  const { session_id } = await post("/run", requestOf(draft));
  location.hash = `#/sessions/${session_id}`;
}

async function launchIn(store, draft) {
  const { breakpoints, name, ...launch } = requestOf(draft);
  if (breakpoints) await post(`${store.path}/breakpoints`, { breakpoints });
  await post(`${store.path}/launch`, launch);
  store.refreshSoon("session");
}

const linesOf = (text = "") => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** The draft as the relay takes it; what is empty is left out. */
function requestOf({ kind, what = "", args, cwd, breakpoints, env, name, ...checks }) {
  const request = { [kind]: kind === "code" ? what : what.trim(), wait: false };
  if (args?.trim()) request.args = splitWords(args);
  if (cwd?.trim()) request.cwd = cwd.trim();
  if (name?.trim()) request.name = name.trim();
  if (linesOf(breakpoints).length) request.breakpoints = linesOf(breakpoints);
  if (linesOf(env).length) request.env = Object.fromEntries(linesOf(env).map(nameAndValue));
  if (checks.stop_on_entry) request.stop_on_entry = true;
  if (checks.record) request.record = true;
  if (checks.debug_subprocesses) request.debug_subprocesses = true;
  if (checks.stop_on_exception) request.stop_on_exception = checks.stop_on_exception === "never" ? false : checks.stop_on_exception;
  return request;
}

function nameAndValue(line) {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}
