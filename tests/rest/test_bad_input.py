"""Bad input, wrong states and hostile programs: each gets its answer in bounded time, and the session goes on."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from relays import Api, ApiError, Relay, Session, busy_until, line_of, meanwhile, pythons, refusal
from waiting import soon, wait_until

from opencode_debugger.operations.states import State
from opencode_debugger.operations.table import OPERATIONS

Write = Callable[..., Path]
PYENV = Path.home() / ".pyenv" / "versions"


# Every operation in every wrong state.

CALLS: dict[str, list[tuple[str, str, Any]]] = {
    "launch": [("POST", "/launch", {"code": "pass"})],
    "attach": [("POST", "/attach", {"port": 1}), ("POST", "/attach", {"pid": 1})],
    "restart": [("POST", "/restart", None)],
    "detach": [("POST", "/detach", None)],
    "terminate": [("POST", "/terminate", None)],
    "continue": [("POST", "/continue", None), ("POST", "/threads/1/continue", None)],
    "pause": [("POST", "/pause", None)],
    "step_over": [("POST", "/step-over", None)],
    "step_into": [("POST", "/step-into", None)],
    "step_out": [("POST", "/step-out", None)],
    "step_until": [("POST", "/step-until", {"expression": "1"})],
    "step_targets": [("GET", "/step-targets", None)],
    "run_to": [("POST", "/run-to", {"line": 1})],
    "step_back": [("POST", "/step-back", None)],
    "reverse_continue": [("POST", "/reverse-continue", None)],
    "goto_moment": [("POST", "/goto", {"moment": "#1"})],
    "record": [("POST", "/record", None)],
    "read_memory": [("GET", "/memory?address=x", None)],
    "write_memory": [("POST", "/memory", {"address": "x", "bytes": "00"})],
    "disassemble": [("GET", "/disassembly", None)],
    "set_data_breakpoint": [("POST", "/data-breakpoints", {"expression": "x"})],
    "threads": [("GET", "/threads", None)],
    "stack_trace": [("GET", "/stacktrace", None)],
    "tasks": [("GET", "/tasks", None)],
    "locks": [("GET", "/locks", None)],
    "scopes": [("GET", "/scopes", None), ("GET", "/frames/0/scopes", None)],
    "variables": [("GET", "/variables?variables_reference=1000", None), ("GET", "/variables/1000", None)],
    "children": [("GET", "/frames/0/variables/1000/children", None)],
    "frame_variables": [("GET", "/frames/0/variables", None)],
    "evaluate": [("POST", "/evaluate", {"expression": "1"})],
    "set_variable": [("POST", "/variables/1000/set", {"name": "x", "value": "1"})],
    "set_expression": [("POST", "/set-expression", {"expression": "x", "value": "1"})],
    "completions": [("POST", "/completions", {"text": "x"})],
    "hover": [("POST", "/hover", {"expression": "x"}), ("POST", "/hover", {"file": "/x", "line": 1, "column": 1})],
    "source": [("GET", "/source", None), ("GET", "/frames/0/source", None)],
    "modules": [("GET", "/modules", None)],
    "exception": [("GET", "/exception", None)],
}
ALLOWED = {name: operation.states for name, operation in OPERATIONS.items() if operation.states is not None}
WRONG = [(state, name) for state in State for name, allowed in ALLOWED.items() if state not in allowed]


class Sessions:
    """One session in each state, made when it is first asked for."""

    def __init__(self, relay: Relay, api: Api, folder: Path) -> None:
        self.relay = relay
        self.api = api
        self.folder = folder
        self.may_start = folder / "may-start"
        self.made: dict[State, Session] = {}
        self.launching: threading.Thread | None = None

    def __getitem__(self, state: State) -> Session:
        if state is not State.LAUNCHING:
            self.may_start.touch()
        if state not in self.made:
            self.made[state] = session = self.api.session()
            getattr(self, f"make_{state}")(session)
        assert self.made[state].get()["status"] == state
        return self.made[state]

    def make_created(self, session: Session) -> None:
        pass

    def make_launching(self, session: Session) -> None:
        """An interpreter that takes its time."""
        self.may_start.unlink(missing_ok=True)
        slow = self.folder / "slow-python"
        slow.write_text(f'#!/bin/sh\nwhile [ ! -e {self.may_start} ]; do sleep 0.02; done\nexec python3 "$@"\n')
        slow.chmod(0o755)

        def launch() -> None:
            with Api(self.api.base_url) as own:
                Session(own, session.id).launch(code="pass", python_path=str(slow))

        self.launching = threading.Thread(target=launch)
        self.launching.start()
        wait_until(lambda: session.get()["status"] == "launching")

    def make_running(self, session: Session) -> None:
        session.launch(code="import time; time.sleep(600)", wait=False)

    def make_paused(self, session: Session) -> None:
        script = self.folder / "paused.py"
        script.write_text("x = 1\n")
        session.launch(script, stop_on_entry=True)

    def make_terminated(self, session: Session) -> None:
        session.launch(code="pass")

    def make_failed(self, session: Session) -> None:
        """Its runner is killed."""
        self.relay.runner_of(session).kill()
        wait_until(lambda: session.id in self.failed())

    def failed(self) -> list[str]:
        return [item["session_id"] for item in self.api.get("/sessions", status="failed")["items"]]

    def close(self) -> None:
        self.may_start.touch()
        if self.launching is not None:
            self.launching.join(20)
        for session in self.made.values():
            session.delete(force="true")


@pytest.fixture(scope="module")
def in_state(relay: Relay, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    sessions = Sessions(relay, api, tmp_path_factory.mktemp("states"))
    yield sessions
    sessions.close()


@pytest.mark.parametrize(("state", "operation"), WRONG, ids=[f"{name}-{state}" for state, name in WRONG])
def test_an_operation_in_a_wrong_state_is_refused(in_state: Sessions, state: State, operation: str) -> None:
    session = in_state[state]
    for method, path, body in CALLS[operation]:
        url = f"/sessions/{session.id}{path}"
        error = refusal(409, "INVALID_SESSION_STATE", session.api.request, method, url, body)
        assert error.details["current_state"] == state
        assert error.details["required_state"] == " or ".join(sorted(ALLOWED[operation]))
    assert session.get()["status"] == state


def test_every_operation_of_the_state_table_is_tried() -> None:
    assert set(CALLS) == set(ALLOWED)


# Values that make no sense.

HUGE = 1_000_000_000_000_000_000_000_000_000_000
LONG = "9" * 5000
BODIES: list[tuple[str, str, str]] = [
    # path, body, field that is to be named
    ("/launch", '{"script": 5}', "script"),
    ("/launch", '{"script": ["/x.py"]}', "script"),
    ("/launch", '{"script": ""}', "script"),
    ("/launch", '{"script": "/x\\u0000.py"}', "script"),
    ("/launch", json.dumps({"script": "x" * 5000}), "script"),
    ("/launch", '{"module": "a\\u0000b"}', "module"),
    ("/launch", '{"code": "pass", "args": "text"}', "args"),
    ("/launch", '{"code": "pass", "args": [1]}', "args[0]"),
    ("/launch", '{"code": "pass", "args": ["\\u0000"]}', "args[0]"),
    ("/launch", '{"code": "pass", "env": {"A": 1}}', "env.A"),
    ("/launch", '{"code": "pass", "env": {"A": "\\u0000"}}', "env.A"),
    ("/launch", '{"code": "pass", "cwd": 1.5}', "cwd"),
    ("/launch", '{"code": "pass", "stop_on_entry": 1}', "stop_on_entry"),
    ("/launch", '{"code": "pass", "stop_on_exception": "never"}', "stop_on_exception"),
    ("/launch", '{"code": "pass", "wait": -1}', "wait"),
    ("/launch", '{"code": "pass", "wait": 1000000000000000000000000000000}', "wait"),
    ("/launch", '{"code": "pass", "budget": 1000000000000000000000000000000}', "budget"),
    ("/attach", '{"port": 0}', "port"),
    ("/attach", '{"port": 65536}', "port"),
    ("/attach", '{"port": "5678"}', "port"),
    ("/attach", '{"pid": 1000000000000000000000000000000}', "pid"),
    ("/attach", '{"port": 1, "host": "a\\u0000b"}', "host"),
    ("/attach", '{"port": 1, "connect_timeout": 1000000000000000000000000000000}', "connect_timeout"),
    ("/breakpoints", '{"breakpoints": {}}', "breakpoints"),
    ("/breakpoints", '{"breakpoints": [{"source": {"path": "/x.py"}, "line": 1e30}]}', "breakpoints[0].line"),
    ("/breakpoints", '{"file": "/x.py", "line": 1000000000000000000000000000000}', "line"),
    ("/breakpoints", '{"breakpoints": [{"source": {"path": "/x.py"}, "line": 1.5}]}', "breakpoints[0].line"),
    ("/breakpoints", '{"breakpoints": [{"source": {"path": "/x.py"}, "line": true}]}', "breakpoints[0].line"),
    ("/breakpoints", '{"breakpoints": [{"source": "/x.py", "line": 1}]}', "breakpoints[0].source"),
    ("/breakpoints", '{"breakpoints": [{"source": {"path": "\\u0000"}, "line": 1}]}', "breakpoints[0].source.path"),
    ("/evaluate", '{"expression": 1}', "expression"),
    ("/evaluate", '{"expression": ""}', "expression"),
    ("/evaluate", '{"expression": "1\\u0000"}', "expression"),
    ("/evaluate", '{"expression": "1", "frame_id": -1}', "frame_id"),
    ("/evaluate", '{"expression": "1", "frame_id": 1000000000000000000000000000000}', "frame_id"),
    ("/step-over", '{"thread_id": "1"}', "thread_id"),
    ("/step-over", '{"granularity": "function"}', "granularity"),
]


@pytest.mark.parametrize(("path", "body", "field"), BODIES, ids=[f"{p}-{b[:50]!a}" for p, b, _ in BODIES])
def test_a_field_that_is_wrong_is_named(in_state: Sessions, path: str, body: str, field: str) -> None:
    session = in_state[State.PAUSED if path in ("/evaluate", "/step-over", "/continue") else State.CREATED]
    error = refusal(400, "INVALID_REQUEST", send, session, path, body.encode())
    assert field in [problem["field"] for problem in error.details["errors"]]


def send(session: Session, path: str, body: bytes) -> Any:
    json_type = {"Content-Type": "application/json"}
    answer = session.api.http.post(f"/sessions/{session.id}{path}", content=body, headers=json_type)
    envelope = answer.json()
    if not envelope["success"]:
        raise ApiError(answer.status_code, envelope["error"])
    return envelope["data"]


NOT_JSON = [
    b"{",
    b"\xff\xfe",
    b'{"code": "\xff"}',
    b'{"code": "\\ud800"}',
    b'{"code": "pass", "args": ["\\udfff"]}',
    b'{"code": "pass", "env": {"A": "\\ud800"}}',
    b'{"code": "pass", "wait": 1e400}',
    b'{"code": "pass", "wait": NaN}',
    b'{"code": "pass", "budget": %s}' % LONG.encode(),
    b"\x00",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"NaN",
    b"5",
    b"[]",
    b"null",
]


@pytest.mark.parametrize("body", NOT_JSON, ids=[repr(body[:20]) for body in NOT_JSON])
def test_a_body_that_is_no_proper_json_object_is_refused(in_state: Sessions, body: bytes) -> None:
    refusal(400, "INVALID_REQUEST", send, in_state[State.CREATED], "/launch", body)


QUERIES = [
    ("/stacktrace", "levels=0"),
    ("/stacktrace", "levels=-1"),
    ("/stacktrace", f"start_frame={HUGE}"),
    ("/stacktrace", f"thread_id={LONG}"),
    ("/stacktrace", "thread_id=1.0"),
    ("/stacktrace", "thread_id=%00"),
    ("/stacktrace", "thread_id=%FF"),
    ("/scopes", "frame_id=-1"),
    ("/scopes", "frame_id=one"),
    ("/variables", "variables_reference=-1"),
    ("/variables", f"variables_reference={HUGE}"),
    ("/variables/abc", ""),
    ("/frames/-1/variables", ""),
    ("/threads/x/stacktrace", ""),
    ("/events", "timeout=-1"),
    ("/events", "timeout=1e9"),
    ("/output", "limit=1001"),
    ("/output", "category=nonsense"),
    ("/output", "cursor=%00"),
    ("/breakpoints", "verified=perhaps"),
    ("/breakpoints", "file=%00"),
]


@pytest.mark.parametrize(("path", "query"), QUERIES, ids=[f"{p}?{q[:40]}" for p, q in QUERIES])
def test_a_parameter_that_is_wrong_is_refused(in_state: Sessions, path: str, query: str) -> None:
    refusal(400, "INVALID_PARAMETER", in_state[State.PAUSED].get, f"{path}?{query}")


IDS = ["sess_00000000", "sess_", "x" * 3000, "%00", "%ff%fe", "%ED%A0%80", "..%2f..%2fetc", "sess_%0a", "%20", "*"]


@pytest.mark.parametrize("session_id", IDS, ids=[ascii(name[:20]) for name in IDS])
def test_an_unknown_session_id_is_never_more_than_unknown(api: Api, session_id: str) -> None:
    for path in ("", "/status", "/threads", "/breakpoints/bp_1"):
        answer = api.http.get(f"/sessions/{session_id}{path}")
        assert answer.status_code in (400, 404, 405), answer.text
        assert answer.json()["error"]["details"]["suggestion"]


@pytest.mark.parametrize("breakpoint_id", ["bp_0", "bp_99999999999999999999", "1", "%00", "%ff", "x" * 3000])
def test_an_unknown_breakpoint_id_is_never_more_than_unknown(in_state: Sessions, breakpoint_id: str) -> None:
    session = in_state[State.CREATED]
    answer = session.api.http.delete(f"/sessions/{session.id}/breakpoints/{breakpoint_id}")
    assert answer.status_code in (400, 404)


def test_an_unknown_report_field_is_refused_before_anything_happens(session: Session, program: Write) -> None:
    path = program("x = 1\ny = 2\nz = 3\n")
    wrong = {"fields": ["location", "nonsense"]}
    assert refusal_status(session.launch, path, stop_on_entry=True, **wrong) == 400
    assert session.get()["status"] == "created"
    session.launch(path, stop_on_entry=True)
    for call in (session.step, session.resume):
        assert refusal_status(call, **wrong) == 400
        assert session.get()["current_location"]["line"] == 1
    assert refusal_status(session.get, "/report", fields="nonsense") == 400


def refusal_status(call: Callable[..., Any], *args: Any, **options: Any) -> int:
    with pytest.raises(ApiError) as caught:
        call(*args, **options)
    assert "nonsense" in str(caught.value)
    return caught.value.status


# Paths.


def test_a_directory_is_no_script(session: Session, tmp_path: Path) -> None:
    error = refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", session.launch, tmp_path)
    assert error.message == f"Script {tmp_path} is a directory, not a script"
    assert session.get()["status"] == "created"


def test_a_relative_script_means_the_working_directory(api: Api, session: Session, program: Write) -> None:
    path = program("print('found')", "inner/found.py")
    refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", session.launch, Path("inner/found.py"))
    assert session.launch(Path("inner/found.py"), cwd=str(path.parent.parent))["program"]["script"] == str(path)
    with api.session(project_root=str(path.parent.parent)) as rooted:
        rooted.launch(Path("inner/found.py"))
        assert rooted.output() == "found\n"


def test_a_working_directory_that_does_not_exist_is_refused(session: Session) -> None:
    for cwd in ("/no/such/folder", "/etc/passwd", "no/such"):
        error = refusal(400, "INVALID_PARAMETER", session.launch, code="pass", cwd=cwd)
        assert error.details["parameter"] == "cwd"
    assert session.launch(code="pass")["exit_code"] == 0


@pytest.mark.parametrize("root", ["/no/such/folder", "relative", "/etc/passwd"])
def test_a_project_root_that_is_no_folder_is_refused(api: Api, root: str) -> None:
    assert refusal(400, "INVALID_PARAMETER", api.session, project_root=root).details["parameter"] == "project_root"


def test_a_script_that_is_not_text_is_refused(session: Session, tmp_path: Path) -> None:
    for content in (b"\xff\xfe\x00", b"x = 1\x00\n", b"# -*- coding: nonsense -*-\n"):
        path = tmp_path / "binary.py"
        path.write_bytes(content)
        refusal(400, "LAUNCH_SYNTAX_ERROR", session.launch, path)
    unreadable = tmp_path / "fifo.py"
    os.mkfifo(unreadable)
    with soon():
        refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", session.launch, unreadable)
    assert session.get()["status"] == "created"


# Interpreters.

NOT_PYTHON = ["/no/such/python", "no-such-python-anywhere", "/etc/passwd", "/tmp", "/bin/ls", "/bin/cat", "/bin/sleep"]
TOO_OLD = [str(PYENV / version / "bin" / "python") for version in ("3.7.16", "3.6.15", "2.7.18")]


def test_an_interpreter_that_cannot_be_used_is_refused(session: Session) -> None:
    for python_path in [*NOT_PYTHON, *filter(os.path.exists, TOO_OLD)]:
        with soon():
            error = refusal(400, "INVALID_PARAMETER", session.launch, code="pass", python_path=python_path)
        assert error.details["parameter"] == "python_path"
        assert python_path in error.message or "cannot be debugged" in error.message
        assert session.get()["status"] == "created"
    assert session.launch(code="print('good')")["exit_code"] == 0


@pytest.mark.parametrize("python_path", ["/no/such/python", "/etc/passwd", "/tmp"])
def test_a_session_with_such_an_interpreter_is_refused(api: Api, python_path: str) -> None:
    assert refusal(400, "INVALID_PARAMETER", api.session, python_path=python_path).details["parameter"] == "python_path"


# Expressions that do not return.


@pytest.fixture
def two_threads(program: Write) -> Path:
    return program(
        """
        import threading
        import time

        def work():
            inside = "worker"
            return inside  # @worker

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        print("done")  # @main
        """
    )


ENDLESS = {
    "sleep": "__import__('time').sleep(60)",
    "busy": "[0 for _ in iter(int, 1)]",
    "stubborn": "exec('while True:\\n    try:\\n        while True: pass\\n    except Exception: pass')",
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("where", ["main", "worker"])
def test_an_endless_expression_ends_in_time_and_the_session_goes_on(
    session: Session, two_threads: Path, where: str, kind: str
) -> None:
    session.break_at(two_threads, where)
    session.launch(two_threads)
    with soon():
        refusal(504, "DEBUGPY_TIMEOUT", session.evaluate, ENDLESS[kind], timeout=0.5)
    if (where, kind) == ("worker", "sleep"):  # a call into C cannot be broken off outside the main thread
        with soon():
            assert session.get("/stacktrace")["frames"]
            assert session.get("/status")["status"] == "paused"
        return
    with soon():
        assert session.evaluate("1 + 1")["result"] == "2"
        assert session.locals() or where == "main"
    assert session.resume()["exit_code"] == 0
    assert session.output() == "done\n"


def test_other_calls_are_answered_while_an_expression_runs(session: Session, two_threads: Path) -> None:
    session.break_at(two_threads, "main")
    session.launch(two_threads)
    go = two_threads.with_name("go")
    with meanwhile(session, lambda own: own.evaluate(busy_until(go))) as call:
        session.wait_for_output("begun")
        assert session.get("/status")["status"] == "paused"
        assert session.get("/stacktrace")["frames"]
        assert session.get("/threads")["threads"]
        assert not call.done()
        go.touch()
        assert call.result(20)["result"] == "(None, 'done')"
    assert session.evaluate("1")["result"] == "1"


# Values that fight back.

HOSTILE = """
    import time

    class Raises:
        def __repr__(self):
            raise RuntimeError("no repr for you")

    class Sleeps:
        def __repr__(self):
            time.sleep(30)
            return "awake"

    class Huge:
        def __repr__(self):
            return "x" * 100_000_000

    class NoText:
        def __repr__(self):
            return 42

    class Exits:
        def __repr__(self):
            raise SystemExit(9)

    class Lies:
        __class__ = property(lambda self: 1 / 0)

        def __getattribute__(self, name):
            raise KeyError(name)

    def main():
        before = 1
        raises, huge, no_text, exits, lies, sleeps = Raises(), Huge(), NoText(), Exits(), Lies(), Sleeps()
        nested = {"inside": [sleeps, raises]}
        after = 2
        print("done")  # @here

    main()
    last = 3
