/** The variables of the frame that is looked at: its scopes, and inside of values as far as people open them. */
import { html, useEffect, useMemo } from "./framework.js";
import { post } from "./relay.js";
import { stateOf } from "./panel_state.js";
import { showError } from "./toasts.js";
import { ValueTree } from "./value_tree_model.js";
import { ValueTreeView } from "./value_tree.js";

/** Characters of one page of values. */
const PAGE_BUDGET = 60_000;
const OPEN_SCOPES = new Set(["locals", "arguments"]);

/** Reads pages of values of a session, for trees. */
export const pageReader = (store) => (reference, start, count) =>
  store.get(`variables/${reference}`, { start, count, budget: count > 100 ? undefined : PAGE_BUDGET });

class Variables {
  constructor(store) {
    this.store = store;
    this.tree = new ValueTree(pageReader(store));
    /** the selection that is shown, or was asked for: each stop makes a new one when its report is there */
    this.loaded = null;
  }

  /** Show the scopes of the frame that is selected, unless it has changed by the time they come. */
  async load() {
    const { store } = this;
    const asked = store.selected.value;
    if (!store.isHalted.value || !asked) return;
    const number = store.stopNumber.value;
    this.loaded = asked;
    const roots = await (asked.taskId ? localsOfTask(store, asked) : scopesOf(store, asked));
    if (number !== store.stopNumber.value || asked !== store.selected.value) return;
    const frame = store.selectedFrame.value;
    this.tree.setRoots(roots, `${asked.threadId} ${asked.taskId} ${frame?.path} ${frame?.name}`);
  }
}

async function scopesOf(store, { frameId, threadId }) {
  const { scopes } = await store.get("scopes", { frame_id: frameId, thread_id: threadId });
  return scopes.map((scope) => ({ ...scope, value: "", isScope: true, startsOpen: OPEN_SCOPES.has(scope.presentation_hint) }));
}

async function localsOfTask(store, { frameId, taskId }) {
  const { variables } = await store.get(`frames/${frameId}/variables`, { task_id: taskId, budget: PAGE_BUDGET });
  return variables;
}

export function VariablesTree({ store }) {
  const variables = stateOf(store, "variables", (each) => new Variables(each));
  const { selected, isHalted, isStale } = store;
  useEffect(() => {
    if (variables.loaded !== selected.value) variables.load().catch((error) => error.status !== 409 && showError(error));
  }, [selected.value, isHalted.value]);
  useEffect(() => {
    if (store.valuesNumber.value) variables.load().catch(() => {});
  }, [store.valuesNumber.value]);
  const actions = useMemo(() => actionsFor(store), [store]);
  if (variables.tree.rowCount === 0 && !isHalted.value) {
    return html`<p class="empty">Variables are shown while the program is paused.</p>`;
  }
  return html`<${ValueTreeView} tree=${variables.tree} label="Variables" actions=${actions} isStale=${isStale.value} />`;
}

/** Inside of a scope or a value a variable can be set; one of a scope has a name that can be watched. */
const actionsFor = (store) => ({ holder, variable }) => {
  if (store.isStale.value || store.past.value || variable.isPart || variable.isScope) return {};
  const reference = holder.variable?.variables_reference;
  const set = reference && ((_, value) => post(`${store.path}/variables/${reference}/set`, { name: variable.name, value }));
  const watch = holder.variable?.isScope && (() => post(`${store.path}/watch`, { expression: variable.name }));
  return { set, watch };
};
