/** The dialog that attaches to a program that runs already, chosen from the list of processes. */
import { html, useEffect, useSignal } from "./framework.js";
import { Check, Dialog, Field } from "./dialog.js";
import { get, post } from "./relay.js";
import { visibleText } from "./visible_text.js";
import { baseName } from "./words.js";

const MOST_SHOWN = 100;

export function AttachDialog({ onClose }) {
  const draft = useSignal({ filter: "", pid: null, pause: true });
  const processes = useSignal(null);
  const isBusy = useSignal(false);
  const error = useSignal(null);
  useEffect(() => {
    const asked = draft.value.filter;
    const query = { filter: asked || undefined, limit: MOST_SHOWN, kind: "all" };
    get("/processes", query).then(
      (answer) => asked === draft.value.filter && (processes.value = answer), (refused) => (error.value = refused));
  }, [draft.value.filter]);
  const attach = async () => {
    const { pid, port, pause } = draft.value;
    if (!pid && !port) return;
    isBusy.value = true;
    error.value = null;
    try {
      const target = port ? { host: "127.0.0.1", port: Number(port) } : { pid };
      const { session_id } = await post("/attach", { ...target, pause: Boolean(pause) });
      onClose();
      location.hash = `#/sessions/${session_id}`;
    } catch (refused) {
      error.value = refused;
    }
    isBusy.value = false;
  };
  return html`<${Dialog} title="Attach to a running program" submitTitle="Attach" isBusy=${isBusy.value} error=${error.value}
      onClose=${onClose} onSubmit=${attach}>
    <${Field} draft=${draft} name="filter" title="Find" hint="a part of the command, or a pid" autofocus />
    <div class="processes" role="radiogroup" aria-label="Processes">
      ${processes.value?.items.map((each) => html`<${ProcessRow} key=${each.pid} process=${each} draft=${draft} />`)}
      ${processes.value?.items.length === 0 && html`<p class="empty">No process of yours fits.</p>`}
    </div>
    ${processes.value?.has_more && html`<p class="muted">The first ${MOST_SHOWN} of ${processes.value.total}: write more to find others.</p>`}
    <${Field} draft=${draft} name="port" title="Or the port on which debugpy listens" hint="5678" inputmode="numeric" pattern="[0-9]*" />
    <${Check} draft=${draft} name="pause" title="Pause it where it is" />
  </${Dialog}>`;
}

function ProcessRow({ process, draft }) {
  const choose = () => (draft.value = { ...draft.value, pid: process.pid, port: "" });
  return html`<label class=${`process ${process.attachable ? "" : "off"}`} title=${process.reason ?? process.command}>
    <input type="radio" name="process" disabled=${!process.attachable} checked=${draft.value.pid === process.pid} onChange=${choose} />
    <span class="process-name">${visibleText(baseName(process.name))}</span>
    <span class="process-command">${visibleText(process.reason ?? process.command)}</span>
    <span class="number muted">${process.pid}</span>
  </label>`;
}
