"""What editors ask: what may follow, and what is under the cursor. Neither runs code that was not asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, pythons, refusal

Write = Callable[..., Path]

VERSIONS = pythons("3.8", "3.11", "3.13")

PROGRAM = '''
    import json
    import helper

    calls = []

    def add(first, second=2):
        """Add two numbers.

        Slowly."""
        calls.append(first)
        return first + second

    class Order:
        rate = 7

        def __init__(self):
            self.items = [{"name": "x"}]
            self._hidden = 1
            self.itinerary = None

        @property
        def danger(self):
            calls.append("danger")
            return self

        def total(self):
            """What it costs."""
            return 12

    def unrelated(argument):
        inner_name = argument
        return inner_name

    def work(größe):
        order = Order()
        table = {"alpha": 1, "beta": {"gamma": order}, 5: 6}
        grown = größe + add(1).real; more = order.items[0]["name"]  # @here
        return grown  # @end

    work(3)
'''


@pytest.fixture(scope="module", params=VERSIONS.values(), ids=VERSIONS)
def stopped(
    api: Api, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Session, Path]]:
    folder = tmp_path_factory.mktemp("hover")
    path = folder / "program.py"
    path.write_text(textwrap.dedent(PROGRAM).lstrip("\n"), encoding="utf-8")
    (folder / "helper.py").write_text('"""Helps."""\nsize = 3\n')
    with api.session(python_path=str(request.param), project_root=str(folder)) as session:
        session.break_at(path, "end")
        session.launch(path)
        yield session, path


def labels(session: Session, text: str, **more: Any) -> list[str]:
    return [item["label"] for item in session.post("/completions", {"text": text, **more})["items"]]


def test_names_attributes_and_keys_are_completed(stopped: tuple[Session, Path]) -> None:
    session, _ = stopped
    answer = session.post("/completions", {"text": "x + or"})
    assert answer["items"][0] == {"label": "order", "type": "variable", "start": 5, "length": 2}
    assert [item["label"] for item in answer["items"]] == ["order", "ord", "or", "Order"]
    assert {item["label"]: item["type"] for item in answer["items"]} == {
        "order": "variable",
        "ord": "function",
        "or": "keyword",
        "Order": "class",
    }
    assert labels(session, "order.it") == ["items", "itinerary"]
    assert labels(session, "f(order.i, 1)", column=10) == ["items", "itinerary"]
    kinds = {item["label"]: item["type"] for item in session.post("/completions", {"text": "order."})["items"]}
    assert (kinds["danger"], kinds["total"], kinds["rate"], kinds["items"]) == (
        "property",
        "function",
        "variable",
        "variable",
    )
    in_order = labels(session, "order.")
    assert in_order.index("total") < in_order.index("_hidden") < in_order.index("__class__")
    assert "loads" in labels(session, "json.lo")
    assert labels(session, "Order.ra") == ["rate"]
    assert "append" in labels(session, "order.items.ap")
    assert "upper" in labels(session, "order.items[0]['name'].up")
    assert "upper" in labels(session, "'text'.up")
    assert labels(session, 'table["') == ["alpha", "beta"]
    assert labels(session, "table['be") == ["beta"]
    assert labels(session, "table[")[:3] == ["'alpha'", "'beta'", "5"]
    assert labels(session, 'table["beta"]["gamma"].it') == ["items", "itinerary"]
    assert labels(session, "größ") == ["größe"]
    assert "größe" not in labels(session, "g", frame_id=1)
    assert "work" in labels(session, "wo", frame_id=1)
    assert len(labels(session, "")) > 50


def test_completing_runs_nothing_and_survives_anything(stopped: tuple[Session, Path]) -> None:
    session, _ = stopped
    before = session.evaluate("calls")["result"]
    calls = ("order.danger.", "add(1).", "order.total().")
    for text in (*calls, "'in a string", "# comment or", "1 +* or.", "]]].", "..", '"'):
        assert labels(session, text) == [], text
    assert labels(session, "nope.") == []
    assert session.evaluate("calls")["result"] == before
    assert labels(session, "order.it", column=500) == ["items", "itinerary"]
    refusal(400, "INVALID_REQUEST", session.post, "/completions", {"text": "x", "column": 0})
    refusal(404, "FRAME_NOT_FOUND", session.post, "/completions", {"text": "x", "frame_id": 99})


def at(path: Path, marker: str, text: str, offset: int = 0) -> dict[str, Any]:
    line = line_of(path, marker)
    source = path.read_text(encoding="utf-8").splitlines()[line - 1]
    return {"file": str(path), "line": line, "column": source.index(text) + 1 + offset}


def test_hover_at_a_place_shows_what_is_written_there(stopped: tuple[Session, Path]) -> None:
    session, path = stopped
    found = session.post("/hover", at(path, "here", "größe"))
    assert (found["expression"], found["value"], found["type"]) == ("größe", "3", "int")
    assert found["range"] == {"line": line_of(path, "here"), "column": 13, "end_column": 18}
    assert found["has_side_effects"] is False
    assert session.post("/hover", at(path, "here", "order.items"))["expression"] == "order"
    assert session.post("/hover", at(path, "here", "items"))["value"] == "[{'name': 'x'}]"
    assert session.post("/hover", at(path, "here", "[0]"))["expression"] == "order.items[0]"
    assert session.post("/hover", at(path, "here", '["name"]'))["value"] == "'x'"
    callee = session.post("/hover", at(path, "here", "add(1)"))
    assert (callee["signature"], callee["documentation"]) == ("add(first, second=2)", "Add two numbers.")
    module = session.post("/hover", {"file": "program.py", "line": 2, "column": 8})
    assert (module["expression"], module["type"], module["documentation"]) == ("helper", "module", "Helps.")
    assert session.post("/hover", {"file": "helper.py", "line": 2, "column": 1})["value"] == "3"
    method = session.post("/hover", {"expression": "order.total"})
    assert (method["signature"], method["documentation"]) == ("total()", "What it costs.")


def test_hover_at_a_place_runs_no_calls_and_mixes_no_scopes_up(stopped: tuple[Session, Path]) -> None:
    session, path = stopped
    before = session.evaluate("calls")["result"]
    error = refusal(400, "EVALUATE_ERROR", session.post, "/hover", at(path, "here", "real"))
    assert "call" in error.message
    assert session.evaluate("calls")["result"] == before
    line = next(n for n, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if "inner_name =" in text)
    error = refusal(400, "EVALUATE_ERROR", session.post, "/hover", {"file": str(path), "line": line, "column": 5})
    assert "unrelated()" in error.message
    refusal(400, "EVALUATE_ERROR", session.post, "/hover", at(path, "here", " + add"))
    refusal(400, "EVALUATE_ERROR", session.post, "/hover", {"file": str(path), "line": 9999, "column": 1})
    refusal(403, "FORBIDDEN", session.post, "/hover", {"file": "/etc/passwd", "line": 1, "column": 1})


def test_hover_of_an_expression_looks_it_up_and_runs_nothing(stopped: tuple[Session, Path]) -> None:
    session, path = stopped
    before = session.evaluate("calls")["result"]
    for text, value in (
        ("order.items[0]['name'] + '!'", "'x!'"),
        ("table['beta']['gamma'].rate * 2 - größe", "11"),
        ("order.items[-1:]", "[{'name': 'x'}]"),
        ("'alpha' in table and not calls is None", "True"),
        ("1 < größe <= 3", "True"),
    ):
        assert session.post("/hover", {"expression": text})["value"] == value, text
    many = ("10 ** 10 ** 10", "'a' * 10 ** 9", "1 << 10 ** 9", "b'a' * 10 ** 9")
    for text in ("order.total()", "order.danger", "[x for x in calls]", "f'{order}'", "order == 1", *many):
        error = refusal(400, "EVALUATE_ERROR", session.post, "/hover", {"expression": text})
        assert "sessions:write" in error.details["suggestion"], text
    assert session.evaluate("calls")["result"] == before
    raised = session.post("/hover", {"expression": "order.nope"})
    assert (raised["value"], raised["error"]) == (None, "AttributeError: 'Order' object has no attribute 'nope'")
    refusal(400, "EVALUATE_ERROR", session.post, "/hover", {"expression": "x = 1"})
    for text, problem in (("nobody", "NameError"), ("table['z']", "KeyError"), ("1 / 0", "ZeroDivisionError")):
        assert session.post("/hover", {"expression": text})["error"].startswith(problem)
    for body in ({}, {"file": str(path)}, {"expression": "x", "line": 3}, {"file": "x", "line": 0, "column": 1}):
        refusal(400, "INVALID_REQUEST", session.post, "/hover", body)


def test_a_file_is_known_through_a_link_too(stopped: tuple[Session, Path], tmp_path: Path) -> None:
    session, path = stopped
    (tmp_path / "link").symlink_to(path.parent)
    place = at(path, "here", "größe")
    assert session.post("/hover", {**place, "file": str(tmp_path / "link" / "program.py")})["value"] == "3"
