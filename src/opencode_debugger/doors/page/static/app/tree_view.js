/** A tree of which only the rows in sight exist, and the keys of every tree. */
import { html, useRef, useSignal } from "./framework.js";
import { VirtualList } from "./virtual_list.js";

const PAGE_KEYS = 15;
const INDENT = 14;
let lastTreeId = 0;

/**
 * `tree` has `version`, `rowCount`, `rowAt(position)`, `positionAbove(position)` and `toggle(position)`; a row has at least
 * {depth, index, setSize, isOpen, canOpen}. `renderRow(row, {id, position, isActive})` draws what is in a row, `keysOf(row,
 * position)` gives keys beyond those of every tree. A row that is clicked, or Enter, opens
 * it, unless `onChoose(row, position)` says otherwise: then the mark before it does.
 */
export function TreeView({
  tree, label, rowHeight, renderRow, rowClass, keysOf = () => ({}), onChoose, onDoubleChoose, ...attributes
}) {
  tree.version.value;
  const active = useSignal(0);
  const handle = useRef(null);
  const id = useRef(`tree-${++lastTreeId}`).current;
  const count = tree.rowCount;
  const at = Math.min(active.value, count - 1);
  const choose = (position) => {
    const row = tree.rowAt(position);
    if (onChoose) onChoose(row, position);
    else if (row.canOpen) tree.toggle(position);
  };
  const move = (to) => {
    active.value = Math.max(0, Math.min(to, tree.rowCount - 1));
    handle.current.show(active.value);
  };
  // Keys may come quicker than the tree is drawn: what counts is where it stands, not what is seen.
  const press = (event) => {
    if (event.altKey || tree.rowCount === 0) return;
    const position = Math.min(active.value, tree.rowCount - 1);
    const row = tree.rowAt(position);
    const handler = { ...treeKeys(tree, row, position, move, choose), ...keysOf(row, position) }[keyOf(event)];
    if (!handler) return;
    event.preventDefault();
    event.stopPropagation();
    handle.current.show(position);
    handler();
  };
  const drawRow = (position) => {
    const row = tree.rowAt(position);
    const isActive = position === at;
    const pick = (then) => (event) => {
      active.value = position;
      then?.(event);
    };
    const toggle = pick((event) => {
      event.stopPropagation();
      tree.toggle(position);
    });
    const rowId = `${id}-${position}`;
    return html`<div key=${position} id=${rowId} role="treeitem" aria-level=${row.depth} aria-setsize=${row.setSize}
        class=${`${rowClass(row)} ${isActive ? "active" : ""}`} aria-posinset=${row.index + 1} aria-selected=${isActive}
        aria-expanded=${row.canOpen ? row.isOpen : undefined} onClick=${pick(() => choose(position))}
        onDblClick=${() => onDoubleChoose?.(row, position)} style=${{ paddingInlineStart: `${(row.depth - 1) * INDENT + 4}px` }}>
      <span class=${`twisty ${row.canOpen ? (row.isOpen ? "open" : "closed") : "none"}`} aria-hidden="true"
        onClick=${onChoose && row.canOpen ? toggle : undefined} />
      ${renderRow(row, { id: rowId, position, isActive })}
    </div>`;
  };
  return html`<${VirtualList} role="tree" aria-label=${label} tabindex="0" count=${count} rowHeight=${rowHeight} handle=${handle}
    aria-activedescendant=${count ? `${id}-${at}` : undefined} renderRow=${drawRow} onKeyDown=${press} ...${attributes} />`;
}

const keyOf = (event) => (event.ctrlKey || event.metaKey ? `Ctrl+${event.key}` : event.key);

const treeKeys = (tree, row, at, move, choose) => ({
  ArrowDown: () => move(at + 1),
  ArrowUp: () => move(at - 1),
  Home: () => move(0),
  End: () => move(Number.MAX_SAFE_INTEGER),
  PageDown: () => move(at + PAGE_KEYS),
  PageUp: () => move(at - PAGE_KEYS),
  ArrowRight: () => (row.canOpen && !row.isOpen ? tree.toggle(at) : move(at + (row.isOpen ? 1 : 0))),
  ArrowLeft: () => (row.isOpen ? tree.toggle(at) : move(Math.max(tree.positionAbove(at), 0))),
  Enter: () => choose(at),
  " ": () => choose(at),
});
