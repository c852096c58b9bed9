"""The requests of DAP, carried out by the session's own operations."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..core.state import LIVE
from ..errors import RelayError
from . import arguments, machine, shapes
from .arguments import understood
from .handles import Place, Value
from .setting import set_breakpoints, set_exception_breakpoints, set_function_breakpoints

if TYPE_CHECKING:
    from .door import Door

Body = dict[str, Any] | None
Handler = Callable[["Door", dict[str, Any]], Awaitable[Body]]

QUIETLY = {"wait": False, "fields": ["location"]}
"""A resume without the report that others wait for: what was new to them stays new."""
CONTEXTS = frozenset({"repl", "watch", "hover", "clipboard"})
STEPS = {"next": "step_over", "stepIn": "step_into", "stepOut": "step_out"}
ROWS = 1000
"""Variables in one answer."""
SOURCE_PAGES = 100
MODULES = 1000


async def attach(door: Door, given: dict[str, Any]) -> Body:
    door.places.map(understood(given, arguments.Attach).path_mappings)
    return None


async def launch(door: Door, given: dict[str, Any]) -> Body:
    raise RelayError(
        "NOT_SUPPORTED",
        "The relay has launched this program already: use the request `attach`. "
        "POST /sessions/{id}/restart, or `restart` here, runs it again",
    )


async def threads(door: Door, given: dict[str, Any]) -> Body:
    if door.session.state not in LIVE:
        return {"threads": []}
    rows = (await door.call("threads"))["threads"]
    return {"threads": [{"id": row["id"], "name": row["name"]} for row in rows]}


# Running.


async def continue_(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.Resume)
    await door.call("continue", thread_id=wish.thread_id, single_thread=wish.single_thread, **QUIETLY)
    return {"allThreadsContinued": not wish.single_thread}


def step(command: str) -> Handler:
    async def take(door: Door, given: dict[str, Any]) -> Body:
        wish = understood(given, arguments.Step)
        options: dict[str, Any] = {"thread_id": wish.thread_id, "single_thread": wish.single_thread, **QUIETLY}
        if wish.granularity == "instruction":
            options["granularity"] = wish.granularity
        if wish.target_id is not None and command == "stepIn":
            options["target"] = wish.target_id
        await door.call(STEPS[command], **options)
        return None

    return take


async def step_in_targets(door: Door, given: dict[str, Any]) -> Body:
    place = door.handles.frame(understood(given, arguments.OfFrame).frame_id)
    targets = (await door.call("step_targets", **place.params))["targets"]
    return {"targets": [{"id": each["id"], "label": each["name"]} for each in targets]}


async def pause(door: Door, given: dict[str, Any]) -> Body:
    """All of them, where a stop halts all: which thread it is asked for makes no difference then."""
    thread_id = understood(given, arguments.OfThread).thread_id
    alone = door.session.debuggee.stop_scope == "thread"
    await door.call("pause", thread_id=thread_id if alone else None, **QUIETLY)
    return None


async def restart(door: Door, given: dict[str, Any]) -> Body:
    await door.call("restart", **QUIETLY)
    return None


async def terminate(door: Door, given: dict[str, Any]) -> Body:
    await door.call("terminate")
    return None


async def disconnect(door: Door, given: dict[str, Any]) -> Body:
    """The program goes on, unless the client says otherwise."""
    if understood(given, arguments.Disconnect).terminate_debuggee and door.session.state in LIVE:
        await door.call("terminate")
    await door.leave()
    return None


# Looking.


async def stack_trace(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.StackTrace)
    answer = await door.call("stack_trace", thread_id=wish.thread_id, start_frame=wish.start_frame, levels=wish.levels)
    shown = [_frame(door, wish.thread_id, frame) for frame in answer["frames"]]
    # Editors ask for more of a stack if they are not told how deep it is.
    depth = {} if answer.get("has_more") else {"totalFrames": answer["total_frames"]}
    return {"stackFrames": shown, **depth}


def _frame(door: Door, thread_id: int, frame: dict[str, Any]) -> dict[str, Any]:
    places, path = door.places, frame["source"]["path"]
    shown: dict[str, Any] = {
        "id": door.handles.of_frame(thread_id, frame["id"]),
        "name": frame["name"],
        "line": places.their_line(frame["line"] or 1),
        "column": places.their_column(frame["column"] or 1),
        "presentationHint": frame["presentation_hint"],
    }
    if address := door.handles.address(thread_id, frame["id"]):
        shown["instructionPointerReference"] = address
    if path:
        shown["source"] = shapes.source_of(path, places)
        if not os.path.isfile(path):  # only the program has its text
            shown["source"]["sourceReference"] = shown["id"]
    return shown


async def scopes(door: Door, given: dict[str, Any]) -> Body:
    place = door.handles.frame(understood(given, arguments.OfFrame).frame_id)
    answer = await door.call("scopes", **place.params)
    return {"scopes": [_scope(door, place, row) for row in answer["scopes"]]}


def _scope(door: Door, place: Place, row: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "name": row["name"],
        "variablesReference": door.handles.of_value(place, row["variables_reference"], None),
        "expensive": bool(row.get("expensive")),
    }
    if row.get("presentation_hint"):
        shown["presentationHint"] = row["presentation_hint"]
    counts = {"namedVariables": row.get("named_variables"), "indexedVariables": row.get("indexed_variables")}
    return shown | {name: count for name, count in counts.items() if count}


async def variables(door: Door, given: dict[str, Any]) -> Body:
    """Pages of the session, until the client has what it asked for, or a good part of it."""
    wish = understood(given, arguments.Variables)
    value = door.handles.value(wish.variables_reference)
    options: dict[str, Any] = {"filter": wish.filter} if wish.filter in ("indexed", "named") else {}
    start, most = wish.start, min(wish.count or ROWS, ROWS)
    shown: list[dict[str, Any]] = []
    while True:
        page = {"start": start + len(shown), "count": most - len(shown), **options}
        answer = await door.call("variables", variables_reference=value.reference, **value.place.params, **page)
        rows = answer["variables"]
        shown += [_variable(door, value, row) for row in rows] or _text(answer)
        if not rows or not answer.get("has_more") or len(shown) >= most:
            break
    hidden = (answer.get("total") or 0) - start - len(shown)
    if not wish.count and rows and answer.get("has_more") and hidden > 0:
        shown.append({"name": "…", "value": f"{hidden} more", "variablesReference": 0})
    return {"variables": shown}


def _variable(door: Door, parent: Value, row: dict[str, Any]) -> dict[str, Any]:
    expression = parent.named(str(row["name"]), row.get("index"))
    reference = door.handles.of_value(parent.place, row["variables_reference"], expression)
    return shapes.variable_of(row, reference, expression)


def _text(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Of a long string or bytes, which the session shows in parts."""
    text = answer.get("text") or answer.get("base64")
    return [{"name": "", "value": text, "variablesReference": 0}] if text else []


