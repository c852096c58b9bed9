"""Whoever may only read runs nothing: no code of the program, and none of its debugger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import breadth
import pytest
from places import PROGRAMS, STAND_IN
from reading import OF_NO_SESSION, PARAMETERS, READABLE, ROUTES, SAME_AT_EVERY_STOP, WITHOUT_ROUTES, Reading
from relays import Api, Relay, Session, pythons, refusal
from sockets import local_token

from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.operations.scopes import ARTIFACTS, READ
from opencode_debugger.persistence.token_store import TokenStore

Write = Callable[..., Path]

HOSTILE = PROGRAMS / "hostile.py"
UNREAD = "not evaluated: this caller may only read"
NAMES = ("loud", "ghost", "of_meta", "instance_of_meta", "texts", "numbers[0]", "numbers[2]", "listed", "paired")
NAMES += ("chosen", "queued", "defaulted", "record", "pair", "prop", "slotted", "error", "documented", "generator")
NAMES += ("method", "partial", "bound", "counter", "namespace", "proxy", "exact", "array", "array[0]", "module", "lazy")
NAMES += ("odd", "like_range", "method_of_c", "odd_class")
NAMES += ("packed", "deep", "decorated", "ranged", "ordered", "views[0]", "views[2]", "wrapper", "strange_module")
FORMS = (
    "{}",
    "{}.secret",
    "{}.own",
    "{}[0]",
    "{}['x']",
    "{} == 1",
    "not {}",
    "-{}",
    "'x' in {}",
    "{}.later",
    "{}.described",
)
RUNNING = (
    """__import__("os").system("echo ran >> $TRACE")""",
    "note('ran')",
    "[note('ran') for _ in (1,)]",
    "(lambda: note('ran'))()",
    "f'{loud}'",
    "len(loud)",
    "prop.method()",
    "(x := note('ran'))",
    "'%s' % (loud,)",
    "getattr(loud, 'secret')",
    "await note('ran')",
    "10 ** 10 ** 10",
    "'a' * 10 ** 10",
    "1 << 10 ** 10",
    "9 ** 9 ** 9 ** 9",
    "-" * 50_000 + "1",
)
OF_EVALUATING = {"__import__ of _ocdb by None", "Alike.__eq__"}
"""How debugpy is asked for those who may run code, and what it does with their namespace."""
EXPRESSIONS = [form.format(name) for name in NAMES for form in FORMS] + list(RUNNING)
SOME = len(FORMS) + 1
"""Each name in one form, each time the next one; on the next interpreter another one."""
PYTHONS = pythons("3.8", "3.11", "3.13")


def token_of(relay: Relay, *scopes: str) -> str:
    token = new_token()
    TokenStore(relay.data_dir).add(f"reader-{token[-6:]}", hash_of(token), list(scopes), expires_at=None)
    return token


@pytest.fixture(scope="module")
def token(relay: Relay) -> str:
    return token_of(relay, READ, ARTIFACTS)


@pytest.fixture(scope="module")
def reader(relay: Relay, token: str) -> Iterator[Api]:
    with Api(relay.base_url, token) as api:
        yield api


def test_every_operation_that_readers_may_do_is_tried() -> None:
    assert set(PARAMETERS) == READABLE
    assert {operation for operation, _, _ in ROUTES} == READABLE - WITHOUT_ROUTES


@pytest.mark.parametrize(("turn", "python"), list(enumerate(PYTHONS.values())), ids=PYTHONS)
def test_a_reader_of_a_python_program_runs_none_of_it(
    api: Api, relay: Relay, token: str, turn: int, python: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    with api.session(python_path=str(python)) as session:
        for expression in [*RUNNING[:9], *EXPRESSIONS[:200:6]][:50]:
            session.post("/watch", {"expression": expression})
        session.break_at(HOSTILE, "stop")
        session.post("/exception-breakpoints", {"filters": ["raised"], "exceptions": ["Trouble"]})
        quietly = {"wait": 30, "fields": ["location"]}
        session.launch(HOSTILE, env={"TRACE": str(trace)}, record=True, **quietly)
        tried = EXPRESSIONS if breadth.ALL else [*EXPRESSIONS[turn * SOME // 2 : -len(RUNNING) : SOME], *RUNNING]
        reading = Reading(relay, session.id, token, tried, HOSTILE, frames=4 if breadth.ALL else 2)
        trace.unlink(missing_ok=True)
        reading.routes(without=OF_NO_SESSION if turn else ())
        assert not trace.exists(), sorted(set(trace.read_text().splitlines()))
        reading.streams()
        assert OF_EVALUATING.issuperset(trace.read_text().splitlines())
        watched = reading_of(reading, "list_watches")[0]["watches"]
        assert {row.get("error") for row in watched if row["expression"] in RUNNING[:9]} == {UNREAD}
        shown = {row["name"]: row["value"] for row in reading_of(reading, "frame_variables")[0]["variables"]}
        assert shown["where"] == "'somewhere'"
        assert shown["slotted"].startswith("<Slotted object at 0x")

        session.resume(**quietly)
        trace.unlink(missing_ok=True)
        at_exception = Reading(relay, session.id, token, ["loud", "note('ran')"], HOSTILE, frames=2)
        at_exception.routes(without=SAME_AT_EVERY_STOP)
        assert not trace.exists(), sorted(set(trace.read_text().splitlines()))
        told = reading_of(at_exception, "exception")[0]
        assert "type" in told, told
        assert (told["type"], told["chain"][0]["type"]) == ("Trouble", "KeyError")
        assert told["message"].startswith("('told', <Loud object at 0x")

        session.get("/frames/0/variables")
        assert trace.exists(), "this program tells nothing, so the test says nothing"


def test_a_reader_of_an_ez_program_has_nothing_evaluated(
    session: Session, relay: Relay, token: str, program: Write, tmp_path: Path
) -> None:
    path = program(
        """
        do twice(n int) -> int {
            temp m int = n * 2  // @first
            return m  // @stop
        }

        do main() {
            temp r int = twice(21)
        }
        """,
        "twice.ez",
    )
    notes = tmp_path / "notes"
    for expression in ("m + 1", "twice(3)"):
        session.post("/watch", {"expression": expression})
    session.break_at(path, "stop")
    session.launch(
        path, debugger_path=str(STAND_IN), env={"EZ_STAND_IN": f"document notes={notes}"}, fields=["location"]
    )
    reading = Reading(relay, session.id, token, ["m", "m * 2", "twice(3)", "m = 5", "m[0]", "nobody"], path)
    reading.routes(without=OF_NO_SESSION)
    reading.streams()
    assert not notes.exists(), notes.read_text()
    rows = reading_of(reading, "list_watches")[0]["watches"]
    assert [row.get("value", row.get("error")) for row in rows] == ["43", UNREAD]
    assert [answer.get("value", answer.get("code")) for answer in reading_of(reading, "hover")[:4]] == [
        "42",
        "84",
        "EVALUATE_ERROR",
        "EVALUATE_ERROR",
    ]
    assert session.get("/watch")["watches"][1]["value"] == "6"
    assert notes.exists()


PROGRAM = """
    class Loud:
        def __repr__(self):
            return "LOUD"

    def work():
        loud = Loud()
        for turn in range(9):
            print("turn", turn, flush=True)  # @stop
    work()
