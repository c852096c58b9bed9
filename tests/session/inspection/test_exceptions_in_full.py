"""The exception that a program is stopped on: in short in the report, in full on demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from breadth import first_of
from relays import Api, Session, line_of, pythons, refusal

Write = Callable[..., Path]

VERSIONS = pythons("3.8", "3.11", "3.12", "3.13")
TRACED_AND_NOT = pythons("3.11", "3.13")

CHAINED = """
    class Broken(Exception):
        def __init__(self, message, order):
            super().__init__(message, order)
            self.order = order

        def __str__(self):
            return self.args[0]

    def price(row):
        return row["price"]  # @key

    def parse(row):
        try:
            return price(row)
        except KeyError as error:
            raise ValueError("no price") from error  # @value

    def order(row):
        try:
            return parse(row)
        except ValueError:
            raise Broken("order failed", {"id": 7})  # @broken

    order({})
"""


@pytest.mark.parametrize("python", VERSIONS.values(), ids=VERSIONS)
def test_an_exception_is_told_with_everything_that_led_to_it(api: Api, program: Write, python: Path) -> None:
    path = program(CHAINED)
    with api.session(python_path=str(python)) as session:
        report = session.launch(path)
        assert report["stop_reason"] == "exception"
        assert report["exception"]["chain"] == [
            {"relation": "context", "type": "ValueError", "message": "no price"},
            {"relation": "cause", "type": "KeyError", "message": "'price'"},
        ]
        assert session.get()["exception"]["chain"] == report["exception"]["chain"]

        told = session.get("/exception")
        assert (told["type"], told["full_type"], told["message"]) == ("Broken", "__main__.Broken", "order failed")
        assert told["args"] == ["'order failed'", "{'id': 7}"]
        assert told["break_mode"] == "unhandled" and "rules" not in told
        assert told["location"]["line"] == line_of(path, "broken")
        assert [(frame["function"], frame["line"]) for frame in told["frames"]] == [
            ("<module>", len(path.read_text().splitlines())),
            ("order", line_of(path, "broken")),
        ]
        assert told["frames"][-1]["text"].startswith('raise Broken("order failed"')
        assert told["traceback"].rstrip().endswith("order failed")
        rows = session.get(f"/variables/{told['variables_reference']}")["variables"]
        assert {row["name"]: row["value"] for row in rows}["order"] == "{'id': 7}"
        value, key = told["chain"]
        assert (value["relation"], value["full_type"]) == ("context", "builtins.ValueError")
        assert [frame["function"] for frame in value["frames"]] == ["order", "parse"]
        assert (key["relation"], key["type"], key["message"]) == ("cause", "KeyError", "'price'")
        assert key["frames"][-1]["line"] == line_of(path, "key")


@pytest.mark.parametrize("python", TRACED_AND_NOT.values(), ids=TRACED_AND_NOT)
def test_an_exception_that_passes_generators_is_told_once_and_with_every_frame(
    api: Api, program: Write, python: Path
) -> None:
    path = program(
        """
        import contextlib

        def rows():
            yield 1
            raise ValueError("row")  # @raise

        @contextlib.contextmanager
        def managed():
            try:
                yield
            finally:
                print("closed", flush=True)

        def total():
            with managed():
                return sum(rows())  # @total

        total()  # @main
        """
    )
    with api.session(python_path=str(python)) as session:
        session.launch(path, stop_on_exception="user_unhandled")
        told = session.get("/exception")
        assert (told["type"], told["break_mode"], session.output()) == ("ValueError", "user_unhandled", "closed\n")
        passed = [("<module>", "main"), ("total", "total"), ("rows", "raise")]
        assert [(frame["function"], frame["line"]) for frame in told["frames"]] == [
            (function, line_of(path, marker)) for function, marker in passed
        ]
        assert told["traceback"].count("  File ") == len(session.get("/stacktrace")["frames"]) == 3
        assert session.resume()["exit_code"] == 1


def test_a_stop_that_is_no_exception_has_none(session: Session, program: Write) -> None:
    path = program("x = 1  # @here\ny = 2\n")
    refusal(409, "INVALID_SESSION_STATE", session.get, "/exception")
    session.break_at(path, "here")
    session.launch(path)
    error = refusal(404, "EXCEPTION_NOT_FOUND", session.get, "/exception")
    assert error.details["stop_reason"] == "breakpoint"
    session.resume()
    refusal(409, "INVALID_SESSION_STATE", session.get, "/exception")


def test_a_handled_exception_says_so_and_from_none_hides_the_context(session: Session, program: Write) -> None:
    path = program(
        """
        try:
            try:
                1 / 0
            except ZeroDivisionError:
                raise LookupError("hidden") from None
        except LookupError:
            pass
        """
    )
    session.launch(path, stop_on_exception="raised")
    first = session.get("/exception")
    assert (first["type"], first["break_mode"], first["chain"]) == ("ZeroDivisionError", "always", [])
    session.resume()
    second = session.get("/exception")
    assert (second["type"], second["chain"]) == ("LookupError", [])
    assert "chain" not in session.get("/report")["exception"]


@pytest.mark.parametrize("python", first_of(TRACED_AND_NOT))
def test_members_of_a_group_and_notes_are_listed(api: Api, program: Write, python: Path) -> None:
    path = program(
        """
        error = ValueError("inner")
        error.add_note("seen at line 3")
        group = ExceptionGroup("many", [error, ExceptionGroup("more", [TypeError("deep")])])
        group.add_note("of the group")
        raise group
        """
    )
    with api.session(python_path=str(python)) as session:
        session.launch(path)
        told = session.get("/exception")
        assert (told["type"], told["notes"]) == ("ExceptionGroup", ["of the group"])
        first, second = told["exceptions"]
        assert (first["type"], first["message"]) == ("ValueError", "inner")
        assert [(each["type"], each["message"]) for each in second["exceptions"]] == [("TypeError", "deep")]


def test_hostile_exceptions_are_told_within_bounds(session: Session, program: Write) -> None:
    path = program(
        """
        class Loud(Exception):
            def __str__(self):
                raise RuntimeError("no text")

        class Long(Exception):
            def __str__(self):
                return "x" * 1_000_000

        first, second = Loud(), Long()
        first.__cause__, second.__cause__ = second, first
        raise first
        """
    )
    report = session.launch(path)
    assert len(str(report)) < 8000
    told = session.get("/exception")
    assert (told["type"], told["message"]) == ("Loud", "<message not available>")
    assert [link["type"] for link in told["chain"]] == ["Long"], "a circle ends"
    assert len(told["chain"][0]["message"]) <= 4000


def test_a_program_that_crashes_is_inspected_where_it_crashed(api: Api, program: Write) -> None:
    """User story, flow 3.6: launch, exception, stack and variables, evaluate, clean up."""
    path = program(
        """
        def convert(text):
            return int(text)  # @crash

        def main():
            rows = ["1", "abc"]
            return [convert(row) for row in rows]

        main()
        """
    )
    session = api.session()
    report = session.launch(path, stop_on_exception="uncaught")
    status = session.get("/status")
    assert (report["status"], status["status"], status["reason"]) == ("paused", "paused", "exception")
    assert status["exception"]["type"] == "ValueError"
    assert status["exception"]["message"] == "invalid literal for int() with base 10: 'abc'"
    assert status["exception"]["location"]["line"] == line_of(path, "crash")
    frames = session.get("/stacktrace")["frames"]
    assert frames[0]["name"] == "convert"
    main = next(frame["id"] for frame in frames if frame["name"] == "main")
    assert session.locals() == {"text": "'abc'"}
    assert session.locals(main)["rows"] == "['1', 'abc']"
    assert session.evaluate("text.isdigit()")["result"] == "False"
    assert session.evaluate("rows.index('abc')", frame_id=main)["result"] == "1"
    assert session.get("/exception")["args"] == ["\"invalid literal for int() with base 10: 'abc'\""]
    assert session.delete()["deleted"] is True
    refusal(404, "SESSION_NOT_FOUND", session.get, "/status")
