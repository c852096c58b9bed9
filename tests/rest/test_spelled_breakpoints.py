"""Breakpoints spelled as one text, wherever breakpoints are taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError
from relays import Api, Session, line_of, refusal

from opencode_debugger.models.requests.breakpoint_text import breakpoint_fields

LOOP = """
    def add(total, number):
        return total + number  # @adds

    total = 0
    for number in range(6):
        total = add(total, number)  # @calls
    print(total)
"""

SPELLED: list[tuple[str, dict[str, Any]]] = [
    ("app.py:42", {"file": "app.py", "line": 42}),
    ("  app.py:42  ", {"file": "app.py", "line": 42}),
    ("/my work/app.py:42 if d['a:b'] > 3", {"file": "/my work/app.py", "line": 42, "condition": "d['a:b'] > 3"}),
    ("app.py:7 if a if b else c", {"file": "app.py", "line": 7, "condition": "a if b else c"}),
    ("app.py:7 if x == ' log ' log x", {"file": "app.py", "line": 7, "condition": "x == ' log '", "log_message": "x"}),
    ("f if (x if hits 5 else y)", {"function": "f", "condition": "(x if hits 5 else y)"}),
    ("f if hits > 3 hits 2", {"function": "f", "condition": "hits > 3", "hit_condition": "2"}),
    ("f hits %5 if x", {"function": "f", "hit_condition": "%5", "condition": "x"}),
    ("f log {x} if you hits like", {"function": "f", "log_message": "{x} if you hits like"}),
    ("f if x == '(' log in", {"function": "f", "condition": "x == '('", "log_message": "in"}),
    ("f if it's (open log in", {"function": "f", "condition": "it's (open", "log_message": "in"}),
    ("app.py~total = 0 if x", {"file": "app.py", "text": "total = 0", "condition": "x"}),
    ('app.py~"a if b" if c', {"file": "app.py", "text": "a if b", "condition": "c"}),
    ("""app.py~"print("hi")" hits 2""", {"file": "app.py", "text": 'print("hi")', "hit_condition": "2"}),
    (r'app.py~"x = \"a\" if b"', {"file": "app.py", "text": 'x = "a" if b'}),
    ("Cart.add", {"function": "Cart.add"}),
    ("ns::Shop::~Shop", {"function": "ns::Shop::~Shop"}),
    ("f(int, char)", {"function": "f(int, char)"}),
    ("src/shop.cpp:ns::f(int) if x", {"file": "src/shop.cpp", "function": "ns::f(int)", "condition": "x"}),
    ("app.py:Cart.add", {"file": "app.py", "function": "Cart.add"}),
    ("tests/test_a.py::TestA::test_b", {"file": "tests/test_a.py", "function": "TestA.test_b"}),
    ("~/app.py:3", {"file": "~/app.py", "line": 3}),
]


@pytest.mark.parametrize(("spelled", "fields"), SPELLED)
def test_a_text_is_read_as_the_breakpoint_that_it_spells(spelled: str, fields: dict[str, Any]) -> None:
    assert breakpoint_fields(spelled) == fields


PIECES = st.sampled_from([" if ", " hits ", " log ", "~", ":", "::", '"', "'", "\\", "(", "]", "app.py", "42", ">=3"])


@settings(derandomize=True, database=None, deadline=None)
@given(st.lists(PIECES | st.text(max_size=3), max_size=20).map("".join))
def test_every_text_is_read_or_refused(spelled: str) -> None:
    try:
        fields = breakpoint_fields(spelled)
    except PydanticCustomError as error:
        assert "FILE:LINE" in error.message()
    else:
        assert fields.keys() & {"line", "text", "function"}
        assert all(fields.values()) or fields["line"] == 0


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        ("app.py", "is a file"),
        ("app.py 42", "neither a place in a file nor the name of a function"),
        ("app.py:42:7", "has a column"),
        ("app.py:0", "Line number must be a positive integer"),
        ("app.py:3 if", "nothing behind 'if'"),
        ("app.py:3 hits 2 hits 3", "'hits' twice"),
        ("app.py~", "no text"),
        ("", "names no place"),
        ("a" * 10_001, "more than 10000 characters"),
    ],
)
def test_what_is_no_breakpoint_is_refused_with_the_forms(session: Session, spelled: str, said: str) -> None:
    error = refusal(400, "INVALID_REQUEST", session.post, "/breakpoints", {"breakpoints": [spelled]})
    (told,) = error.details["errors"]
    assert told["field"].startswith("breakpoints[0]")
    assert said in told["message"]


def test_spelled_ones_stop_as_objects_do(api: Api, program: Callable[..., Path]) -> None:
    path = program(LOOP)
    with api.session(project_root=str(path.parent)) as session:
        spelled = [f"program.py:{line_of(path, 'adds')} if number == 2", 'program.py~"print(total)"']
        placed = session.post("/breakpoints", {"breakpoints": spelled})["breakpoints"]
        assert [each["verified"] for each in placed] == [True, True]
        assert session.launch(path)["current_location"]["line"] == line_of(path, "adds")
        assert session.locals()["number"] == "2"
        assert session.resume()["current_location"]["line"] == line_of(path, "calls") + 1


def test_hits_messages_and_functions_are_spelled_too(api: Api, program: Callable[..., Path]) -> None:
    path = program(LOOP)
    with api.session(project_root=str(path.parent)) as session:
        spelled = ["program.py:add hits 3", f"program.py:{line_of(path, 'calls')} log at {{number}} if any"]
        session.post("/breakpoints", {"breakpoints": spelled})
        assert session.launch(path)["current_location"]["function"] == "add"
        assert session.locals()["number"] == "2"
        session.wait_for_output("at 2 if any")


def test_profiles_and_imported_sessions_take_them(api: Api, program: Callable[..., Path]) -> None:
    path = program(LOOP)
    at = line_of(path, "adds")
    api.post("/breakpoint-profiles", {"name": "spelled", "breakpoints": [f"{path}:{at} if number > 1"]})
    kept = api.get("/breakpoint-profiles/spelled")["breakpoints"]
    assert [(each["line"], each["condition"]) for each in kept] == [(at, "number > 1")]
    api.delete("/breakpoint-profiles/spelled")
    document = {"format": "opencode-debugger/session", "version": 1, "breakpoints": [f"{path}:{at}"]}
    with Session(api, api.post("/sessions/import", document)["session_id"]) as session:
        assert [each["line"] for each in session.get("/breakpoints")["breakpoints"]] == [at]