"""


def test_what_a_reader_is_shown_leaves_no_mark_on_the_reports_of_others(
    session: Session, reader: Api, program: Write
) -> None:
    path = program(PROGRAM)
    reading = Session(reader, session.id)
    session.post("/watch", {"expression": "repr(loud) + str(turn)"})
    session.break_at(path, "stop")
    session.launch(path)
    session.resume(wait=30, fields=["location"])
    session.wait_for_output("turn 0")
    for _ in range(2):
        shown = reading.get("/report")
        assert shown["output"][0]["output"] == "turn 0\n"
        assert shown["watches"][0]["error"] == UNREAD
        assert {row["name"]: row["value"][:9] for row in shown["locals"]} == {"loud": "<Loud obj", "turn": "1"}
        assert "changed" not in shown["watches"][0]
    report = session.get("/report")
    assert report["output"][0]["output"] == "turn 0\n"
    assert report["changes"] == [{"name": "turn", "old": "0", "new": "1"}]
    assert (report["watches"][0]["old"], report["watches"][0]["value"]) == ("'LOUD0'", "'LOUD1'")


def test_a_token_to_read_alone_runs_nothing_either(session: Session, relay: Relay, program: Write) -> None:
    path = program(PROGRAM)
    session.break_at(path, "stop")
    session.launch(path, fields=["location"])
    with Api(relay.base_url, token_of(relay, READ)) as api:
        reading = Session(api, session.id)
        assert reading.locals()["loud"].startswith("<Loud object at 0x")
        refusal(403, "FORBIDDEN", reading.get, "/report")
        refusal(403, "FORBIDDEN", reading.evaluate, "loud")
    with Api(relay.base_url, local_token(relay)) as api:
        assert Session(api, session.id).locals()["loud"] == "LOUD"


def reading_of(reading: Reading, operation: str) -> list[Any]:
    return [answer for asked, answer in reading.answers if asked == operation]
