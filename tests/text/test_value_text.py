"""Values, stacks, breakpoints, source and output in text, of a real program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from relays import Api, Session, line_of
from text_answers import in_text

PROGRAM = """
import sys

class Cart:
    def __init__(self):
        self.items = list(range(1000))
        self.owner = "eve"

def check(cart, limit):
    count = len(cart.items)
    text = "x" * 5000
    print("checked")
    print("beware", file=sys.stderr)
    return count > limit  # @here

def fail():
    raise ValueError("not now")  # @fail

check(Cart(), 10)  # @call
"""


@pytest.fixture(scope="module")
def paused(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, Path]]:
    path = tmp_path_factory.mktemp("values") / "shop.py"
    path.write_text(PROGRAM)
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "here")
        session.launch(path)
        yield session, path


def told(session: Session, expression: str) -> str:
    return in_text(session, "POST", "/evaluate", {"expression": expression})


def test_results_of_expressions(paused: tuple[Session, Path]) -> None:
    session, path = paused
    assert told(session, "count + 1") == "1001"
    assert told(session, "print('a\\nb') or cart.owner") == "out| a\nout| b\n'eve'"
    assert told(session, "1 / 0") == "raised ZeroDivisionError: division by zero"
    assert told(session, "fail()") == f"raised ValueError: not now\n  in fail shop.py:{line_of(path, 'fail')}"
    long = told(session, "text")
    assert len(long) < 2100 and "…" in long and "len 5000" in long
    assert told(session, "complex(1, 2)") == "(1+2j)  (complex)"


def test_rows_of_variables(paused: tuple[Session, Path]) -> None:
    session, _ = paused
    rows = in_text(session, "GET", "/frames/0/variables").split("\n")
    assert rows[1:3] == ["limit: int = 10", "count: int = 1000"]
    assert rows[3].startswith("text: str = 'xxx") and rows[3].endswith("  (len 5000)")
    cart = session.evaluate("cart")["variables_reference"]
    inside = in_text(session, "GET", f"/variables/{cart}").split("\n")
    assert inside[0].startswith("items: list = [0, 1, 2") and inside[1] == "owner: str = 'eve'"
    items = session.evaluate("cart.items")["variables_reference"]
    page = in_text(session, "GET", f"/variables/{items}", count=2).split("\n")
    assert page == ["0: int = 0", "1: int = 1", "… 1000 in all: go on with start 2"]
    assert len(in_text(session, "GET", f"/variables/{items}")) < 4500


def test_assignments_and_watches(paused: tuple[Session, Path]) -> None:
    session, _ = paused
    body = {"expression": "cart.owner", "value": "'bob'"}
    assert in_text(session, "POST", "/set-expression", body) == "cart.owner: str = 'bob' (was 'eve')"
    body["value"] = "'eve'"
    in_text(session, "POST", "/set-expression", body)
    assert in_text(session, "POST", "/watch", {"expression": "limit * 2"}) == "w_1 limit * 2 = 20"
    assert in_text(session, "GET", "/watch") == "w_1 limit * 2 = 20"
    assert in_text(session, "DELETE", "/watch") == "removed w_1 limit * 2; 0 watches left"


def test_stacks_source_and_output(paused: tuple[Session, Path]) -> None:
    session, path = paused
    here, call = line_of(path, "here"), line_of(path, "call")
    assert in_text(session, "GET", "/stacktrace").split("\n") == [
        "thread 1:", f"  0 check shop.py:{here}", f"  1 <module> shop.py:{call}",
    ]
    source = in_text(session, "GET", "/source").split("\n")
    assert source[0] == "shop.py, lines 1-19 of 19 in check" and f">{here}     return count > limit  # @here" in source
    assert in_text(session, "GET", "/output").startswith("checked\nerr| beware")
    threads = in_text(session, "GET", "/threads").split("\n")
    assert threads[0] == f">1 MainThread paused at shop.py:{here} in check"
    assert in_text(session, "GET", "/status") == f"{session.id} paused: breakpoint at shop.py:{here} in check"


def test_breakpoints_say_why_they_are_not_verified(api: Api, program: Callable[..., Path]) -> None:
    path = program("x = 1\n# nothing\ny = 2\n", "few.py")
    with api.session(project_root=str(path.parent)) as session:
        body = {"breakpoints": [
            {"file": "few.py", "line": 2, "condition": "x > 1"},
            {"file": "few.py", "line": 3, "hit_condition": ">2", "log_message": "x is {x}"},
        ]}
        first, second = in_text(session, "POST", "/breakpoints", body).split("\n")
        assert first.startswith("bp_1 few.py:2 if x > 1  (NOT VERIFIED; No executable code at line 2; line ")
        assert second == "bp_2 few.py:3 hits >2 log x is {x}"
        assert in_text(session, "GET", "/breakpoints") == f"{first}\n{second}"
        assert in_text(session, "DELETE", "/breakpoints/bp_1") == "removed bp_1 few.py:2"
        assert in_text(session, "DELETE", "/breakpoints") == "removed bp_2 few.py:3"
        assert in_text(session, "GET", "/breakpoints") == "no breakpoints"
        assert in_text(session, "GET", "").startswith(f"{session.id} created\n")
        listed = api.http.get("/sessions", params={"format": "text", "limit": 1000}).text
        assert f"{session.id} created: ({session.get()['name']})\n" in listed
        assert in_text(session, "DELETE", "") == f"{session.id} deleted: terminated"
