"""A program may be attached to again: nothing of the earlier session is left in it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from opencode_debugger.debuggers.python import inside, inside_calls
from opencode_debugger.debuggers.python.inside.breakpoints import hit_decisions


def reach(number: int, sent: list[Any]) -> bool:
    scope = SimpleNamespace(f_globals={}, f_locals={})
    return hit_decisions.decide_hit(number, scope, lambda kind, body: sent.append((kind, body)))


def test_hits_are_counted_from_zero_in_each_session() -> None:
    for _ in range(2):
        inside.begin(1000)
        assert hit_decisions.hit_counts() == {}
        hit_decisions.define_rule(1, None, "==3", None, 0)
        assert [reach(1, []) for _ in range(5)] == [False, False, True, False, False]
        assert hit_decisions.hit_counts() == {1: 5}


def test_defined_again_in_one_session_it_goes_on_counting() -> None:
    inside.begin(1000)
    hit_decisions.define_rule(1, None, "==3", None, 0)
    assert not reach(1, []) and not reach(1, [])
    hit_decisions.define_rule(1, None, "==3", None, 0)
    assert reach(1, [])


@pytest.mark.parametrize("order", [1, -1])
def test_the_code_that_is_sent_to_a_program_loads_in_any_order(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a folder come in whatever order the disk has them in."""
    text, _, _ = inside_calls.BOOTSTRAP.partition("    _s.modules['_ocdb'].prepare()")
    sources = dict(list(inside_calls.sources_inside().items())[::order])
    for name in sources:  # so that all are gone afterwards
        monkeypatch.setitem(sys.modules, name.removesuffix(".__init__"), None)
        monkeypatch.delitem(sys.modules, name.removesuffix(".__init__"))
    before = list(sys.meta_path)
    exec(text % {"sources": sources}, {})
    assert sys.meta_path == before
    assert callable(sys.modules["_ocdb"].call)
