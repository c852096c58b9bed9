"""The EZ debugger protocol as data: every command and event with its fields, and when a command is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """State of a session, as the client knows it from the events that it was sent."""

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
class Field:
    name: str
    type: str
    """string, integer, boolean, or the name of a record; with [] behind it, a list of those"""
    means: str
    required: bool = True
    extension: bool = False
    """not in the document: a client that does not use extensions never sees it"""
    unless: str = ""
    """another field that takes its place"""
    values: tuple[str, ...] = ()
    more_values: tuple[str, ...] = ()
    """those that are extensions"""
    least: int | None = None


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


def optional(name: str, type: str, means: str, **more: Any) -> Field:
    return Field(name, type, means, required=False, **more)


def extra(name: str, type: str, means: str) -> Field:
    """Declare a field that the document does not have."""
    return Field(name, type, means, required=False, extension=True)


def text(name: str, means: str, **more: Any) -> Field:
    return Field(name, "string", means, **more)


def number(name: str, means: str, **more: Any) -> Field:
    return Field(name, "integer", means, **more)


def command(
    name: str, means: str, answers: str, *params: Field, states: frozenset[State] = STOPPED, **more: str
) -> Command:
    """Declare a command; `answers` are the names of events, with spaces between them."""
    return Command(name, means, tuple(answers.split()), params, states, **{"said": name, **more})


def event(name: str, means: str, *data: Field, extension: bool = False) -> Event:
    return Event(name, means, data, extension)


# One row a line, as far as it fits.
# fmt: off

FILE = text("file", "path of a source file", unless="function")
LINE = number("line", "line, from 1", least=1, unless="function")
FUNCTION = extra("function", "string", "name of a function, instead of file and line")
EXPRESSION = text("expression", "in the program's language")
EXPRESSION_SENT = text("expression", "as it was sent")
FRAME = optional("frameIndex", "integer", "which frame of the stack, 0 if left out", least=0)
THREAD = extra("threadId", "integer", "which thread; the one that stopped if left out")
COLUMN = number("column", "column, from 1; 1 where it is not known", least=1)
PLACE = (text("file", "path of the source file"), number("line", "line, from 1", least=0), COLUMN)
NUMBER = number("id", "its number")

RECORDS: dict[str, tuple[Field, ...]] = {
    "location": PLACE,
    "variable": (text("name", "its name"), text("value", "its value, always as text"), text("type", "its type")),
    "frame": (number("index", "0 for the innermost", least=0), text("function", "name of the function"), *PLACE),
    "thread": (
        number("id", "to name it in commands"),
        text("name", "its name"),
        text("state", "what it does", values=("stopped", "running")),
        Field("current", "boolean", "whether commands that name no thread mean this one"),
    ),
    "watch": (
        number("id", "to remove it"),
        text("expression", "what is watched"),
        optional("value", "string", "its value, while the program is stopped"),
        optional("type", "string", "its type"),
        optional("error", "string", "why it has no value"),
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

_STEP = "stopped exited"

_COMMANDS = (
    command("initialize", "Say which program is to be debugged.", "initialized",
        text("file", "path of the program"),
        optional("workingDir", "string", "folder in which it runs; the debugger's own if left out"),
        extra("args", "string[]", "its arguments"),
        extra("capabilities", "string[]", "which extensions the client knows; may be empty"),
        states=frozenset({State.NEW, State.READY})),
    command("start", "Start the program, or let it go on.", "started",
        extra("stopOnEntry", "boolean", "stop at its first line; if left out, only when there is no breakpoint"),
        states=frozenset({State.READY, State.STOPPED})),
    command("stepInto", "Run the next statement, into functions that it calls.", _STEP, THREAD, said="step"),
    command("stepOver", "Run the next statement, over functions that it calls.", _STEP, THREAD, said="step"),
    command("stepOut", "Run until the current function has returned.", _STEP, THREAD, said="step"),
    command("continue", "Run until the next breakpoint or the end of the program.", _STEP),
    command("setBreakpoint", "Set a breakpoint, or change the one at the same place.", "breakpointSet",
        FILE, LINE,
        extra("condition", "string", "stop only where this expression is true"),
        extra("hitCondition", "string", "stop only at some hits: `5`, `>=5`, `%5`, …"),
        extra("logMessage", "string", "print this, with {expressions}, instead of stopping"),
        FUNCTION, states=SET_UP, said="set a breakpoint"),
    command("clearBreakpoint", "Remove a breakpoint.", "breakpointCleared",
        FILE, LINE, FUNCTION, states=SET_UP, said="clear a breakpoint"),
    command("getVariables", "Ask for the variables of a frame.", "variables", FRAME, THREAD, said="get variables"),
    command("getStackTrace", "Ask for the call stack.", "stackTrace", THREAD, said="get the stack trace"),
    command("evaluate", "Evaluate an expression in a frame.", "evaluateResult", EXPRESSION, FRAME, THREAD),
    command("terminate", "End the program and the session.", "terminated", states=ANY),
    # Not in the document.
    command("pause", "Stop a program that runs.", "stopped", THREAD, states=LIVE - STOPPED, capability="pause"),
    command("input", "Send text to the program's standard input.", "inputAccepted",
        optional("text", "string", "as it is: a line ends with its newline"),
        optional("eof", "boolean", "no more will come"),
        states=LIVE, said="send input", capability="input"),
    command("getThreads", "Ask for the threads.", "threads", states=LIVE, said="list threads", capability="threads"),
    command("setVariable", "Give a variable a new value.", "variableUpdate",
        text("name", "a variable, or any expression that can be assigned to"),
        text("value", "an expression in the program's language"),
        FRAME, THREAD, said="set a variable", capability="setVariable"),
    command("setExceptionBreakpoints", "Say on which exceptions to stop; before that, on those that nobody catches.",
        "exceptionBreakpointsSet",
        Field("filters", "string[]", "which; none if it is empty", values=("raised", "uncaught", "userUnhandled")),
        states=SET_UP, said="set exception breakpoints", capability="exceptionBreakpoints"),
    command("setDataBreakpoint", "Stop when a value changes, or is read.", "dataBreakpointSet",
        text("expression", "a variable, or a part of one"),
        optional("access", "string", "`write` if left out", values=("read", "write", "readWrite")),
        FRAME, said="set a data breakpoint", capability="dataBreakpoints"),
    command("clearDataBreakpoint", "Remove a data breakpoint.", "dataBreakpointCleared",
        number("id", "of `dataBreakpointSet`"),
        states=LIVE, said="clear a data breakpoint", capability="dataBreakpoints"),
    command("addWatch", "Watch an expression: `watches` tells its value after each stop.", "watchAdded",
        EXPRESSION, states=SET_UP, said="add a watch", capability="watches"),
    command("removeWatch", "Watch it no longer.", "watchRemoved",
        number("id", "of `watchAdded`"), states=SET_UP, said="remove a watch", capability="watches"),
    command("getWatches", "Ask for the values of all watches.", "watches",
        FRAME, states=SET_UP, said="get watches", capability="watches"),
    command("record", "Record from now on what the program does, to be able to go back, or stop recording.",
        "recording", optional("enabled", "boolean", "true if left out"), capability="reverse"),
    command("stepBack", "Go back one line.", _STEP, THREAD, said="step back", capability="reverse"),
    command("reverseContinue", "Go back to the last breakpoint, or to where recording began.", _STEP,
        said="go back", capability="reverse"),
)
COMMANDS = {each.name: each for each in _COMMANDS}

_EVENTS = (
    event("initialized", "The session is set up.",
        text("file", "as `initialize` had it"), extra("capabilities", "string[]", "which extensions there are")),
    event("started", "The program has been started, or goes on."),
    event("stopped", "The program has stopped.",
        text("reason", "why",
            values=("step", "breakpoint", "entry"), more_values=("pause", "exception", "dataBreakpoint")),
        Field("location", "location", "where"),
        optional("breakpointId", "integer", "which breakpoint, if it was one"),
        extra("threadId", "integer", "which thread"),
        extra("text", "string", "what else there is to say: the exception, the change of a value"),
        extra("dataBreakpointId", "integer", "which data breakpoint, if it was one")),
    event("output", "The program has written something.",
        text("category", "where to; `console` has what log breakpoints print",
            values=("stdout", "stderr"), more_values=("console",)),
        text("text", "what, newlines included")),
    event("error", "A command could not be carried out (`command`), or the program failed (`location`).",
        text("message", "what happened, and what to do"),
        optional("location", "location", "where, of an error in the program"),
        optional("command", "string", "the command that failed")),
    event("variableUpdate", "A variable has another value than at the stop before.",
        *RECORDS["variable"], number("frameIndex", "the frame that it belongs to", least=0)),
    event("variables", "The variables of a frame.",
        number("frameIndex", "which frame", least=0), Field("variables", "variable[]", "all of them")),
    event("stackTrace", "The call stack.", Field("frames", "frame[]", "the innermost first")),
    event("evaluateResult", "The value of an expression.",
        EXPRESSION_SENT, text("result", "its value, always as text"), text("type", "its type")),
    event("breakpointSet", "A breakpoint is set.",
        text("file", "as it was sent; of a function, its own, if that is known", unless="function"),
        number("line", "line, from 1; of a function, its first, if that is known", unless="function"),
        number("id", "its number, which no other breakpoint has"),
        FUNCTION),
    event("breakpointCleared", "A breakpoint is gone.",
        text("file", "as it was sent", unless="function"), number("line", "line, from 1", unless="function"), FUNCTION),
    event("exited", "The program has ended.",
        number("exitCode", "its exit code; of a program that a signal ended, minus its number")),
    event("terminated", "The session has ended."),
    # Not in the document.
    event("inputAccepted", "The text is on its way.", number("bytes", "how many"), extension=True),
    event("inputRequested", "The program waits for its standard input.",
        text("prompt", "what it wrote last"), extension=True),
    event("threads", "The threads.", Field("threads", "thread[]", "all of them"), extension=True),
    event("exceptionBreakpointsSet", "What it stops on from now on.",
        Field("filters", "string[]", "as they were sent"), extension=True),
    event("dataBreakpointSet", "A value is watched.",
        NUMBER, EXPRESSION_SENT, text("access", "read, write or readWrite"), extension=True),
    event("dataBreakpointCleared", "A value is watched no longer: on request, or because it has gone.",
        NUMBER, EXPRESSION_SENT, extension=True),
    event("watchAdded", "An expression is watched.", *RECORDS["watch"], extension=True),
    event("watchRemoved", "It is watched no longer.", NUMBER, extension=True),
    event("watches", "All watches, after each stop too.", Field("watches", "watch[]", "all of them"), extension=True),
    event("recording", "Whether it records.", Field("enabled", "boolean", "whether it does"), extension=True),
)
EVENTS = {each.name: each for each in _EVENTS}
