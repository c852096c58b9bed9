"""Makes arguments of agent calls from those of commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import msgspec

Given = dict[str, Any]
CONTINUATIONS = ("if", "hits", "log")
"""Words that go on with a breakpoint, rather than begin one."""


class WrongUsage(Exception):
    """The command line says something that cannot be meant, told in one line."""


def run_arguments(given: Given) -> Given:
    words = given.pop("command")
    launch = launch_arguments(given)
    module, code = launch.pop("module", None), launch.pop("code", None)
    if module is not None and code is not None:
        raise WrongUsage("give -m or -c, not both")
    if module is not None:
        return launch | {"module": module, "args": words}
    if code is not None:
        return launch | {"code": code, "args": words}
    if not words:
        raise WrongUsage("give a program, for instance app.py, -m module, ./a.out or pytest tests/test_x.py")
    return launch | {"command": shlex.join(words)}


def test_arguments(given: Given) -> Given:
    test, *args = given.pop("command") or [None]
    if test is None:
        raise WrongUsage("give a test, for instance tests/test_x.py::test_y")
    return test_run(given, test, args)


def test_run(given: Given, test: str, args: list[str]) -> Given:
    launch = launch_arguments(given)
    if launch.pop("unittest", False):
        launch["options"] = {**launch.get("options", {}), "runner": "unittest"}
    return launch | {"test": test, "args": args}


def launch_arguments(given: Given) -> Given:
    if "options" in given:
        given["options"] = read_pairs(given["options"])
    if "env" in given:
        given["env"] = dict(_read_variable(pair) for pair in given["env"])
    return given


def _read_variable(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals or not name:
        raise WrongUsage(f"--env {pair} is not NAME=VALUE")
    return name, value


def attach_arguments(given: Given) -> Given:
    target = given.pop("target")
    if "options" in given:
        given["options"] = read_pairs(given["options"])
    if target.isdecimal():
        return given | {"pid": int(target)}
    host, _, port = target.rpartition(":")
    if not port.isdecimal():
        raise WrongUsage(f"{target} is neither a process id nor HOST:PORT; `ocdb processes` lists processes")
    return given | {"host": host or "127.0.0.1", "port": int(port)}


def join_words(name: str) -> Callable[[Given], Given]:
    """Take several words for one text, so that little has to be quoted."""

    def join(given: Given) -> Given:
        words = given.pop(name, [])
        return given | {name: " ".join(words)} if words else given

    return join


def input_arguments(given: Given) -> Given:
    """Take several words for one line; without any, and without the end of the input, an empty one."""
    words = given.pop("input", [])
    return given | {"input": " ".join(words)} if words or not given.get("eof") else given


def trace_arguments(given: Given) -> Given:
    words, test = given.pop("command", []), given.get("test")
    if words and test is not None:
        raise WrongUsage("give a test or a program, not both")
    return given | {"command": shlex.join(words)} if words else given


def calls_arguments(given: Given) -> Given:
    """Take the words after `where` for one condition."""
    words = given.pop("where", [])
    condition = words[1:] if words[:1] == ["where"] else words
    return question_arguments(given | {"where": " ".join(condition)} if condition else given)


def question_arguments(given: Given) -> Given:
    """Make the parameters of an operation of what the command was given."""
    of_call = {name: given.pop(name) for name in ("operation", "session", "wait") if name in given}
    return of_call | {"arguments": given}


def wait_arguments(given: Given) -> Given:
    seconds = given.pop("seconds", None)
    return given if seconds is None else given | {"wait": seconds}


def named_session(given: Given) -> Given:
    named = given.pop("named", None)
    return given if named is None else given | {"session": named}


def source_arguments(given: Given) -> Given:
    place = given.pop("place", None)
    if place is None:
        return given
    file, colon, line = place.rpartition(":")
    if colon and line.isdecimal():
        return given | {"file": file, "line": int(line)}
    return given | ({"line": int(place)} if place.isdecimal() else {"file": place})


def breakpoint_arguments(given: Given) -> Given:
    added = given.get("add", [])
    if any(word in CONTINUATIONS for word in added[1:]):  # one breakpoint, typed without quotes
        given["add"] = [" ".join(added)]
    if given.get("exceptions") == ["nothing"]:
        given["exceptions"] = []
    return given


def watch_arguments(given: Given) -> Given:
    words, removed = given.pop("expression", []), given.pop("remove", None)
    if words and removed:
        raise WrongUsage("give an expression or --remove, not both")
    if removed == "all":
        return given | {"operation": "clear_watches"}
    if removed:
        return given | {"operation": "remove_watch", "arguments": {"watch_id": removed}}
    if not words:
        return given | {"operation": "list_watches"}
    return given | {"operation": "add_watch", "arguments": {"expression": " ".join(words)}}


def set_arguments(given: Given) -> Given:
    frame = given.pop("frame", None)
    fields = {"expression": given.pop("name"), "value": given.pop("value")}
    fields |= {} if frame is None else {"frame_id": frame}
    return given | {"operation": "set_expression", "arguments": fields}


def call_arguments(given: Given) -> Given:
    return given | {"arguments": read_pairs(given.pop("fields", []))}


def read_pairs(pairs: list[str]) -> Given:
    """Read KEY=VALUE, where what is a JSON number, list, object, true, false or null is one; and KEY:=JSON."""
    found: Given = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip(":"):
            raise WrongUsage(f"{pair} is not KEY=VALUE")
        found[key.removesuffix(":")] = _read_value(pair, value, key.endswith(":"))
    return found


def _read_value(pair: str, value: str, is_json: bool) -> Any:
    try:
        read = msgspec.json.decode(value)
    except msgspec.DecodeError as error:
        if is_json:
            raise WrongUsage(f"{pair} is not KEY:=JSON: {error}") from None
        return value
    return read if is_json or not isinstance(read, str) else value
