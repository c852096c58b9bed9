"""What a program writes, over the WebSocket /logs: everything, once, in order, for every reader."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Api, Relay, Session
from sockets import CLOSE, RawSocket, Socket, local_token, logs_of, opened, own_relay
from waiting import soon
from websockets.sync.client import connect

Write = Callable[..., Path]

ASKING = "print('one')\ninput()\nprint('two')\ninput()\nprint('three')\n"
MANY = 30_000
COUNTING = f"for n in range({MANY}):\n    print('line', n)\n"


def text_of(messages: list[dict[str, Any]]) -> str:
    return "".join(message["text"] for message in messages)


def lines(first: int, last: int) -> str:
    return "".join(f"line {n}\n" for n in range(first, last))


# The first of the two examples of the specification, with our port:
# websocat -H "Authorization: Bearer $TOKEN" ws://localhost:8000/sessions/$SESSION_ID/logs


def test_the_example_for_logs_works_as_written(relay: Relay, session: Session) -> None:
    session.launch(code=ASKING)
    headers = {"Authorization": f"Bearer {local_token(relay)}"}
    with connect(f"ws://localhost:{relay.port}/sessions/{session.id}/logs", additional_headers=headers) as connection:
        socket = Socket(connection)
        first = socket.next()
        assert set(first) == {"stream", "text", "timestamp"}
        assert (first["stream"], first["text"]) == ("stdout", "one\n")
        assert first["timestamp"].endswith("Z") and time.strptime(first["timestamp"][:19], "%Y-%m-%dT%H:%M:%S")
        session.post("/stdin", {"input": "\n"})
        assert socket.next()["text"] == "two\n"
        session.post("/stdin", {"input": "\n"})
        assert text_of(socket.rest()) == "three\n"
        assert socket.closed() == (1000, "terminated: exited, exit code 0")


def test_it_is_the_same_beside_the_rest_routes_and_one_stream_can_be_chosen(relay: Relay, session: Session) -> None:
    session.launch(code="import sys\nfor n in range(3):\n    print(n)\n    print(-n, file=sys.stderr)\nsys.exit(4)")
    with opened(relay, f"/api/v1/sessions/{session.id}/logs") as socket:
        found = socket.rest()
        assert socket.closed() == (1000, "terminated: exited, exit code 4")
    assert {message["stream"] for message in found} == {"stdout", "stderr"}
    with logs_of(relay, session, stream="stderr") as socket:
        assert text_of(socket.rest()) == "0\n-1\n-2\n"


def test_a_reader_may_come_before_the_program(relay: Relay, session: Session) -> None:
    with logs_of(relay, session) as socket:
        session.launch(code="import os\nprint('hello')\nos.kill(os.getpid(), 9)", stop_on_exception=False)
        assert text_of(socket.rest()) == "hello\n"
        assert socket.closed() == (1000, "terminated: killed, SIGKILL")


# Many lines.


def joins_in_the_middle(relay: Relay, session: Session) -> list[dict[str, Any]]:
    with RawSocket(relay, f"/sessions/{session.id}/logs") as ahead:
        while b"line 9000\\n" not in ahead.frame()[1]:
            pass
    with logs_of(relay, session) as socket:
        return socket.rest()


def comes_back_again_and_again(relay: Relay, session: Session) -> list[dict[str, Any]]:
    """Leaves without a word after every few thousand lines, with what it had not read yet."""
    found: list[dict[str, Any]] = []
    query = "cursors=true"
    while True:
        with RawSocket(relay, f"/sessions/{session.id}/logs?{query}") as raw:
            for _ in range(3_001):
                opcode, payload = raw.frame()
                if opcode == CLOSE:
                    return found
                found.append(json.loads(payload))
        query = f"since={found[-1]['cursor']}"


def test_tens_of_thousands_of_lines_arrive_once_and_in_order(relay: Relay, session: Session, program: Write) -> None:
    session.launch(program(COUNTING), wait=False)
    with ThreadPoolExecutor(2) as pool:
        late, restless = pool.map(lambda read: read(relay, session), (joins_in_the_middle, comes_back_again_and_again))
    assert text_of(late) == text_of(restless) == lines(0, MANY)
    assert {frozenset(message) for message in late} == {frozenset({"stream", "text", "timestamp"})}
    assert {frozenset(message) for message in restless} == {frozenset({"stream", "text", "timestamp", "cursor"})}
    with logs_of(relay, session, since=restless[-1]["cursor"]) as socket:
        assert socket.rest() == []


def test_ten_readers_at_once_all_get_everything(relay: Relay, session: Session, program: Write) -> None:
    def read(_: int) -> list[bytes]:
        """All messages; pings come between them to whoever is read for long."""
        with RawSocket(relay, f"/sessions/{session.id}/logs") as raw:
            return re.findall(rb'{"stream":"\w+","text":"[^"]*"', raw.until(b"terminated: exited, exit code 0"))

    with ThreadPoolExecutor(10) as pool:
        reading = pool.map(read, range(10))
        session.launch(program(COUNTING), wait=False)
        first, *others = reading
    texts = re.findall(rb'{"stream":"stdout","text":"([^"]*)"', b"".join(first))
    assert b"".join(texts).replace(b"\\n", b"\n").decode() == lines(0, MANY)
    assert all(other == first for other in others)


# Readers that are slow, or do not read.


def test_a_slow_reader_is_told_what_it_missed(tmp_path: Path) -> None:
    with own_relay(tmp_path, output_buffer_max_bytes=1_000_000) as (relay, api), api.session() as session:
        session.launch(code="print('first')\ninput()\nfor n in range(20_000):\n    print('x' * 600, n, flush=True)\n")
        with RawSocket(relay, f"/sessions/{session.id}/logs", receive_buffer=65536) as raw:
            assert json.loads(raw.frame()[1])["text"] == "first\n"
            end = session.post("/stdin", {"input": "\n", "wait": 60})
            assert end["exit_code"] == 0
            rest = [json.loads(message) for message in raw.messages()]
        written = session.get("/output", limit=1)["dropped"] + session.delete("/output")["cleared"]
    missing = [message for message in rest if message["stream"] == "relay"]
    read = [message for message in rest if message["stream"] == "stdout"]
    assert set(missing[0]) == {"stream", "text", "timestamp", "dropped"}
    assert f"{missing[0]['dropped']} messages are missing" in missing[0]["text"]
    assert 1 + len(read) + sum(message["dropped"] for message in missing) == written >= 20_001
    assert 0 < len(read) < 20_000
    assert text_of(read).endswith(" 19999\n")
    numbers = [int(number) for number in re.findall(r" (\d+)\n", text_of(read))]
    assert numbers == sorted(set(numbers))


def test_readers_that_never_read_cost_little_and_slow_nobody(tmp_path: Path, program: Write) -> None:
    path = program("for n in range(25_000):\n    print('x' * 500, n)\n")

    def seconds(api: Api) -> float:
        with api.session() as other:
            began = time.monotonic()
            other.launch(path, wait=60)
            return time.monotonic() - began

    with own_relay(tmp_path) as (relay, api), api.session() as session:
        assert relay.process is not None
        process = psutil.Process(relay.process.pid)
        alone = seconds(api)
        before = process.memory_info().rss
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(RawSocket(relay, f"/sessions/{session.id}/logs", receive_buffer=4096))
            reader = stack.enter_context(logs_of(relay, session))
            began = time.monotonic()
            assert session.launch(path, wait=60)["exit_code"] == 0
            took = time.monotonic() - began
            assert reader.rest()[-1]["text"].endswith(" 24999\n")
            grown = process.memory_info().rss - before
    assert took < 3 * alone + 2
    assert grown < 20 * 2_000_000  # of the 13 MB that each has not read


# Cursors, and what else may be asked for.


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"since": "x"}, "INVALID_PARAMETER: since is not a cursor that this session gave out"),
        ({"since": "bzk5OQ=="}, "INVALID_PARAMETER: since is not a cursor that this session gave out"),
        ({"sinse": "x"}, "INVALID_PARAMETER: Unknown parameter 'sinse'. Did you mean 'since'?"),
        ({"stream": "stdin"}, "INVALID_PARAMETER: Parameter 'stream' is not valid"),
        ({"cursors": "yes"}, "INVALID_PARAMETER: Parameter 'cursors' is not valid: Must be true or false"),
        ({"since": "y" * 5000}, "INVALID_PARAMETER: Parameter 'since' is not valid"),
    ],
)
def test_a_wrong_query_is_refused_before_any_data(
    relay: Relay, session: Session, query: dict[str, str], reason: str
) -> None:
    session.launch(code="print('something')")
    with logs_of(relay, session, **query) as socket:
        assert socket.rest() == []
        code, told = socket.closed()
    assert code == 1008
    assert told.startswith(reason)


def test_cursors_are_those_of_the_rest_routes(relay: Relay, session: Session) -> None:
    session.launch(code="for n in range(5):\n    print(n)")
    with logs_of(relay, session, cursors="true") as socket:
        first, second, *_ = socket.rest()
    assert session.get("/output", limit=2)["next_cursor"] == second["cursor"]
    with logs_of(relay, session, since=first["cursor"]) as socket:
        assert text_of(socket.rest()) == "1\n2\n3\n4\n"


def test_cleared_output_is_told_and_left_out(relay: Relay, session: Session) -> None:
    session.launch(code=ASKING)
    session.delete("/output")
    with logs_of(relay, session) as socket:
        told = socket.next()
        assert (told["stream"], told["cleared"]) == ("relay", 1)
        session.post("/stdin", {"input": "\n"})
        assert socket.next()["text"] == "two\n"


def test_it_can_stay_open_for_a_restart(relay: Relay, session: Session) -> None:
    with logs_of(relay, session, keep_open="true") as socket:
        session.launch(code="print('once')")
        assert socket.next()["text"] == "once\n"
        session.post("/restart", {"wait": 20})
        assert socket.next()["text"] == "once\n"
        session.delete()
        assert socket.closed() == (1000, "SESSION_NOT_FOUND")


# Ends.


def test_a_reader_goes_on_after_the_relay_was_killed(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data").start()
    with Api(relay.base_url) as api:
        session = api.session()
        session.launch(code=ASKING)
        with logs_of(relay, session, cursors="true") as socket:
            last = socket.next()
            relay.kill()
            assert socket.rest() == []
            assert socket.connection.close_code == 1006
    relay.start()
    with Api(relay.base_url) as api:
        session = Session(api, session.id)
        with logs_of(relay, session, since=last["cursor"]) as socket:
            for _ in range(2):
                session.post("/stdin", {"input": "\n"})
            assert text_of(socket.rest()) == "two\nthree\n"
    assert relay.stop() == 0


def test_streams_are_told_that_the_relay_stops_and_do_not_keep_it(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data").start()
    with Api(relay.base_url) as api, contextlib.ExitStack() as stack:
        silent, asking, busy = api.session(), api.session(), api.session()
        asking.launch(code=ASKING)
        sockets = [stack.enter_context(logs_of(relay, each)) for each in (silent, asking)]
        sockets += [stack.enter_context(opened(relay, f"/sessions/{silent.id}/debug"))]
        busy.launch(code="while True:\n    print('x' * 1000)", wait=False)
        stack.enter_context(RawSocket(relay, f"/sessions/{busy.id}/logs", receive_buffer=4096))
        unread = stack.enter_context(socket.create_connection(("127.0.0.1", relay.port)))
        asked = f"GET /api/v1/sessions/{busy.id}/output/stream HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n"
        unread.sendall(asked.encode())
        assert b" 200 " in unread.recv(100)
        assert busy.get("/output", limit=1, timeout=20)["entries"]
        with soon():
            assert relay.stop() == 0
        assert [each.closed() for each in sockets] == [(1001, "SHUTTING_DOWN")] * 3
    log = relay.log.read_text()
    assert "Traceback" not in log
    assert "graceful shutdown exceeded" not in log


def test_a_session_that_is_deleted_or_expires_ends_its_streams(tmp_path: Path) -> None:
    with own_relay(tmp_path, session_timeout_seconds=2) as (relay, api):
        running = api.session()
        running.launch(code="import time\nprint('one', flush=True)\nwhile True: time.sleep(0.01)", wait=False)
        expiring = api.session()
        with logs_of(relay, expiring) as silent, logs_of(relay, running) as socket:
            assert socket.next()["text"] == "one\n"
            running.delete()
            assert socket.closed() == (1000, "terminated: deleted, SIGTERM")
            assert silent.closed() == (1000, "SESSION_EXPIRED")
        for session, reason in ((expiring, "SESSION_EXPIRED"), (running, "SESSION_NOT_FOUND")):
            with logs_of(relay, session) as socket:
                assert socket.closed() == (1008, reason)


def test_a_runner_that_dies_is_told(relay: Relay, api: Api) -> None:
    with api.session() as session:
        session.launch(code=ASKING)
        with logs_of(relay, session) as socket:
            assert socket.next()["text"] == "one\n"
            relay.runner_of(session).kill()
            code, reason = socket.closed()
    assert code == 1011
    assert reason.startswith("DEBUGPY_ERROR: The process that held this session has ended unexpectedly")
