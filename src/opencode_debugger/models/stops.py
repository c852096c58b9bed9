"""Answers of everything that makes the program run: the stop report."""

from __future__ import annotations

from .documented import Described, doc
from .inspection import Frame, Variable
from .sessions import ExceptionInfo, Location, Program, Status, WaitingForInput
from .watches import WatchValue


class ReturnValue(Described):
    type: str | None = doc("Type of the value.", "list")
    value: str | None = doc("The value.", "[1, 2, 3]")
    function: str | None = doc("Function that returned it.", "process_data")
    yielded: bool | None = doc("True if a generator yielded it.", True)


class SourceLine(Described):
    line: int = doc("Line (1-indexed).", 42, ...)
    text: str = doc("What is written there.", "    total += item", ...)


class Change(Described):
    name: str = doc("Variable that changed.", "total", ...)
    old: str | None = doc("Its value before; null if it is new.", "3")
    new: str | None = doc("Its value now.", "7")


class Written(Described):
    category: str = doc("stdout, stderr or console.", "stdout", ...)
    output: str = doc("What was written.", "Processing...\n", ...)


class Omission(Described):
    what: str = doc("What was left out.", "3 more locals", ...)
    get: str = doc("The call that gets it.", "GET /sessions/{id}/frames/0/variables", ...)


class StopReport(Described):
    """Where the program is now and what an agent needs to know there."""

    session_id: str | None = doc("Identifier of the session.", "sess_a1b2c3d4")
    status: Status = doc("State at this moment.", "paused", ...)
    stop_reason: str | None = doc("Why it is paused.", "step")
    current_location: Location | None = doc("Where it is paused.")
    frame_id: int | None = doc(
        "If it stopped in a library: the top frame of the program's own code. current_location, source and locals are "
        "of this frame, and what is asked without a frame_id.",
        2,
    )
    top_location: Location | None = doc("Where it stopped in the library; `GET report?frame=top` shows that.")
    thread_id: int | None = doc("Thread that stopped.", 1)
    timed_out: bool | None = doc("True when the wait ended before the program stopped.", True)
    waiting_for_input: WaitingForInput | None = doc(
        "When the running program waits for its stdin: that ended the wait."
    )
    paused_children: list[str] | None = doc(
        "Of a running program: sessions of children that stand at a stop. It may be waiting for them."
    )
    child_report: StopReport | None = doc(
        "With paused_children, of a call that waited: the report of the first, within the same fields and budget."
    )
    message: str | None = doc(
        "More about a wait that ended too early, or about a thread that runs while others are halted."
    )
    note: str | None = doc("More about the stop, such as a condition that raised.")
    reason: str | None = doc("How the program ended.", "exited")
    exit_code: int | None = doc("Exit code of a program that ended.", 0)
    signal: str | None = doc("Signal that killed it.", "SIGKILL")
    exception: ExceptionInfo | None = doc("Exception it stopped on.")
    return_value: ReturnValue | None = doc("What the function returned that was just left, as by step-out.")
    returned: list[ReturnValue] | None = doc("What functions returned that a step ran, the last value of each.")
    native_frame: bool | None = doc("True after a step into a line that calls only native code.", True)
    native_functions: list[str] | None = doc("What it called that is not Python; it has run to its end.", ["math.sqrt"])
    hit_breakpoint_ids: list[str] | None = doc("Breakpoints that were hit.", ["bp_1"])
    source: list[SourceLine] | None = doc("Source lines around the location.")
    locals: list[Variable] | None = doc("Local variables, within the budget.")
    changes: list[Change] | None = doc("Locals that changed since the last report, if that was in the same function.")
    watches: list[WatchValue] | None = doc("Watches with their values here.")
    stack: list[Frame] | None = doc("Top of the call stack.")
    output: list[Written] | None = doc("What the program wrote since the last report.")
    omitted: list[Omission] | None = doc("What was left out, and the call that gets it.")


class StepTarget(Described):
    id: int = doc("To give as target_id.", 0, ...)
    name: str = doc("Name of what is called.", "process_item", ...)
    label: str = doc("The call as it is written.", "process_item(items[0])", ...)
    line: int = doc("Its line.", 42)
    column: int = doc("Its column (1-indexed, in bytes).", 9)


class StepTargets(Described):
    frame_id: int = doc("Frame that was asked about.", 0, ...)
    line: int = doc("The line at which it is.", 42, ...)
    targets: list[StepTarget] = doc("The calls on it, in the order in which they are made.", None, ...)


class Stepped(StopReport):
    steps: int | None = doc("How many steps were made, if more than one was asked for.", 5)
    target: StepTarget | None = doc("The call that was to be stepped into.")
    target_reached: bool | None = doc("Whether the program is in it now.", True)


class SteppedUntil(StopReport):
    condition_met: bool = doc("Whether the expression is true now.", True, ...)
    steps: int | None = doc("How many steps were made.", 137)
    error: str | None = doc("What the expression raised.", "TypeError: unsupported operand type(s)")


class RanTo(StopReport):
    reached: bool = doc("Whether the program is at the line now.", True, ...)
    target: Location | None = doc("The line it was to run to.")


class Continued(StopReport):
    continued: bool | None = doc("True: execution was resumed.", True)


class PreviousRun(Described):
    exit_code: int | None = doc("Exit code of the program that ran before.", -15)
    signal: str | None = doc("Signal that ended it.", "SIGTERM")
    reason: str | None = doc("How it ended.", "restarted")


class Launched(StopReport):
    pid: int | None = doc("Process id of the program.", 12345)
    program: Program | None = doc("What was launched.")
    previous: PreviousRun | None = doc("How the program ended that ran in this session before, if one did.")


class Restarted(Launched):
    restarted: bool = doc("Always true.", True, ...)


class InputSent(StopReport):
    accepted: int = doc("Bytes that were sent.", 14, ...)
    pending: int | None = doc("Bytes sent so far that the program has not read yet; null if it cannot be told.", 0)
    eof: bool = doc("Whether the input ends with them.", False, ...)


class Attached(StopReport):
    attached: bool = doc("Always true.", True, ...)
    pid: int | None = doc("Process id of the program.", 12345)
    program: Program | None = doc("What was attached to.")
    host: str | None = doc("Where debugpy listens.", "localhost")
    port: int | None = doc("Port on which debugpy listens.", 5678)
