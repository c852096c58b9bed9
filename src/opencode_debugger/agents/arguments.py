"""What agent calls take: arguments with names that one guesses right, each with a line for models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct


def means(description: str) -> Meta:
    return Meta(description=description)


Session = str | None
Timeout = Annotated[float, Meta(ge=0.1, le=300)]
Seconds = Annotated[Annotated[float, Meta(ge=0, le=300)] | None, means("seconds (default 30)")]
Count = Annotated[int, Meta(ge=1, le=1000)]
Breakpoints = Annotated[list[str], means(
    '"app.py:42", "app.py:42 if x > 3", "app.py~some text", "function", "Class.method"; then " hits 5", " log {x}"')]


class Arguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a call."""


class OfSession(Arguments):
    session: Session = None


class OfFrame(OfSession):
    frame: Annotated[int | None, means("0 is the top")] = None
    thread: int | None = None
    task: Annotated[int | None, means("asyncio task")] = None


class Run(Arguments):
    command: Annotated[str | None, means('as in a shell: "python app.py -v", "pytest tests/t.py", "./prog 3"')] = None
    script: Annotated[str | None, means("Python file")] = None
    module: Annotated[str | None, means("as python -m")] = None
    test: Annotated[str | None, means("pytest node or file, or unittest name: stops where it fails")] = None
    program: Annotated[str | None, means("executable")] = None
    code: Annotated[str | None, means("Python source")] = None
    args: list[str] = []
    breakpoints: Breakpoints = []
    watches: Annotated[list[str], means("expressions shown at each stop")] = []
    stop_on: Literal["entry", "uncaught", "raised", "user_unhandled", "test_failure", "nothing"] | None = None
    cwd: str | None = None
    env: dict[str, str] = {}
    python: Annotated[str | None, means("interpreter; default: the project's venv")] = None
    stdin: Annotated[str | None, means("input, then its end")] = None
    wait: Seconds = None
    options: Annotated[dict[str, Any], means("further fields of run_program")] = {}


class Attach(Arguments):
    pid: int | None = None
    host: str | None = None
    port: Annotated[int | None, means("of debugpy, or a debug server")] = None
    breakpoints: Annotated[list[str], means("as for debug_run")] = []
    pause: Annotated[bool, means("stop it now")] = False
    filter: Annotated[str | None, means("without pid: in their commands")] = None
    wait: Seconds = None
    options: Annotated[dict[str, Any], means("further fields of attach_program")] = {}


class Continue(OfSession):
    action: Annotated[Literal["continue", "wait", "pause", "restart"], means(
        "wait: for the next stop, without resuming")] = "continue"
    input: Annotated[str | None, means("line for its stdin")] = None
    eof: Annotated[bool, means("end stdin")] = False
    thread: Annotated[int | None, means("only this one")] = None
    wait: Seconds = None


class Step(OfSession):
    kind: Literal["over", "into", "out", "back"] = "over"
    count: Count | None = None
    target: Annotated[str | None, means("into: which call of the line")] = None
    until: Annotated[str | None, means("until this is true")] = None
    to: Annotated[str | None, means('run to "LINE", "FILE:LINE" or "FILE~TEXT"')] = None
    thread: int | None = None
    wait: Seconds = None


class ChangeBreakpoints(OfSession):
    add: Annotated[list[str], means("as for debug_run")] = []
    remove: Annotated[list[str], means('ids, or "all"')] = []
    disable: list[str] = []
    enable: list[str] = []
    exceptions: Annotated[list[str] | None, means(
        'stop on these: "raised", "uncaught", "ValueError", …; []: on none')] = None


class Evaluate(OfFrame, kw_only=True):
    expression: Annotated[str, means("or statement: x = 3")]
    timeout: Timeout | None = None


class Look(OfFrame):
    expression: Annotated[str | None, means("default: all locals")] = None
    start: Annotated[int, Meta(ge=0, description="first item")] = 0
    count: Count = 50
    filter: Annotated[str | None, means("only names with this")] = None


class Stack(OfSession):
    of: Literal["thread", "threads", "tasks", "locks"] = "thread"
    thread: int | None = None
    task: int | None = None
    start: Annotated[int, Meta(ge=0)] = 0
    count: Count = 30


class Source(OfSession):
    file: Annotated[str | None, means("default: the frame's")] = None
    line: Annotated[int | None, means("default: the current one")] = None
    frame: int | None = None
    around: Annotated[int, Meta(ge=0, le=500)] = 10


class Output(OfSession):
    last: Annotated[int, Meta(ge=1, le=1000, description="entries")] = 50
    stream: Literal["stdout", "stderr", "console"] | None = None


class Trace(OfSession):
    command: Annotated[str | None, means("as for debug_run")] = None
    test: str | None = None
    lines: Annotated[list[str], means("functions to record line by line")] = []
    question: Annotated[Literal["trace", "calls", "life", "origin", "errors", "slow", "diff"], means(
        "life: lines of a call; origin: where a value comes from")] = "trace"
    of: Annotated[str | None, means("function, call number, value, name; diff: session or file")] = None
    where: Annotated[str | None, means('of calls: "amount > 3 and result is None"')] = None
    cwd: str | None = None
    wait: Seconds = None


class Sessions(Arguments):
    session: Annotated[str | None, means("only this one")] = None


class End(OfSession):
    detach: Annotated[bool, means("let the program run on")] = False
    force: bool = False


class Call(Arguments):
    operation: Annotated[str | None, means("as in the API; default: list them")] = None
    arguments: dict[str, Any] = {}
    session: Session = None
