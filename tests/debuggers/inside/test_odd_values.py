"""Records, routines, bytes and arrays looked at from inside, and answers that keep to their budget."""

from __future__ import annotations

import array
import collections
import dataclasses
import json
import random
import string
import types
from typing import Any

import pytest
from hostile_objects import all_objects

from opencode_debugger.debuggers.python.inside.values import variable_rows
from opencode_debugger.debuggers.python.inside.values.bounded_repr import render_value
from opencode_debugger.debuggers.python.inside.values.variable_rows import Reply, children_page, variable_row


@dataclasses.dataclass
class Plain:
    x: int
    y: Any = None


@dataclasses.dataclass
class OwnRepr:
    x: int

    def __repr__(self) -> str:
        return "own"


@dataclasses.dataclass
class Child(Plain):
    z: int = 3


@dataclasses.dataclass
class SlottedRecord:
    __slots__ = ("x",)
    x: int


Point = collections.namedtuple("Point", "x y")


class Named(Point):
    def __repr__(self) -> str:
        return "named"


@pytest.mark.parametrize(
    "value",
    [
        Plain(1, [2]),
        OwnRepr(1),
        Child(1, 2),
        SlottedRecord(5),
        Point(1, "x"),
        Named(1, 2),
        types.SimpleNamespace(a=1, b=[2]),
        collections.Counter("aab"),
        collections.Counter(),
        types.MappingProxyType({"a": 1}),
        array.array("i", [1, 2]),
        array.array("d"),
    ],
)
def test_records_are_written_as_their_own_repr_writes_them(value: Any) -> None:
    shown = repr(value)
    if isinstance(value, array.array) and not len(value):
        shown = "array('d', [])"
    assert render_value(value, 1000, None) == (shown, False)


def test_a_record_that_holds_itself_ends() -> None:
    record = Plain(1)
    record.y = record
    assert render_value(record, 1000, None)[0] == "Plain(x=1, y=Plain(...))"


def test_functions_and_generators_tell_what_they_are() -> None:
    def function(a: int, b: Any = [1], *, c: int = 2) -> None: ...  # noqa: B006

    def generator() -> Any:
        inner = 5
        yield inner

    row = variable_row("f", function, Reply(), 100, terms=variable_rows.DETAILED)
    assert row["signature"] == "(a, b=[1], *, c=2)"
    made = generator()
    assert variable_row("g", made, Reply(), 100)["state"] == "created"
    next(made)
    reply = Reply()
    row = variable_row("g", made, reply, 100)
    assert [child["name"] for child in children_page(row["variables_reference"], reply=reply)["variables"]] == ["inner"]
    made.close()
    assert variable_row("g", made, Reply(), 100)["state"] == "closed"


def test_a_memoryview_that_was_released_is_said_to_be() -> None:
    view = memoryview(b"abc")
    view.release()
    row = variable_row("v", view, Reply(), 100, terms=variable_rows.DETAILED)
    assert row["value"].startswith("<released memory at ") and "base64" not in row


def odd(rng: random.Random) -> Any:
    letters = string.ascii_letters + '"\\\n\0é日🐍\ud800'
    text = "".join(rng.choices(letters, k=rng.randrange(400)))
    made = type(text[:150].replace("\0", "").encode("utf-8", "replace").decode() or "X", (), {})()
    vars(made)[text] = 1
    choices = [text, {text: made}, [text] * 9, made, text.encode("utf-8", "replace"), list(range(1000)), 5]
    return rng.choice(choices)


@pytest.mark.parametrize("seed", range(5))
def test_no_answer_is_longer_than_its_budget(seed: int) -> None:
    rng = random.Random(seed)
    things = [odd(rng) for _ in range(30)] + all_objects()
    rng.shuffle(things)
    holder = {f"{text}": thing for text, thing in zip(map(str, map(odd, [rng] * len(things))), things, strict=True)}
    for budget in (600, 900, 3000):
        for summary in (variable_rows.DETAILED, variable_rows.SUMMARY):
            reply, start = Reply(), 0
            reference = variable_row("it", holder, reply, 10)["variables_reference"]
            while True:
                page = children_page(
                    reference, reply, terms=summary, start=start, count=50, limit_total=100_000, budget=budget
                )
                sent = {"frame_id": 0, **page}
                assert len(json.dumps(sent, ensure_ascii=False, separators=(",", ":"))) <= budget
                start += len(page["variables"])
                if not page["has_more"]:
                    break
            assert start == len(holder)
