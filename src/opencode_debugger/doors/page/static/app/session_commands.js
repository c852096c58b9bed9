/** What a person can tell the program of a session: run, pause, step, end; each is one call. */
import { post } from "./relay.js";
import { attempt } from "./toasts.js";

const NO_WAIT = { wait: false };
/** What a move in the past answers with: the rest is asked for when its event comes. */
const PLACE_ONLY = { fields: ["location"] };

/** What was asked for last while another command was on its way, by its store. */
const wishes = new WeakMap();

/** Send a command unless another is on its way; what comes of it is told by the session's events. */
async function send(store, name, body = NO_WAIT) {
  if (store.pending.value) return;
  store.pending.value = name;
  const number = store.stopNumber.value;
  try {
    await attempt(post(`${store.path}/${name}`, body));
  } finally {
    store.pending.value = null;
    const wish = wishes.get(store);
    wishes.delete(store);
    // An event may be here before the answer, and somebody quick has seen it.
    if (wish && number !== store.stopNumber.value) wish();
  }
}

const ofThread = (store) => {
  const { threadId } = store.selected.value ?? {};
  return threadId === undefined ? NO_WAIT : { ...NO_WAIT, thread_id: threadId };
};

const ofInstruction = (store) => ({ granularity: "instruction", ...ofThread(store) });

const isHalted = (store) => store.isHalted.value;
const isPaused = (store) => store.status.value === "paused" && !store.past.value;
const isInPast = (store) => store.past.value !== null;
/** Whether a recording can be gone back in: what the program does meanwhile would be another story. */
export const canGoBack = (store) => ["paused", "terminated"].includes(store.status.value) && Boolean(store.recording.value?.recordings);
const hasEnded = (store) => ["terminated", "failed", "created"].includes(store.status.value);
const isLive = (store) => ["running", "launching", "paused"].includes(store.status.value);

/** Each command with its key if it has one, when it can be given, and what it does. */
export const commands = {
  continue: { title: "Continue", keys: "F5", when: isHalted, run: (store) => send(store, "continue") },
  pause: { title: "Pause", keys: "F6", when: (store) => store.status.value === "running", run: (store) => send(store, "pause") },
  over: { title: "Step over", keys: "F10", when: isHalted, run: (store) => send(store, "step-over", ofThread(store)) },
  into: { title: "Step into", keys: "F11", when: isHalted, run: (store) => send(store, "step-into", ofThread(store)) },
  out: { title: "Step out", keys: "Shift+F11", when: isHalted, run: (store) => send(store, "step-out", ofThread(store)) },
  instructionOver: { title: "Step over instruction", when: isPaused, run: (store) => send(store, "step-over", ofInstruction(store)) },
  instructionInto: { title: "Step into instruction", when: isPaused, run: (store) => send(store, "step-into", ofInstruction(store)) },
  stepBack: { title: "Step back", keys: "Ctrl+Shift+F10", when: canGoBack, run: (store) => send(store, "step-back", PLACE_ONLY) },
  reverse: { title: "Continue backwards", keys: "Ctrl+Shift+F8", when: canGoBack,
    run: (store) => send(store, "reverse-continue", PLACE_ONLY) },
  now: { title: "Back to now", when: isInPast, run: (store) => send(store, "now", PLACE_ONLY) },
  launch: { title: "Launch", keys: "F5", when: hasEnded, run: (store) => launch(store) },
  restart: { title: "Restart", keys: "Ctrl+Shift+F5", when: (store) => canRestart(store) && isLive(store),
    run: (store) => send(store, "restart") },
  stop: { title: "Stop the program", keys: "Shift+F5", when: isLive, run: (store) => send(store, "terminate", {}) },
};

const canRestart = (store) => !store.session.value?.attached && !store.session.value?.parent_session_id;

/** Start the program: again, or what a clone came with; a session that knows none has the person asked. */
async function launch(store) {
  if (store.status.value !== "created") return send(store, "restart");
  const document = await attempt(store.get("export"));
  if (document && !document.launch) {
    store.dialog.value = "launch";
    return undefined;
  }
  await send(store, "launch");
  return store.refreshSoon("session");
}

/** Let the program run to a line, once. */
export const runTo = (store, path, line) => whenFree(store, () => send(store, "run-to", { file: path, line, wait: false }));

/** Stand at a moment of a recording, such as `#12`. */
export const goTo = (store, moment, recording) =>
  whenFree(store, () => send(store, "goto", { moment, recording, ...PLACE_ONLY }));

/** Do something now, or when the answer to the command before it is there. */
function whenFree(store, run) {
  if (store.pending.value) wishes.set(store, run);
  else run();
}

/** Do a command if it can be done now; tell whether it could. */
export function perform(store, name) {
  const command = commands[name];
  if (store.gone.value || !command.when(store)) return false;
  if (store.pending.value) wishes.set(store, () => perform(store, name));
  else command.run(store);
  return true;
}
