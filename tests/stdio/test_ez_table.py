"""The EZ protocol's table: complete, documented, and what is held against it."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DOCS

from opencode_debugger.doors.stdio.ez_commands import HANDLERS
from opencode_debugger.ez import page
from opencode_debugger.ez.lines import LineSplitter, Malformed, TooLong, decode_line, encode_line
from opencode_debugger.ez.messages import check_command, check_event, command_message, event_message, state_refusal
from opencode_debugger.ez.protocol import CAPABILITIES, COMMANDS, EVENTS, State

DOCUMENTATION = DOCS / "ez-protocol.md"
DOCUMENT = {
    "initialize", "start", "stepInto", "stepOver", "stepOut", "continue", "setBreakpoint", "clearBreakpoint",
    "getVariables", "getStackTrace", "evaluate", "terminate",
}  # fmt: skip
PLACE = {"file": "a.py", "line": 1, "column": 1}


def test_the_table_has_the_commands_of_the_document_and_extensions() -> None:
    assert {name for name, each in COMMANDS.items() if not each.extension} == DOCUMENT
    assert {name for name in COMMANDS if name not in HANDLERS} == set()
    assert {each.capability for each in COMMANDS.values() if each.extension} <= set(CAPABILITIES)
    assert all(answer in EVENTS for each in COMMANDS.values() for answer in each.answers)


def test_the_page_has_the_table() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8")
    assert page.rewritten_page(text) == text, "run: python -m opencode_debugger.ez.page docs/ez-protocol.md"


def test_what_the_page_shows_is_as_the_table_has_it() -> None:
    shown = re.findall(r"^([→←]) (\{.*\})$", DOCUMENTATION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(shown) > 10
    for direction, line in shown:
        message = json.loads(line.replace(", …", ""))
        assert (check_command(message) if direction == "→" else check_event(message)) is None, line


def test_what_the_document_has_is_right_with_and_without_extensions() -> None:
    stop = event_message("stopped", reason="breakpoint", location=PLACE, breakpointId=1)
    assert check_event(stop) is None
    assert check_event(stop, extensions=False) is None
    assert check_command({"type": "command", "command": "start"}) is None
    assert check_command({"type": "command", "command": "start", "params": None, "id": 5}) is None


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (event_message("stopped", reason="pause", location=PLACE), 'data.reason is "pause": one of step'),
        (event_message("stopped", reason="step", location=PLACE, threadId=1), "data.threadId is an extension"),
        (event_message("watches", watches=[]), 'Unknown event "watches"'),
        (event_message("stopped", reason="step"), "data.location is missing"),
        (event_message("stopped", reason="step", location={"file": "x", "line": 1}), "data.location.column is missing"),
        (
            event_message("variables", frameIndex=0, variables=[{"name": "x", "value": 1}]),
            "data.variables[0].value is 1",
        ),
        (event_message("variables", frameIndex=0, variables={}), "data.variables is an object: a list of variables"),
        ({"type": "event", "event": "started"}, "data is null"),
        (command_message("start"), 'type is "command"'),
    ],
)
def test_events_that_are_not_of_the_document_are_named(message: object, problem: str) -> None:
    assert problem in (check_event(message, extensions=False) or "")


def test_a_function_takes_the_place_of_file_and_line() -> None:
    assert check_command(command_message("setBreakpoint", function="f")) is None
    assert check_command(command_message("setBreakpoint", file="x")) == "params.line is missing: an integer is expected"


def test_a_refusal_says_why() -> None:
    assert state_refusal("stepInto", State.READY) == "Cannot step: program not started"
    assert state_refusal("stepInto", State.STOPPED) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PARAMS = st.dictionaries(st.sampled_from(sorted({field.name for c in COMMANDS.values() for field in c.params})), JSON)


MESSAGES = st.builds(lambda name, params: command_message(name, **params), st.sampled_from(list(COMMANDS)), PARAMS)


@given(JSON | MESSAGES)
@settings(max_examples=100, deadline=None)
def test_whatever_is_held_against_the_table_gets_an_answer(message: object) -> None:
    for problem in (check_command(message), check_event(message), check_event(message, extensions=False)):
        assert problem is None or ("\n" not in problem and len(problem) < 600)


# Lines.


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=10), st.integers(1, 7))
def test_lines_come_back_whole_however_they_are_cut(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines) + b"half"
    reader = LineSplitter()
    found = [line for at in range(0, len(data), size) for line in reader.feed(data[at : at + size])]
    assert found == lines
    assert reader.begun == b"half"
    assert reader.rest() == b"half"
    assert reader.rest() == b""


def test_a_line_that_is_too_long_is_counted_once_and_not_kept() -> None:
    reader = LineSplitter(longest=10)
    assert reader.feed(b"0123456789\n") == [b"0123456789"]
    found = reader.feed(b"01234567890") + reader.feed(b"x" * 100) + reader.feed(b"x\nnext\n")
    assert isinstance(found[0], TooLong) and found[1:] == [b"next"]
    assert reader.begun == b""


def test_halves_of_characters_are_written_as_escapes() -> None:
    line = encode_line(event_message("initialized", file="/tmp/\udcff.py"))
    assert line == b'{"type":"event","event":"initialized","data":{"file":"/tmp/\\udcff.py"}}\n'
    assert json.loads(line)["data"]["file"] == "/tmp/\udcff.py"


@settings(deadline=None)
@given(st.binary(max_size=50))
def test_what_is_no_json_is_told_in_one_line(line: bytes) -> None:
    try:
        decode_line(line)
    except Malformed as error:
        assert "\n" not in str(error)
