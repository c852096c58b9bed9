"""The commands of the protocol, carried out by the session's own operations."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..adapters.switch import is_native_source
from ..core.launch_spec import launch_spec
from ..core.programs import is_native
from ..errors import RelayError
from ..ez.protocol import CAPABILITIES, State
from . import shapes

if TYPE_CHECKING:
    from .door import Door

Params = dict[str, Any]
Handler = Callable[["Door", Params], Awaitable[None]]

STEPS = {"stepInto": "step_into", "stepOver": "step_over", "stepOut": "step_out"}
BACK = {"stepBack": "step_back", "reverseContinue": "reverse_continue"}
FILTERS = {"raised": "raised", "uncaught": "uncaught", "userUnhandled": "user_unhandled"}
EXTENSIONS = ("capabilities", "args")
"""Parameters by which a client shows that it knows more than the document."""
PYTHON = "debugpy"
LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python3")
FRAMES = 10_000
PAUSE_PATIENCE = 2.0
ONLY_SOME = {"dataBreakpoints": "data_breakpoints", "reverse": "reverse"}
"""Extensions that need a capability of the debugger."""


async def initialize(door: Door, given: Params) -> None:
    """A session for the program; what was set up before is forgotten."""
    file = given["file"]
    folder = os.path.abspath(given.get("workingDir") or os.getcwd())
    path = os.path.join(folder, file)
    _check_program(folder, path)
    args = given.get("args", door.args)
    config = door.config_for(folder)
    spec = launch_spec(config, script=path, cwd=folder, args=args)  # before anything is forgotten: it may be refused
    if spec.kind == "command":
        message = f"{path} is a script in another language: there is nothing to debug in it"
        raise RelayError("LAUNCH_FAILED", message, status=400, suggestion="Give the program that it starts")
    session = await door.new_session(config)
    session.switch.use(spec.adapter)
    door.is_extended = any(given.get(name) is not None for name in EXTENSIONS)
    door.launch = {"script": path, "cwd": folder, "args": args}
    door.state = State.READY
    offered = {"capabilities": capabilities(session.adapter.capabilities)} if door.is_extended else {}
    await door.tell("initialized", file=file, **offered)


def _check_program(folder: str, path: str) -> None:
    if not os.path.isdir(folder):
        raise RelayError("LAUNCH_FAILED", f"workingDir {folder} is not an existing folder", suggestion="")
    if not os.path.isfile(path):
        what = "is a folder" if os.path.isdir(path) else "does not exist"
        advice = "Give the path of a program: absolute, or as it is seen from workingDir"
        raise RelayError("LAUNCH_SCRIPT_NOT_FOUND", f"{os.path.normpath(path)} {what}", suggestion=advice)
    if is_native_source(path):
        advice = "Compile it with debug information (-g), and give the path of the program"
        raise RelayError("LAUNCH_FAILED", f"{path} is source code", suggestion=advice)


def capabilities(offered: frozenset[str]) -> list[str]:
    return [name for name in CAPABILITIES if name not in ONLY_SOME or ONLY_SOME[name] in offered]


# Running.


async def start(door: Door, given: Params) -> None:
    """Begins, or goes on. What comes of it is told after `started`."""
    warnings: list[str] = []
    async with door.telling:
        if door.state is State.STOPPED:
            await door.require_session().execution.go_on()
        else:
            stop = given.get("stopOnEntry")
            has_breakpoints = len(door.require_session().debuggee.breakpoints) > 0
            stop = not has_breakpoints if stop is None else stop
            wish = {"stop_on_entry": stop, "stop_on_exception": "uncaught", "wait": False}
            if _stays_in_own_files(door):
                wish["just_my_code"] = True
            warnings = (await door.call("launch", **door.launch, **wish)).get("warnings", [])
            if stop:
                door.hold()
        door.state = State.RUNNING
        await door.tell("started")
        for warning in warnings:
            await door.tell("error", message=warning)
        await door.tell_useless()


def _stays_in_own_files(door: Door) -> bool:
    """Clients that know the document alone may show the line of a library in the user's file. One with a breakpoint in
    a library wants to see it."""
    session = door.require_session()
    if door.is_extended or session.adapter.name != PYTHON:
        return False
    return not any(LIBRARY.search(bp.path or "") for bp in session.debuggee.breakpoints.all())


async def continue_(door: Door, given: Params) -> None:
    async with door.telling:
        await door.require_session().execution.go_on()
        door.state, door.is_stepping = State.RUNNING, False


def step(operation: str) -> Handler:
    async def take(door: Door, given: Params) -> None:
        async with door.telling:
            await door.require_session().execution.set_off(operation, given.get("threadId"))
            door.set_off()

    return take


def back(operation: str) -> Handler:
    async def take(door: Door, given: Params) -> None:
        async with door.telling:
            await door.call(operation, thread_id=given.get("threadId"), wait=False, fields=["location"])
            door.set_off()

    return take


async def pause(door: Door, given: Params) -> None:
    door.later("pause", _pause(door, given.get("threadId")))


async def _pause(door: Door, thread_id: int | None) -> None:
    answer = await door.call("pause", thread_id=thread_id, wait=PAUSE_PATIENCE, fields=["location"])
    if answer.get("timed_out") and door.state is State.RUNNING:
        why = "it waits for its input" if "waiting_for_input" in answer else "it is inside a long call"
        raise RelayError("DEBUGPY_TIMEOUT", f"The program has not stopped yet: {why}", suggestion="")


async def send_input(door: Door, given: Params) -> None:
    sent = await door.call("stdin", input=given.get("text") or "", eof=bool(given.get("eof")))
    await door.tell("inputAccepted", bytes=sent["accepted"])


async def record(door: Door, given: Params) -> None:
    enabled = given.get("enabled", True)
    await door.call("record", enabled=enabled)
    await door.tell("recording", enabled=enabled)


async def terminate(door: Door, given: Params) -> None:
    door.end()


# Breakpoints.


async def set_breakpoint(door: Door, given: Params) -> None:
    """One that cannot stop is refused. A function may be loaded later, in which file ever; and only a compiled program
    knows which it has."""
    function, file = given.get("function"), given.get("file")
    is_certain = not function or (file is not None and not is_native_source(file))
    item = {
        "path": file,
        "line": None if function else given["line"],
        "function": function,
        "condition": given.get("condition"),
        "hit_condition": given.get("hitCondition"),
        "log_message": given.get("logMessage"),
    }
    async with door.telling:
        answer = await door.call("set_breakpoints", breakpoints=[item], strict=is_certain, single=True)
        placed = answer["breakpoints"][0]
        if (why := shapes.useless(placed)) is not None:
            await door.call("remove_breakpoint", breakpoint_id=answer["breakpoint_id"])
            raise RelayError("BREAKPOINT_INVALID_LINE", why, suggestion="")
        place = await _found(door, placed) | _place(given)
        await door.tell("breakpointSet", **place, id=shapes.number(answer["breakpoint_id"]))


async def clear_breakpoint(door: Door, given: Params) -> None:
    table = door.require_session().debuggee.breakpoints
    path = given.get("file")
    real = os.path.realpath(table.resolve(path, "file")) if path else ""
    key = (real, given.get("function") or given["line"])
    found = next((bp for bp in table.all() if bp.key == key), None)
    if found is None:
        place = given.get("function") or f"{path}:{given['line']}"
        raise RelayError("BREAKPOINT_NOT_FOUND", f"There is no breakpoint at {place}", suggestion="")
    async with door.telling:
        await door.call("remove_breakpoint", breakpoint_id=found.id)
        await door.tell("breakpointCleared", **_place(given))


def _place(given: Params) -> Params:
    names = ("function", "file") if given.get("function") else ("file", "line")
    return {name: given[name] for name in names if given.get(name) is not None}


async def _found(door: Door, breakpoint: Params) -> Params:
    """Where a function begins, if that is known: in the program that will be started, before it is loaded."""
    function = breakpoint.get("function")
    if function is None:
        return {}
    path, line = (breakpoint["source"] or {}).get("path"), breakpoint["line"]
    if line is None and door.state is State.READY and not is_native(door.launch["script"]):
        path = str(door.launch["script"])
        line = next(iter(await door.require_session().adapter.find_function(path, function)), None)
    return {"file": path, "line": line} if line else {}


async def set_exception_breakpoints(door: Door, given: Params) -> None:
    """What nobody catches always stops the program, to be told of; who does not want to look lets it go on."""
    filters = given["filters"]
    known = (await door.call("list_exception_breakpoints"))["exception_breakpoints"]
    for each in known:
        if not each["from_launch"]:
            await door.call("remove_exception_breakpoints", id=each["id"])
    if wanted := [FILTERS[name] for name in filters if name != "uncaught"]:
        await door.call("set_exception_breakpoint", filters=wanted)
    door.stops_on_uncaught = "uncaught" in filters
    await door.tell("exceptionBreakpointsSet", filters=filters)


async def set_data_breakpoint(door: Door, given: Params) -> None:
    access = given.get("access") or "write"
    wish = {"expression": given["expression"], "access": access, "frame_id": given.get("frameIndex") or 0}
    answer = await door.call("set_data_breakpoint", **wish)
    await door.tell("dataBreakpointSet", id=shapes.number(answer["id"]), expression=given["expression"], access=access)


async def clear_data_breakpoint(door: Door, given: Params) -> None:
    """That it is gone is told as it is of one whose value has gone."""
    with _numbered("BREAKPOINT_NOT_FOUND", f"There is no data breakpoint {given['id']}"):
        await door.call("remove_data_breakpoints", data_breakpoint_id=f"dbp_{given['id']}")


@contextlib.contextmanager
def _numbered(code: str, message: str) -> Iterator[None]:
    """Clients know things by their numbers."""
    try:
        yield
    except RelayError as error:
        if error.code != code:
            raise
        raise RelayError(code, message, suggestion="") from None


# Looking.


async def get_variables(door: Door, given: Params) -> None:
    where = _frame(given)
    answer = await door.call("frame_variables", **where, count=shapes.ROWS)
    function = await _function(door, where)
    shown = shapes.variables(answer["variables"], function)
    await door.tell("variables", frameIndex=where["frame_id"], variables=shown)


def _frame(given: Params) -> Params:
    return {"frame_id": given.get("frameIndex") or 0, "thread_id": given.get("threadId")}


async def _function(door: Door, where: Params) -> str | None:
    answer = await door.call("stack_trace", thread_id=where["thread_id"], start_frame=where["frame_id"], levels=1)
    return answer["frames"][0]["name"] if answer["frames"] else None


async def get_stack_trace(door: Door, given: Params) -> None:
    answer = await door.call("stack_trace", thread_id=given.get("threadId"), levels=FRAMES)
    await door.tell("stackTrace", frames=shapes.frames(answer["frames"]))


async def evaluate(door: Door, given: Params) -> None:
    expression = given["expression"]
    answer = await door.call("evaluate", expression=expression, **_frame(given))
    if answer.get("error"):
        raise RelayError("EVALUATE_ERROR", answer["error"], suggestion="")
    result, kind = shapes.text(answer["result"]), answer["type"] or ""
    await door.tell("evaluateResult", expression=expression, result=result, type=kind)


async def get_threads(door: Door, given: Params) -> None:
    answer = await door.call("threads")
    await door.tell("threads", threads=[shapes.thread(row) for row in answer["threads"]])


async def set_variable(door: Door, given: Params) -> None:
    where = _frame(given)
    answer = await door.call("set_expression", expression=given["name"], value=given["value"], **where)
    shown = shapes.variable({**answer, "name": given["name"]})
    await door.tell("variableUpdate", **shown, frameIndex=where["frame_id"])


async def add_watch(door: Door, given: Params) -> None:
    await door.tell("watchAdded", **shapes.watch(await door.call("add_watch", expression=given["expression"])))


async def remove_watch(door: Door, given: Params) -> None:
    with _numbered("WATCH_NOT_FOUND", f"There is no watch {given['id']}"):
        await door.call("remove_watch", watch_id=f"w_{given['id']}")
    await door.tell("watchRemoved", id=given["id"])


async def get_watches(door: Door, given: Params) -> None:
    answer = await door.call("list_watches", frame_id=given.get("frameIndex") or 0)
    await door.tell("watches", watches=[shapes.watch(row) for row in answer["watches"]])


HANDLERS: dict[str, Handler] = {
    "initialize": initialize,
    "start": start,
    **{name: step(operation) for name, operation in STEPS.items()},
    **{name: back(operation) for name, operation in BACK.items()},
    "continue": continue_,
    "setBreakpoint": set_breakpoint,
    "clearBreakpoint": clear_breakpoint,
    "getVariables": get_variables,
    "getStackTrace": get_stack_trace,
    "evaluate": evaluate,
    "terminate": terminate,
    "pause": pause,
    "input": send_input,
    "getThreads": get_threads,
    "setVariable": set_variable,
    "setExceptionBreakpoints": set_exception_breakpoints,
    "setDataBreakpoint": set_data_breakpoint,
    "clearDataBreakpoint": clear_data_breakpoint,
    "addWatch": add_watch,
    "removeWatch": remove_watch,
    "getWatches": get_watches,
    "record": record,
}
