/** Keeps what a panel knows while another tab is looked at: as long as the session's store is there. */

const states = new WeakMap();

/** The state of a panel, made by `make` the first time that it is asked for. */
export function stateOf(store, name, make) {
  if (!states.has(store)) states.set(store, new Map());
  const known = states.get(store);
  if (!known.has(name)) known.set(name, make(store));
  return known.get(name);
}
