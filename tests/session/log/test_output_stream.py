"""Output as a stream of server-sent events, output that is waited for, and output that is cleared."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from relays import Api, Relay, Session, meanwhile, refusal
from waiting import soon

Write = Callable[..., Path]

COUNTING = "for n in range({count}):\n    print(n)\n"
ASKING = "print('one')\ninput()\nprint('two')\ninput()\nprint('three')\n"


class Sse(NamedTuple):
    event: str
    data: dict[str, Any]
    id: str | None


def parsed(lines: Iterator[str]) -> Iterator[Sse]:
    """As a browser reads them."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif not line and "data" in fields:
            yield Sse(fields.get("event", "message"), json.loads(fields["data"]), fields.get("id"))
            fields = {}


@contextlib.contextmanager
def stream(session: Session, last_id: str | None = None, **params: Any) -> Iterator[Iterator[Sse]]:
    """Ten seconds without a byte are a failure: that is less than from one keep-alive to the next."""
    headers = {"Last-Event-ID": last_id} if last_id is not None else {}
    path = f"/sessions/{session.id}/output/stream"
    with (
        httpx2.Client(base_url=session.api.base_url, timeout=10) as client,
        client.stream("GET", path, params=params, headers=headers) as answer,
    ):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield parsed(answer.iter_lines())


def position_of(event: Sse) -> int:
    """How many entries were written up to there."""
    return int(base64.b64decode(event.id or "").decode().removeprefix("o"))


def texts(events: list[Sse]) -> str:
    return "".join(event.data["output"] for event in events if event.event == "output")


def test_a_stream_brings_output_as_it_comes_and_then_the_end(session: Session) -> None:
    session.launch(code=ASKING)
    with stream(session) as events:
        first = next(events)
        assert (first.event, first.data["category"], first.data["output"]) == ("output", "stdout", "one\n")
        assert set(first.data) == {"category", "output", "timestamp"}
        session.post("/stdin", {"input": "\n"})
        assert next(events).data["output"] == "two\n"
        session.post("/stdin", {"input": "\n"})
        assert next(events).data["output"] == "three\n"
        end = next(events)
        assert (end.event, end.data) == ("terminated", {"exit_code": 0, "signal": None, "reason": "exited"})
        assert list(events) == []


def test_a_stream_can_begin_before_the_program_does(session: Session) -> None:
    def launch(other: Session) -> Any:
        return other.launch(code="print('hello')\nexit(3)", stop_on_exception=False)

    with stream(session) as events, meanwhile(session, launch):
        assert next(events).data["output"] == "hello\n"
        assert next(events).data["exit_code"] == 3


def test_reconnecting_neither_loses_nor_repeats(session: Session, program: Write) -> None:
    session.launch(program(COUNTING.format(count=1000)), wait=False)
    found: list[Sse] = []
    last: str | None = None
    for take in (1, 7, 100, 433, 5000):
        with stream(session, last) as events:
            for _, event in zip(range(take), events, strict=False):
                found.append(event)
                last = event.id
    assert texts(found) == "".join(f"{n}\n" for n in range(1000))
    assert [event.event for event in found].count("terminated") == 1
    assert found[-1].event == "terminated"
    with stream(session, found[-1].id) as events:
        assert [event.event for event in events] == ["terminated"]


def test_an_id_is_a_cursor_and_a_cursor_an_id(session: Session) -> None:
    session.launch(code="for n in range(5):\n    print(n)")
    with stream(session) as events:
        first, second, *_ = events
    page = session.get("/output", cursor=first.id)
    assert "".join(entry["output"] for entry in page["entries"]) == "1\n2\n3\n4\n"
    cursor = session.get("/output", limit=2)["next_cursor"]
    assert cursor == second.id
    with stream(session, cursor=cursor) as events:
        assert texts(list(events)) == "2\n3\n4\n"
    with stream(session, second.id, cursor=first.id) as events:
        assert texts(list(events)) == "2\n3\n4\n"
    with stream(session, "", cursor=first.id) as events:
        assert texts(list(events)) == "1\n2\n3\n4\n"


def test_one_category_alone(session: Session, program: Write) -> None:
    path = program("import sys\nfor n in range(300):\n    print(n)\n    print(-n, file=sys.stderr)\n")
    session.launch(path)
    with stream(session, category="stderr") as events:
        found = list(events)
    assert {event.data["category"] for event in found[:-1]} == {"stderr"}
    assert texts(found) == "".join(f"{-n}\n" for n in range(300))
    with stream(session, found[99].id, category="stderr") as events:
        assert texts(list(events)) == "".join(f"{-n}\n" for n in range(100, 300))


