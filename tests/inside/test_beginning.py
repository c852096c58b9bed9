"""A program may be attached to again: nothing of the earlier session is left in it."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from opencode_debugger.adapters.debugpy import inside, probe
from opencode_debugger.adapters.debugpy.inside import breakpoints
from opencode_debugger.adapters.debugpy.launch import INSIDE


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


@pytest.mark.parametrize("order", [1, -1])
def test_the_code_that_is_sent_to_a_program_loads_in_any_order(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a folder come in whatever order the disk has them in."""
    text, _, _ = probe.BOOTSTRAP.partition("    _s.modules['_ocdb'].prepare()")
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(INSIDE.glob("*.py"))[::order]}
    for name in sources:  # so that all are gone afterwards
        monkeypatch.setitem(sys.modules, "_ocdb" if name == "__init__" else f"_ocdb.{name}", None)
        monkeypatch.delitem(sys.modules, "_ocdb" if name == "__init__" else f"_ocdb.{name}")
    exec(text % {"sources": repr(sources)}, {})
    assert callable(sys.modules["_ocdb"].call)
