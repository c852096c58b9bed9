/** The keys that people know from other debuggers. */
import { useEffect } from "./framework.js";
import { perform } from "./session_commands.js";
import { sourceActions } from "./source_actions.js";

const nameOf = (event) => [
  (event.ctrlKey || event.metaKey) && "Ctrl", event.altKey && "Alt", event.shiftKey && "Shift",
  event.key.length === 1 ? event.key.toLowerCase() : event.key,
].filter(Boolean).join("+");

/** Key -> what it does; one that answers false leaves the key to the browser. */
const keysOf = (store) => ({
  "F5": () => perform(store, "continue") || perform(store, "launch") || true,
  "F6": () => perform(store, "pause") || true,
  "F8": () => perform(store, "continue") || perform(store, "pause") || true,
  "F10": () => perform(store, "over") || true,
  "Ctrl+Shift+F10": () => perform(store, "stepBack"),
  "Ctrl+Shift+F8": () => perform(store, "reverse"),
  "F11": () => perform(store, "into") || true,
  "Shift+F11": () => perform(store, "out") || true,
  "Shift+F5": () => perform(store, "stop") || true,
  "Ctrl+Shift+F5": () => perform(store, "restart") || true,
  "F9": () => sourceActions.toggleBreakpoint?.() ?? false,
  "Ctrl+F10": () => sourceActions.runToCursor?.() ?? false,
  "Ctrl+p": () => openDialog(store, "file"),
  "Ctrl+g": () => sourceActions.goToLine?.() ?? false,
  "Ctrl+f": () => sourceActions.search?.() ?? false,
});

function openDialog(store, name) {
  store.dialog.value = name;
  return true;
}

export function useSessionKeys(store) {
  useEffect(() => {
    const keys = keysOf(store);
    const press = (event) => {
      if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (keys[nameOf(event)]?.() ?? false) event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [store]);
}
