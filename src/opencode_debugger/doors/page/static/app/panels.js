/**
 * The panels of a session's page, in their order.
 *
 * `dock` is where a panel is on a wide screen: left, right (sections above each other) or bottom (tabs). `when` says
 * whether a session has it at all; `badge` is a short text beside the title. What it shows is in session_parts.js.
 */
const offers = (store, feature) => Boolean(store.session.value?.debugger?.capabilities?.includes(feature));
export const hasException = (store) => Boolean(store.report.value?.exception) && store.isHalted.value;
/** Whether calls of the program are recorded, or can be; an opened file is a session that has recordings alone. */
const isRecordable = ({ session, recording }) =>
  session.value?.debugger?.adapter === "debugpy" || Boolean(recording.value?.recordings);

export const panels = [
  { name: "stack", title: "Call stack", dock: "left" },
  { name: "breakpoints", title: "Breakpoints", dock: "left",
    badge: (store) => store.breakpoints.all.value.length || null },
  { name: "variables", title: "Variables", dock: "right" },
  { name: "watches", title: "Watches", dock: "right" },
  { name: "exception", title: "Exception", dock: "right", when: hasException },
  { name: "output", title: "Output", dock: "bottom",
    badge: (store) => (store.waitingForInput.value ? "waits for input" : null) },
  { name: "console", title: "Console", dock: "bottom" },
  { name: "timeline", title: "Timeline", dock: "bottom" },
  { name: "recording", title: "Recording", dock: "bottom", when: isRecordable,
    badge: (store) => (store.recording.value?.recording ? "on" : null) },
  { name: "memory", title: "Memory", dock: "bottom", when: (store) => offers(store, "memory") },
  { name: "disassembly", title: "Disassembly", dock: "bottom", when: (store) => offers(store, "disassembly") },
];
