/** The parts of the page that a person looks at after the source: panels by their names, dialogs, the list of sessions. */
import { CallStack } from "./call_stack.js";
import { BreakpointsTable } from "./breakpoints_table.js";
import { VariablesTree } from "./variables_tree.js";
import { WatchesPanel } from "./watches.js";
import { ExceptionPanel } from "./exception_panel.js";
import { OutputPanel } from "./output_panel.js";
import { ConsolePanel } from "./console_panel.js";
import { TimelinePanel } from "./timeline_panel.js";
import { RecordingPanel } from "./recording_panel.js";
import { MemoryPanel } from "./memory_panel.js";
import { DisassemblyPanel } from "./disassembly_panel.js";
import { NewSession } from "./new_session.js";
import { GoToFile } from "./go_to_file.js";
import { SessionList } from "./session_list.js";

export const parts = {
  stack: CallStack,
  breakpoints: BreakpointsTable,
  variables: VariablesTree,
  watches: WatchesPanel,
  exception: ExceptionPanel,
  output: OutputPanel,
  console: ConsolePanel,
  timeline: TimelinePanel,
  recording: RecordingPanel,
  memory: MemoryPanel,
  disassembly: DisassemblyPanel,
  newSession: NewSession,
  goToFile: GoToFile,
  sessionList: SessionList,
};
