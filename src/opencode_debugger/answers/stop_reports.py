"""Answers of everything that makes the program run: the stop report."""

from __future__ import annotations

from typing import Annotated

from .breakpoints import Breakpoint
from .inspection import Frame, Variable, WatchValue
from .sessions import ExceptionInfo, Location, Past, Program, RestoredBreakpoints, Status, WaitingForInput
from .shape import UNSET, Answer, Maybe, said


class ReturnValue(Answer):
    type: Annotated[str | None, said("Type of the value.", "list")]
    value: Annotated[str, said("The value.", "[1, 2, 3]")]
    function: Annotated[str | None, said("Function that returned it.", "process_data")]
    yielded: Annotated[Maybe[bool], said("True if a generator yielded it.", True)] = UNSET


class SourceLine(Answer):
    line: Annotated[int, said("Line (1-indexed).", 42)]
    text: Annotated[str, said("What is written there.", "    total += item")]


class Change(Answer):
    name: Annotated[str, said("Variable that changed.", "total")]
    old: Annotated[str | None, said("Its value before; null if it is new.", "3")]
    new: Annotated[str | None, said("Its value now.", "7")]


class Written(Answer):
    category: Annotated[str, said("stdout, stderr or console.", "stdout")]
    output: Annotated[str, said("What was written.", "Processing...\n")]


class Omission(Answer):
    what: Annotated[str, said("What was left out.", "3 more locals")]
    get: Annotated[str, said("The call that gets it.", "GET /sessions/{id}/frames/0/variables")]


class StopReport(Answer):
    """Where the program is now and what an agent needs to know there."""

    session_id: Annotated[Maybe[str], said("Identifier of the session.", "sess_a1b2c3d4")] = UNSET
    status: Annotated[Status, said("State at this moment.", "paused")]
    past: Past = UNSET
    stop_reason: Annotated[Maybe[str], said("Why it is paused.", "step")] = UNSET
    current_location: Annotated[Maybe[Location | None], said("Where it is paused.")] = UNSET
    frame_id: Annotated[Maybe[int], said(
        "If it stopped in a library: the top frame of the program's own code. current_location, source and locals "
        "are of this frame, and what is asked without a frame_id.", 2)] = UNSET
    top_location: Annotated[Maybe[Location], said(
        "Where it stopped in the library; `GET report?frame=top` shows that.")] = UNSET
    thread_id: Annotated[Maybe[int], said("Thread that stopped.", 1)] = UNSET
    timed_out: Annotated[Maybe[bool], said("True when the wait ended before the program stopped.", True)] = UNSET
    waiting_for_input: Annotated[Maybe[WaitingForInput], said(
        "When the running program waits for its stdin: that ended the wait.")] = UNSET
    paused_children: Annotated[Maybe[list[str]], said(
        "Of a running program: sessions of children that stand at a stop. It may be waiting for them.")] = UNSET
    child_report: Annotated[Maybe[StopReport], said(
        "With paused_children, of a call that waited: the report of the first, within the same fields and budget."
    )] = UNSET
    link: Annotated[Maybe[str], said(
        "With `link` (or the setting page_links): the session on the relay's page, for people.",
        "http://127.0.0.1:5679/#/sessions/sess_a1b2c3d4")] = UNSET
    message: Annotated[Maybe[str], said(
        "More about a wait that ended too early, or about a thread that runs while others are halted.")] = UNSET
    note: Annotated[Maybe[str], said("More about the stop, such as a condition that raised.")] = UNSET
    reason: Annotated[Maybe[str], said("How the program ended.", "exited")] = UNSET
    exit_code: Annotated[Maybe[int | None], said("Exit code of a program that ended.", 0)] = UNSET
    signal: Annotated[Maybe[str], said("Signal that killed it.", "SIGKILL")] = UNSET
    exception: Annotated[Maybe[ExceptionInfo], said("Exception it stopped on.")] = UNSET
    return_value: Annotated[Maybe[ReturnValue], said(
        "What the function returned that was just left, as by step-out.")] = UNSET
    returned: Annotated[Maybe[list[ReturnValue]], said(
        "What functions returned that a step ran, the last value of each.")] = UNSET
    native_frame: Annotated[Maybe[bool], said(
        "True after a step into a line that calls only native code.", True)] = UNSET
    native_functions: Annotated[Maybe[list[str]], said(
        "What it called that is not Python; it has run to its end.", ["math.sqrt"])] = UNSET
    hit_breakpoint_ids: Annotated[Maybe[list[str]], said("Breakpoints that were hit.", ["bp_1"])] = UNSET
    source: Annotated[Maybe[list[SourceLine]], said("Source lines around the location.")] = UNSET
    locals: Annotated[Maybe[list[Variable]], said("Local variables, within the budget.")] = UNSET
    changes: Annotated[Maybe[list[Change]], said(
        "Locals that changed since the last report, if that was in the same function.")] = UNSET
    same_function: Annotated[Maybe[bool], said(
        "True if the last report of the thread was in this function, too, called from the same place, and had no local "
        "that is gone: changes says what is different since then. Only in reports without `fields`.", True)] = UNSET
    watches: Annotated[Maybe[list[WatchValue]], said("Watches with their values here.")] = UNSET
    stack: Annotated[Maybe[list[Frame]], said("Top of the call stack.")] = UNSET
    callers: Annotated[Maybe[list[Frame]], said(
        "Frames of the program's own code below those of a library, as far as stack does not have them.")] = UNSET
    output: Annotated[Maybe[list[Written]], said("What the program wrote since the last report.")] = UNSET
    omitted: Annotated[Maybe[list[Omission]], said("What was left out, and the call that gets it.")] = UNSET


