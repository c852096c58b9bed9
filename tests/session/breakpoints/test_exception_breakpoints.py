"""Exception breakpoints: by class, by condition, caught or not, set at any time, on every Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, line_of, pythons, refusal
from waiting import soon

Write = Callable[..., Path]

PROGRAM = """
import json


class Problem(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Worse(Problem):
    pass


def attempt(kind, *args):
    try:
        raise kind(*args)  # @raise
    except Exception:
        return None


def hook(found):
    raise RuntimeError("in a callback")  # @hook


attempt(KeyError, "k")
attempt(ValueError, "v")
for code in range(4):
    attempt(Problem, code)
attempt(Worse, 9)
try:
    int("x")  # @int
except ValueError:
    pass
try:
    json.loads("{}", object_hook=hook)
except RuntimeError:
    pass
import late

attempt(late.Late)
raise Worse(7)  # @end
"""


@pytest.fixture
def path(program: Write) -> Path:
    program("class Late(Exception):\n    pass\n", "late.py")
    return program(PROGRAM)


def set_on(session: Session, **body: Any) -> dict[str, Any]:
    (rule,) = session.post("/exception-breakpoints", body)["exception_breakpoints"]
    return rule  # type: ignore[no-any-return]


def stops(session: Session, path: Path, **options: Any) -> list[tuple[str, int, str]]:
    """What it stops for: class, line, break mode."""
    stop = session.launch(path, fields=["exception", "breakpoints"], **options)
    found = []
    while stop["status"] == "paused":
        assert stop["stop_reason"] == "exception"
        found.append((stop["exception"]["type"], stop["current_location"]["line"]))
        stop = session.resume(fields=["exception", "breakpoints"])
    modes = [event["body"]["exception_info"]["break_mode"] for event in session.events("stopped")]
    return [(type, line, mode) for (type, line), mode in zip(found, modes, strict=True)]


@pytest.mark.parametrize("version", list(pythons("3.8", "3.11", "3.12", "3.13")))
def test_it_stops_for_the_classes_asked_for_and_their_subclasses(api: Api, path: Path, version: str) -> None:
    raised, end = line_of(path, "raise"), line_of(path, "end")
    with api.session(python_path=str(pythons(version)[version])) as session:
        set_on(session, exceptions=["ValueError", "late.Late"])
        set_on(session, exceptions=["__main__.Problem"], condition="exc.code >= 3 and exception is exc")
        set_on(session, exceptions=["Worse"], filters=["uncaught"])
        set_on(session, exceptions=["RuntimeError"], break_mode="user_unhandled")
        assert stops(session, path) == [
            ("ValueError", raised, "always"),
            ("Problem", raised, "always"),
            ("Worse", raised, "always"),
            ("ValueError", line_of(path, "int"), "always"),
            ("RuntimeError", line_of(path, "hook"), "user_unhandled"),
            ("Late", raised, "always"),
            ("Worse", end, "always"),
            ("Worse", end, "unhandled"),
        ]
        counts = {
            rule["id"]: rule["hit_count"] for rule in session.get("/exception-breakpoints")["exception_breakpoints"]
        }
        assert counts == {"ex_1": 3, "ex_2": 3, "ex_3": 1, "ex_4": 1}


def test_the_stop_names_the_breakpoints_it_is_for(session: Session, path: Path) -> None:
    set_on(session, exceptions=["KeyError"])
    set_on(session, exceptions=["LookupError"])
    set_on(session, filters=["raised"], condition="exc.args == ('k',)")
    stop = session.launch(path)
    assert (stop["stop_reason"], stop["hit_breakpoint_ids"]) == ("exception", ["ex_1", "ex_2", "ex_3"])
    assert stop["exception"]["type"] == "KeyError"
    assert session.events("stopped")[0]["body"]["hit_breakpoint_ids"] == ["ex_1", "ex_2", "ex_3"]


def test_they_are_listed_replaced_and_removed(session: Session) -> None:
    assert session.get("/exception-breakpoints") == {"exception_breakpoints": [], "filters": [], "total": 0}
    answer = session.post("/exception-breakpoints", {"exceptions": ["ValueError"], "condition": "exc.args"})
    rule = {
        "id": "ex_1",
        "filters": ["raised"],
        "exceptions": ["ValueError"],
        "condition": "exc.args",
        "from_launch": False,
        "hit_count": 0,
    }
    assert answer == {"exception_breakpoint_id": "ex_1", "exception_breakpoints": [rule], "filters": ["raised"]}
    set_on(session, filters=["uncaught", "userUnhandled"])
    again = set_on(session, exception_types=["ValueError"], break_mode="always")
    assert again == {**rule, "condition": None}
    listed = session.get("/exception-breakpoints")
    assert [each["id"] for each in listed["exception_breakpoints"]] == ["ex_1", "ex_2"]
    assert (listed["filters"], listed["total"]) == (["raised", "uncaught", "user_unhandled"], 2)
    assert session.delete("/exception-breakpoints/ex_1") == {"deleted": True, "removed": ["ex_1"]}
    refusal(404, "BREAKPOINT_NOT_FOUND", session.delete, "/exception-breakpoints/ex_1")
    assert set_on(session, exceptions=["ValueError"])["id"] == "ex_3"
    assert session.delete("/exception-breakpoints") == {"deleted": True, "removed": ["ex_2", "ex_3"]}
    assert session.get("/exception-breakpoints")["total"] == 0
    events = [(event["body"]["reason"], event["body"]["exception_breakpoint"]["id"]) for event in session.events()]
    assert events == [
        ("new", "ex_1"),
        ("new", "ex_2"),
        ("changed", "ex_1"),
        ("removed", "ex_1"),
        ("new", "ex_3"),
        ("removed", "ex_2"),
        ("removed", "ex_3"),
    ]


def test_what_the_launch_says_is_among_them(session: Session, path: Path) -> None:
    session.launch(path, stop_on_exception=True)
    listed = session.get("/exception-breakpoints")
    (rule,) = listed["exception_breakpoints"]
    assert (rule["filters"], rule["exceptions"], rule["from_launch"]) == (["raised", "uncaught"], [], True)
    assert listed["filters"] == ["raised", "uncaught"]
    session.delete(f"/exception-breakpoints/{rule['id']}")
    assert session.resume()["status"] == "terminated"


def test_left_out_the_launch_stops_on_uncaught_ones_unless_others_were_asked_for(
    api: Api, session: Session, path: Path
) -> None:
    session.launch(path)
    assert session.get("/exception-breakpoints")["filters"] == ["uncaught"]
    with api.session() as other:
        set_on(other, exceptions=["KeyError"])
        assert [type for type, _, _ in stops(other, path)] == ["KeyError"]
        assert other.get("/exception-breakpoints")["filters"] == ["raised"]
    with api.session() as both:
        set_on(both, exceptions=["KeyError"])
        assert [type for type, _, _ in stops(both, path, stop_on_exception="uncaught")] == ["KeyError", "Worse"]


def test_a_launch_that_failed_leaves_only_what_was_asked_for(session: Session, path: Path) -> None:
    refusal(500, "LAUNCH_FAILED", session.launch, path, stop_on_exception=True, python_args=["--no-such-option"])
    assert session.get("/exception-breakpoints")["total"] == 0
    assert session.launch(path)["exception"]["type"] == "Worse"


def test_they_are_set_and_removed_while_the_program_runs(session: Session, program: Write) -> None:
    path = program(
        """
        import time

        print("on")
        while True:
            try:
                {}["missing"]
            except KeyError:
                time.sleep(0.005)
        """
    )
    session.launch(path, wait=False)
    session.wait_for_output("on")
    set_on(session, exceptions=["LookupError"])
    stop = session.get("/report", wait="20")
    assert (stop["stop_reason"], stop["exception"]["type"]) == ("exception", "KeyError")
    assert session.resume()["hit_breakpoint_ids"] == ["ex_2"]
    session.delete("/exception-breakpoints/ex_2")
    session.post("/continue")
    assert session.get("/report", wait="0.3")["timed_out"]


def test_a_condition_that_raises_stops_each_time_and_is_told_once(session: Session, path: Path) -> None:
    set_on(session, exceptions=["Problem"], condition="exc.nothing")
    stop = session.launch(path)
    notes = []
    while stop["status"] == "paused":
        notes.append(stop["note"])
        stop = session.resume()
    assert notes[:4] == ["Condition raised AttributeError: 'Problem' object has no attribute 'nothing'"] * 4
    told = [event["body"] for event in session.events("exception_breakpoint")][1:]
    assert [(body["reason"], body["error"]) for body in told] == [
        ("condition_error", "AttributeError: 'Problem' object has no attribute 'nothing'"),
        ("condition_error", "AttributeError: 'Worse' object has no attribute 'nothing'"),
    ]
    assert told[0]["exception_breakpoint"]["id"] == "ex_1"


def test_a_program_that_raises_often_runs_on_at_its_speed_when_nothing_is_asked_for(
    session: Session, program: Write
) -> None:
    path = program(
        """
        import time

        began = time.perf_counter()
        for n in range(100_000):
            try:
                raise KeyError(n)
            except KeyError:
                pass
        print(time.perf_counter() - began)
        """
    )
    session.launch(path, stop_on_exception=False)
    assert float(session.output()) < 3


@pytest.fixture(scope="module")
def idle(api: Api) -> Iterator[Session]:
    """A session for requests that are refused and change nothing."""
    with api.session() as session:
        yield session


@pytest.mark.parametrize("name", ["StopIteration", "builtins.GeneratorExit", "StopAsyncIteration"])
def test_what_python_raises_for_itself_is_refused(idle: Session, name: str) -> None:
    error = refusal(400, "NOT_SUPPORTED", idle.post, "/exception-breakpoints", {"exceptions": [name]})
    assert error.details["exception"] == name


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"filters": []},
        {"filters": ["caught"]},
        {"exceptions": ["not a name"]},
        {"exceptions": [""]},
        {"exceptions": "ValueError"},
        {"exceptions": ["A"], "exception_types": ["B"]},
        {"filters": ["raised"], "break_mode": "always"},
        {"break_mode": "never"},
        {"exceptions": ["ValueError"] * 101},
        {"filters": ["raised"], "conditions": "x"},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(idle: Session, body: dict[str, Any]) -> None:
    refusal(400, "INVALID_REQUEST", idle.post, "/exception-breakpoints", body)
    assert idle.get("/exception-breakpoints")["total"] == 0


def test_a_condition_that_does_not_parse_is_refused(idle: Session) -> None:
    error = refusal(400, "BREAKPOINT_INVALID_CONDITION", set_on, idle, filters=["raised"], condition="exc.")
    assert (error.details["condition"], error.details["offset"]) == ("exc.", 5)
    assert idle.get("/exception-breakpoints")["total"] == 0


def test_an_exception_of_a_busy_program_is_found_in_time(session: Session, program: Write) -> None:
    """With a class asked for, the others cost little."""
    path = program(
        """
        class Rare(Exception):
            pass


        for n in range(3000):
            try:
                raise Rare() if n == 2999 else KeyError(n)
            except (Rare, KeyError):
                pass
        """
    )
    set_on(session, exceptions=["Rare"])
    with soon():
        assert session.launch(path)["exception"]["type"] == "Rare"


@pytest.mark.parametrize(("given", "code"), [("3", 3), ("'bye'", 1), ("None", 0)])
def test_an_exit_is_no_crash_with_whatever_words_it_is_made(session: Session, given: str, code: int) -> None:
    end = session.launch(code=f"import sys; sys.exit({given})")
    assert (end["status"], end["exit_code"]) == ("terminated", code)
