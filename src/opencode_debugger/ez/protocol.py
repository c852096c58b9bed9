"""The EZ debugger protocol as data: every command and event with its fields, and when a command is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .shapes import Field


class State(StrEnum):
    """Of a session, as the client knows it from the events that it was sent."""

    NEW = "new"
    READY = "ready"
    RUNNING = "running"
    STOPPED = "stopped"
    ENDED = "ended"


MEANS = {
    State.NEW: "before `initialize`",
    State.READY: "initialized, the program has not been started",
    State.RUNNING: "the program runs",
    State.STOPPED: "the program is stopped",
    State.ENDED: "the program has ended",
}
ANY = frozenset(State)
SET_UP = frozenset({State.READY, State.RUNNING, State.STOPPED})
LIVE = frozenset({State.RUNNING, State.STOPPED})
STOPPED = frozenset({State.STOPPED})


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    means: str
    answers: tuple[str, ...]
    """events, one of which says what came of it; any command may be answered by `error`"""
    params: tuple[Field, ...] = ()
    states: frozenset[State] = STOPPED
    said: str = ""
    """in "Cannot …" """
    capability: str = ""
    """of an extension: how a debugger announces it"""

    @property
    def extension(self) -> bool:
        return bool(self.capability)


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    means: str
    data: tuple[Field, ...] = ()
    extension: bool = False


# What several messages have.

FILE = Field("file", "string", "path of a source file", unless="function")
LINE = Field("line", "integer", "line, from 1", least=1, unless="function")
FUNCTION = Field("function", "string", "name of a function, instead of file and line", False, True)
FRAME = Field("frameIndex", "integer", "which frame of the stack, 0 if left out", False, least=0)
THREAD = Field("threadId", "integer", "which thread; the one that stopped if left out", False, True)
COLUMN = Field("column", "integer", "column, from 1; 1 where it is not known", least=1)

RECORDS: dict[str, tuple[Field, ...]] = {
    "location": (
        Field("file", "string", "path of the source file"),
        Field("line", "integer", "line, from 1", least=0),
        COLUMN,
    ),
    "variable": (
        Field("name", "string", "its name"),
        Field("value", "string", "its value, always as text"),
        Field("type", "string", "its type"),
    ),
    "frame": (
        Field("index", "integer", "0 for the innermost", least=0),
        Field("function", "string", "name of the function"),
        Field("file", "string", "path of the source file"),
        Field("line", "integer", "line, from 1", least=0),
        COLUMN,
    ),
    "thread": (
        Field("id", "integer", "to name it in commands"),
        Field("name", "string", "its name"),
        Field("state", "string", "what it does", values=("stopped", "running")),
        Field("current", "boolean", "whether commands that name no thread mean this one"),
    ),
    "watch": (
        Field("id", "integer", "to remove it"),
        Field("expression", "string", "what is watched"),
        Field("value", "string", "its value, while the program is stopped", False),
        Field("type", "string", "its type", False),
        Field("error", "string", "why it has no value", False),
    ),
}

CAPABILITIES: dict[str, str] = {
    "conditionalBreakpoints": "`condition` of `setBreakpoint`",
    "hitConditionalBreakpoints": "`hitCondition` of `setBreakpoint`",
    "logBreakpoints": "`logMessage` of `setBreakpoint`",
    "functionBreakpoints": "`function` of `setBreakpoint` and `clearBreakpoint`",
    "exceptionBreakpoints": "`setExceptionBreakpoints`, and stops with the reason `exception`",
    "dataBreakpoints": "`setDataBreakpoint`, `clearDataBreakpoint`",
    "watches": "`addWatch`, `removeWatch`, `getWatches`",
    "setVariable": "`setVariable`",
    "threads": "`getThreads`, and `threadId` of other commands",
    "pause": "`pause`",
    "input": "`input`, and the event `inputRequested`",
    "reverse": "`record`, `stepBack`, `reverseContinue`",
}
"""Extensions by the names under which `initialized` announces them."""

_STEP = ("stopped", "exited")


def _step(name: str, means: str) -> Command:
    return Command(name, means, _STEP, (THREAD,), said="step")


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "initialize",
            "Say which program is to be debugged.",
            ("initialized",),
            (
                Field("file", "string", "path of the program"),
                Field("workingDir", "string", "folder in which it runs; the debugger's own if left out", False),
                Field("args", "string[]", "its arguments", False, True),
                Field("capabilities", "string[]", "which extensions the client knows; may be empty", False, True),
            ),
            frozenset({State.NEW, State.READY}),
            "initialize",
        ),
        Command(
            "start",
            "Start the program, or let it go on.",
            ("started",),
            (
                Field(
                    "stopOnEntry",
                    "boolean",
                    "stop at its first line; if left out, only when there is no breakpoint",
                    False,
                    True,
                ),
            ),
            frozenset({State.READY, State.STOPPED}),
            "start",
        ),
        _step("stepInto", "Run the next statement, into functions that it calls."),
        _step("stepOver", "Run the next statement, over functions that it calls."),
        _step("stepOut", "Run until the current function has returned."),
        Command("continue", "Run until the next breakpoint or the end of the program.", _STEP, said="continue"),
        Command(
            "setBreakpoint",
            "Set a breakpoint, or change the one at the same place.",
            ("breakpointSet",),
            (
                FILE,
                LINE,
                Field("condition", "string", "stop only where this expression is true", False, True),
                Field("hitCondition", "string", "stop only at some hits: `5`, `>=5`, `%5`, …", False, True),
                Field("logMessage", "string", "print this, with {expressions}, instead of stopping", False, True),
                FUNCTION,
            ),
            SET_UP,
            "set a breakpoint",
        ),
        Command(
            "clearBreakpoint",
            "Remove a breakpoint.",
            ("breakpointCleared",),
            (FILE, LINE, FUNCTION),
            SET_UP,
            "clear a breakpoint",
        ),
        Command(
            "getVariables", "Ask for the variables of a frame.", ("variables",), (FRAME, THREAD), said="get variables"
        ),
        Command("getStackTrace", "Ask for the call stack.", ("stackTrace",), (THREAD,), said="get the stack trace"),
        Command(
            "evaluate",
            "Evaluate an expression in a frame.",
            ("evaluateResult",),
            (Field("expression", "string", "in the program's language"), FRAME, THREAD),
            said="evaluate",
        ),
        Command("terminate", "End the program and the session.", ("terminated",), (), ANY, "terminate"),
        # Not in the document.
        Command(
            "pause",
            "Stop a program that runs.",
            ("stopped",),
            (THREAD,),
            frozenset({State.RUNNING}),
            "pause",
            "pause",
        ),
        Command(
            "input",
            "Send text to the program's standard input.",
            ("inputAccepted",),
            (
                Field("text", "string", "as it is: a line ends with its newline", False),
                Field("eof", "boolean", "no more will come", False),
            ),
            LIVE,
            "send input",
            "input",
        ),
        Command("getThreads", "Ask for the threads.", ("threads",), (), LIVE, "list threads", "threads"),
        Command(
            "setVariable",
            "Give a variable a new value.",
            ("variableUpdate",),
            (
                Field("name", "string", "a variable, or any expression that can be assigned to"),
                Field("value", "string", "an expression in the program's language"),
                FRAME,
                THREAD,
            ),
            STOPPED,
            "set a variable",
            "setVariable",
        ),
        Command(
            "setExceptionBreakpoints",
            "Say on which exceptions to stop; before that, on those that nobody catches.",
            ("exceptionBreakpointsSet",),
            (
                Field(
                    "filters", "string[]", "which; none if it is empty", values=("raised", "uncaught", "userUnhandled")
                ),
            ),
            SET_UP,
            "set exception breakpoints",
            "exceptionBreakpoints",
        ),
        Command(
            "setDataBreakpoint",
            "Stop when a value changes, or is read.",
            ("dataBreakpointSet",),
            (
                Field("expression", "string", "a variable, or a part of one"),
                Field("access", "string", "`write` if left out", False, values=("read", "write", "readWrite")),
                FRAME,
            ),
            STOPPED,
            "set a data breakpoint",
            "dataBreakpoints",
        ),
        Command(
            "clearDataBreakpoint",
            "Remove a data breakpoint.",
            ("dataBreakpointCleared",),
            (Field("id", "integer", "of `dataBreakpointSet`"),),
            LIVE,
            "clear a data breakpoint",
            "dataBreakpoints",
        ),
        Command(
            "addWatch",
            "Watch an expression: `watches` tells its value after each stop.",
            ("watchAdded",),
            (Field("expression", "string", "in the program's language"),),
            SET_UP,
            "add a watch",
            "watches",
        ),
        Command(
            "removeWatch",
            "Watch it no longer.",
            ("watchRemoved",),
            (Field("id", "integer", "of `watchAdded`"),),
            SET_UP,
            "remove a watch",
            "watches",
        ),
        Command(
            "getWatches",
            "Ask for the values of all watches.",
            ("watches",),
            (FRAME,),
            SET_UP,
            "get watches",
            "watches",
        ),
        Command(
            "record",
            "Record from now on what the program does, to be able to go back, or stop recording.",
            ("recording",),
            (Field("enabled", "boolean", "true if left out", False),),
            STOPPED,
            "record",
            "reverse",
        ),
        Command("stepBack", "Go back one line.", _STEP, (THREAD,), STOPPED, "step back", "reverse"),
        Command(
            "reverseContinue",
            "Go back to the last breakpoint, or to where recording began.",
            _STEP,
            (),
            STOPPED,
            "go back",
            "reverse",
        ),
    )
}

LOCATION = Field("location", "location", "where")

EVENTS: dict[str, Event] = {
    event.name: event
    for event in (
        Event(
            "initialized",
            "The session is set up.",
            (
                Field("file", "string", "as `initialize` had it"),
                Field("capabilities", "string[]", "which extensions there are", False, True),
            ),
        ),
        Event("started", "The program has been started, or goes on."),
        Event(
            "stopped",
            "The program has stopped.",
            (
                Field(
                    "reason",
                    "string",
                    "why",
                    values=("step", "breakpoint", "entry"),
                    more_values=("pause", "exception", "dataBreakpoint"),
                ),
                LOCATION,
                Field("breakpointId", "integer", "which breakpoint, if it was one", False),
                Field("threadId", "integer", "which thread", False, True),
                Field("text", "string", "what else there is to say: the exception, the change of a value", False, True),
                Field("dataBreakpointId", "integer", "which data breakpoint, if it was one", False, True),
            ),
        ),
        Event(
            "output",
            "The program has written something.",
            (
                Field(
                    "category",
                    "string",
                    "where to; `console` has what log breakpoints print",
                    values=("stdout", "stderr"),
                    more_values=("console",),
                ),
                Field("text", "string", "what, newlines included"),
            ),
        ),
        Event(
            "error",
            "A command could not be carried out (`command`), or the program failed (`location`).",
            (
                Field("message", "string", "what happened, and what to do"),
                Field("location", "location", "where, of an error in the program", False),
                Field("command", "string", "the command that failed", False),
            ),
        ),
        Event(
            "variableUpdate",
            "A variable has another value than at the stop before.",
            (
                *RECORDS["variable"],
                Field("frameIndex", "integer", "the frame that it belongs to", least=0),
            ),
        ),
        Event(
            "variables",
            "The variables of a frame.",
            (
                Field("frameIndex", "integer", "which frame", least=0),
                Field("variables", "variable[]", "all of them"),
            ),
        ),
        Event("stackTrace", "The call stack.", (Field("frames", "frame[]", "the innermost first"),)),
        Event(
            "evaluateResult",
            "The value of an expression.",
            (
                Field("expression", "string", "as it was sent"),
                Field("result", "string", "its value, always as text"),
                Field("type", "string", "its type"),
            ),
        ),
        Event(
            "breakpointSet",
            "A breakpoint is set.",
            (
                Field("file", "string", "as it was sent; of a function, its own, if that is known", unless="function"),
                Field("line", "integer", "line, from 1; of a function, its first, if that is known", unless="function"),
                Field("id", "integer", "its number, which no other breakpoint has"),
                FUNCTION,
            ),
        ),
        Event(
            "breakpointCleared",
            "A breakpoint is gone.",
            (
                Field("file", "string", "as it was sent", unless="function"),
                Field("line", "integer", "line, from 1", unless="function"),
                FUNCTION,
            ),
        ),
        Event(
            "exited",
            "The program has ended.",
            (Field("exitCode", "integer", "its exit code; of a program that a signal ended, minus its number"),),
        ),
        Event("terminated", "The session has ended."),
        # Not in the document.
        Event("inputAccepted", "The text is on its way.", (Field("bytes", "integer", "how many"),), True),
        Event(
            "inputRequested",
            "The program waits for its standard input.",
            (Field("prompt", "string", "what it wrote last"),),
            True,
        ),
        Event("threads", "The threads.", (Field("threads", "thread[]", "all of them"),), True),
        Event(
            "exceptionBreakpointsSet",
            "What it stops on from now on.",
            (Field("filters", "string[]", "as they were sent"),),
            True,
        ),
        Event(
            "dataBreakpointSet",
            "A value is watched.",
            (
                Field("id", "integer", "its number"),
                Field("expression", "string", "as it was sent"),
                Field("access", "string", "read, write or readWrite"),
            ),
            True,
        ),
        Event(
            "dataBreakpointCleared",
            "A value is watched no longer: on request, or because it has gone.",
            (Field("id", "integer", "its number"), Field("expression", "string", "as it was sent")),
            True,
        ),
        Event("watchAdded", "An expression is watched.", RECORDS["watch"], True),
        Event("watchRemoved", "It is watched no longer.", (Field("id", "integer", "its number"),), True),
        Event("watches", "All watches, after each stop too.", (Field("watches", "watch[]", "all of them"),), True),
        Event("recording", "Whether it records.", (Field("enabled", "boolean", "whether it does"),), True),
    )
}
