"""Calls that start a program, attach to one, list sessions and end them."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from ..errors import RelayError
from ..files import is_inside
from . import arguments
from .conversation import Conversation, Told, only_given, seconds_to_wait

PYTHON = re.compile(r"python(3(\.\d+)?)?")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
PROGRAMS = ("command", "script", "module", "test", "program", "code")


async def run(conversation: Conversation, given: arguments.Run) -> Told:
    named = [name for name in PROGRAMS if getattr(given, name) is not None]
    if len(named) != 1:
        raise _wrong(f"Give exactly one of {', '.join(PROGRAMS)}" + (f", not {' and '.join(named)}" if named else ""))
    params: dict[str, Any] = {"cwd": _folder(conversation, given.cwd), "wait": seconds_to_wait(given.wait)}
    params |= _parse_command(given.command) if given.command is not None else {named[0]: getattr(given, named[0])}
    if given.args:
        params["args"] = [*params.get("args", []), *given.args]
    if given.env:
        params["env"] = {**params.get("env", {}), **given.env}
    if given.stdin is not None:
        params |= {"stdin_inputs": given.stdin.splitlines(), "stdin_eof": True}
    if given.stop_on == "entry":
        params["stop_on_entry"] = True
    elif given.stop_on is not None:
        params["stop_on_exception"] = False if given.stop_on == "nothing" else given.stop_on
    params |= only_given(
        breakpoints=given.breakpoints or None, watches=given.watches or None, python_path=given.python,
        environment=conversation.asker.environment)
    return await _start(conversation, "run_program", params | given.options)


async def attach(conversation: Conversation, given: arguments.Attach) -> Told:
    if given.pid is None and given.port is None:
        kinds = {"filter": given.filter} if given.filter else {}
        return await conversation.tell("list_processes", {"kind": "all" if given.filter else "python", **kinds})
    params = only_given(
        pid=given.pid, host=given.host, port=given.port, pause=given.pause or None, wait=given.wait,
        breakpoints=given.breakpoints or None, project_root=conversation.asker.base)
    return await _start(conversation, "attach_program", params | given.options)


async def list_sessions(conversation: Conversation, given: arguments.Sessions) -> Told:
    if given.session is not None:
        return await conversation.tell("info", {}, given.session)
    return await conversation.tell("list_sessions", {})


async def end(conversation: Conversation, given: arguments.End) -> Told:
    session = given.session or conversation.memory.recall() or await _session_of_folder(conversation)
    if given.detach:
        await conversation.tell("detach", {}, session)
    told = await conversation.tell("delete_session", {"force": given.force}, session)
    conversation.memory.remember(None)
    return told


async def _session_of_folder(conversation: Conversation) -> str:
    """Return the only session, if it is of the client's folder: any other may be somebody else's."""
    session = await conversation.find_session(None)
    root = (await conversation.tell("info", {}, session)).data["config"].get("project_root")
    if conversation.asker.base is None or root is None or not is_inside(root, conversation.asker.base):
        conversation.memory.remember(None)
        message = f"This client has started no session that has not ended; there is {session}, of {root}"
        raise RelayError("SESSION_NOT_FOUND", message, suggestion=f"If it is to end, name it: session {session}")
    return session


async def _start(conversation: Conversation, operation: str, params: dict[str, Any]) -> Told:
    """Start a session and remember it. If nobody waits for the answer any more, it is yet to be found."""
    before = conversation.memory.recall()
    conversation.memory.remember(None)
    try:
        told = await conversation.tell(operation, params)
    except RelayError:
        conversation.memory.remember(before)
        raise
    conversation.memory.remember(told.session_id)
    return told


def _folder(conversation: Conversation, asked: str | None) -> str:
    base = conversation.asker.base
    if base is None and not (asked and os.path.isabs(asked)):
        message = "Give cwd, the absolute path of the program's folder: this connection has no folder of its own"
        raise RelayError("INVALID_PARAMETER", message, suggestion='For instance cwd="/home/you/project"')
    return os.path.normpath(os.path.join(base or "/", asked or ""))


def _wrong(message: str) -> RelayError:
    return RelayError("INVALID_PARAMETER", message, suggestion='For instance command="python app.py --verbose"')


def _parse_command(command: str) -> dict[str, Any]:
    """Tell what a command line starts: a Python script, module or code, or any other program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _wrong(f"The command cannot be read: {error}") from None
    env: dict[str, str] = {}
    while words and (found := ASSIGNMENT.fullmatch(words[0])):
        env[found[1]] = found[2]
        del words[0]
    if not words:
        raise _wrong("The command is empty")
    return _parse_words(words) | ({"env": env} if env else {})


def _parse_words(words: list[str]) -> dict[str, Any]:
    program, *rest = ["python", *words] if words[0] in ("-m", "-c") else words
    if program.endswith(".py"):
        return {"script": program, "args": rest}
    if not PYTHON.fullmatch(os.path.basename(program)):
        return {"program": program, "args": rest}
    interpreter: dict[str, Any] = {"python_path": program} if "/" in program else {}
    options: list[str] = []
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        options.append(rest.pop(0))
        if options[-1] in ("-W", "-X") and rest:
            options.append(rest.pop(0))
    if options:
        interpreter["python_args"] = options
    if rest[:1] in (["-m"], ["-c"]) and len(rest) > 1:
        return {"module" if rest[0] == "-m" else "code": rest[1], "args": rest[2:], **interpreter}
    if not rest or rest[0] in ("-m", "-c"):
        raise _wrong("The command starts Python without a program")
    return {"script": rest[0], "args": rest[1:], **interpreter}


