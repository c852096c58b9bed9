"""Messages of the EZ debugger protocol, held against its table: what is wrong with one, and why one is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .protocol import COMMANDS, EVENTS, RECORDS, State
from .shapes import Shapes, shown


def command(name: str, /, **params: Any) -> dict[str, Any]:
    return {"type": "command", "command": name, "params": params}


def event(name: str, /, **data: Any) -> dict[str, Any]:
    return {"type": "event", "event": name, "data": data}


_every = Shapes(RECORDS)
_documented = Shapes(RECORDS, extensions=False)


def check_command(message: object) -> str | None:
    """What keeps a message from being a command, in one line; its parameters may be left out altogether."""
    problem = _envelope(message, "command", COMMANDS)
    if problem is not None:
        return problem
    assert isinstance(message, dict)
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        return f"params is {shown(params)}: an object is expected"
    found = _every.check(params or {}, COMMANDS[message["command"]].params, "params")
    return str(found) if found else None


def check_event(message: object, extensions: bool = True) -> str | None:
    """What keeps a message from being an event; without `extensions`, from being one of the document."""
    known = EVENTS if extensions else {name: event for name, event in EVENTS.items() if not event.extension}
    problem = _envelope(message, "event", known)
    if problem is not None:
        return problem
    assert isinstance(message, dict)
    data = message.get("data")
    if not isinstance(data, dict):
        return f"data is {shown(data)}: an object is expected"
    found = (_every if extensions else _documented).check(data, EVENTS[message["event"]].data, "data")
    return str(found) if found else None


def _envelope(message: object, kind: str, known: Iterable[str]) -> str | None:
    if not isinstance(message, dict):
        return f'The message is {shown(message)}: an object with "type": "{kind}" is expected'
    if message.get("type") != kind:
        return f'type is {shown(message.get("type"))}: "{kind}" is expected'
    name = message.get(kind)
    if not isinstance(name, str):
        return f"{kind} is {shown(name)}: the name of {'an' if kind == 'event' else 'a'} {kind} is expected"
    if name not in known:
        return f"Unknown {kind} {shown(name)}{_meant(name, known)}"
    return None


def _meant(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # here, because hardly any client needs it

    close = get_close_matches(name[:50], list(known), 1)
    return f": did you mean {close[0]}?" if close else f": there are {', '.join(known)}"


def refusal(name: str, state: State) -> str | None:
    """Why a command cannot be carried out in a state, and what to do."""
    known = COMMANDS[name]
    if state in known.states:
        return None
    return f"Cannot {known.said}: {_why(state, known.states)}"


def _why(state: State, wanted: frozenset[State]) -> str:
    if state is State.NEW:
        return "no program yet: send initialize first" if State.READY in wanted else "program not started"
    return {
        State.READY: "program not started",
        State.RUNNING: "program is running",
        State.STOPPED: "program is stopped",
        State.ENDED: "program has ended",
    }[state]
