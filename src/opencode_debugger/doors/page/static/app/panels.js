/**
 * The panels of a session's page, in their order.
 *
 * `dock` is where a panel is on a wide screen: left, right (sections above each other) or bottom (tabs). `when` says
 * whether a session has it at all; `badge` is a short text beside the title.
 */
import { CallStack } from "./call_stack.js";
import { BreakpointsTable } from "./breakpoints_table.js";
import { VariablesTree } from "./variables_tree.js";
import { WatchesPanel } from "./watches.js";
import { ExceptionPanel, hasException } from "./exception_panel.js";
import { OutputPanel } from "./output_panel.js";
import { ConsolePanel } from "./console_panel.js";
import { TimelinePanel } from "./timeline_panel.js";
import { MemoryPanel, hasMemory } from "./memory_panel.js";
import { DisassemblyPanel, hasDisassembly } from "./disassembly_panel.js";

export const panels = [
  { name: "stack", title: "Call stack", dock: "left", component: CallStack },
  { name: "breakpoints", title: "Breakpoints", dock: "left", component: BreakpointsTable,
    badge: (store) => store.breakpoints.all.value.length || null },
  { name: "variables", title: "Variables", dock: "right", component: VariablesTree },
  { name: "watches", title: "Watches", dock: "right", component: WatchesPanel },
  { name: "exception", title: "Exception", dock: "right", component: ExceptionPanel, when: hasException },
  { name: "output", title: "Output", dock: "bottom", component: OutputPanel,
    badge: (store) => (store.waitingForInput.value ? "waits for input" : null) },
  { name: "console", title: "Console", dock: "bottom", component: ConsolePanel },
  { name: "timeline", title: "Timeline", dock: "bottom", component: TimelinePanel },
  { name: "memory", title: "Memory", dock: "bottom", component: MemoryPanel, when: hasMemory },
  { name: "disassembly", title: "Disassembly", dock: "bottom", component: DisassemblyPanel, when: hasDisassembly },
];
