"""Bounded representations: equal to repr() where it is short and safe, harmless where it is not."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import hostile_objects as hostile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import soon

from opencode_debugger.debuggers.python.inside.rpc.interrupts import guard, interrupt_thread
from opencode_debugger.debuggers.python.inside.values.bounded_repr import render_value, type_name

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20)
keys = st.integers() | st.text(max_size=10)
structures = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
        | st.frozensets(keys, max_size=4)
        | st.lists(inner, max_size=4).map(deque)
        | st.dictionaries(keys, inner, max_size=4).map(OrderedDict)
        | st.dictionaries(keys, inner, max_size=4).map(lambda found: defaultdict(list, found))
        | st.dictionaries(keys, inner, max_size=4).map(lambda found: found.items())
    ),
    max_leaves=20,
)


@settings(deadline=None, database=None)
@given(structures)
def test_short_builtin_structures_look_exactly_like_repr(value: Any) -> None:
    assert render_value(value, 100_000, None) == (repr(value), False)
    assert render_value(value, len(repr(value)), None) == (repr(value), False)


@settings(deadline=None, database=None)
@given(structures, st.integers(min_value=0, max_value=200))
def test_the_limit_is_never_exceeded(value: Any, limit: int) -> None:
    text, truncated = render_value(value, limit, None)
    assert len(text) <= limit
    assert truncated == (text != repr(value))


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (list(range(10000)), 28, "[0, 1, 2, ... (10000 items)]"),
        (tuple(range(50)), 24, "(0, 1, ... (50 items))"),
        (dict.fromkeys(range(1000)), 40, "{0: None, 1: None, ... (1000 items)}"),
        (["a" * 1000, 5], 60, "['aaaaaaaaaaaaaaaa'..., 5]"),
        ("a" * 100, 20, "'aaaaaaaaaaaaaaa'..."),
        (b"a" * 100, 20, "b'aaaaaaaaaaaaaa'..."),
        ("\U0001f600\x00" * 100, 20, None),
        ([[0] * 1000, 1], 60, None),
    ],
)
def test_what_does_not_fit_is_cut_and_counted(value: Any, limit: int, text: str | None) -> None:
    found, truncated = render_value(value, limit, None)
    assert truncated
    assert len(found) <= limit
    assert text is None or found == text


def test_a_big_first_item_leaves_room_for_its_neighbours() -> None:
    assert render_value({"a": [0] * 1000, "b": 1}, 60, None)[0].endswith("(1000 items)], 'b': 1}")


def test_cycles_look_like_in_repr() -> None:
    cyclic: list[Any] = [1]
    cyclic.append({"self": cyclic})
    assert render_value(cyclic, 100, None) == (repr(cyclic), False)


def test_deep_nesting_is_cut() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    text, truncated = render_value(deep, 100_000, None)
    assert truncated and len(text) < 100


def test_subclasses_with_the_builtin_repr_are_bounded_too() -> None:
    class Items(list):  # type: ignore[type-arg]
        pass

    class Names(set):  # type: ignore[type-arg]
        pass

    assert render_value(Items(range(10000)), 28, None) == ("[0, 1, 2, ... (10000 items)]", True)
    assert render_value(Names([1]), 100, None) == (repr(Names([1])), False)
    assert render_value(hostile.NegativeList([1, 2]), 100, None) == ("[1, 2]", False)


def test_a_namedtuple_uses_its_own_repr() -> None:
    assert render_value(namedtuple("Point", "x y")(1, 2), 100, None) == ("Point(x=1, y=2)", False)


def test_huge_integers_neither_raise_nor_take_long() -> None:
    started = time.thread_time()
    assert render_value(1 << 50_000_000, 100, None) == ("<int with 50000001 bits>", True)
    previous = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert render_value(10**1000, 100, None)[0].startswith("<int with")
    finally:
        sys.set_int_max_str_digits(previous)
    assert time.thread_time() - started < 1


def test_five_million_items_cost_no_more_than_a_few() -> None:
    values: list[Any] = [list(range(5_000_000)), dict.fromkeys(range(1_000_000)), "x" * 50_000_000]
    started = time.thread_time()
    for value in values:
        assert len(render_value(value, 200, None)[0]) <= 200
    assert time.thread_time() - started < 0.1


@pytest.mark.parametrize(
    ("make", "note"),
    [
        (hostile.RaisingRepr, "(repr raised ValueError: no repr today)>"),
        (hostile.ExitingRepr, "(repr raised SystemExit: 3)>"),
        (hostile.CancellingRepr, "(repr raised KeyboardInterrupt)>"),
        (hostile.RaisingUnprintableRepr, "(repr raised UnprintableError)>"),
        (hostile.NumberRepr, "(repr raised TypeError: __repr__ returned non-string (type int))>"),
        (lambda: hostile.Rude, "(repr raised RuntimeError: no class repr)>"),
    ],
)
def test_a_repr_that_fails_is_named_with_its_reason(make: Any, note: str) -> None:
    value = make()
    text, _ = render_value(value, 200, None)
    assert text == f"<{type_name(value)} object at {id(value):#x} {note}"


def test_a_huge_repr_is_cut() -> None:
    assert render_value(hostile.HugeRepr(), 20, None) == ("x" * 17 + "...", True)


def test_lone_surrogates_are_escaped() -> None:
    assert render_value(hostile.SurrogateRepr(), 100, None)[0] == "\\ud800 alone"


def test_the_default_repr_is_kept_and_runs_nothing() -> None:
    assert render_value(hostile.Closed(), 100, None)[0].startswith("<hostile_objects.Closed object at 0x")


@pytest.mark.parametrize("limit", [0, 1, 5, 30, 300])
def test_hostile_objects_stay_within_the_limit(limit: int) -> None:
    for value in hostile.all_objects():
        text, _ = render_value(value, limit, None)
        assert len(text) <= limit
        assert type_name(value)


def test_past_the_deadline_no_repr_of_the_program_is_called() -> None:
    text, _ = render_value([hostile.RaisingRepr(), 1], 200, time.monotonic() - 1)
    assert text.startswith("[<RaisingRepr object at 0x") and text.endswith(">, 1]") and "raised" not in text


def test_a_slow_repr_is_interrupted_once_and_then_none_is_called() -> None:
    hostile.SleepingRepr.calls = 0
    threading.Timer(0.1, interrupt_thread, [threading.get_ident()]).start()
    with soon(), guard():
        text, _ = render_value([hostile.SleepingRepr(), hostile.SleepingRepr(), hostile.RaisingRepr(), 7], 500, None)
    assert text.count("(repr timed out)>") == 1 and "raised" not in text and text.endswith(", 7]")
    assert hostile.SleepingRepr.calls == 1


def test_a_dict_that_changes_meanwhile_ends_early() -> None:
    changing: dict[Any, Any] = {}

    class Growing:
        def __repr__(self) -> str:
            changing[len(changing)] = 1
            return "growing"

    changing[0] = Growing()
    changing[1] = 2
    assert render_value(changing, 100, None) == ("{0: growing, ...}", True)
