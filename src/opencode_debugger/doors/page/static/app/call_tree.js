/** The call tree of a recording: each call is asked for what it called when it is opened, folded calls when they are. */
import { html, signal } from "./framework.js";
import { CallEnd, CallWords, duration } from "./call_words.js";
import { BUDGET, useRecorded } from "./recording_questions.js";
import { attempt } from "./toasts.js";
import { TreeView } from "./tree_view.js";
import { visibleText } from "./visible_text.js";

const ROW_HEIGHT = 22;
/** Characters of folded calls that are unfolded at once. */
const UNFOLDED = 8_000;

export class CallTree {
  constructor(recordings) {
    this.recordings = recordings;
    /** counts up whenever the tree is to be drawn anew */
    this.version = signal(0);
    this.answer = signal(null);
    /** whether somebody has opened or closed something: then it is read anew only if that is wanted */
    this.isTouched = false;
    this.edition = null;
    this.roots = [];
    this.rows = [];
  }

  get rowCount() {
    return this.rows.length;
  }

  rowAt(position) {
    const node = this.rows[position];
    const siblings = node.parent?.children ?? this.roots;
    return { ...node, node, canOpen: canOpen(node), index: siblings.indexOf(node), setSize: siblings.length };
  }

  positionAbove(position) {
    return this.rows.indexOf(this.rows[position].parent);
  }

  get isWanted() {
    return !this.isTouched || this.edition !== editionOf(this.recordings);
  }

  async load() {
    this.isTouched = false;
    this.edition = editionOf(this.recordings);
    const answer = await this.recordings.ask("trace", { depth: 1, budget: BUDGET });
    this.answer.value = answer;
    this.roots = nodesOf(answer.rows);
    this.#draw();
  }

  /** Open or close a call; calls that are folded take the place of their fold. */
  async toggle(position) {
    const node = this.rows[position];
    this.isTouched = true;
    if (node.folded) return this.#unfold(node);
    if (!node.children) {
      const { rows } = await this.recordings.ask("trace", { call: node.call.call, depth: 1, budget: BUDGET });
      const [self] = nodesOf(rows, node.parent);
      node.inside = self.inside;
      node.children = self.children ?? [];
      node.children.forEach((each) => (each.parent = node));
    }
    node.isOpen = !node.isOpen;
    return this.#draw();
  }

  async #unfold(node) {
    const { functions, first, last } = node.folded;
    const query = { first, last, function: functions.length === 1 ? functions[0] : undefined, budget: UNFOLDED };
    const { rows } = await this.recordings.ask("trace", query);
    const siblings = node.parent?.children ?? this.roots;
    siblings.splice(siblings.indexOf(node), 1, ...nodesOf(rows, node.parent));
    this.#draw();
  }

  #draw() {
    this.rows = this.roots.flatMap(visibleNodes);
    this.version.value += 1;
  }
}

const editionOf = ({ name, edition }) => `${name} ${edition.value}`;

const canOpen = ({ folded, inside, children }) => Boolean(folded || children?.length || (!children && inside));

const visibleNodes = (node) => [node, ...(node.isOpen ? node.children.flatMap(visibleNodes) : [])];

/** Rows of an answer, each call before those that it made, as nodes below `parent`. */
function nodesOf(rows, parent = null) {
  const roots = [];
  const above = [];
  rows.forEach((row) => {
    above.length = row.depth;
    const holder = above.at(-1) ?? parent;
    const node = { ...row, parent: holder, depth: (holder?.depth ?? 0) + 1, children: null, isOpen: false };
    if (row.depth) {
      holder.children = [...(holder.children ?? []), node];
      holder.isOpen = true;
    } else roots.push(node);
    above.push(node);
  });
  return roots;
}

export function CallTreeView({ store, recordings, tree }) {
  useRecorded(store, recordings, () => tree.isWanted && attempt(tree.load()));
  const choose = (row, position) => {
    if (row.folded) attempt(tree.toggle(position));
    else recordings.goTo(row.call.call);
  };
  const here = store.past.value?.call;
  const rowClass = ({ call }) => ["call-row", call?.outcome === "raised" && "failed", here && call?.call === here && "here"]
    .filter(Boolean).join(" ");
  return html`<${TreeView} class="call-tree" label="Calls" tree=${tree} rowHeight=${ROW_HEIGHT} rowClass=${rowClass}
    onChoose=${choose} renderRow=${(row) => html`<${CallInRow} row=${row} />`} />`;
}

function CallInRow({ row: { call, folded, inside, depth, children } }) {
  if (folded) {
    return html`<span class="call-folded">${folded.count} × ${visibleText(folded.functions.join(", "))}</span>
      <span class="muted">#${folded.first} … #${folded.last}</span>
      ${folded.outcomes.map((each, index) => html`<${CallEnd} key=${index} ...${each} /><span class="muted">×${each.count}</span>`)}`;
  }
  const where = [depth === 1 && visibleText(call.thread), call.caller_line && `from line ${call.caller_line}`, duration(call.duration_ms),
    inside > 0 && (children ? `${inside} more inside are not shown` : `${inside} inside`)].filter(Boolean).join(" · ");
  return html`<${CallWords} call=${call} /><span class="call-facts">${where}</span>`;
}
