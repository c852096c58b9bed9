"""Our code in the program: of an earlier session nothing is left in it, and of all that little is in a runner."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from opencode_debugger.debuggers.python import inside_calls
from opencode_debugger.debuggers.python.inside import entry
from opencode_debugger.debuggers.python.inside.breakpoints import hit_decisions


def reach(number: int, sent: list[Any]) -> bool:
    scope = SimpleNamespace(f_globals={}, f_locals={})
    return hit_decisions.decide_hit(number, scope, lambda kind, body: sent.append((kind, body)))


def test_hits_are_counted_from_zero_in_each_session() -> None:
    for _ in range(2):
        entry.begin(1000)
        assert hit_decisions.hit_counts() == {}
        hit_decisions.define_rule(1, None, "==3", None, 0)
        assert [reach(1, []) for _ in range(5)] == [False, False, True, False, False]
        assert hit_decisions.hit_counts() == {1: 5}


def test_defined_again_in_one_session_it_goes_on_counting() -> None:
    entry.begin(1000)
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


def test_a_runner_loads_little_of_what_is_meant_for_the_program() -> None:
    package = "opencode_debugger.debuggers.python.inside."
    code = f"""
import sys, opencode_debugger.runner.session_server
print(*sorted({{name[{len(package)}:].partition(".")[0] for name in sys.modules if name.startswith({package!r})}}))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    parts = set(found.stdout.split())
    assert "processes" in parts
    assert not parts & {"entry", "evaluation", "full_speed", "pydevd_patches", "recording", "stepping", "threads"}