class StepTarget(Answer):
    id: Annotated[int, said("To give as target_id.", 0)]
    name: Annotated[str, said("Name of what is called.", "process_item")]
    label: Annotated[str, said("The call as it is written.", "process_item(items[0])")]
    line: Annotated[int, said("Its line.", 42)]
    column: Annotated[int, said("Its column (1-indexed, in bytes).", 9)]


class StepTargets(Answer):
    frame_id: Annotated[int, said("Frame that was asked about.", 0)]
    line: Annotated[int, said("The line at which it is.", 42)]
    targets: Annotated[list[StepTarget], said("The calls on it, in the order in which they are made.")]


class Stepped(StopReport):
    steps: Annotated[Maybe[int | None], said("How many steps were made, if more than one was asked for.", 5)] = UNSET
    target: Annotated[Maybe[StepTarget], said("The call that was to be stepped into.")] = UNSET
    target_reached: Annotated[Maybe[bool], said("Whether the program is in it now.", True)] = UNSET


class SteppedUntil(StopReport):
    condition_met: Annotated[bool, said("Whether the expression is true now.", True)]
    steps: Annotated[int | None, said("How many steps were made.", 137)]
    error: Annotated[Maybe[str], said("What the expression raised.", "TypeError: unsupported operand type(s)")] = UNSET


class TargetLine(Answer):
    path: Annotated[str, said("Source file.", "/home/dev/myproject/main.py")]
    line: Annotated[int, said("Line (1-indexed).", 42)]


class RanTo(StopReport):
    reached: Annotated[bool, said("Whether the program is at the line now.", True)]
    target: Annotated[TargetLine, said("The line it was to run to.")]


class Continued(StopReport):
    continued: Annotated[bool, said("True: execution was resumed.", True)]


class PreviousRun(Answer):
    exit_code: Annotated[int | None, said("Exit code of the program that ran before.", -15)]
    signal: Annotated[str | None, said("Signal that ended it.", "SIGTERM")]
    reason: Annotated[str | None, said("How it ended.", "restarted")]


ProcessId = Annotated[int | None, said("Process id of the program.", 12345)]
LaunchedProgram = Annotated[Maybe[Program], said("What was launched; left out if the budget is too small.")]
Warnings = Annotated[Maybe[list[str]], said("What is to be known about it, such as missing debug symbols.")]


class Launched(StopReport):
    pid: ProcessId
    program: LaunchedProgram = UNSET
    warnings: Warnings = UNSET
    previous: Annotated[Maybe[PreviousRun], said(
        "How the program ended that ran in this session before, if one did.")] = UNSET


class Restarted(StopReport):
    pid: ProcessId
    program: LaunchedProgram = UNSET
    warnings: Warnings = UNSET
    previous: Annotated[PreviousRun, said("How the program ended that ran before.")]
    restarted: Annotated[bool, said("Always true.", True)]


class InputSent(StopReport):
    accepted: Annotated[int, said("Bytes that were sent.", 14)]
    pending: Annotated[int | None, said(
        "Bytes sent so far that the program has not read yet; null if it cannot be told.", 0)]
    eof: Annotated[bool, said("Whether the input ends with them.", False)]


IsAttached = Annotated[bool, said("Always true.", True)]
AttachedProgram = Annotated[Program | None, said("What was attached to.")]
DebugpyHost = Annotated[Maybe[str], said("Where debugpy listens.", "localhost")]
DebugpyPort = Annotated[Maybe[int], said("Port on which debugpy listens.", 5678)]


class Attached(StopReport):
    attached: IsAttached
    pid: ProcessId
    program: AttachedProgram
    warnings: Warnings = UNSET
    host: DebugpyHost = UNSET
    port: DebugpyPort = UNSET


Unverified = Annotated[Maybe[list[Breakpoint]], said(
    "Those breakpoints of the request that are not verified, with why; left out if all are.")]
Restored = Annotated[Maybe[RestoredBreakpoints], said(
    "Breakpoints of earlier sessions of the project that were set again, if any were.")]


class ProgramRun(StopReport):
    pid: ProcessId
    program: LaunchedProgram = UNSET
    warnings: Warnings = UNSET
    breakpoints: Unverified = UNSET
    restored_breakpoints: Restored = UNSET


class ProgramAttached(StopReport):
    attached: IsAttached
    pid: ProcessId
    program: AttachedProgram
    warnings: Warnings = UNSET
    host: DebugpyHost = UNSET
    port: DebugpyPort = UNSET
    breakpoints: Unverified = UNSET
    restored_breakpoints: Restored = UNSET
