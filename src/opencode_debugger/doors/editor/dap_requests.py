"""The requests of DAP, carried out by the session's own operations."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

import msgspec
from msgspec import UNSET

from ...errors import RelayError
from ...operations.asking_client import clean_name
from ...operations.states import LIVE
from . import dap_arguments as sent
from . import dap_shapes, machine_requests
from .client_references import ValuePlace
from .dap_arguments import ArgumentsT
from .dap_shapes import Body

if TYPE_CHECKING:
    from ...answers.documents import SavedExceptionBreakpoint
    from ...session.breakpoints.breakpoint_table import BreakpointItem
    from .editor_door import EditorDoor


@dataclass(frozen=True)
class Handler(Generic[ArgumentsT]):
    takes: type[ArgumentsT]
    carry_out: Callable[[EditorDoor, ArgumentsT], Awaitable[Body]]


SUPPORTED = (
    "supportsConfigurationDoneRequest", "supportsFunctionBreakpoints", "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints", "supportsLogPoints", "supportsEvaluateForHovers", "supportsSetVariable",
    "supportsSetExpression", "supportsExceptionInfoRequest", "supportTerminateDebuggee", "supportsTerminateRequest",
    "supportsDelayedStackTraceLoading", "supportsModulesRequest", "supportsClipboardContext",
    "supportsSingleThreadExecutionRequests",
)
SUPPORTED_IF_OFFERED = {
    "supportsExceptionFilterOptions": "exception_classes",
    "supportsExceptionOptions": "exception_classes",
    "supportsCompletionsRequest": "completions",
    "supportsStepInTargetsRequest": "step_targets",
    "supportsReadMemoryRequest": "memory",
    "supportsWriteMemoryRequest": "write_memory",
    "supportsDisassembleRequest": "disassembly",
    "supportsDataBreakpoints": "data_breakpoints",
    "supportsSteppingGranularity": "instruction_steps",
}
"""What a client may use, by the capability of the debugger that it needs."""
QUIETLY = {"wait": False, "fields": ["location"]}
"""A resume without the report that others wait for: what was new to them stays new."""
CONTEXTS = frozenset({"repl", "watch", "hover", "clipboard"})
ROWS = 1000
"""Variables in one answer."""
SOURCE_PAGES = 100
MODULES = 1000
FILTERS = {"raised": "raised", "uncaught": "uncaught", "userUnhandled": "user_unhandled"}
"""What a client may stop on, and what the session calls it."""
MODES = {"always": "raised", "unhandled": "uncaught", "userUnhandled": "user_unhandled"}
OFFERED_FILTERS = [
    {"filter": "raised", "label": "Raised Exceptions", "supportsCondition": True},
    {"filter": "uncaught", "label": "Uncaught Exceptions", "supportsCondition": True, "default": True},
    {"filter": "userUnhandled", "label": "User Uncaught Exceptions", "supportsCondition": True},
]


async def initialize(door: EditorDoor, wish: sent.Initialize) -> Body:
    door.places.learn_conventions(wish)
    door.client_name = clean_name(wish.client_name or wish.client_id)
    offered = door.session.adapter.capabilities
    return {
        **dict.fromkeys(SUPPORTED, True), **{name: needed in offered for name, needed in SUPPORTED_IF_OFFERED.items()},
        "supportsStepBack": "reverse" in offered or door.session.going_back.is_possible,
        "supportsRestartRequest": not door.session.starting.attached,
        "exceptionBreakpointFilters": OFFERED_FILTERS if "exception_classes" in offered else [],
    }


async def attach(door: EditorDoor, wish: sent.Attach) -> Body:
    door.places.mappings = wish.path_mappings
    return None


async def launch(door: EditorDoor, wish: sent.Arguments) -> Body:
    already = "The relay has launched this program already: use the request `attach`."
    raise RelayError("NOT_SUPPORTED", f"{already} POST /sessions/{{id}}/restart, or `restart` here, runs it again")


async def threads(door: EditorDoor, wish: sent.Arguments) -> Body:
    if door.session.state not in LIVE and door.session.going_back.stop is None:
        return {"threads": []}
    rows = (await door.call("threads"))["threads"]
    return {"threads": [{"id": row["id"], "name": row["name"]} for row in rows]}


# Running.


async def continue_(door: EditorDoor, wish: sent.Resume) -> Body:
    await door.call("continue", thread_id=wish.thread_id, single_thread=wish.single_thread, **QUIETLY)
    return {"allThreadsContinued": not wish.single_thread}


async def step(operation: str, door: EditorDoor, wish: sent.Step) -> Body:
    options: dict[str, Any] = {"thread_id": wish.thread_id, "single_thread": wish.single_thread, **QUIETLY}
    if wish.granularity == "instruction":
        options["granularity"] = wish.granularity
    if wish.target_id is not None and operation == "step_into":
        options["target"] = wish.target_id
    await door.call(operation, **options)
    return None


async def go_back(operation: str, door: EditorDoor, wish: sent.OfThread) -> Body:
    await door.call(operation, thread_id=wish.thread_id, **QUIETLY)
    return None


async def ask_plainly(operation: str, options: dict[str, Any], door: EditorDoor, wish: sent.Arguments) -> Body:
    await door.call(operation, **options)
    return None


async def step_in_targets(door: EditorDoor, wish: sent.OfFrame) -> Body:
    place = door.handles.frame_place(wish.frame_id)
    targets = (await door.call("step_targets", **place.frame_params))["targets"]
    return {"targets": [{"id": each["id"], "label": each["name"]} for each in targets]}


async def pause(door: EditorDoor, wish: sent.OfThread) -> Body:
    """All of them, where a stop halts all: which thread it is asked for makes no difference then."""
    alone = door.session.debuggee.stop_scope == "thread"
    await door.call("pause", thread_id=wish.thread_id if alone else None, **QUIETLY)
    return None


async def disconnect(door: EditorDoor, wish: sent.Disconnect) -> Body:
    """The program goes on, unless the client says otherwise."""
    if wish.terminate_debuggee and door.session.state in LIVE:
        await door.call("terminate")
    await door.leave_session()
    return None


# Breakpoints.


async def set_breakpoints(door: EditorDoor, wish: sent.SetBreakpoints) -> Body:
    if not wish.source.path:
        raise RelayError("NOT_SUPPORTED", "Only lines of files can have breakpoints: this source has no path")
    plain = [sent.SourceBreakpoint(line) for line in wish.lines]
    wanted = plain if wish.breakpoints is None else wish.breakpoints
    items = [_how_to_stop(each, {"line": door.places.own_line(each.line)}) for each in wanted]
    return await _replace_breakpoints(door, door.places.own_path(wish.source.path), items)


async def set_function_breakpoints(door: EditorDoor, wish: sent.SetFunctionBreakpoints) -> Body:
    items = [_how_to_stop(each, {"function": each.name}) for each in wish.breakpoints]
    return await _replace_breakpoints(door, "", items)


def _how_to_stop(each: sent.SourceBreakpoint | sent.FunctionBreakpoint, place: BreakpointItem) -> BreakpointItem:
    """Editors send empty texts where there is nothing."""
    place["condition"], place["hit_condition"] = each.condition or None, each.hit_condition or None
    place["log_message"] = (isinstance(each, sent.SourceBreakpoint) and each.log_message) or None
    return place


async def _replace_breakpoints(door: EditorDoor, path: str, items: list[BreakpointItem]) -> Body:
    outcomes = await door.shared.replace_breakpoints(door, path, items)
    return {"breakpoints": [dap_shapes.breakpoint_of(each, door.places) for each in outcomes]}


async def set_exception_breakpoints(door: EditorDoor, wish: sent.SetExceptionBreakpoints) -> Body:
    wanted: list[SavedExceptionBreakpoint] = [{"filters": [_known_filters(name, FILTERS)]} for name in wish.filters]
    for option in wish.filter_options:
        wanted.append({"filters": [_known_filters(option.filter_id, FILTERS)], "condition": option.condition or None})
    for each in wish.exception_options:
        names = [name for segment in each.path[1:] if not segment.negate for name in segment.names]
        if each.break_mode != "never":
            wanted.append({"filters": [_known_filters(each.break_mode, MODES)], "exceptions": names})
    return {"breakpoints": await door.shared.set_rules(door, wanted)}


def _known_filters(name: str, table: dict[str, str]) -> str:
    if name not in table:
        raise RelayError("INVALID_REQUEST", f"Unknown exception filter '{name[:50]}': there are {', '.join(table)}")
    return table[name]


# Looking.


async def stack_trace(door: EditorDoor, wish: sent.StackTrace) -> Body:
    answer = await door.call("stack_trace", thread_id=wish.thread_id, start_frame=wish.start_frame, levels=wish.levels)
    shown = [_dap_frame(door, wish.thread_id, frame) for frame in answer["frames"]]
    # Editors ask for more of a stack if they are not told how deep it is.
    depth = {} if answer.get("has_more") else {"totalFrames": answer["total_frames"]}
    return {"stackFrames": shown, **depth}


def _dap_frame(door: EditorDoor, thread_id: int, frame: dict[str, Any]) -> dap_shapes.Frame:
    places, path = door.places, frame["source"]["path"]
    shown = dap_shapes.Frame(
        id=door.handles.of_frame(thread_id, frame["id"]), name=frame["name"],
        line=places.their_line(frame["line"] or 1), column=places.their_column(frame["column"] or 1),
        presentation_hint=frame["presentation_hint"],
        instruction_pointer_reference=door.handles.code_address(thread_id, frame["id"]) or UNSET,
    )
    if path:
        shown.source = dap_shapes.source_of(path, places)
        if not os.path.isfile(path):  # only the program has its text
            shown.source.source_reference = shown.id
    return shown


async def scopes(door: EditorDoor, wish: sent.OfFrame) -> Body:
    place = door.handles.frame_place(wish.frame_id)
    rows = (await door.call("scopes", **place.frame_params))["scopes"]
    shown = [
        dap_shapes.Scope(
            name=row["name"], variables_reference=door.handles.of_value(place, row["variables_reference"], None),
            expensive=bool(row.get("expensive")), presentation_hint=row.get("presentation_hint") or UNSET,
            named_variables=row.get("named_variables") or UNSET,
            indexed_variables=row.get("indexed_variables") or UNSET,
        )
        for row in rows
    ]
    return {"scopes": shown}


async def variables(door: EditorDoor, wish: sent.Variables) -> Body:
    """Pages of the session, until the client has what it asked for, or a good part of it."""
    value = door.handles.value_place(wish.variables_reference)
    options: dict[str, Any] = {"filter": wish.filter} if wish.filter in ("indexed", "named") else {}
    start, most = wish.start, min(wish.count or ROWS, ROWS)
    shown: list[dap_shapes.Value] = []
    while True:
        page = {"start": start + len(shown), "count": most - len(shown), **options}
        answer = await door.call("variables", variables_reference=value.reference, **value.place.frame_params, **page)
        rows = answer["variables"]
        shown += [_dap_variable(door, value, row) for row in rows]
        if not rows and (text := answer.get("text") or answer.get("base64")):  # of a long string, or of bytes
            shown.append(dap_shapes.Value(name="", value=text, variables_reference=0))
        if not rows or not answer.get("has_more") or len(shown) >= most:
            break
    hidden = (answer.get("total") or 0) - start - len(shown)
    if not wish.count and rows and answer.get("has_more") and hidden > 0:
        shown.append(dap_shapes.Value(name="…", value=f"{hidden} more", variables_reference=0))
    return {"variables": shown}


def _dap_variable(door: EditorDoor, parent: ValuePlace, row: dict[str, Any]) -> dap_shapes.Value:
    expression = parent.member_expression(str(row["name"]), row.get("index"))
    reference = door.handles.of_value(parent.place, row["variables_reference"], expression)
    text, evaluate_name = row.get("value") or "", expression or UNSET
    return dap_shapes.value_of(row, reference, name=row["name"], value=text, evaluate_name=evaluate_name)


async def evaluate(door: EditorDoor, wish: sent.Evaluate) -> Body:
    place = door.handles.frame_place(wish.frame_id)
    context = wish.context if wish.context in CONTEXTS else "watch"
    answer = await door.call("evaluate", expression=wish.expression, context=context, **place.frame_params)
    if answer.get("error"):
        raise RelayError("EVALUATE_ERROR", answer["error"])
    reference = door.handles.of_value(place, answer.get("variables_reference") or 0, wish.expression)
    return dap_shapes.value_of(answer, reference, result=answer.get("result") or "")


async def set_variable(door: EditorDoor, wish: sent.SetVariable) -> Body:
    parent = door.handles.value_place(wish.variables_reference)
    target = {"variables_reference": parent.reference, "name": wish.name, "value": wish.value}
    answer = await door.call("set_variable", **target, **parent.place.frame_params)
    return msgspec.structs.replace(_dap_variable(door, parent, answer), name=UNSET, evaluate_name=UNSET)


async def set_expression(door: EditorDoor, wish: sent.SetExpression) -> Body:
    place = door.handles.frame_place(wish.frame_id)
    answer = await door.call("set_expression", expression=wish.expression, value=wish.value, **place.frame_params)
    reference = door.handles.of_value(place, answer.get("variables_reference") or 0, wish.expression)
    return dap_shapes.value_of(answer, reference, value=answer.get("value") or "")


async def exception_info(door: EditorDoor, wish: sent.OfThread) -> Body:
    told = await door.call("exception")
    if told["thread_id"] != wish.thread_id:
        raise RelayError("EXCEPTION_NOT_FOUND", f"It was thread {told['thread_id']} that stopped on an exception")
    return dap_shapes.exception_of(told)


async def source(door: EditorDoor, wish: sent.SourceRequest) -> Body:
    """Return the source of a file of the session, or by the reference of a frame whose code is in no file."""
    named = wish.source or sent.Source()
    number = wish.source_reference or named.source_reference
    where: dict[str, Any] = door.handles.frame_place(number).frame_params if number else {}
    if not number:
        if not named.path:
            raise RelayError("INVALID_REQUEST", "Name a source by its path or its sourceReference")
        where = {"path": door.places.own_path(named.path)}
    lines: list[str] = []
    for _ in range(SOURCE_PAGES):
        page = await door.call("source", **where, start_line=len(lines) + 1)
        lines += [line["text"] for line in page["lines"]]
        if not page["has_more"] or not page["lines"]:
            break
    return {"content": "\n".join(lines) + "\n"}


async def completions(door: EditorDoor, wish: sent.Completions) -> Body:
    place = door.handles.frame_place(wish.frame_id)
    column = door.places.own_column(wish.column)
    if wish.line is not None:
        before = wish.text.split("\n")[: max(0, door.places.own_line(wish.line) - 1)]
        column += sum(len(line) + 1 for line in before)
    answer = await door.call("completions", text=wish.text, column=max(1, column), **place.frame_params)
    return {"targets": [dap_shapes.completion_of(item, door.places) for item in answer["items"]]}


async def modules(door: EditorDoor, wish: sent.Modules) -> Body:
    limit = min(wish.module_count or MODULES, MODULES)
    answer = await door.call("modules", offset=wish.start_module, limit=limit)
    shown = [dap_shapes.module_of(module, door.places) for module in answer["modules"]]
    return {"modules": shown, "totalModules": answer["total"]}


ASIDE: dict[str, Handler[Any]] = {
    "threads": Handler(sent.Arguments, threads),
    "stackTrace": Handler(sent.StackTrace, stack_trace),
    "scopes": Handler(sent.OfFrame, scopes),
    "variables": Handler(sent.Variables, variables),
    "evaluate": Handler(sent.Evaluate, evaluate),
    "setVariable": Handler(sent.SetVariable, set_variable),
    "setExpression": Handler(sent.SetExpression, set_expression),
    "exceptionInfo": Handler(sent.OfThread, exception_info),
    "source": Handler(sent.SourceRequest, source),
    "completions": Handler(sent.Completions, completions),
    "modules": Handler(sent.Modules, modules),
    "stepInTargets": Handler(sent.OfFrame, step_in_targets),
    "readMemory": Handler(sent.ReadMemory, machine_requests.read_memory),
    "writeMemory": Handler(sent.WriteMemory, machine_requests.write_memory),
    "disassemble": Handler(sent.Disassemble, machine_requests.disassemble),
    "dataBreakpointInfo": Handler(sent.DataBreakpointInfo, machine_requests.data_breakpoint_info),
}
"""Carried out side by side: one that takes long holds up no other."""

IN_ORDER: dict[str, Handler[Any]] = {
    "attach": Handler(sent.Attach, attach),
    "launch": Handler(sent.Arguments, launch),
    "setBreakpoints": Handler(sent.SetBreakpoints, set_breakpoints),
    "setFunctionBreakpoints": Handler(sent.SetFunctionBreakpoints, set_function_breakpoints),
    "setExceptionBreakpoints": Handler(sent.SetExceptionBreakpoints, set_exception_breakpoints),
    "setDataBreakpoints": Handler(sent.SetDataBreakpoints, machine_requests.set_data_breakpoints),
    "continue": Handler(sent.Resume, continue_),
    "next": Handler(sent.Step, partial(step, "step_over")),
    "stepIn": Handler(sent.Step, partial(step, "step_into")),
    "stepOut": Handler(sent.Step, partial(step, "step_out")),
    "stepBack": Handler(sent.OfThread, partial(go_back, "step_back")),
    "reverseContinue": Handler(sent.OfThread, partial(go_back, "reverse_continue")),
    "pause": Handler(sent.OfThread, pause),
    "restart": Handler(sent.Arguments, partial(ask_plainly, "restart", QUIETLY)),
    "terminate": Handler(sent.Arguments, partial(ask_plainly, "terminate", {})),
    "disconnect": Handler(sent.Disconnect, disconnect),
}
"""Each waits for those before it."""
