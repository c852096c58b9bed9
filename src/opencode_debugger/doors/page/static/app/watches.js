/** Expressions that every stop evaluates; they belong to the session, so that agents see them too. */
import { html, useEffect, useSignal } from "./framework.js";
import { post, remove } from "./relay.js";
import { stateOf } from "./panel_state.js";
import { attempt } from "./toasts.js";
import { ValueTree } from "./value_tree_model.js";
import { ValueTreeView } from "./value_tree.js";
import { pageReader } from "./variables_tree.js";

class Watches {
  constructor(store) {
    this.store = store;
    this.tree = new ValueTree(pageReader(store));
    this.asked = 0;
  }

  /** Evaluate them in the frame that is looked at, or only list them while nothing is paused. */
  async load() {
    const { store } = this;
    const { selected, stopNumber, isHalted } = store;
    const number = stopNumber.value;
    const request = ++this.asked;
    const place = isHalted.value && selected.value && !selected.value.taskId
      ? { frame_id: selected.value.frameId, thread_id: selected.value.threadId } : {};
    const { watches } = await store.get("watch", place);
    if (request !== this.asked || number !== stopNumber.value) return;
    this.tree.setRoots(watches.map(rowOf), "watches");
  }
}

const rowOf = (watch) => ({ ...watch, name: watch.expression, value: watch.value ?? "" });

/** Calls of others after which the list may be another. */
const CHANGING = /watch/;
const tellsOfWatches = ({ kind, payload }) => kind === "timeline" && CHANGING.test(payload.operation ?? "");

export function WatchesPanel({ store }) {
  const watches = stateOf(store, "watches", (each) => new Watches(each));
  const text = useSignal("");
  const load = () => attempt(watches.load());
  useEffect(() => {
    if (store.status.value) load();
  }, [store.stopNumber.value, store.selected.value, store.status.value, store.valuesNumber.value]);
  useEffect(() => store.onEvents((events) => events.some(tellsOfWatches) && load()), [store]);
  const add = async (event) => {
    event.preventDefault();
    const expression = text.value.trim();
    if (!expression) return;
    if (await attempt(post(`${store.path}/watch`, { expression }))) text.value = "";
    load();
  };
  const actions = ({ holder, variable }) => (holder.variable ? {} : {
    remove: () => remove(`${store.path}/watch/${variable.watch_id}`).then(load),
  });
  return html`
    <form class="line-form" onSubmit=${add}>
      <input aria-label="Expression to watch" placeholder="Expression to watch" spellcheck="false" autocomplete="off"
        value=${text.value} onInput=${(event) => (text.value = event.target.value)} />
      <button type="submit">Add</button>
    </form>
    <${ValueTreeView} tree=${watches.tree} label="Watches" actions=${actions} isStale=${store.isStale.value} />`;
}
