"""Variables of a paused program get new values, which are read back and which the program really uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, ApiError, Session, line_of, pythons, refusal

Write = Callable[..., Path]

VERSIONS = pythons("3.8", "3.11", "3.12", "3.13")

PROGRAM = """
    import collections
    import dataclasses

    level = "module"

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        x: int = 1

    class Slotted:
        __slots__ = ("a", "b")

        def __init__(self):
            self.a = 1

    class Account:
        kind = "plain"

        def __init__(self):
            self.__secret = 1
            self.name = "ann"
            self._rate = 1

        @property
        def read_only(self):
            return 1

        @property
        def rate(self):
            return self._rate

        @rate.setter
        def rate(self, value):
            self._rate = round(value)

    def outer(start):
        total = start
        shared = 10

        def bump():
            nonlocal shared
            shared += 1
            later = None
            hidden = shared  # @inner
            return hidden

        result = bump()
        print("outer", total, shared, result)
        values = [
            item * 2
            for item in (1, 2)
            if item  # @comprehension
        ]
        print("values", values)

    class Body:
        size = 1
        more = size  # @body
        print("body", size)

    def members():
        numbers = [1, 2, 3]
        pair = (1, 2)
        table = {"a": 1, 2: "two", (1, 2): "pair"}
        queue = collections.deque([1, 2])
        kinds = {1}
        frozen, slotted, account = Frozen(), Slotted(), Account()
        print("members")  # @members
        print(numbers, table, queue, slotted.b, account.name, account.rate, Account.kind)

    outer(1)
    base = 1
    made = [
        item + base
        for item in (1, 2)
        if item  # @module
    ]
    print("made", made)
    members()
    print("level", level)