async def evaluate(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.Evaluate)
    place = door.handles.frame(wish.frame_id)
    context = wish.context if wish.context in CONTEXTS else "watch"
    answer = await door.call("evaluate", expression=wish.expression, context=context, **place.params)
    if answer.get("error"):
        raise RelayError("EVALUATE_ERROR", answer["error"])
    reference = door.handles.of_value(place, answer.get("variables_reference") or 0, wish.expression)
    return shapes.value_of(answer, reference)


async def set_variable(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.SetVariable)
    parent = door.handles.value(wish.variables_reference)
    answer = await door.call(
        "set_variable",
        variables_reference=parent.reference,
        name=wish.name,
        value=wish.value,
        **parent.place.params,
    )
    shown = _variable(door, parent, answer)
    return {name: shown[name] for name in shown if name not in ("name", "evaluateName")}


async def set_expression(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.SetExpression)
    place = door.handles.frame(wish.frame_id)
    answer = await door.call("set_expression", expression=wish.expression, value=wish.value, **place.params)
    reference = door.handles.of_value(place, answer.get("variables_reference") or 0, wish.expression)
    shown = shapes.value_of({**answer, "result": answer.get("value")}, reference)
    shown["value"] = shown.pop("result")
    return shown


async def exception_info(door: Door, given: dict[str, Any]) -> Body:
    thread_id = understood(given, arguments.OfThread).thread_id
    told = await door.call("exception")
    if told["thread_id"] != thread_id:
        raise RelayError("EXCEPTION_NOT_FOUND", f"It was thread {told['thread_id']} that stopped on an exception")
    return shapes.exception_of(told)


async def source(door: Door, given: dict[str, Any]) -> Body:
    """Of a file of the session, or by reference of a frame whose code is in no file."""
    wish = understood(given, arguments.SourceRequest)
    named = wish.source or arguments.Source()
    number = wish.source_reference or named.source_reference
    where: dict[str, Any] = door.handles.frame(number).params if number else {}
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


async def completions(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.Completions)
    place = door.handles.frame(wish.frame_id)
    column = door.places.own_column(wish.column)
    if wish.line is not None:
        before = wish.text.split("\n")[: max(0, door.places.own_line(wish.line) - 1)]
        column += sum(len(line) + 1 for line in before)
    answer = await door.call("completions", text=wish.text, column=max(1, column), **place.params)
    return {"targets": [shapes.completion_of(item, door.places) for item in answer["items"]]}


async def modules(door: Door, given: dict[str, Any]) -> Body:
    wish = understood(given, arguments.Modules)
    limit = min(wish.module_count or MODULES, MODULES)
    answer = await door.call("modules", offset=wish.start_module, limit=limit)
    shown = [shapes.module_of(module, door.places) for module in answer["modules"]]
    return {"modules": shown, "totalModules": answer["total"]}


ASIDE: dict[str, Handler] = {
    "threads": threads,
    "stackTrace": stack_trace,
    "scopes": scopes,
    "variables": variables,
    "evaluate": evaluate,
    "setVariable": set_variable,
    "setExpression": set_expression,
    "exceptionInfo": exception_info,
    "source": source,
    "completions": completions,
    "modules": modules,
    "stepInTargets": step_in_targets,
    "readMemory": machine.read_memory,
    "writeMemory": machine.write_memory,
    "disassemble": machine.disassemble,
    "dataBreakpointInfo": machine.data_breakpoint_info,
}
"""Carried out side by side: one that takes long holds up no other."""

IN_ORDER: dict[str, Handler] = {
    "attach": attach,
    "launch": launch,
    "setBreakpoints": set_breakpoints,
    "setFunctionBreakpoints": set_function_breakpoints,
    "setExceptionBreakpoints": set_exception_breakpoints,
    "setDataBreakpoints": machine.set_data_breakpoints,
    "continue": continue_,
    "stepBack": machine.back("step_back"),
    "reverseContinue": machine.back("reverse_continue"),
    **{command: step(command) for command in STEPS},
    "pause": pause,
    "restart": restart,
    "terminate": terminate,
    "disconnect": disconnect,
}
"""Each waits for those before it."""
