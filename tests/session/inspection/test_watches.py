"""Watches: expressions whose values every stop report has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from relays import Api, Relay, Session, pythons, refusal
from targets import listening_with
from waiting import soon

Write = Callable[..., Path]

LOOP = """
    import time

    class Order:
        def __init__(self):
            self.items = []

        def size(self):
            return len(self.items)

    order = Order()
    for i in range(4):
        order.items.append(i)
        done = i  # @here
    print("end")
"""


@pytest.fixture
def looping(session: Session, program: Write) -> Session:
    path = program(LOOP)
    session.break_at(path, "here")
    session.post("/watch", {"expression": "order.items", "name": "items"})
    session.launch(path)
    return session


def rows(report: dict) -> dict:
    return {row["name"]: row for row in report["watches"]}


def test_a_watch_set_before_launch_is_in_every_stop_report_and_tells_what_changed(
    session: Session, program: Write
) -> None:
    path = program(LOOP)
    session.break_at(path, "here")
    assert session.post("/watch", {"expression": "i * 10"}) == {
        "watch_id": "w_1",
        "expression": "i * 10",
        "name": "i * 10",
        "has_side_effects": False,
    }
    session.post("/watch", {"expression": "order.items", "name": "items"})
    session.post("/watch", {"expression": "type(order)"})
    first = rows(session.launch(path))
    assert {name: row["value"] for name, row in first.items()} == {
        "i * 10": "0",
        "items": "[0]",
        "type(order)": "<class '__main__.Order'>",
    }
    assert not any("changed" in row for row in first.values())
    assert first["items"]["type"] == "list"
    inside = session.get(f"/variables/{first['items']['variables_reference']}")["variables"]
    assert [row["value"] for row in inside] == ["0"]

    second = rows(session.resume())
    assert (second["items"]["value"], second["items"]["changed"], second["items"]["old"]) == ("[0, 1]", True, "[0]")
    assert (second["i * 10"]["old"], second["i * 10"]["value"]) == ("0", "10")
    assert "changed" not in second["type(order)"]
    again = rows(session.get("/report"))
    assert (again["items"]["changed"], again["items"]["old"]) == (True, "[0]"), "the same stop is told the same way"


def test_a_watch_that_raises_is_told_shortly_and_one_that_begins_to_work_has_changed(
    session: Session, program: Write
) -> None:
    path = program("x = 1\ny = 2  # @first\nz = 3  # @second\n")
    session.break_at(path, "first", "second")
    session.post("/watch", {"expression": "y + 1"})
    (row,) = session.launch(path)["watches"]
    assert row["error"] == "NameError: name 'y' is not defined"
    assert "value" not in row
    (row,) = session.resume()["watches"]
    assert (row["value"], row["changed"], row["old"]) == ("3", True, "NameError: name 'y' is not defined")


def test_watches_are_listed_with_their_values_in_any_frame_and_removed(session: Session, program: Write) -> None:
    path = program(
        """
        def inner(a):
            return a + 1  # @here

        def outer(a):
            return inner(a * 2)

        outer(5)
        """
    )
    session.break_at(path, "here")
    session.post("/watch", {"expression": "a"})
    listed = session.get("/watch")
    assert (listed["session_status"], listed["total"]) == ("created", 1)
    assert "value" not in listed["watches"][0]
    session.launch(path)
    assert session.post("/watch", {"expression": "a + 1", "name": "next"})["value"] == "11"
    assert [row["value"] for row in session.get("/watch")["watches"]] == ["10", "11"]
    assert [row["value"] for row in session.get("/watch", frame_id=1)["watches"]] == ["5", "6"]
    refusal(404, "FRAME_NOT_FOUND", session.get, "/watch", frame_id=77)
    refusal(404, "THREAD_NOT_FOUND", session.get, "/watch", thread_id=77)

    again = session.post("/watch", {"expression": " a ", "name": "argument"})
    assert (again["watch_id"], again["name"]) == ("w_1", "argument"), "the same expression is the same watch"
    assert session.delete("/watch/w_1")["total"] == 1
    assert [row["watch_id"] for row in session.get("/report")["watches"]] == ["w_2"]
    refusal(404, "WATCH_NOT_FOUND", session.delete, "/watch/w_1")
    assert [row["watch_id"] for row in session.delete("/watch")["removed"]] == ["w_2"]
    assert "watches" not in session.get("/report")


def test_what_is_no_expression_is_refused(session: Session) -> None:
    for text in ("x =", "x = 1", "import os", "  ", "def f(): pass", "await x"):
        error = refusal(400, "EVALUATE_ERROR", session.post, "/watch", {"expression": text})
        assert error.message.startswith("SyntaxError: ")
    refusal(400, "INVALID_REQUEST", session.post, "/watch", {"expression": ""})
    refusal(400, "INVALID_REQUEST", session.post, "/watch", {"expression": "x" * 10_001})
    assert session.get("/watch")["watches"] == []
    for number in range(50):
        session.post("/watch", {"expression": f"x + {number}"})
    refusal(400, "INVALID_REQUEST", session.post, "/watch", {"expression": "one_too_many"})
    assert session.get("/watch")["total"] == 50


def test_expressions_that_may_change_the_program_are_labelled_in_watches_and_evaluations(looping: Session) -> None:
    judged = {
        "order.items[0]": False,
        "len(order.items) > 2": False,
        "[x for x in order.items]": False,
        "f'{i:>3}'": False,
        "order.size()": True,
        "(n := i)": True,
        "list(order.items)": True,
        "[x.bit_length() for x in order.items]": True,
    }
    for text, expected in judged.items():
        assert looping.post("/watch", {"expression": text})["has_side_effects"] is expected, text
        assert looping.evaluate(text, context="hover")["has_side_effects"] is expected
    assert "has_side_effects" not in looping.evaluate("order.size()")
    refusal(400, "EVALUATE_ERROR", looping.evaluate, "done = 5", context="watch")
    refusal(400, "EVALUATE_ERROR", looping.evaluate, "done = 5", context="hover")


def test_a_watch_that_hangs_is_interrupted_and_spoils_nothing(looping: Session) -> None:
    looping.delete("/watch")
    looping.post("/watch", {"expression": "i"})
    looping.post("/watch", {"expression": "[time.sleep(0.01) for _ in iter(int, 1)]", "name": "endless"})
    looping.post("/watch", {"expression": "i + 1"})
    with soon():
        report = looping.resume()
    by_name = rows(report)
    assert by_name["i"]["value"] == "1"
    assert by_name["endless"]["error"] == "timed out"
    assert by_name["i + 1"]["error"].startswith("not evaluated")
    assert {row["name"]: row["value"] for row in report["locals"]}["i"] == "1"
    assert looping.evaluate("i + 100")["result"] == "101", "the session stays usable"
    looping.delete("/watch/" + by_name["endless"]["watch_id"])
    report = looping.resume()
    assert rows(report)["i + 1"]["value"] == "3"


def test_watches_keep_to_the_budget_and_can_be_left_out(looping: Session) -> None:
    for number in range(20):
        looping.post("/watch", {"expression": f"'x' * 1000 + str({number})"})
    small = looping.get("/report", fields="watches", budget=2000)
    assert len(str(small)) < 2600
    assert "watches" in small or any("watch" in item["get"] for item in small["omitted"])
    assert "watches" not in looping.get("/report", fields="locals")
    values = [row["value"] for row in looping.get("/report", fields="watches", budget=20_000)["watches"]]
    assert len(values) == 21
    assert all(len(value) <= 240 for value in values)


def test_watches_survive_a_restart_of_the_relay(tmp_path: Path, program: Write) -> None:
    relay = Relay(tmp_path / "data").start()
    with Api(relay.base_url) as api:
        session = api.session()
        path = program(LOOP)
        session.break_at(path, "here")
        session.launch(path)
        session.post("/watch", {"expression": "order.items", "name": "items"})
        assert rows(session.get("/report"))["items"]["value"] == "[0]"
        relay.kill()
        relay.start()
        row = rows(session.resume())["items"]
        assert (row["value"], row["old"]) == ("[0, 1]", "[0]")
        session.delete(force="true")
    assert relay.stop() == 0


def test_a_program_that_was_attached_to_is_inspected_the_same_way(
    session: Session, program: Write, tmp_path: Path
) -> None:
    path = program(
        """
        import time

        def work(n):
            total = n + 1
            return total  # @here

        while True:
            work(1)
            try:
                raise ValueError("again") from KeyError("why")
            except ValueError as error:
                kept = error
            time.sleep(0.01)
        """
    )
    (python,) = pythons("3.13").values()
    with listening_with(python, tmp_path / "path", path) as (_, port):
        session.break_at(path, "here")
        session.post("/watch", {"expression": "total"})
        report = session.post("/attach", {"port": port, "wait": 30})
        assert rows(report)["total"]["value"] == "2"
        body = {"expression": "total", "value": "total * 50"}
        assert session.post("/set-expression", body)["value"] == "100"
        assert session.get("/source")["current_line"] == report["current_location"]["line"]
        assert session.post("/completions", {"text": "tot"})["items"][0]["label"] == "total"
        assert session.post("/hover", {"expression": "work"})["signature"] == "work(n)"
        assert session.get("/modules", filter="__main__")["total"] == 1
        left = session.step("out")
        assert left["return_value"] == {"type": "int", "value": "100", "function": "work"}
        session.delete(force="true")
