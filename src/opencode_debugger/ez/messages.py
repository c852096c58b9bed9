"""Messages of the EZ debugger protocol, held against its table: what is wrong with one, and why one is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypedDict

from .protocol import COMMANDS, EVENTS, RECORDS, Field, State

SHOWN = 60
"""Characters of a wrong value that an error repeats."""
TYPES: dict[str, type[Any]] = {"string": str, "integer": int, "boolean": bool}


class EzLocation(TypedDict):
    file: str
    line: int
    column: int


class EzFrame(EzLocation):
    index: int
    function: str


class EzVariable(TypedDict):
    name: str
    value: str
    type: str


class EzThread(TypedDict):
    id: int
    name: str
    state: str
    current: bool


class EventData(TypedDict, total=False):
    """The data of any event: which of them each has is in the table."""

    file: str
    line: int
    id: int
    message: str
    command: str
    reason: str
    location: EzLocation
    breakpointId: int
    dataBreakpointId: int
    threadId: int
    text: str
    category: str
    exitCode: int
    capabilities: list[str]
    frames: list[EzFrame]
    variables: list[EzVariable]
    threads: list[EzThread]
    expression: str
    result: str
    value: str
    type: str
    error: str
    enabled: bool


class CommandMessage(TypedDict):
    type: str
    command: str
    params: dict[str, Any]


class EventMessage(TypedDict):
    type: str
    event: str
    data: dict[str, Any]


def command_message(name: str, /, **params: Any) -> CommandMessage:
    return {"type": "command", "command": name, "params": params}


def event_message(name: str, /, **data: Any) -> EventMessage:
    return {"type": "event", "event": name, "data": data}


def check_command(message: object) -> str | None:
    """Say in one line what keeps a message from being a command; its parameters may be left out altogether."""
    problem = _check_envelope(message, "command", COMMANDS)
    if problem is not None or not isinstance(message, dict):
        return problem
    params = message.get("params")
    return _first_problem({} if params is None else params, COMMANDS[message["command"]].params, "params", True)


def check_event(message: object, extensions: bool = True) -> str | None:
    """Say what keeps a message from being an event; without `extensions`, from being one of the document."""
    known = EVENTS if extensions else {name: event for name, event in EVENTS.items() if not event.extension}
    problem = _check_envelope(message, "event", known)
    if problem is not None or not isinstance(message, dict):
        return problem
    return _first_problem(message.get("data"), EVENTS[message["event"]].data, "data", extensions)


def _check_envelope(message: object, kind: str, known: Iterable[str]) -> str | None:
    if not isinstance(message, dict):
        return f'The message is {_shown_value(message)}: an object with "type": "{kind}" is expected'
    if message.get("type") != kind:
        return f'type is {_shown_value(message.get("type"))}: "{kind}" is expected'
    name = message.get(kind)
    if not isinstance(name, str):
        return f"{kind} is {_shown_value(name)}: the name of {'an' if kind == 'event' else 'a'} {kind} is expected"
    if name in known:
        return None
    from difflib import get_close_matches  # here, because hardly any client needs it

    close = get_close_matches(name[:50], list(known), 1)
    meant = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
    return f"Unknown {kind} {_shown_value(name)}: {meant}"


def state_refusal(name: str, state: State) -> str | None:
    """Say why a command cannot be carried out in a state, and what to do."""
    known = COMMANDS[name]
    if state in known.states:
        return None
    why = {State.RUNNING: "program is running", State.STOPPED: "program is stopped", State.ENDED: "program has ended"}
    if state is State.NEW and State.READY in known.states:
        return f"Cannot {known.said}: no program yet: send initialize first"
    return f"Cannot {known.said}: {why.get(state, 'program not started')}"


def _first_problem(given: object, fields: Iterable[Field], path: str, extensions: bool) -> str | None:
    """Say where the first mistake is, and what. Fields that nobody knows are left alone: they are for others."""
    if not isinstance(given, dict):
        return _wrong_type(given, path, "an object")
    for field in fields:
        where = f"{path}.{field.name}"
        value = given.get(field.name)
        if value is None:
            if field.required and not (field.unless and given.get(field.unless) is not None):
                return f"{where} is missing: {_said_type(field)} is expected"
        elif field.extension and not extensions:
            return f"{where} is an extension that nobody asked for"
        elif not field.type.endswith("[]"):
            if (problem := _value_problem(value, field, where, extensions)) is not None:
                return problem
        elif not isinstance(value, list):
            return _wrong_type(value, where, _said_type(field))
        else:
            found = (_value_problem(item, field, f"{where}[{index}]", extensions) for index, item in enumerate(value))
            if (problem := next(filter(None, found), None)) is not None:
                return problem
    return None


def _value_problem(value: Any, field: Field, where: str, extensions: bool) -> str | None:
    kind = field.type.removesuffix("[]")
    if kind in RECORDS:
        return _first_problem(value, RECORDS[kind], where, extensions)
    if type(value) is not TYPES[kind]:  # true and false are no integers here
        return _wrong_type(value, where, _with_article(kind))
    if field.least is not None and value < field.least:
        return _wrong_type(value, where, f"{_with_article(kind)} from {field.least} on")
    allowed = field.values + (field.more_values if extensions else ())
    if field.values and value not in allowed:
        return _wrong_type(value, where, "one of " + ", ".join(allowed))
    return None


def _wrong_type(value: Any, where: str, wanted: str) -> str:
    return f"{where} is {_shown_value(value)}: {wanted} is expected"


def _shown_value(value: Any) -> str:
    """Return a value as an error has it: what it is, not all of it."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value[:SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _said_type(field: Field) -> str:
    return f"a list of {field.type[:-2]}s" if field.type.endswith("[]") else _with_article(field.type)


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
