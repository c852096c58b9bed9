"""Every event type with its body, and cursors that neither lose nor repeat any."""

from __future__ import annotations

import base64
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session, line_of, refusal
from waiting import soon

Write = Callable[..., Path]


@pytest.fixture
def story(program: Write) -> Path:
    return program(
        """
        import sys
        import threading
        import helper

        def work():
            return 1

        def main():
            worker = threading.Thread(target=work, name="worker")
            worker.start()
            worker.join()
            x = helper.one()  # @first
            y = x + 1  # @logged
            print("to stdout")
            print("to stderr", file=sys.stderr)
            int("abc")  # @raises

        main()
        """
    )


def bodies(session: Session, type: str) -> list[dict[str, Any]]:
    return [event["body"] for event in session.events(type)]


def next_events(session: Session, cursor: str, type: str, seconds: float = 10) -> list[dict[str, Any]]:
    """Long polls from a cursor until an event of this type is there."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        page = session.get("/events", cursor=cursor, timeout=5)
        cursor = page["next_cursor"]
        if found := [event["body"] for event in page["events"] if event["type"] == type]:
            return found
    raise AssertionError(f"no {type} event within {seconds} s")


def end_of(session: Session) -> str:
    """A cursor behind everything that has happened so far."""
    page = session.get("/events", limit=1000)
    while page["has_more"]:
        page = session.get("/events", limit=1000, cursor=page["next_cursor"])
    return str(page["next_cursor"])


def test_a_whole_story_is_told_in_events(session: Session, story: Path, program: Write) -> None:
    helper = program("def one():\n    return 1\n", "helper.py")
    session.break_at(story, "first")
    session.break_at(story, "logged", log_message="x is {x}")
    session.launch(story, stop_on_entry=True)
    session.resume()
    session.step("into")
    session.resume()
    assert session.resume()["exit_code"] == 1
    events = session.events()

    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    for event in events:
        assert set(event) == {"seq", "type", "timestamp", "body"}
        assert time.strptime(event["timestamp"][:19] + "Z", "%Y-%m-%dT%H:%M:%SZ")
        assert len(event["timestamp"]) == len("2026-01-13T10:30:05.000Z") and event["timestamp"].endswith("Z")
    assert events == sorted(events, key=lambda event: event["timestamp"])

    order = [event["type"] for event in events if event["type"] in ("stopped", "continued", "terminated")]
    assert order == ["stopped", "continued"] * 4 + ["terminated"]
    reasons = [body["reason"] for body in bodies(session, "stopped")]
    assert reasons == ["entry", "breakpoint", "step", "exception"]
    assert {event["type"] for event in events} == {
        "stopped", "continued", "terminated", "output", "breakpoint", "thread", "module", "event"
    }  # fmt: skip
    paths = {body["module"]["path"] for body in bodies(session, "module")}
    assert {str(story), str(helper)} <= paths


def test_a_stop_at_a_breakpoint_names_thread_place_and_breakpoint_and_tells_of_the_module_first_met(
    session: Session, program: Write
) -> None:
    path = program("x = 1\ny = 2  # @here\n")
    session.break_at(path, "here")
    stop = session.launch(path)
    (body,) = bodies(session, "stopped")
    assert body == {
        "reason": "breakpoint",
        "description": "Paused on breakpoint",
        "thread_id": stop["thread_id"],
        "preserve_focus_hint": False,
        "text": None,
        "all_threads_stopped": True,
        "hit_breakpoint_ids": ["bp_1"],
        "location": stop["current_location"],
    }
    module = next(body for body in bodies(session, "module") if body["module"]["path"] == str(path))
    assert module["reason"] == "new"
    assert module["module"] == {
        "id": module["module"]["id"],
        "name": "__main__",
        "path": str(path),
        "is_optimized": False,
        "is_user_code": True,
        "version": None,
    }


def test_steps_pauses_and_entry_have_their_reasons(session: Session, program: Write) -> None:
    path = program("import time\nx = 1\nwhile True:\n    time.sleep(0.01)\n")
    assert session.launch(path, stop_on_entry=True)["stop_reason"] == "entry"
    assert session.step()["stop_reason"] == "step"
    session.post("/continue")
    assert session.post("/pause")["stop_reason"] == "pause"
    stops = bodies(session, "stopped")
    assert [(stop["reason"], stop["description"]) for stop in stops] == [
        ("entry", "Paused at program entry"),
        ("step", "Paused after step"),
        ("pause", "Paused on request"),
    ]
    assert all(stop["all_threads_stopped"] and stop["location"]["path"] == str(path) for stop in stops)


def test_a_stop_on_an_exception_has_all_about_it_and_its_trace_reads_as_python_writes_it(
    session: Session, program: Write
) -> None:
    path = program('def parse(text):\n    return int(text)  # @raises\n\nparse("abc")\n')
    session.launch(path)
    (body,) = bodies(session, "stopped")
    message = "invalid literal for int() with base 10: 'abc'"
    assert (body["reason"], body["description"]) == ("exception", "Paused on exception")
    assert body["text"] == f"ValueError: {message}"
    assert body["location"]["line"] == line_of(path, "raises")
    info = body["exception_info"]
    assert (info["exception_id"], info["description"], info["break_mode"]) == ("ValueError", message, "unhandled")
    assert (info["details"]["type_name"], info["details"]["message"]) == ("ValueError", message)
    assert info["details"]["full_type_name"] == "builtins.ValueError"
    lines = [line for line in info["details"]["stack_trace"].splitlines() if "^^^" not in line]
    assert lines == [
        "Traceback (most recent call last):",
        f'  File "{path}", line 4, in <module>',
        '    parse("abc")',
        f'  File "{path}", line 2, in parse',
        "    return int(text)  # @raises",
        "ValueError: invalid literal for int() with base 10: 'abc'",
    ]


def test_a_raised_exception_that_is_caught_stops_with_break_mode_always(session: Session, program: Write) -> None:
    path = program(
        """
        class Odd(Exception):
            pass

        try:
            raise Odd("really")
        except Odd:
            pass
        """
    )
    session.launch(path, stop_on_exception="raised")
    info = bodies(session, "stopped")[0]["exception_info"]
    assert (info["exception_id"], info["description"], info["break_mode"]) == ("Odd", "really", "always")
    assert info["details"]["full_type_name"] == "__main__.Odd"


def test_every_resume_is_followed_by_a_continued_event(session: Session, program: Write) -> None:
    path = program("x = 1\ny = 2\nz = 3\n")
    thread = session.launch(path, stop_on_entry=True)["thread_id"]
    session.step()
    session.resume()
    assert bodies(session, "continued") == [{"thread_id": thread, "all_threads_continued": True}] * 2


ENDINGS = [
    ("pass", {"exit_code": 0, "restart": False}),
    ("import sys; sys.exit(3)", {"exit_code": 3, "restart": False, "error": "Process exited with code 3"}),
    (
        "import os; os.kill(os.getpid(), 9)",
        {"exit_code": -9, "restart": False, "signal": "SIGKILL", "error": "Process was killed by SIGKILL"},
    ),
]


@pytest.mark.parametrize(("code", "body"), ENDINGS, ids=["well", "with-a-code", "by-a-signal"])
def test_the_end_is_told_with_its_exit_code(session: Session, code: str, body: dict[str, Any]) -> None:
    session.launch(code=code, stop_on_exception=False)
    assert bodies(session, "terminated") == [body]
    assert session.events()[-1]["type"] == "terminated"


def test_output_events_carry_category_and_exact_text(session: Session, program: Write) -> None:
    path = program(
        """
        import sys
        print("eins\\u00e4 zwei")
        sys.stderr.write("no newline")
        total = 5
        pass  # @log
        """
    )
    session.break_at(path, "log", log_message="total is {total}")
    session.launch(path)
    found = bodies(session, "output")
    assert all(set(body) == {"category", "output", "source", "line", "column"} for body in found)
    texts = {"stdout": "", "stderr": "", "console": ""}
    for body in found:
        texts[body["category"]] += body["output"]
    assert texts == {"stdout": "einsä zwei\n", "stderr": "no newline", "console": "total is 5\n"}
    assert session.events("stopped") == []


def test_breakpoint_events_tell_new_changed_and_removed(session: Session, program: Write) -> None:
    path = program("x = 1\n")
    session.break_at(path, 1)
    session.break_at(path, 1, condition="x > 0")
    session.delete("/breakpoints/bp_1")
    found = bodies(session, "breakpoint")
    assert [body["reason"] for body in found] == ["new", "changed", "removed"]
    assert {body["breakpoint"]["id"] for body in found} == {"bp_1"}
    assert [body["breakpoint"]["condition"] for body in found] == [None, "x > 0", "x > 0"]
    assert all(body["breakpoint"]["verified"] and body["breakpoint"]["line"] == 1 for body in found)


def test_exception_breakpoint_events_tell_new_changed_and_removed(session: Session) -> None:
    for condition in (None, "exc.args"):
        session.post("/exception-breakpoints", {"exceptions": ["ValueError"], "condition": condition})
    session.delete("/exception-breakpoints/ex_1")
    found = bodies(session, "exception_breakpoint")
    assert [body["reason"] for body in found] == ["new", "changed", "removed"]
    assert [body["exception_breakpoint"]["condition"] for body in found] == [None, "exc.args", "exc.args"]
    assert {body["exception_breakpoint"]["id"] for body in found} == {"ex_1"}


def test_a_condition_that_raises_is_an_event_of_its_breakpoint(session: Session, program: Write) -> None:
    path = program("for x in range(3):\n    y = x  # @here\n")
    session.break_at(path, "here", condition="nothing")
    session.launch(path)
    session.resume()
    body = bodies(session, "breakpoint")[-1]
    assert (body["reason"], body["error"]) == ("condition_error", "NameError: name 'nothing' is not defined")
    assert body["breakpoint"]["id"] == "bp_1"
    assert [body["reason"] for body in bodies(session, "breakpoint")] == ["new", "condition_error"]


def test_a_breakpoint_in_a_missing_file_is_verified_when_it_appears(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "later.py"
    bp = {"source": {"path": str(path)}, "line": 2}
    (pending,) = session.post("/breakpoints", {"breakpoints": [bp]})["breakpoints"]
    assert (pending["verified"], pending["message"]) == (False, "Source file not found. Breakpoint pending.")
    cursor = end_of(session)
    path.write_text("x = 1\ny = 2\n")
    (body,) = next_events(session, cursor, "breakpoint")
    assert body["reason"] == "changed"
    assert body["breakpoint"] | {"hit_count": 0} == {**pending, "verified": True, "message": None}
    assert session.launch(path)["current_location"]["line"] == 2


def test_a_breakpoint_of_a_running_program_verifies_and_stops_it(session: Session, program: Write) -> None:
    path = program(
        """
        import os, runpy, sys, time
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
        while True:
            runpy.run_path(sys.argv[1])
            time.sleep(0.02)
        """
    )
    late = path.with_name("late.py")
    session.launch(path, args=[str(late)], wait=False)
    session.post("/breakpoints", {"breakpoints": [{"source": {"path": str(late)}, "line": 1}]})
    late.write_text("x = 1\n")
    stop = session.get("/report", wait=10)
    assert (stop["status"], stop["current_location"]["path"]) == ("paused", str(late))
    assert [body["reason"] for body in bodies(session, "breakpoint")] == ["new", "changed"]


def test_threads_start_and_exit(session: Session, program: Write) -> None:
    path = program(
        """
        import threading
        for _ in range(3):
            worker = threading.Thread(target=lambda: None)
            worker.start()
            worker.join()
        """
    )
    session.launch(path)
    started = [body["thread_id"] for body in bodies(session, "thread") if body["reason"] == "started"]
    exited = [body["thread_id"] for body in bodies(session, "thread") if body["reason"] == "exited"]
    assert len(started) == len(set(started)) == 4
    assert set(started[1:]) <= set(exited)


def test_code_of_the_project_and_of_the_library_are_told_apart(session: Session, program: Write) -> None:
    path = program("import textwrap\nfrom pack.inner import one\none()  # @own\ntextwrap.dedent('')  # @library\n")
    inner = program("def one():\n    return 1\n", "pack/inner.py")
    session.break_at(path, "own", "library")
    session.launch(path)
    assert session.step("into")["current_location"]["path"] == str(inner)
    session.resume()
    library = session.step("into")["current_location"]["path"]
    assert library.endswith("textwrap.py")
    found = {body["module"]["path"]: body["module"]["is_user_code"] for body in bodies(session, "module")}
    assert found == {str(path): True, str(inner): True, library: False}


def test_a_request_for_input_is_told_once_after_its_prompt(session: Session) -> None:
    pid = session.launch(code="input('name? ')")["pid"]
    for _ in range(3):
        session.get("/status")
        session.get("/report", wait=5)
    assert bodies(session, "input_requested") == [{"prompt": "name? ", "pid": pid}]
    told = [event for event in session.events() if event["type"] in ("output", "input_requested")]
    assert [event["type"] for event in told] == ["output", "input_requested"]


# Cursors.


def read_all(session: Session, limit: int, path: str = "/events", key: str = "events") -> list[dict[str, Any]]:
    """Page by page until the program has ended and nothing more is there."""
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {"timeout": 5} if key == "events" else {}
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        page = session.get(path, limit=limit, **params)
        assert len(page[key]) <= limit
        assert page["dropped"] == 0
        found += page[key]
        params["cursor"] = page["next_cursor"]
        if not page["has_more"] and session.get()["status"] == "terminated":
            rest = session.get(path, limit=1000, **params)[key]
            return found + rest
    raise AssertionError("it did not end")


def test_two_readers_get_everything_once_while_it_happens(api: Api, session: Session, program: Write) -> None:
    path = program("for n in range(600):\n    print(n)\n")
    session.launch(path, wait=False)
    read: dict[int, list[dict[str, Any]]] = {}

    def read_events(limit: int) -> None:
        with Api(api.base_url) as own:
            read[limit] = read_all(Session(own, session.id), limit)

    readers = [threading.Thread(target=read_events, args=(limit,)) for limit in (7, 100)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    assert read[7] == read[100] == session.events()
    assert [event["seq"] for event in read[7]] == list(range(1, len(read[7]) + 1))
    printed = "".join(event["body"]["output"] for event in read[7] if event["type"] == "output")
    assert printed == "".join(f"{n}\n" for n in range(600))
    entries = read_all(session, 13, "/output", "entries")
    assert "".join(entry["output"] for entry in entries) == printed


def test_reading_does_not_consume(session: Session, program: Write) -> None:
    session.launch(program("print(1)"))
    first = session.get("/events", limit=2)
    assert session.get("/events", limit=2)["events"] == first["events"]
    second = session.get("/events", cursor=first["next_cursor"])
    assert session.get("/events", cursor=first["next_cursor"]) == second
    assert second["events"][0]["seq"] == 3
    assert (second["has_more"], second["session_status"]) == (False, "terminated")


def test_output_of_one_category_skips_nothing(session: Session, program: Write) -> None:
    path = program("import sys\nfor n in range(50):\n    print(n)\n    print(-n, file=sys.stderr)\n")
    session.launch(path)
    found, cursor = [], None
    while True:
        page = session.get("/output", category="stderr", limit=7, **({"cursor": cursor} if cursor else {}))
        found += [entry["output"] for entry in page["entries"]]
        cursor = page["next_cursor"]
        if not page["has_more"]:
            break
    assert found == [f"{-n}\n" for n in range(50)]


def test_a_long_poll_wakes_on_news(session: Session, program: Write) -> None:
    path = program("import time\nwhile True:\n    time.sleep(0.01)\n")
    pid = session.launch(path, wait=False)["pid"]
    session.post("/pause")
    session.post("/continue")
    cursor = end_of(session)
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    started = time.monotonic()
    found = next_events(session, cursor, "terminated")
    assert time.monotonic() - started > 0.2
    assert found[0]["signal"] == "SIGKILL"


def test_a_long_poll_without_news_ends_empty_at_its_time(session: Session) -> None:
    cursor = end_of(session)
    started = time.monotonic()
    page = session.get("/events", cursor=cursor, timeout=1)
    assert time.monotonic() - started > 0.9
    assert page == {"events": [], "next_cursor": cursor, "has_more": False, "dropped": 0, "session_status": "created"}


def test_a_long_poll_is_answered_at_once_when_there_is_something(session: Session, program: Write) -> None:
    session.break_at(program("x = 1"), 1)
    with soon():
        assert session.get("/events", timeout=30)["events"]


DAMAGED = ["x", "%%%", "AAAA", "ä", "e999", base64.b64encode(b"e0.99999").decode(), base64.b64encode(b"e-1.0").decode()]
DAMAGED += [base64.b64encode(b"e0").decode(), base64.b64encode(b"e" + b"9" * 5000 + b".0").decode()[:4000]]


def test_cursors_that_are_damaged_or_of_the_other_list_are_refused(session: Session) -> None:
    for path, cursor in itertools.product(("/events", "/output"), DAMAGED):
        error = refusal(400, "INVALID_PARAMETER", session.get, path, cursor=cursor)
        assert error.details["parameter"] == "cursor", cursor
    refusal(400, "INVALID_PARAMETER", session.get, "/output", cursor=session.get("/events")["next_cursor"])
    refusal(400, "INVALID_PARAMETER", session.get, "/events", cursor=session.get("/output")["next_cursor"])


def test_a_cursor_of_a_longer_session_is_refused(api: Api, session: Session, program: Write) -> None:
    session.launch(program("print(1)\nprint(2)"))
    with api.session() as other:
        refusal(400, "INVALID_PARAMETER", other.get, "/events", cursor=end_of(session))


def test_what_fell_out_of_a_small_buffer_is_counted(tmp_path: Path, program: Write) -> None:
    path = program("print('first')  # @here\nfor n in range(500):\n    print(n)\n")
    relay = Relay(tmp_path / "data", output_buffer_max_bytes=20_000).start()
    with Api(relay.base_url) as api, api.session() as session:
        session.launch(path, stop_on_entry=True)
        session.step()
        output, events = session.get("/output"), session.get("/events", limit=1000)
        assert [entry["output"] for entry in output["entries"]] == ["first\n"]
        assert (output["dropped"], events["dropped"]) == (0, 0)
        session.resume()

        page = session.get("/output", cursor=output["next_cursor"], limit=1000)
        kept = [entry["output"] for entry in page["entries"]]
        assert 0 < len(kept) < 200
        assert kept == [f"{n}\n" for n in range(500 - len(kept), 500)]
        assert page["dropped"] == 500 - len(kept)
        after = session.get("/output", cursor=page["next_cursor"])
        assert (after["entries"], after["dropped"]) == ([], 0)
        assert session.get("/output", limit=1000)["dropped"] == 501 - len(kept)

        later = session.get("/events", cursor=events["next_cursor"], limit=1000)
        assert later["dropped"] == 500 - len(kept)
        assert later["events"][-1]["type"] == "terminated"
        missing = later["events"][-1]["seq"] - events["events"][-1]["seq"] - len(later["events"])
        assert missing == later["dropped"]
    assert relay.stop() == 0
