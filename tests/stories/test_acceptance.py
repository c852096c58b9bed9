"""Acceptance criteria that no other test shows on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from relays import Api, Session, line_of

Write = Callable[..., Path]

MAIN = """
import sys
import shop

basket = [2, 3]
total = shop.cost(basket)  # @call
print("total", total)  # @print
print("done", file=sys.stderr)
"""
SHOP = """
def cost(items):
    result = 0
    for item in items:  # @loop
        result += single(item)  # @inner
    return result


def single(item):
    return item * 10  # @single
"""


@pytest.fixture
def files(program: Write) -> tuple[Path, Path]:
    return program(MAIN, "main.py"), program(SHOP, "shop.py")


def place(answer: dict[str, dict[str, object]]) -> tuple[object, object]:
    return answer["current_location"]["path"], answer["current_location"]["line"]


@pytest.fixture
def ten(api: Api) -> Iterator[list[Session]]:
    with ExitStack() as stack:
        yield [stack.enter_context(api.session(name=f"number {number}")) for number in range(10)]


def test_ten_sessions_have_ids_of_their_own_and_are_listed_with_their_status(ten: list[Session]) -> None:
    ids = [session.id for session in ten]
    assert len(set(ids)) == 10
    listed = {item["session_id"]: item for item in ten[0].api.get("/sessions", limit=1000)["items"]}
    assert [listed[id]["status"] for id in ids] == ["created"] * 10
    assert [listed[id]["name"] for id in ids] == [f"number {number}" for number in range(10)]


def test_steps_go_over_into_and_out_across_files(session: Session, files: tuple[Path, Path]) -> None:
    main, shop = files
    session.break_at(main, "call")
    assert place(session.launch(main)) == (str(main), line_of(main, "call"))
    assert session.step("into")["current_location"]["path"] == str(shop)
    session.step()
    assert place(session.step()) == (str(shop), line_of(shop, "inner"))
    assert place(session.step("into")) == (str(shop), line_of(shop, "single"))
    frames = session.get("/stacktrace")["frames"]
    assert [(frame["source"]["name"], frame["line"], frame["name"]) for frame in frames] == [
        ("shop.py", line_of(shop, "single"), "single"),
        ("shop.py", line_of(shop, "inner"), "cost"),
        ("main.py", line_of(main, "call"), "<module>"),
    ]
    assert place(session.step("out")) == (str(shop), line_of(shop, "inner"))
    assert place(session.step()) == (str(shop), line_of(shop, "loop"))
    assert place(session.step("out")) == (str(main), line_of(main, "call"))
    assert session.step()["current_location"]["line"] == line_of(main, "print")
    assert session.resume()["status"] == "terminated"


def test_output_has_its_category_its_time_and_pages(session: Session, files: tuple[Path, Path]) -> None:
    session.launch(files[0])
    first = session.get("/output", limit=1)
    second = session.get("/output", limit=1, cursor=first["next_cursor"])
    assert first["has_more"] is True and second["has_more"] is False
    entries = first["entries"] + second["entries"]
    assert {(entry["category"], entry["output"]) for entry in entries} == {
        ("stdout", "total 50\n"),
        ("stderr", "done\n"),
    }
    assert entries[0]["timestamp"] <= entries[1]["timestamp"]
    assert all(entry["timestamp"].endswith("Z") for entry in entries)


def test_a_pause_reaches_a_program_that_computes(session: Session, program: Write) -> None:
    path = program("n = 0\nwhile True:\n    n += 1\n    n -= 1\n")
    session.launch(path, wait=False)
    paused = session.post("/pause", {"wait": 1})
    assert (paused["status"], paused["stop_reason"]) == ("paused", "pause")
    assert paused["current_location"]["line"] in (1, 2, 3, 4)
