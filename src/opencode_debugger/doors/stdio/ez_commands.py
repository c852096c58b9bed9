"""The commands of the protocol, carried out by the session's own operations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partialmethod
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ...debuggers.debugger_switch import is_native_source
from ...debuggers.optional_features import refusal
from ...errors import RelayError
from ...ez.protocol import CAPABILITIES, COMMANDS, State
from ...session.breakpoints.breakpoint_table import number_of
from ...session.lifecycle.launch_spec import LaunchWish, launch_spec
from ...session.lifecycle.program_kinds import is_native
from ...session.session_settings import Config
from . import ez_shapes

if TYPE_CHECKING:
    from .stdio_door import StdioDoor

Params = dict[str, Any]
Handler = Callable[["EzCommands", Params], Coroutine[Any, Any, None]]

FILTERS = {"raised": "raised", "userUnhandled": "user_unhandled"}
EXTENSIONS = ("capabilities", "args")
"""Parameters by which a client shows that it knows more than the document."""
LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python3")
ONLY_SOME = {"dataBreakpoints": "data_breakpoints", "reverse": "reverse"}
"""Extensions that need a capability of the debugger."""


@dataclass(frozen=True)
class EzCommands:
    """Carries out each command by the method that is called as it is, in Python's spelling."""

    door: StdioDoor

    async def initialize(self, given: Params) -> None:
        """Make a session for the program; what was set up before is forgotten."""
        file = given["file"]
        folder = os.path.abspath(given.get("workingDir") or os.getcwd())
        path = os.path.join(folder, file)
        _check_program(folder, path)
        door, options, name = self.door, self.door.options, os.path.basename(folder)
        args = given.get("args", options.args)
        config = Config(options.session_id, name, project_root=folder, limits=options.limits, folder=options.folder)
        # Before anything is forgotten: it may be refused.
        spec = launch_spec(config, LaunchWish(script=path, cwd=folder, args=args))
        if spec.kind == "command":
            message = f"{path} is a script in another language: there is nothing to debug in it"
            raise RelayError("LAUNCH_FAILED", message, status=400, suggestion="Give the program that it starts")
        session = await door.new_session(config)
        session.switch.use(spec.adapter)
        door.is_extended = any(given.get(name) is not None for name in EXTENSIONS)
        door.launch = {"script": path, "cwd": folder, "args": args}
        door.state = State.READY
        has = session.adapter.capabilities
        offered = [name for name in CAPABILITIES if name not in ONLY_SOME or ONLY_SOME[name] in has]
        await door.tell_event("initialized", file=file, **({"capabilities": offered} if door.is_extended else {}))

    # Running.

    async def start(self, given: Params) -> None:
        """Begin, or go on. What comes of it is told after `started`.

        Steps of a client that knows the document alone pass over libraries: it may show their lines in the user's
        file. One with a breakpoint in a library wants to see it."""
        warnings: list[str] = []
        session = self.door.require_session()
        breakpoints = session.debuggee.breakpoints
        async with self.door.telling:
            if self.door.state is State.STOPPED:
                await session.execution.resume_program()
            else:
                stop = given.get("stopOnEntry", len(breakpoints) == 0)
                wish = {"stop_on_entry": stop, "stop_on_exception": "uncaught", "wait": False}
                is_in_library = any(LIBRARY.search(bp.path or "") for bp in breakpoints.all())
                if not (self.door.is_extended or session.adapter.name != "debugpy" or is_in_library):
                    wish["just_my_code"] = True
                warnings = (await self.door.call("launch", **self.door.launch, **wish)).get("warnings", [])
                if stop:
                    self.door.hold_commands()
            self.door.state = State.RUNNING
            await self.door.tell_event("started")
            for warning in warnings:
                await self.door.tell_event("error", message=warning)
            await self.door.tell_useless()

    async def continue_(self, given: Params) -> None:
        async with self.door.telling:
            await self.door.require_session().execution.resume_program()
            self.door.state, self.door.is_stepping = State.RUNNING, False

    async def _step(self, operation: str, given: Params) -> None:
        async with self.door.telling:
            await self.door.require_session().execution.begin_step(operation, given.get("threadId"))
            self.door.set_off()

    async def _go_back(self, operation: str, given: Params) -> None:
        async with self.door.telling:
            await self.door.call(operation, thread_id=given.get("threadId"), wait=False, fields=["location"])
            self.door.set_off()

    step_into = partialmethod(_step, "step_into")
    step_over = partialmethod(_step, "step_over")
    step_out = partialmethod(_step, "step_out")
    step_back = partialmethod(_go_back, "step_back")
    reverse_continue = partialmethod(_go_back, "reverse_continue")

    async def pause(self, given: Params) -> None:
        async def pause_program() -> None:
            answer = await self.door.call("pause", thread_id=given.get("threadId"), wait=2.0, fields=["location"])
            if answer.get("timed_out") and self.door.state is State.RUNNING:
                why = "it waits for its input" if "waiting_for_input" in answer else "it is inside a long call"
                raise RelayError("DEBUGPY_TIMEOUT", f"The program has not stopped yet: {why}", suggestion="")

        self.door.carry_out_aside("pause", pause_program())

    async def input(self, given: Params) -> None:
        sent = await self.door.call("stdin", input=given.get("text") or "", eof=bool(given.get("eof")))
        await self.door.tell_event("inputAccepted", bytes=sent["accepted"])

    async def record(self, given: Params) -> None:
        """Record for the way back alone: of what others record, nothing is asked for in this protocol."""
        adapter, enabled = self.door.require_session().adapter, given.get("enabled", True)
        if "reverse" not in adapter.capabilities:
            raise refusal(adapter.name, "reverse")
        await self.door.call("record", enabled=enabled)
        await self.door.tell_event("recording", enabled=enabled)

    async def terminate(self, given: Params) -> None:
        self.door.end_session()

    # Breakpoints.

    async def set_breakpoint(self, given: Params) -> None:
        """Refuse one that cannot stop. A function may be loaded later, in which file ever; and only a compiled program
        knows which it has."""
        function, file = given.get("function"), given.get("file")
        is_certain = not function or (file is not None and not is_native_source(file))
        item = {"path": file, "line": None if function else given["line"], "function": function}
        names = {"condition": "condition", "hit_condition": "hitCondition", "log_message": "logMessage"}
        item |= {ours: given.get(theirs) for ours, theirs in names.items()}
        async with self.door.telling:
            answer = await self.door.call("set_breakpoints", breakpoints=[item], strict=is_certain, single=True)
            placed = answer["breakpoints"][0]
            if (why := ez_shapes.is_useless(placed)) is not None:
                await self.door.call("remove_breakpoint", breakpoint_id=answer["breakpoint_id"])
                raise RelayError("BREAKPOINT_INVALID_LINE", why, suggestion="")
            place = await self._function_place(placed) | _breakpoint_place(given)
            await self.door.tell_event("breakpointSet", **place, id=number_of(answer["breakpoint_id"]))

    async def clear_breakpoint(self, given: Params) -> None:
        table = self.door.require_session().debuggee.breakpoints
        path = given.get("file")
        real = os.path.realpath(table.resolve_path(path, "file")) if path else ""
        key = (real, given.get("function") or given["line"])
        found = next((bp for bp in table.all() if bp.key == key), None)
        if found is None:
            place = given.get("function") or f"{path}:{given['line']}"
            raise RelayError("BREAKPOINT_NOT_FOUND", f"There is no breakpoint at {place}", suggestion="")
        async with self.door.telling:
            await self.door.call("remove_breakpoint", breakpoint_id=found.id)
            await self.door.tell_event("breakpointCleared", **_breakpoint_place(given))

    async def _function_place(self, breakpoint: Params) -> dict[str, str | int | None]:
        """Return where a function begins, if that is known: in the program to be started, before it is loaded."""
        if (function := breakpoint.get("function")) is None:
            return {}
        path, line = (breakpoint["source"] or {}).get("path"), breakpoint["line"]
        if line is None and self.door.state is State.READY and not is_native(self.door.launch["script"]):
            path = str(self.door.launch["script"])
            line = next(iter(await self.door.require_session().adapter.find_function(path, function)), None)
        return {"file": path, "line": line} if line else {}

    async def set_exception_breakpoints(self, given: Params) -> None:
        """Choose which exceptions are looked at. Uncaught ones always stop the program, to be told of."""
        filters = given["filters"]
        for each in (await self.door.call("list_exception_breakpoints"))["exception_breakpoints"]:
            if not each["from_launch"]:
                await self.door.call("remove_exception_breakpoints", id=each["id"])
        if wanted := [FILTERS[name] for name in filters if name in FILTERS]:
            await self.door.call("set_exception_breakpoint", filters=wanted)
        self.door.stops_on_uncaught = "uncaught" in filters
        await self.door.tell_event("exceptionBreakpointsSet", filters=filters)

    async def set_data_breakpoint(self, given: Params) -> None:
        access = given.get("access") or "write"
        wish = {"expression": given["expression"], "access": access, "frame_id": given.get("frameIndex") or 0}
        answer = await self.door.call("set_data_breakpoint", **wish)
        number = number_of(answer["id"])
        await self.door.tell_event("dataBreakpointSet", id=number, expression=given["expression"], access=access)

    async def clear_data_breakpoint(self, given: Params) -> None:
        """Remove it; that it is gone is told as it is of one whose value has gone."""
        missing, id = f"There is no data breakpoint {given['id']}", f"dbp_{given['id']}"
        await self._remove("remove_data_breakpoints", missing, data_breakpoint_id=id)

    async def _remove(self, operation: str, missing: str, **wish: str) -> None:
        """Remove something; say `missing` where the session would name an id: clients know things by their numbers."""
        try:
            await self.door.call(operation, **wish)
        except RelayError as error:
            if error.code not in ("BREAKPOINT_NOT_FOUND", "WATCH_NOT_FOUND"):
                raise
            raise RelayError(error.code, missing, suggestion="") from None

    # Looking.

    async def get_variables(self, given: Params) -> None:
        where = _ez_frame(given)
        index, thread_id = where["frame_id"], where["thread_id"]
        rows = (await self.door.call("frame_variables", **where, count=ez_shapes.ROWS))["variables"]
        frames = (await self.door.call("stack_trace", thread_id=thread_id, start_frame=index, levels=1))["frames"]
        shown = ez_shapes.ez_variables(rows, frames[0]["name"] if frames else None)
        await self.door.tell_event("variables", frameIndex=index, variables=shown)

    async def get_stack_trace(self, given: Params) -> None:
        answer = await self.door.call("stack_trace", thread_id=given.get("threadId"), levels=10_000)
        await self.door.tell_event("stackTrace", frames=[ez_shapes.ez_frame(row) for row in answer["frames"]])

    async def evaluate(self, given: Params) -> None:
        expression = given["expression"]
        answer = await self.door.call("evaluate", expression=expression, **_ez_frame(given))
        if answer.get("error"):
            raise RelayError("EVALUATE_ERROR", answer["error"], suggestion="")
        result, type = answer["result"] or "", answer["type"] or ""
        await self.door.tell_event("evaluateResult", expression=expression, result=result, type=type)

    async def get_threads(self, given: Params) -> None:
        answer = await self.door.call("threads")
        await self.door.tell_event("threads", threads=[ez_shapes.ez_thread(row) for row in answer["threads"]])

    async def set_variable(self, given: Params) -> None:
        where = _ez_frame(given)
        answer = await self.door.call("set_expression", expression=given["name"], value=given["value"], **where)
        shown = ez_shapes.ez_variable({**answer, "name": given["name"]})
        await self.door.tell_event("variableUpdate", **shown, frameIndex=where["frame_id"])

    async def add_watch(self, given: Params) -> None:
        watch = await self.door.call("add_watch", expression=given["expression"])
        await self.door.tell_event("watchAdded", **ez_shapes.ez_watch(watch))

    async def remove_watch(self, given: Params) -> None:
        await self._remove("remove_watch", f"There is no watch {given['id']}", watch_id=f"w_{given['id']}")
        await self.door.tell_event("watchRemoved", id=given["id"])

    async def get_watches(self, given: Params) -> None:
        answer = await self.door.call("list_watches", frame_id=given.get("frameIndex") or 0)
        await self.door.tell_event("watches", watches=[ez_shapes.ez_watch(row) for row in answer["watches"]])


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


def _breakpoint_place(given: Params) -> dict[str, str | int | None]:
    names = ("function", "file") if given.get("function") else ("file", "line")
    return {name: given[name] for name in names if given.get(name) is not None}


def _ez_frame(given: Params) -> dict[str, int | None]:
    return {"frame_id": given.get("frameIndex") or 0, "thread_id": given.get("threadId")}


def _handler_of(command: str) -> Handler:
    spelled = re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", command)
    handler: Handler = getattr(EzCommands, f"{spelled}_" if iskeyword(spelled) else spelled)
    return handler


HANDLERS = {name: _handler_of(name) for name in COMMANDS}
