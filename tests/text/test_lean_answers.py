"""A lean answer says the same as the whole one, in half of its size."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relays import Session

PROGRAM = """
    from dataclasses import dataclass

    @dataclass
    class Item:
        name: str
        price: float

    def total(items, discount):
        result = 0
        count = len(items)
        for item in items:
            result += item.price * (1 - discount)  # @add
        return result, count

    def main():
        return total([Item("pear", 1.5), Item("fig", 2.5)], 0.5)

    main()
"""


def size(answer: Any) -> int:
    return len(json.dumps(answer, separators=(",", ":"), ensure_ascii=False))


def test_a_stop_in_half_of_its_size(session: Session, program: Callable[..., Path]) -> None:
    path = program(PROGRAM)
    session.break_at(path, "add")
    session.launch(path)
    whole, lean = session.get("/report"), session.get("/report", lean="true")
    assert size(lean) <= size(whole) / 2
    for field in ("session_id", "status", "stop_reason", "thread_id", "hit_breakpoint_ids"):
        assert lean[field] == whole[field]
    place = whole["current_location"]
    assert lean["current_location"] == {name: place[name] for name in ("path", "line", "function")}
    assert lean["source"].split("\n") == [
        f"{'>' if row['line'] == place['line'] else ' '}{row['line']} {row['text']}" for row in whole["source"]
    ]
    for lean_row, row in zip(lean["locals"], whole["locals"], strict=True):
        assert (lean_row["name"], lean_row["value"]) == (row["name"], row["value"])
        assert bool(lean_row.get("variables_reference")) is bool(row["variables_reference"])
        assert lean_row.get("type", row["type"]) == row["type"]
    rows = {row["name"]: row for row in lean["locals"]}
    assert rows["discount"] == {"name": "discount", "value": "0.5"} and rows["item"]["type"] == "Item"
    told = []
    path = lean["current_location"]["path"]
    for frame in lean["stack"]:
        path = frame.get("path", path)
        told.append((frame["id"], frame["name"], path, frame["line"]))
    assert told == [(row["id"], row["name"], row["source"]["path"], row["line"]) for row in whole["stack"]]


def test_a_value_that_is_cut_says_how_long_it_is(session: Session, program: Callable[..., Path]) -> None:
    path = program("text = 'x' * 5000\nshort = 'x'  # @here\nprint()\n")
    session.break_at(path, "here")
    rows = session.post("/launch", {"script": str(path), "wait": 30}, lean="true")["locals"]
    assert [(row["name"], row["length"], row["truncated"]) for row in rows] == [("text", 5000, True)]
    assert rows[0]["variables_reference"]
    session.step()
    rows = session.get("/frames/0/variables", lean="true")["variables"]
    assert rows[-1] == {"name": "short", "value": "'x'"}


def test_zero_and_false_stay_where_they_say_something(session: Session, program: Callable[..., Path]) -> None:
    path = program("x = 1\n\n")
    set_now = session.post("/breakpoints", {"source": {"path": str(path)}, "line": 2}, lean="true")
    assert set_now["breakpoints"][0]["verified"] is False and "hit_count" not in set_now["breakpoints"][0]
    ended = session.post("/launch", {"script": str(path), "wait": 30}, lean="true")
    assert (ended["status"], ended["exit_code"]) == ("terminated", 0) and ended["note"]


def test_a_document_to_import_is_whole(session: Session) -> None:
    document = session.get("/export", lean="true")
    assert session.api.post("/sessions/import", document)["session_id"]
