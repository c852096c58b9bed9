"""Carries out a command: reads the command line, asks the relay, prints the answer, and says by the exit code how it
went."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, TypeVar

import msgspec

from .. import __version__
from ..agents.conversation import Conversation, Told, run_now
from ..agents.table import AGENT_CALLS
from ..answers.sessions import SessionList
from ..client.address import Problem
from ..errors import RelayError
from ..files import see_that_streams_are_open
from ..text.render import render_error
from .command_arguments import WrongUsage
from .command_line import NAME, find_command, help_text, read_arguments
from .command_table import Command
from .exit_codes import DONE, FAILED, INTERRUPTED, WRONG_USAGE, code_for, code_of_answer
from .relay_access import RelayOptions, open_conversation
from .terminal import for_stream, tell

T = TypeVar("T", bound=msgspec.Struct)
STARTING = ("debug_run", "debug_attach")
OPTIONAL = ("session", "wait")
"""Options of every command that not every call takes."""


def run(argv: list[str]) -> int:
    see_that_streams_are_open()
    if argv[:1] in ([], ["-h"], ["--help"], ["help"]):
        print(help_text())
        return DONE
    if argv[0] == "--version":
        print(f"{NAME} {__version__}")
        return DONE
    as_json = "--json" in argv[: argv.index("--") if "--" in argv else None]
    try:
        return _carry_out(argv)
    except WrongUsage as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return WRONG_USAGE
    except RelayError as error:
        told = error.to_dict()
        text = msgspec.json.encode(told).decode() if as_json else render_error(told)
        print(for_stream(text, sys.stderr), file=sys.stderr)
        return FAILED
    except Problem as problem:
        tell(str(problem))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads the rest
        return FAILED


def _carry_out(argv: list[str]) -> int:
    command, words = find_command(argv)
    if command.is_serving:
        from .serving.main import run as run_serving

        run_serving()
    given = read_arguments(command, words)
    if command.does:
        module, _, function = command.does.partition(":")
        code: int = getattr(import_module(f".{module}", __package__), function)(command, given)
    else:
        code = ask_call(command, given)
    sys.stdout.flush()
    return code


def ask_call(command: Command, given: dict[str, Any]) -> int:
    """Carry out the agent call that a command stands for."""
    options, as_json, reveal = RelayOptions.take_from(given), given.pop("json", False), given.pop("reveal", False)
    named = given.get("session")
    call = AGENT_CALLS[command.call]
    fields = {**given, **command.fixed}
    arguments = convert_arguments(command, command.become(fields) if command.become else fields, call.takes)
    conversation = open_conversation(options, options.memory(named, command.call in STARTING), reveal)
    begun = datetime.now(UTC)
    try:
        told = run_now(call.perform(conversation, arguments))
    except KeyboardInterrupt:
        if command.starts:
            run_now(_remember_latest(conversation, begun))
        tell("stopped waiting; the program goes on: `ocdb wait` waits again, `ocdb pause` stops it")
        return INTERRUPTED
    show(told, as_json)
    return code_for(told.status, told.data) if command.moves else code_of_answer(told.data)


async def _remember_latest(conversation: Conversation, begun: datetime) -> None:
    """Remember the session of a program that was started, and whose first stop nobody waited for."""
    listed = await conversation.asker.ask("list_sessions", {"limit": 1000})
    sessions = msgspec.json.decode(listed, type=SessionList).items
    latest = [each for each in sessions if each.created_at and datetime.fromisoformat(each.created_at) >= begun]
    if latest:
        conversation.memory.remember(latest[-1].session_id)


def convert_arguments(command: Command, given: dict[str, Any], takes: type[T]) -> T:
    fields = {name: value for name, value in given.items() if name not in OPTIONAL or name in takes.__struct_fields__}
    try:
        return msgspec.convert(fields, takes)
    except msgspec.ValidationError as error:
        problem = str(error).replace("`$.", "`")
        raise WrongUsage(f"{problem}\n→ {NAME} {command.name} --help shows what it takes") from None


def show(told: Told, as_json: bool) -> None:
    text = msgspec.json.encode(told.data).decode() if as_json else for_stream(told.text, sys.stdout)
    print(text)