"""


def scope(session: Session, frame_id: int = 0, which: int = 0) -> int:
    reference: int = session.get(f"/frames/{frame_id}/scopes")["scopes"][which]["variables_reference"]
    return reference


def set_in(session: Session, reference: int, name: str, value: str, **more: Any) -> Any:
    return session.post(f"/variables/{reference}/set", {"name": name, "value": value, **more})


def inside(session: Session, expression: str) -> int:
    reference: int = session.evaluate(expression)["variables_reference"]
    return reference


@pytest.fixture
def at_members(session: Session, program: Write) -> Session:
    path = program(PROGRAM)
    session.break_at(path, "members")
    session.launch(path)
    return session


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS)
def test_locals_globals_closures_and_callers_are_set_for_real(api: Api, program: Write, python: Path) -> None:
    path = program(PROGRAM)
    with api.session(python_path=str(python)) as session:
        session.break_at(path, "body", "inner", "comprehension", "module")
        assert session.launch(path)["current_location"]["line"] == line_of(path, "body")
        set_in(session, scope(session), "size", "41 + 1")

        assert session.resume()["current_location"]["line"] == line_of(path, "inner")
        answer = set_in(session, scope(session), "shared", "shared * 100")
        assert (answer["value"], answer["type"], answer["old"], answer["old_type"]) == ("1100", "int", "11", "int")
        assert answer["variables_reference"] == 0
        assert session.locals()["shared"] == "1100"
        assert session.locals(1)["shared"] == "1100", "the caller's cell is the same"
        made = set_in(session, scope(session, 1), "total", "[start, start]")
        assert made["value"] == "[1, 1]", "the value is evaluated in the scope's own frame"
        assert [row["value"] for row in session.get(f"/variables/{made['variables_reference']}")["variables"]] == [
            "1",
            "1",
        ]
        assert set_in(session, scope(session), "hidden", "0")["old"] is None, "a local that has no value yet"
        set_in(session, scope(session, 2, 1), "level", "'changed'")
        error = refusal(404, "VARIABLE_NOT_FOUND", set_in, session, scope(session), "level", "1")
        assert "global" in error.details["suggestion"]
        refusal(404, "VARIABLE_NOT_FOUND", set_in, session, scope(session), "nope", "1")

        assert session.resume()["current_location"]["line"] == line_of(path, "comprehension")
        assert session.post("/set-expression", {"expression": "item", "value": "50"})["value"] == "50"
        session.delete("/breakpoints/bp_3")

        assert session.resume()["current_location"]["line"] == line_of(path, "module")
        assert session.post("/set-expression", {"expression": "base", "value": "10"})["value"] == "10"
        expected = "[60, 12]"
        try:
            assert session.post("/set-expression", {"expression": "item", "value": "50"})["value"] == "50"
        except ApiError as error:
            assert error.code == "VARIABLE_NOT_SET"
            assert python.parts[-3].startswith(("3.12", "3.13")), "there it is no variable of any frame"
            expected = "[11, 12]"
        session.delete("/breakpoints/bp_4")
        session.resume()
        told = f"body 42\nouter [1, 1] 1100 1100\nvalues [100, 4]\nmade {expected}\n"
        assert session.output().startswith(told)


def test_items_and_attributes_are_set_as_they_are_listed(at_members: Session) -> None:
    session = at_members
    assert set_in(session, inside(session, "numbers"), "1", "[len(numbers)]")["value"] == "[3]"
    table = inside(session, "table")
    names = [row["name"] for row in session.get(f"/variables/{table}")["variables"]]
    assert names == ["'a'", "2", "(1, 2)"]
    for name in names:
        assert set_in(session, table, name, f"{len(name)}.5")["value"] == f"{len(name)}.5"
    assert set_in(session, table, "a", "0")["old"] == "3.5", "a key that is a text may come without quotes"
    assert set_in(session, inside(session, "queue"), "0", "'first'")["value"] == "'first'"
    assert set_in(session, inside(session, "slotted"), "b", "7")["old"] is None
    account = inside(session, "account")
    assert set_in(session, account, "name", "'bob'")["old"] == "'ann'"
    assert set_in(session, account, "_Account__secret", "2")["value"] == "2"
    rate = set_in(session, account, "rate", "2.6")
    assert (rate["value"], "something else" in rate["note"]) == ("3", True)
    assert set_in(session, inside(session, "Account"), "kind", "'rich'")["value"] == "'rich'"
    assert session.evaluate("(numbers, table['a'], queue[0], account.name)")["result"] == (
        "([1, [3], 3], 0, 'first', 'bob')"
    )
    session.resume()
    assert "[1, [3], 3] {'a': 0, 2: 1.5, (1, 2): 6.5} deque(['first', 2]) 7 bob 3 rich" in session.output()


def test_any_assignable_expression_is_set_and_what_cannot_be_set_says_why(at_members: Session) -> None:
    session = at_members
    for owner, name, reason in (
        ("pair", "0", "'tuple' object does not support item assignment"),
        ("kinds", "0", "members of a set cannot be replaced"),
        ("frozen", "x", "FrozenInstanceError"),
        ("account", "read_only", "AttributeError"),
    ):
        error = refusal(409, "VARIABLE_NOT_SET", set_in, session, inside(session, owner), name, "5")
        assert reason in error.message, error
    for owner, name in (("numbers", "3"), ("numbers", "-1"), ("table", "b"), ("account", "nope"), ("slotted", "c")):
        refusal(404, "VARIABLE_NOT_FOUND", set_in, session, inside(session, owner), name, "5")
    locals_ = scope(session)
    refusal(404, "VARIABLE_NOT_FOUND", set_in, session, 999_999, "numbers", "1")
    bad = refusal(400, "EVALUATE_ERROR", set_in, session, locals_, "numbers", "1 +")
    assert (bad.details["field"], bad.details["offset"] > 0) == ("value", True)
    raised = refusal(400, "EVALUATE_ERROR", set_in, session, locals_, "numbers", "1 / 0")
    assert raised.message == "ZeroDivisionError: division by zero"
    refusal(400, "EVALUATE_ERROR", set_in, session, locals_, "numbers", "x = 1")
    refusal(504, "DEBUGPY_TIMEOUT", set_in, session, locals_, "numbers", "[1 for _ in iter(int, 1)]", timeout=0.3)
    refusal(404, "FRAME_NOT_FOUND", set_in, session, locals_, "numbers", "1", frame_id=50)
    refusal(400, "INVALID_REQUEST", session.post, f"/variables/{locals_}/set", {"name": "numbers"})
    assert session.locals()["numbers"] == "[1, 2, 3]", "nothing was changed by any of these"

    def put(expression: str, value: str, **more: Any) -> Any:
        return session.post("/set-expression", {"expression": expression, "value": value, **more})

    answer = put("table['a']", "{'b': [1, 2]}")
    assert (answer["expression"], answer["value"], answer["old"]) == ("table['a']", "{'b': [1, 2]}", "1")
    assert put("table['a']['b'][-1]", "'last'")["value"] == "'last'"
    assert put("table['new']", "1")["old"] is None
    assert put("numbers[0:2]", "[9]")["old"] == "[1, 2]"
    assert put("numbers[len(numbers) - 1]", "8")["value"] == "8"
    assert put("account.name", "'eve'")["old"] == "'ann'"
    assert put("account.__secret", "'told'")["old"] == "1"
    assert put("numbers", "[0]")["value"] == "[0]"
    assert put("level", "'set'")["value"] == "'set'"
    assert put("account", "None", frame_id=0)["type"] == "NoneType"
    for text, reason in (("1", "assign"), ("f()", "assign"), ("a b", "syntax"), ("numbers +", "syntax")):
        error = refusal(400, "EVALUATE_ERROR", put, text, "1")
        assert reason in error.message, error
        assert error.details["field"] == "expression"
    assert refusal(400, "EVALUATE_ERROR", put, "table['x']['y']", "1").message == "KeyError: 'x'"
    refusal(409, "VARIABLE_NOT_SET", put, "numbers[5]", "1")
    refusal(409, "VARIABLE_NOT_SET", put, "pair[0]", "1")
    refusal(404, "VARIABLE_NOT_FOUND", put, "unheard_of", "1")
    session.evaluate("account = slotted")
    refusal(409, "VARIABLE_NOT_SET", put, "account.new", "1")

    session.resume()  # stops on the slot that was not set
    refusal(404, "VARIABLE_NOT_FOUND", set_in, session, locals_, "numbers", "1")
    session.resume()
    refusal(409, "INVALID_SESSION_STATE", set_in, session, locals_, "numbers", "1")


def test_locals_of_a_thread_that_is_busy_in_a_call_are_set_too(session: Session, program: Write) -> None:
    path = program(
        """
        import threading

        go = threading.Event()

        def work():
            wish = "old"
            go.wait()
            print(wish)

        thread = threading.Thread(target=work, name="busy")
        thread.start()
        go.wait(0.2)
        go.is_set()  # @here
        go.set()
        thread.join()
        """
    )
    session.break_at(path, "here")
    session.launch(path)
    (busy,) = [row["id"] for row in session.get("/threads")["threads"] if row["name"] == "busy"]
    stack = session.get("/stacktrace", thread_id=busy)["frames"]
    (frame,) = [row["id"] for row in stack if row["name"] == "work"]
    answer = session.post(
        "/set-expression", {"expression": "wish", "value": "'new'", "thread_id": busy, "frame_id": frame}
    )
    assert (answer["value"], answer["old"]) == ("'new'", "'old'")
    session.resume()
    assert session.output() == "new\n"
