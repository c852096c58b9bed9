"""A recorded run as pages show it: calls over time, values over time, and folded calls one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from relays import Api, Session, line_of, refusal

SHOP = """
    import threading

    class Item:
        def __init__(self, price):
            self.price = price

    def price_of(item):
        return item.price

    def log(text):
        pass

    def total(items):
        amount = 0
        for item in items:
            amount += price_of(item)  # @add
        return amount

    def one_by_one():
        yield price_of(items[0])
        yield price_of(items[1])

    items = [Item(number) for number in range(40)]
    total(items)
    for item in items:
        price_of(item)
        log("priced")
    parts = one_by_one()
    next(parts)
    log("between")
    list(parts)
    worker = threading.Thread(target=log, args=("aside",), name="worker")
    worker.start()
    worker.join()
    try:
        total([None])
    except AttributeError:
        pass
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shop") / "shop.py"
    file.write_text(dedent(SHOP))
    return file


@pytest.fixture(scope="module")
def shop(api: Api, path: Path) -> Iterator[Session]:
    """After its end."""
    with api.session() as session:
        session.launch(path, record={"lines": ["total"], "complete": True}, stop_on_exception=False)
        yield session


def spans(session: Session, **query: Any) -> dict[str, Any]:
    return session.get("/recording/spans", **query)  # type: ignore[no-any-return]


def test_calls_are_told_over_time_by_thread_and_depth(shop: Session) -> None:
    whole = spans(shop, parts=4000)
    assert [each["thread"] for each in whole["threads"]] == ["thread MainThread", "thread worker"]
    assert (whole["start_ms"], whole["end_ms"]) == (whole["first_ms"], whole["last_ms"])
    main = whole["threads"][0]
    assert main["spans"][0] | {"start_ms": 0, "duration_ms": 0} == {
        "call": 1, "function": "<module>", "depth": 0, "start_ms": 0, "duration_ms": 0, "count": 1, "raised": False}
    for depth in range(main["depth"]):
        row = [each for each in main["spans"] if each["depth"] == depth]
        assert all(one["start_ms"] + one["duration_ms"] <= next_["start_ms"] + 1e-3
            for one, next_ in itertools.pairwise(row)), "calls of one depth do not overlap"
    assert sum(each["count"] for each in main["spans"]) + 1 == whole["recorded_calls"]
    assert any(each["raised"] for each in main["spans"])


def test_calls_that_are_too_short_to_be_seen_are_one(shop: Session) -> None:
    coarse, fine = spans(shop, parts=2), spans(shop, parts=4000)
    counts = [sum(len(each["spans"]) for each in told["threads"]) for told in (coarse, fine)]
    assert counts[0] < counts[1] / 3 and coarse["part_ms"] > 100 * fine["part_ms"]
    assert max(each["count"] for each in coarse["threads"][0]["spans"]) > 30


def test_a_part_of_the_time_is_looked_at_closely(shop: Session) -> None:
    total = shop.get("/recording/calls", function="total")["calls"][0]
    start, end = total["started_ms"], total["started_ms"] + total["duration_ms"]
    told = spans(shop, start_ms=start, end_ms=end, parts=4000, thread="Main", depth=2)
    assert [each["thread"] for each in told["threads"]] == ["thread MainThread"]
    names = {each["function"] for each in told["threads"][0]["spans"]}
    assert {"<module>", "total"} <= names and "price_of" not in names and told["threads"][0]["depth"] == 3
    refusal(400, "INVALID_PARAMETER", spans, shop, start_ms="soon")


def test_every_value_of_a_name_is_told_with_its_moment(shop: Session, path: Path) -> None:
    told = shop.get("/recording/values", name="amount", limit=5)
    assert (told["total"], told["has_more"]) == (42, True)  # 0 and 39 sums; 0 of the other call, and where that raised
    assert [each["value"] for each in told["changes"]] == ["0", "1", "3", "6", "10"]
    first_sum = told["changes"][1]
    assert (first_sum["how"], first_sum["function"], first_sum["line"]) == ("set in", "total", line_of(path, "add"))
    there = shop.post("/goto", {"moment": f"#{first_sum['moment']}"})
    assert next(row["value"] for row in there["locals"] if row["name"] == "amount") == "1"
    shop.post("/now")
    rest = shop.get("/recording/values", name="amount", offset=5, limit=1000, budget=50000)
    assert len(rest["changes"]) == 37 and not rest["has_more"]
    for change in rest["changes"]:
        assert shop.post("/goto", {"moment": f"#{change['moment']}"})["past"]["call"] == change["call"]
    shop.post("/now")
    assert "no name" in shop.get("/recording/values", name="nothing")["notes"][0]


def test_folded_calls_are_told_one_by_one(shop: Session) -> None:
    rows = shop.get("/recording/trace", depth=1, budget=50000)["rows"]
    folds = [row["folded"] for row in rows if "folded" in row]
    rounds = next(fold for fold in folds if fold["functions"] == ["price_of", "log"])
    ends = {"first": rounds["first"], "last": rounds["last"]}
    told = shop.get("/recording/trace", **ends, budget=1000)["rows"]
    shown, rest = told[:-1], told[-1]["folded"]
    assert [row["call"]["function"] for row in shown[:4]] == ["price_of", "log"] * 2
    assert len(shown) + rest["count"] == rounds["count"] and rest["last"] == rounds["last"]
    assert rest["functions"] in (["price_of", "log"], ["log", "price_of"])
    whole = shop.get("/recording/trace", **ends, function="log", budget=50000)["rows"]
    assert len(whole) == rounds["count"] / 2 and {row["call"]["function"] for row in whole} == {"log"}
    alone = shop.get("/recording/trace", first=rounds["first"])["rows"]
    assert [row["call"]["call"] for row in alone] == [rounds["first"]]


def test_what_can_be_asked_is_named(shop: Session) -> None:
    (name,) = shop.get("/record")["recordings"]
    assert spans(shop, recording=name)["recording"] == name