"""


def test_values_whose_repr_is_hostile_do_not_hold_up_a_stop(session: Session, program: Write) -> None:
    path = program(HOSTILE)
    session.break_at(path, "here")
    with soon():
        stop = session.launch(path)
    assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", line_of(path, "here"))
    assert len(json.dumps(stop)) < 8000
    with soon():
        shown = session.locals()
    assert (shown["before"], shown["after"]) == ("1", "2")
    assert set(shown) == {"before", "after", "raises", "huge", "no_text", "exits", "lies", "sleeps", "nested"}
    assert len(shown["huge"]) < 200_000
    with soon():
        assert session.step()["status"] == "paused"
    assert session.resume()["exit_code"] == 0
    assert session.output() == "done\n"


def test_hostile_values_can_be_evaluated_in_bounded_time(session: Session, program: Write) -> None:
    path = program(HOSTILE)
    session.break_at(path, "here")
    session.launch(path, fields=["location"])
    for name in ("raises", "huge", "no_text", "exits", "lies", "sleeps", "nested"):
        with soon():
            try:
                answer = session.evaluate(name, timeout=1)
                assert len(answer["result"] or answer["error"]) < 200_000
            except ApiError as error:
                assert (name in ("sleeps", "nested"), error.code) == (True, "DEBUGPY_TIMEOUT")
        assert session.evaluate("before")["result"] == "1"
    assert session.resume()["exit_code"] == 0


# Two clients.


def test_of_two_clients_that_step_at_once_one_wins(api: Api, session: Session, program: Write) -> None:
    rounds = 10
    hold = "import os, time\ndef hold(name):\n    while not os.path.exists(name): time.sleep(0.005)\n"
    path = program(hold + "".join(f"hold('{number}')\n" for number in range(rounds + 1)))
    session.launch(path, stop_on_entry=True, cwd=str(path.parent))
    session.step(count=2)
    barrier = threading.Barrier(2)
    results: list[list[Any]] = [[], []]

    def step(mine: list[Any]) -> None:
        with Api(api.base_url) as own:
            for number in range(rounds):
                barrier.wait(60)
                try:
                    mine.append(Session(own, session.id).step())
                except ApiError as error:
                    mine.append(error)
                    path.with_name(str(number)).touch()  # the other's step ends when this one has lost
                barrier.wait(60)

    clients = [threading.Thread(target=step, args=(mine,)) for mine in results]
    for client in clients:
        client.start()
    for client in clients:
        client.join(60)
    for number, pair in enumerate(zip(*results, strict=True)):
        losers = [answer for answer in pair if isinstance(answer, ApiError)]
        winners = [answer for answer in pair if not isinstance(answer, ApiError)]
        assert [(error.status, error.code) for error in losers] == [(409, "INVALID_SESSION_STATE")]
        assert [winner["current_location"]["line"] for winner in winners] == [number + 5]
    assert session.get()["current_location"]["line"] == rounds + 4


# Programs that end badly.

ENDINGS = [
    ("import os; os._exit(7)", 7, None),
    ("import sys; sys.exit('some text')", 1, None),
    ("import sys; sys.exit(256 + 4)", 4, None),
    ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e", 1, None),
    ("raise KeyboardInterrupt", -2, "SIGINT"),
    ("import os; os.kill(os.getpid(), 9)", -9, "SIGKILL"),
    ("import os; os.abort()", -6, "SIGABRT"),
    ("import os; os.close(0); os.close(1); os.close(2)", 0, None),
    ("import sys; print('last', flush=True); sys.stdout.close()", 0, None),
    ("import atexit; atexit.register(print, 'at exit')", 0, None),
]
LIKE_THEM = [
    ("import no_such_module_anywhere", 1, None),
    ("import sys; sys.exit(3)", 3, None),
    ("import sys; sys.exit(None)", 0, None),
    ("def f():\n    return 1 / 0\n\nf()", 1, None),
    ("import os; os.kill(os.getpid(), 11)", -11, "SIGSEGV"),
    ("import os; os.close(1)", 0, None),
]


@pytest.mark.parametrize(
    ("text", "code", "signal"),
    [*ENDINGS, *(pytest.param(*ending, marks=pytest.mark.wide) for ending in LIKE_THEM)],
    ids=[repr(text[:40]) for text, _, _ in [*ENDINGS, *LIKE_THEM]],
)
def test_a_program_ends_as_it_would_without_us(
    session: Session, program: Write, text: str, code: int, signal: str | None
) -> None:
    path = program(text + "\n")
    plain = subprocess.run([interpreter(), str(path)], capture_output=True, text=True, timeout=20)
    assert plain.returncode == code
    end = session.launch(path, stop_on_exception=False)
    assert (end["status"], end["exit_code"], end.get("signal")) == ("terminated", code, signal)
    status = session.get()
    assert (status["status"], status["exit_code"], status["signal"]) == ("terminated", code, signal)
    assert session.output("stdout") == plain.stdout
    assert session.output("stderr") == plain.stderr


@cache
def interpreter() -> str:
    """The one that sessions take when none is named."""
    return subprocess.check_output(["python3", "-c", "import sys; print(sys.executable)"], text=True).strip()


def test_an_uncaught_exception_stops_first_and_then_ends_it(session: Session, program: Write) -> None:
    path = program("def f():\n    return 1 / 0  # @raises\n\nf()\n")
    stop = session.launch(path)
    assert (stop["stop_reason"], stop["current_location"]["line"]) == ("exception", 2)
    assert stop["exception"]["type"] == "ZeroDivisionError"
    assert session.resume()["exit_code"] == 1


def test_a_program_that_is_killed_while_it_is_paused_ends_the_session(session: Session, program: Write) -> None:
    path = program("x = 1\ny = 2\n")
    pid = session.launch(path, stop_on_entry=True)["pid"]
    os.kill(pid, 9)
    wait_until(lambda: session.get()["status"] == "terminated")
    assert session.get("/status")["signal"] == "SIGKILL"
    refusal(409, "INVALID_SESSION_STATE", session.step)


def test_a_program_that_ends_while_it_is_looked_at_is_told_by_its_state(session: Session, program: Write) -> None:
    path = program("""
        import os

        class Last:
            def __repr__(self):
                os._exit(7)

        last = Last()
        print(1)  # @stop
    """)
    session.break_at(path, "stop")
    session.post("/launch", {"script": str(path), "wait": 30}, fields="location")
    refusal(409, "INVALID_SESSION_STATE", session.get, "/frames/0/variables")
    assert (session.get()["status"], session.get()["exit_code"]) == ("terminated", 7)


def test_a_program_that_is_killed_during_a_wait_ends_the_wait(session: Session) -> None:
    pid = session.launch(code="import time; time.sleep(60)", wait=False)["pid"]
    timer = threading.Timer(0.3, os.kill, (pid, 9))
    timer.start()
    with soon():
        end = session.get("/report", wait=30)
    assert (end["status"], end["signal"]) == ("terminated", "SIGKILL")


def test_twenty_megabytes_without_a_newline_arrive_whole(session: Session, program: Write) -> None:
    path = program("import sys\nfor letter in 'abcdefghij':\n    sys.stdout.write(letter * 2_000_000)\n")
    with soon():
        assert session.launch(path)["exit_code"] == 0
        text = session.output()
    assert len(text) == 20_000_000
    assert text == "".join(letter * 2_000_000 for letter in "abcdefghij")


def test_output_that_is_not_utf8_is_shown_with_its_bytes(session: Session, program: Write) -> None:
    path = program("import sys\nsys.stdout.buffer.write(b'a\\xffb\\n\\xe2\\x82')\n")
    session.launch(path)
    assert session.output() == "a\\xffb\n\\xe2\\x82"


# Deep stacks.


def test_a_deep_stack_is_read_page_by_page(session: Session, program: Write) -> None:
    path = program(
        """
        import sys
        sys.setrecursionlimit(3000)

        def down(n):
            if n == 0:
                return n  # @bottom
            return down(n - 1)  # @call

        down(999)
        """
    )
    session.break_at(path, "bottom")
    with soon():
        stop = session.launch(path)
    assert len(stop["stack"]) < 20
    frames: list[dict[str, Any]] = []
    while True:
        page = session.get("/stacktrace", start_frame=len(frames), levels=300)
        frames += page["frames"]
        if not page["frames"]:
            break
        assert page["total_frames"] == 1001
    assert [frame["id"] for frame in frames] == list(range(1001))
    assert [frame["name"] for frame in frames] == ["down"] * 1000 + ["<module>"]
    assert frames[0]["line"] == line_of(path, "bottom")
    assert {frame["line"] for frame in frames[1:1000]} == {line_of(path, "call")}
    assert session.locals(700) == {"n": "700"}
    assert session.evaluate("n", frame_id=999)["result"] == "999"
    refusal(404, "FRAME_NOT_FOUND", session.get, "/scopes", frame_id=1001)
    assert session.resume()["exit_code"] == 0


@pytest.mark.parametrize("python", pythons("3.10", "3.11", "3.12", "3.13").values())
def test_endless_recursion_stops_in_the_program_and_ends_as_in_plain_python(
    api: Api, program: Write, python: Path
) -> None:
    """The debugger's own calls are the first for which there is no depth left."""
    path = program(
        """
        def down(n):
            return down(n + 1)

        def look(n):
            try:
                return down(n)
            except RecursionError as error:
                raise ValueError("too deep") from error

        print("before", flush=True)
        if __name__ == "__main__":
            import sys
            down(0) if sys.argv[1:] else look(0)
        """
    )
    with api.session(python_path=str(python)) as session, soon():
        stop = session.launch(path, args=["uncaught"])
        assert (stop["stop_reason"], stop["current_location"]["function"]) == ("exception", "down")
        assert int(session.locals()["n"]) > 900
        assert stop["exception"]["type"] == "RecursionError" and "chain" not in stop["exception"]
        assert session.resume()["exit_code"] == 1
        printed = session.output("stderr")
        assert "RecursionError: maximum recursion depth exceeded" in printed
        assert {line for line in printed.splitlines() if "File " in line and str(path) not in line} == set()
    with api.session(python_path=str(python)) as session, soon():
        stop = session.launch(path)  # the debugger has failed in this thread, where the program went on
        assert (stop["exception"]["type"], stop["current_location"]["function"]) == ("ValueError", "look")
        assert [each["type"] for each in stop["exception"]["chain"]] == ["RecursionError"]