def test_a_wrong_last_event_id_is_refused_before_the_stream(session: Session) -> None:
    for given in ("x", "AAAA", "bzk5OQ==", "x" * 5000, "e%00"):
        answer = session.api.http.get(f"/sessions/{session.id}/output/stream", headers={"Last-Event-ID": given})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "INVALID_PARAMETER")
        assert (error["details"]["parameter"], error["details"]["errors"][0]["value"]) == ("Last-Event-ID", given[:200])
        assert error["details"]["suggestion"]


def test_what_is_wrong_with_a_request_is_told_in_the_envelope(session: Session, api: Api) -> None:
    refusal(404, "SESSION_NOT_FOUND", api.get, "/sessions/sess_none/output/stream")
    error = refusal(400, "INVALID_PARAMETER", session.get, "/output/stream", cursor="x")
    assert error.details["parameter"] == "cursor"
    refusal(400, "INVALID_PARAMETER", session.get, "/output/stream", category="stdin")
    refusal(400, "INVALID_PARAMETER", session.get, "/output/stream", curser="x")
    assert api.http.head(f"/sessions/{session.id}/output/stream").status_code == 405


@pytest.fixture(scope="module")
def short_of_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A relay that keeps little of what programs print."""
    relay = Relay(tmp_path_factory.mktemp("short") / "data", output_buffer_max_bytes=20_000).start()
    with Api(relay.base_url) as api:
        yield api
    assert relay.stop() == 0


def test_what_a_slow_reader_missed_is_counted_and_nobody_waits_for_it(short_of_room: Api) -> None:
    with short_of_room.session() as session:
        session.launch(code="print('first')\ninput()\nfor n in range(6000):\n    print('x' * 2000, n, flush=True)\n")
        with stream(session) as events:
            assert next(events).data["output"] == "first\n"
            end = session.post("/stdin", {"input": "\n", "wait": 60})
            assert end["exit_code"] == 0
            rest = list(events)
    dropped = sum(event.data["count"] for event in rest if event.event == "dropped")
    lines = [event.data["output"] for event in rest if event.event == "output"]
    assert 0 < len(lines) < 6000
    assert dropped + len(lines) == position_of(rest[-1]) - 1
    assert (lines[-1][-6:], rest[-1].event) == (" 5999\n", "terminated")


def test_a_stream_goes_on_after_the_relay_was_killed_and_keeps_none_from_stopping(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data").start()
    with Api(relay.base_url) as api:
        session = api.session()
        session.launch(code=ASKING)
        with pytest.raises(httpx2.TransportError), stream(session) as events:
            last = next(events)
            relay.kill()
            next(events)
    relay.start()
    with Api(relay.base_url) as api:
        session = Session(api, session.id)
        for _ in range(2):
            session.post("/stdin", {"input": "\n"})
        with stream(session, last.id) as events:
            found = list(events)
        assert (texts(found), found[-1].event) == ("two\nthree\n", "terminated")
        silent, asking = api.session(), api.session()
        asking.launch(code=ASKING)
        with stream(silent) as nothing, stream(asking) as events:
            assert next(events).data["output"] == "one\n"
            assert relay.stop() == 0
            assert list(nothing) == list(events) == []
    log = relay.log.read_text()
    assert "Traceback" not in log
    assert "timeout graceful shutdown exceeded" not in log


def test_a_deleted_session_ends_its_streams(api: Api) -> None:
    session, running = api.session(), api.session()
    running.launch(code=ASKING)
    with stream(session) as events:
        session.delete()
        (error,) = events
    assert (error.event, error.data["code"]) == ("error", "SESSION_NOT_FOUND")
    assert error.data["details"]["suggestion"]
    with stream(running) as events:
        assert next(events).data["output"] == "one\n"
        running.delete()
        (end,) = events
    assert (end.event, end.data["reason"]) == ("terminated", "deleted")


def test_a_stream_does_not_keep_a_session_from_expiring(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data", session_timeout_seconds=1).start()
    with Api(relay.base_url) as api:
        session = api.session()
        with stream(session) as events:
            (error,) = events
    assert (error.event, error.data["code"]) == ("error", "SESSION_EXPIRED")
    assert relay.stop() == 0


def test_clients_that_leave_in_the_middle_harm_nobody(relay: Relay, session: Session) -> None:
    session.launch(code="import sys\nprint('x' * 50)\ninput()\nfor n in range(1000):\n    print(n)\n")
    before = relay.log.read_text()
    for _ in range(5):
        with stream(session) as events:
            next(events)
    session.post("/stdin", {"input": "\n", "wait": 20})
    with stream(session) as events:
        assert texts(list(events)).endswith("999\n")
    assert "Traceback" not in relay.log.read_text().removeprefix(before)


def test_fifty_megabytes_without_newlines_some_of_them_no_text(session: Session, program: Write) -> None:
    path = program(
        """
        import os
        binary, text = bytes(range(256)).replace(b"\\n", b"") * 256, b"x" * 65536
        for n in range(800):
            os.write(1, text if n % 20 else binary)
        print("end")
        """
    )
    with soon(60):
        session.launch(path, wait=False)
        size, pieces = 0, 0
        with stream(session) as events:
            for event in events:
                if event.event == "output":
                    assert len(event.data["output"]) <= 32 * 1024
                    size, pieces, last = size + len(event.data["output"]), pieces + 1, event.data["output"]
                else:
                    assert event.event in ("dropped", "terminated")
        assert event.data["exit_code"] == 0
        assert last.endswith("end\n")
        assert size > 10_000_000


# Waiting for output.


def test_output_can_be_waited_for(session: Session) -> None:
    session.launch(code=ASKING)
    cursor = session.get("/output")["next_cursor"]
    started = time.monotonic()
    assert session.get("/output", cursor=cursor, timeout=1)["entries"] == []
    assert time.monotonic() - started > 0.9
    with meanwhile(session, lambda other: other.get("/output", cursor=cursor, timeout=20)) as waiting:
        session.post("/stdin", {"input": "\n"})
        page = waiting.result(10)
    assert [entry["output"] for entry in page["entries"]] == ["two\n"]
    end = page["next_cursor"]
    with meanwhile(session, lambda other: other.get("/output", cursor=end, category="stderr", timeout=60)) as waiting:
        session.post("/stdin", {"input": "\n", "wait": 10})
        assert waiting.result(10)["entries"] == []


# Clearing.


def test_cleared_output_is_gone_and_cursors_go_on_after_it(session: Session) -> None:
    session.launch(code="print('a')\nprint('b')\n" + ASKING)
    before = session.get("/output", limit=1)
    assert [entry["output"] for entry in before["entries"]] == ["a\n"]
    cleared = session.delete("/output")
    assert cleared["cleared"] == 3
    page = session.get("/output")
    assert (page["entries"], page["dropped"], page["cleared"]) == ([], 0, 3)
    assert (page["next_cursor"], page["has_more"]) == (cleared["next_cursor"], False)
    later = session.get("/output", cursor=before["next_cursor"])
    assert (later["entries"], later["dropped"], later["cleared"]) == ([], 0, 2)
    assert session.delete("/output")["cleared"] == 0

    answer = session.post("/stdin", {"input": "\n", "wait": 10})
    assert answer["output"] == [{"category": "stdout", "output": "two\n"}]
    assert "omitted" not in answer
    for cursor in (before["next_cursor"], cleared["next_cursor"]):
        assert [entry["output"] for entry in session.get("/output", cursor=cursor)["entries"]] == ["two\n"]
    assert session.output() == "two\n"


def test_what_happened_is_not_cleared(session: Session, program: Write) -> None:
    path = program("print('before')\nx = 1  # @here\nprint('after')\n")
    session.break_at(path, "here")
    session.launch(path)
    happened = [event["type"] for event in session.events() if event["type"] != "output"]
    session.delete("/output")
    page = session.get("/events", limit=1000)
    assert [event["type"] for event in page["events"]] == happened
    assert (page["dropped"], page["cleared"]) == (0, 1)
    session.resume()
    assert [event["body"]["output"] for event in session.events("output")] == ["after\n"]


def test_a_stream_tells_of_what_was_cleared_before_it_came(session: Session) -> None:
    session.launch(code=ASKING)
    with stream(session) as events:
        assert next(events).data["output"] == "one\n"
        session.delete("/output")
        session.post("/stdin", {"input": "\n"})
        assert next(events).data["output"] == "two\n"
    with stream(session) as events:
        first, second = next(events), next(events)
    assert (first.event, first.data) == ("cleared", {"count": 1})
    assert second.data["output"] == "two\n"


def test_clearing_frees_a_full_buffer(short_of_room: Api) -> None:
    with short_of_room.session() as session:
        session.launch(code="for n in range(500):\n    print(n)\ninput()\nfor n in range(30):\n    print(n)\ninput()")
        kept = session.delete("/output")["cleared"]
        assert 0 < kept < 500
        session.post("/stdin", {"input": "\n", "wait": 10})
        page = session.get("/output")
        assert (len(page["entries"]), page["dropped"], page["cleared"]) == (30, 0, 500)
