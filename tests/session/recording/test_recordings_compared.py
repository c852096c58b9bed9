"""Two recorded runs are compared: where they part first, with the values of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relays import Api, Session, line_of, refusal

BEFORE = """
    import asyncio, threading

    class Item:
        def __init__(self, name, price):
            self.name = name
            self.price = price

    def rate(item):
        return 0.5 if item.price > 2 else 0

    def price_of(item):
        return item.price - rate(item)

    def total(items):
        amount = 0
        for item in items:
            amount += price_of(item)  # @add
        return amount

    def unused():
        return object()

    async def fetch(number):
        await asyncio.sleep(0)
        return number

    unused()
    worker = threading.Thread(target=unused, name="worker")
    worker.start()
    worker.join()
    try:
        total([Item("pen", 1.5), Item("ink", 3), Item("gift", 0)])
    finally:
        asyncio.run(fetch(1))
"""
AFTER = BEFORE.replace("return 0.5 if item.price > 2 else 0", 'return {"pen": 0, "ink": 1.0}[item.name]').replace(
    "return number\n", "return also(number)\n\n    def also(number):\n        return number\n")


def test_two_runs_are_compared(session: Session, program: Callable[..., Path], api: Api) -> None:
    path = program(BEFORE, "before/shop.py")
    session.launch(path, record={"lines": ["total"]})
    with api.session() as other:
        other.launch(program(AFTER, "after/shop.py"), stop_on_exception=False, record={"lines": ["total"]})
        found = session.get("/recording/diff", other=other.id)

        assert found["other"].startswith(f"{other.id}/") and not found["only_a"]
        assert [(each["function"], each["count"]) for each in found["only_b"]] == [("also", 1)]
        first, parting = found["first"], found["parting"]
        assert (first["kind"], first["function"], first["same_arguments"]) == ("outcome", "rate", True)
        assert (first["a"]["value"], first["b"]["value"]) == ("0.5", "1.0")
        assert [each.split()[0] for each in first["way"]] == ["rate", "price_of", "total", "<module>"]
        assert (parting["kind"], parting["function"]) == ("outcome", "rate")
        assert parting["b"]["value"] == "KeyError: gift" and parting["a"]["value"] == "0"
        lines = next(each for each in found["further"] if each["kind"] == "line")
        assert lines["function"] == "total" and lines["line_a"] == line_of(path, "add")
        assert lines["values"] == [{"name": "amount", "a": "4.0", "b": "3.5"}]
        assert not any(each["function"] in ("unused", "Item.__init__") for each in found["further"])

        back = other.get("/recording/diff", other=f"{session.id}/{found['recording']}")
        assert back["first"]["a"]["value"] == "1.0" and back["only_a"] == found["only_b"]
        short = session.api.http.get(
            f"/sessions/{session.id}/recording/diff", params={"other": other.id, "budget": 600, "format": "text"}).text
        assert len(short) < 1200 and "same arguments, other outcome of rate" in short and "more difference" in short

    assert session.get("/recording/diff", other=session.id)["first"] is None
    assert session.get("/recording/diff", other=found["recording"])["matched"] == found["recorded_calls"]
    refusal(404, "SESSION_NOT_FOUND", session.get, "/recording/diff", other=other.id)
    error = refusal(400, "INVALID_PARAMETER", session.get, "/recording/diff", other="1-1")
    assert found["recording"] in error.details["suggestion"]
