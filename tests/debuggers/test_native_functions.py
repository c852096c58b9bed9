"""Breakpoints on functions of native programs, by whatever they are called there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from native import Builder
from relays import Api, Session, refusal

SEVERAL = "2 places of the program have this name: it stops at each of them"


@pytest.fixture(params=["gdb", "lldb"])
def adapter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(api: Api) -> Iterator[Session]:
    with api.session() as session:
        yield session


def by_function(session: Session, *names: str) -> list[dict[str, Any]]:
    placed = session.post("/breakpoints", {"breakpoints": [{"function": name} for name in names]})
    return list(placed["breakpoints"])


def stops(session: Session) -> list[tuple[str, int]]:
    """Which breakpoints stop the program until it ends, and where."""
    found = []
    stop = session.resume()
    while stop["status"] == "paused":
        assert stop["stop_reason"] == "breakpoint"
        found += [(id, stop["current_location"]["line"]) for id in stop["hit_breakpoint_ids"]]
        stop = session.resume()
    return found


def instructions(session: Session) -> list[int]:
    """Where the next ones begin, the one at which the program stands first."""
    return [int(each["address"], 16) for each in session.get("/disassembly", count=4)["instructions"]]


def test_functions_of_cpp_are_found_by_signature_template_label_and_address(
    session: Session, build: Builder, adapter: str
) -> None:
    names = build("names")
    session.launch(program=str(names.program), adapter=adapter, stop_on_entry=True)
    begins = instructions(session)
    between = f"*{begins[1] + 1:#x}"
    sq = "*" + hex(int(session.evaluate("(long) &sq")["result"]))
    wanted = ["f(double)", "twice<int>", "twice", "geo::Sq::area(int)", "geo::Sq::operator==", "main.add"]
    placed = by_function(session, *wanted, "f(char)", "*0x10", sq, between)
    assert [bp["verified"] for bp in placed] == [True] * len(wanted) + [False] * 4
    assert [bp["message"] for bp in placed[: len(wanted)]] == [None, None, SEVERAL, None, None, None]
    assert [len(bp["locations"]) for bp in placed[: len(wanted)]] == [1, 1, 2, 1, 1, 1]
    assert "'f(char)' is not loaded" in placed[6]["message"]
    assert [bp["message"] for bp in placed[7:9]] == ["The program has no code at this address"] * 2
    assert "in the middle of an instruction" in placed[9]["message"]

    first, pairs, both, area, equal, add = [bp["id"] for bp in placed[: len(wanted)]]
    line = names.line
    expected = {(first, line("double")), (pairs, line("twice")), (both, line("twice")), (area, line("area")),
                (equal, line("equal")), (add, line("add"))}  # fmt: skip
    found = stops(session)
    assert set(found) == expected
    assert found.count((both, line("twice"))) == 2
    assert found.count((pairs, line("twice"))) == 1


def test_a_function_of_c_is_found_with_its_parameters_too(session: Session, build: Builder, adapter: str) -> None:
    tour = build("tour")
    session.launch(program=str(tour.program), adapter=adapter, stop_on_entry=True)
    named, signed, missing = by_function(session, "factorial", "factorial(int)", "factorials(int)")
    assert [bp["verified"] for bp in (named, signed, missing)] == [True, True, False]
    assert signed["locations"] == named["locations"] and len(signed["locations"]) == 1
    assert session.resume()["hit_breakpoint_ids"] == [named["id"], signed["id"]]


def test_an_address_stops_where_it_is_and_again_after_a_restart(session: Session, build: Builder, adapter: str) -> None:
    names = build("names")
    session.launch(program=str(names.program), adapter=adapter, stop_on_entry=True)
    (named,) = by_function(session, "main.add")
    session.resume()
    address = instructions(session)[0]
    session.delete(f"/breakpoints/{named['id']}")
    (placed,) = by_function(session, f"*{address:#x}")
    assert (placed["verified"], placed["line"], placed["message"]) == (True, names.line("add"), None)
    assert session.post("/restart", {"wait": 30})["stop_reason"] == "entry"
    stop = session.resume()
    assert stop["hit_breakpoint_ids"] == [placed["id"]]
    assert instructions(session)[0] == address


def test_functions_of_rust_are_found_by_path_trait_and_type(session: Session, build: Builder, adapter: str) -> None:
    shop = build("shop")
    session.launch(program=str(shop.program), adapter=adapter, stop_on_entry=True)
    trait = "<shop::shapes::Sq as shop::shapes::Shape>::area"
    wanted = [trait, "shop::shapes::Shape::twice", "shop::largest<i32>", "shop::largest", "shop::shapes::Rect::width"]
    placed = by_function(session, *wanted, "look")
    assert [bp["verified"] for bp in placed] == [True] * 6
    assert [len(bp["locations"]) for bp in placed] == [1, 2, 1, 2, 1, 1]
    assert placed[3]["message"] == SEVERAL
    found = stops(session)
    assert found.count((placed[0]["id"], shop.line("square"))) == 1
    assert found.count((placed[1]["id"], shop.line("twice"))) == 1
    assert [id for id, _ in found].count(placed[2]["id"]) == 1
    assert [id for id, _ in found].count(placed[3]["id"]) == 2


def test_what_is_no_name_of_a_function_is_refused_with_what_to_write(session: Session) -> None:
    for name in ("f(", "twice<", "f(int))", "int f(int)", "f if x == 2", "-function f", "*main", "*0xzz", "f,g", '"f"'):
        error = refusal(400, "INVALID_REQUEST", session.post, "/breakpoints", {"function": name})
        assert "f(int), twice<int>, <shop::Sq as shop::Shape>::area" in error.details["errors"][0]["message"]
    for name in ("f(int) const", "ns::(anonymous namespace)::f", "A::operator->", "main.(*Shop).Add", "a::{closure#0}"):
        assert session.post("/breakpoints", {"function": name})["verified"] is False
