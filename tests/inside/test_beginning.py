"""A program may be attached to again: nothing of the earlier session is left in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from opencode_debugger.adapters.debugpy import inside
from opencode_debugger.adapters.debugpy.inside import breakpoints


def reach(number: int, sent: list[Any]) -> bool:
    scope = SimpleNamespace(f_globals={}, f_locals={})
    return breakpoints.hit(number, scope, lambda kind, body: sent.append((kind, body)))


def test_hits_are_counted_from_zero_in_each_session() -> None:
    for _ in range(2):
        inside.begin(1000)
        assert breakpoints.counts() == {}
        breakpoints.define(1, None, "==3", None, 0)
        assert [reach(1, []) for _ in range(5)] == [False, False, True, False, False]
        assert breakpoints.counts() == {1: 5}


def test_defined_again_in_one_session_it_goes_on_counting() -> None:
    inside.begin(1000)
    breakpoints.define(1, None, "==3", None, 0)
    assert not reach(1, []) and not reach(1, [])
    breakpoints.define(1, None, "==3", None, 0)
    assert reach(1, [])
