"""How agents' doors spell calls in advice: as commands of `ocdb`, and as tools of the MCP server.

An operation says how in its `command` and `tool`. A word with a name in braces is there if advice gives that argument;
what has no place in the template, or no template, is spelled as the call of any operation."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .advice import door, rest_call, spelling
from .operation import ID, Operation

COMMAND_LINE = "cli"
MCP = "mcp"

PLACE = re.compile(r"\{(\w+)(?::\.0)?\}")
"""`{force:.0}` is the place of an argument that is not shown"""
PARTS = re.compile(r"--?[\w-]+ \{\w+\}|\S+")
"""words of a template; an option goes with its value"""


def command_call(operation: Operation, arguments: dict[str, str], is_full: bool) -> str:
    """Spell a command: `ocdb print x --frame 1`."""
    given = {name: value[1:].upper() or name.upper() if value.startswith("?") else value
             for name, value in arguments.items()}
    session = f" {name_session(given.pop(ID), COMMAND_LINE)}" if ID in given else ""
    words = fill_template(operation.command, {name: shlex.quote(value) for name, value in given.items()})
    if words is None:
        fields = "".join(f" {name}={shlex.quote(value)}" for name, value in given.items())
        words = f"ocdb call {operation.name}{fields}"
    return words + session


def tool_call(operation: Operation, arguments: dict[str, str], is_full: bool) -> str:
    """Spell a call of a tool: `debug_eval expression=x frame=1`."""
    given = {name: "…" if value.startswith("?") else value for name, value in arguments.items()}
    session = f" {name_session(given.pop(ID), MCP)}" if ID in given else ""
    words = fill_template(operation.tool, given)
    if words is None:
        import json  # here, because commands have no use for it

        fields = json.dumps({name: _literal(value) for name, value in given.items()}, ensure_ascii=False)
        words = f"debug_call operation={operation.name}" + (f" arguments={fields}" if given else "")
    return words + session


def name_session(session: str, by_door: str) -> str:
    """Spell the argument by which a call names its session."""
    return f"--session {session}" if by_door == COMMAND_LINE else f"session={session}"


def fill_template(template: str, given: dict[str, str]) -> str | None:
    """Return the words whose arguments are given; None if there is no template, or no place for one of them."""
    if not template or not given.keys() <= set(PLACE.findall(template)):
        return None
    parts = [part for part in PARTS.findall(template) if set(PLACE.findall(part)) <= given.keys()]
    return " ".join(parts).format_map(given)


def _literal(value: str) -> Any:
    import json

    return json.loads(value) if value in ("true", "false", "null") or value.lstrip("-").isdecimal() else value


SPELLINGS = {COMMAND_LINE: command_call, MCP: tool_call}


def set_door(name: str) -> None:
    """Have advice spelled for a door from here on; one that has no words of its own gets those of REST."""
    door.set(name if name in SPELLINGS else "")
    spelling.set(SPELLINGS.get(name, rest_call))


@contextmanager
def speak_as(name: str) -> Iterator[None]:
    """Have advice spelled for a door in this block."""
    before, spelled = door.set(name), spelling.set(SPELLINGS.get(name, rest_call))
    try:
        yield
    finally:
        door.reset(before)
        spelling.reset(spelled)
