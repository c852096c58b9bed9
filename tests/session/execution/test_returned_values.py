"""What functions returned during a step, and steps into code that has no Python frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from relays import Api, line_of, pythons

Write = Callable[..., Path]

VERSIONS = pythons("3.8", "3.11", "3.12", "3.13")

PROGRAM = """
    import asyncio

    class Maker:
        def make(self, x):
            return [x]  # @method

    def nothing():
        return None  # @nothing

    def raising(x):
        raise ValueError(x)  # @raising

    def count():
        yield 1
        total = 5  # @generator
        yield total

    async def wait():
        await asyncio.sleep(0)
        return "waited"  # @coroutine

    async def main():
        got = await wait()
        return got

    def double(x):
        return x * 2

    def work():
        made = Maker().make(3)
        nothing()
        try:
            raising(4)
        except ValueError:
            made = 0
        items = list(count())
        waited = asyncio.run(main())
        both = double(1) + double(2)  # @two
        size = len(items)  # @native
        plain = size + 1  # @plain
        last = plain
        return both

    work()
"""


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS)
def test_what_a_function_returned_is_told_when_it_is_left(api: Api, program: Write, python: Path) -> None:
    path = program(PROGRAM)
    with api.session(python_path=str(python)) as session:
        marks = ("method", "nothing", "raising", "generator", "coroutine", "two")
        session.break_at(path, *marks)

        assert session.launch(path)["current_location"]["function"] == "make"
        left = session.step("out")
        assert left["return_value"] == {"type": "list", "value": "[3]", "function": "make"}
        assert session.get("/report")["return_value"] == left["return_value"], "the same stop, told again"

        assert session.resume()["current_location"]["line"] == line_of(path, "nothing")
        assert session.step("out")["return_value"] == {"type": "NoneType", "value": "None", "function": "nothing"}

        assert session.resume()["current_location"]["line"] == line_of(path, "raising")
        left = session.step("out")
        assert left["current_location"]["function"] == "work"
        assert "return_value" not in left, "it raised, so it returned nothing"
        assert "returned" not in left
        if left["current_location"]["line"] == line_of(path, "raising"):
            assert "exception" in left["note"]

        assert session.resume()["current_location"]["line"] == line_of(path, "generator")
        left = session.step("out")
        expected = {"type": "int", "value": "5", "function": "count", "yielded": True}
        finished = {"type": "NoneType", "value": "None", "function": "count"}
        assert left["return_value"] in (expected, finished)

        assert session.resume()["current_location"]["line"] == line_of(path, "coroutine")
        left = session.step("out")
        assert left["current_location"]["function"] == "main"
        assert left["return_value"] == {"type": "str", "value": "'waited'", "function": "wait"}

        assert session.resume()["current_location"]["line"] == line_of(path, "two")
        over = session.step("over")
        assert over["returned"] == [{"function": "double", "type": "int", "value": "4"}], "of this step, no other"
        assert "return_value" not in over

        assert over["current_location"]["line"] == line_of(path, "native")
        report = session.step("into")
        assert report["current_location"]["line"] == line_of(path, "plain")
        assert report["native_frame"] is True, "a step into code without Python frames completes and says so"
        assert f"line {line_of(path, 'native')}" in report["note"]
        assert session.get("/report", fields="location")["native_frame"] is True
        report = session.step("into")
        assert "native_frame" not in report, "a line that calls nothing"
        assert "note" not in report
