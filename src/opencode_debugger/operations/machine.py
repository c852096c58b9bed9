"""Native programs: memory, machine code, breakpoints on data, and going back."""

from .operation import FRAME, STATE, Operation, delete, get, post
from .scopes import READ, WRITE
from .states import LIVE, ONLY_PAUSED, STANDING

TAG = "Native"
GOING_BACK = ("THREAD_NOT_FOUND", "RECORDING_NOT_FOUND", "CALL_NOT_FOUND")

OPERATIONS = (
    Operation("read_memory", "Read memory",
        "Bytes of a paused native program, at an address or where an expression is.", by_session="memory.read_memory",
        scopes=(READ,), states=ONLY_PAUSED, does="read memory", takes="machine_access:MemoryQuery",
        answer="machine:Memory", errors=(*FRAME, "EVALUATE_ERROR"), routes=(get("memory", "readMemory"),)),
    Operation("write_memory", "Write memory", "Change bytes of a paused native program.",
        by_session="memory.write_memory", scopes=(WRITE,), states=ONLY_PAUSED, does="write memory",
        takes="machine_access:WriteMemoryRequest", answer="machine:MemoryWritten", errors=(*FRAME, "EVALUATE_ERROR"),
        routes=(post("memory", "writeMemory"),)),
    Operation("disassemble", "Disassemble",
        """Machine instructions where a frame is, at an address, or of a function. A step with `"granularity":
        "instruction"` makes one of them.""",
        by_session="memory.disassemble", scopes=(READ,), states=ONLY_PAUSED, takes="machine_access:DisassemblyQuery",
        answer="machine:Disassembly", errors=(*FRAME, "EVALUATE_ERROR"), routes=(get("disassembly", "disassemble"),)),
    Operation("set_data_breakpoint", "Set data breakpoint",
        """Stop when a value changes or is read (reason `data_breakpoint`). It ends with what it watches, such as a
        function's local variable, or with the program.""",
        by_session="data_breakpoints.set_data_breakpoint", scopes=(WRITE,), states=ONLY_PAUSED,
        does="set a data breakpoint", takes="machine_access:DataBreakpointRequest", answer="machine:DataBreakpointItem",
        errors=(*FRAME, "BREAKPOINT_INVALID_CONDITION"), routes=(post("data-breakpoints", "setDataBreakpoint"),)),
    Operation("list_data_breakpoints", "List data breakpoints", "Those that there are.",
        by_session="data_breakpoints.list_data_breakpoints", scopes=(READ,), answer="machine:DataBreakpointList",
        routes=(get("data-breakpoints", "listDataBreakpoints"),)),
    Operation("remove_data_breakpoints", "Remove all data breakpoints", "Remove all of them.",
        by_session="data_breakpoints.remove_data_breakpoints", scopes=(WRITE,), answer="machine:DataBreakpointsRemoved",
        optional_ids=("data_breakpoint_id",),
        routes=(
            delete("data-breakpoints", "clearDataBreakpoints"),
            delete("data-breakpoints/{data_breakpoint_id}", "removeDataBreakpoint", summary="Remove data breakpoint",
                errors=("BREAKPOINT_NOT_FOUND",), description="Remove one."),
        )),
    Operation("record", "Record",
        """Record what the program does from here on, or end that. Of a Python program, running or paused: every call of
        its own code, with arguments and result, and the lines of functions that are named. Of a native one, paused,
        with gdb: every instruction, so that it can be stepped back; it runs much slower then.""",
        by_session="recorder.record", scopes=(WRITE,), states=LIVE,
        takes="machine_access:RecordRequest", may_be_empty=True, answer="machine:Recording", errors=FRAME,
        routes=(post("record", "record"),)),
    Operation("recording", "Show recording",
        "Whether the program is recorded, how much of it is there, and what is not.",
        by_session="recorder.describe", scopes=(READ,), answer="machine:Recording",
        routes=(get("record", "describeRecording"),)),
    Operation("step_back", "Step back",
        """One line back in what was recorded: of a Python program, while it is paused or after its end, to the line
        before in the same function if its lines were recorded, else to the call, return or exception before. The
        session stands in the past then (`past`). Waits unless told otherwise.""",
        by_session="going_back.step_back", scopes=(WRITE,), states=STANDING, takes="machine_access:BackRequest",
        may_be_empty=True, answer="stop_reports:StopReport", outcome="Went back, and where it is now",
        errors=GOING_BACK, command="ocdb back", tool="debug_step kind=back",
        routes=(post("step-back", "stepBack", query="queries:WaitQuery"),)),
    Operation("reverse_continue", "Continue backwards",
        """Back to the breakpoint before, or to where the recording began; of a Python program with `name` to where
        that variable or attribute was given or changed last. Waits unless told otherwise.""",
        by_session="going_back.reverse_continue", scopes=(WRITE,), states=STANDING,
        takes="machine_access:ReverseRequest", may_be_empty=True, answer="stop_reports:StopReport",
        outcome="Went back, and where it is now", errors=GOING_BACK, command="ocdb reverse {name}",
        routes=(post("reverse-continue", "reverseContinue", query="queries:WaitQuery"),)),
    Operation("goto_moment", "Go to a moment",
        """Stand in the past of a recorded Python program: at a call (#12), at a line of it (#12:40), at its end
        (#12:end), or at any moment by its number. Stack, locals and output are as they were then, as far as they were
        recorded; the program itself stays where it is. Steps and continue move within the recording.""",
        by_session="going_back.goto_moment", scopes=(WRITE,), states=STANDING, does="go to a moment",
        takes="machine_access:GotoMomentRequest", answer="stop_reports:StopReport",
        outcome="Where the session stands now", errors=GOING_BACK, command="ocdb goto {moment}",
        routes=(post("goto", "gotoMoment"),)),
    Operation("return_to_now", "Return to the present",
        "Leave the past: the report is that of the program's last stop, or of its end.",
        by_session="going_back.return_to_now", scopes=(WRITE,), takes="machine_access:NowRequest",
        may_be_empty=True, answer="stop_reports:StopReport", outcome="Where the program is", errors=STATE,
        command="ocdb now", routes=(post("now", "returnToNow"),)),
)
