"""Every error code of the catalogue, provoked for real, with what it tells the caller."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import Api, ApiError, Relay, Session, free_port, line_of, refusal
from sockets import debug_of
from strangers import heard_by_another_user, needs_root
from stub_relay import served
from targets import waiting_for_client
from waiting import soon, stop_process, wait_until

from opencode_debugger.errors import CATALOGUE

PROVOKED: set[str] = set()

Write = Callable[..., Path]


def provoke(status: int, code: str, call: Callable[..., Any], *args: Any, **options: Any) -> ApiError:
    error = refusal(status, code, call, *args, **options)
    PROVOKED.add(code)
    return error


def answered(answer: Any) -> Any:
    """For requests that Api cannot send: raw bodies, foreign headers."""
    envelope = answer.json()
    if not envelope["success"]:
        raise ApiError(answer.status_code, envelope["error"])
    return envelope["data"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A relay with room for two sessions, and little patience with debuggers."""
    relay = Relay(tmp_path_factory.mktemp("small") / "data", descriptors=128, max_sessions=2, dap_timeout_seconds=3)
    relay.start()
    with Api(relay.base_url) as api:
        yield api
    assert relay.stop() == 0


@pytest.fixture
def sample(program: Write) -> Path:
    return program(
        """
        import time

        def add(a, b):
            total = a + b
            return total  # @here

        print(add(2, 3))
        time.sleep(60)  # @asleep
        """
    )


@pytest.fixture
def paused(session: Session, sample: Path) -> Session:
    session.break_at(sample, "here")
    assert session.launch(sample)["status"] == "paused"
    return session


# Sessions.


def test_an_unknown_session_is_told_with_its_id(api: Api) -> None:
    error = provoke(404, "SESSION_NOT_FOUND", api.get, "/sessions/sess_invalid")
    assert error.message == "Session with ID 'sess_invalid' not found"
    assert error.details == {
        "session_id": "sess_invalid",
        "suggestion": "Use GET /api/v1/sessions to list active sessions",
    }


def test_a_deleted_session_is_unknown(api: Api) -> None:
    session = api.session()
    session.delete()
    provoke(404, "SESSION_NOT_FOUND", session.get, "/status")
    provoke(404, "SESSION_NOT_FOUND", session.delete)


def test_the_session_limit_counts_only_programs_that_may_still_run(small: Api, program: Write) -> None:
    with small.session() as first, small.session():
        error = provoke(429, "SESSION_LIMIT_REACHED", small.session)
        assert error.message == "Maximum concurrent sessions (2) reached"
        assert (error.details["max_sessions"], error.details["active_sessions"]) == (2, 2)
        assert "DELETE" in error.details["suggestion"]
        assert first.launch(program("print('done')"))["exit_code"] == 0
        with small.session():
            assert first.output() == "done\n"
            provoke(429, "SESSION_LIMIT_REACHED", small.session)
    with small.session(), small.session():
        pass


def test_an_expired_session_is_gone_with_its_last_status(tmp_path: Path, sample: Path) -> None:
    relay = Relay(tmp_path / "data", session_timeout_seconds=1).start()
    with Api(relay.base_url) as api:
        idle, paused = api.session(name="idle"), api.session()
        paused.break_at(sample, "here")
        pid = paused.launch(sample)["pid"]
        wait_until(lambda: not api.get("/sessions")["total"])
        for session, last_status in ((idle, "created"), (paused, "paused")):
            error = provoke(410, "SESSION_EXPIRED", session.get)
            assert error.message == f"Session '{session.id}' expired"
            assert error.details["session_id"] == session.id
            assert (error.details["last_status"], error.details["reason"]) == (last_status, "timeout")
            assert "POST /api/v1/sessions" in error.details["suggestion"]
            provoke(410, "SESSION_EXPIRED", session.post, "/step-over")
            provoke(410, "SESSION_EXPIRED", session.delete)
        assert not psutil.pid_exists(pid)
    assert relay.stop() == 0


def test_a_step_of_a_running_program_names_both_states(session: Session, sample: Path) -> None:
    session.launch(sample, wait=False)
    error = provoke(409, "INVALID_SESSION_STATE", session.step)
    assert error.message == "Cannot step-over: session is not paused"
    assert error.details == {
        "current_state": "running",
        "required_state": "paused",
        "suggestion": "Call POST /sessions/{id}/pause first or wait for a breakpoint",
    }


# Breakpoints.


def test_an_unknown_breakpoint_is_told_with_its_id(session: Session) -> None:
    error = provoke(404, "BREAKPOINT_NOT_FOUND", session.delete, "/breakpoints/bp_7")
    assert error.message == "Breakpoint 'bp_7' not found"
    assert error.details["breakpoint_id"] == "bp_7"
    assert "/breakpoints" in error.details["suggestion"]


def test_a_strict_breakpoint_on_a_blank_line_is_refused_with_the_next_line(session: Session, sample: Path) -> None:
    error = provoke(400, "BREAKPOINT_INVALID_LINE", session.post, "/breakpoints", strict_at(sample, 2))
    assert error.message == "Cannot set breakpoint at line 2: line contains only whitespace"
    assert error.details["suggestion"] == "Try line 3 which contains: 'def add(a, b):'"
    assert (error.details["file"], error.details["line"], error.details["content"]) == (str(sample), 2, "")
    assert session.get("/breakpoints")["total"] == 0


def test_a_breakpoint_past_the_end_is_refused_with_the_last_line(session: Session, sample: Path) -> None:
    error = provoke(400, "BREAKPOINT_INVALID_LINE", session.break_at, sample, 99)
    assert (error.details["file"], error.details["line"], error.details["max_line"]) == (str(sample), 99, 8)


def test_a_condition_that_does_not_parse_is_refused_with_its_syntax_error(session: Session, sample: Path) -> None:
    error = provoke(400, "BREAKPOINT_INVALID_CONDITION", session.break_at, sample, "here", condition="a >")
    assert "invalid syntax" in error.details["error_message"]
    assert (error.details["condition"], error.details["offset"]) == ("a >", 4)
    provoke(400, "BREAKPOINT_INVALID_CONDITION", session.break_at, sample, "here", hit_condition="often")
    provoke(400, "BREAKPOINT_INVALID_CONDITION", session.break_at, sample, "here", log_message="{a +}")


def test_a_strict_breakpoint_in_a_missing_file_is_refused(session: Session, tmp_path: Path) -> None:
    error = provoke(400, "BREAKPOINT_FILE_NOT_FOUND", session.post, "/breakpoints", strict_at(tmp_path / "no.py", 1))
    assert error.message == f"Source file not found: {tmp_path / 'no.py'}"
    assert error.details["file"] == str(tmp_path / "no.py")
    assert "strict" in error.details["suggestion"]


def strict_at(path: Path, line: int) -> dict[str, Any]:
    return {"breakpoints": [{"source": {"path": str(path)}, "line": line}], "strict": True}


def test_a_strict_breakpoint_on_a_function_that_is_not_there_is_refused(session: Session, sample: Path) -> None:
    body = {"function": "subtract", "file": str(sample), "strict": True}
    error = provoke(400, "BREAKPOINT_FUNCTION_NOT_FOUND", session.post, "/breakpoints", body)
    assert error.message == f"No function 'subtract' in {sample}."
    assert "strict" in error.details["suggestion"]


def test_exceptions_that_python_raises_for_itself_are_not_supported(session: Session) -> None:
    body = {"exceptions": ["StopIteration"]}
    error = provoke(400, "NOT_SUPPORTED", session.post, "/exception-breakpoints", body)
    assert "line" in error.details["suggestion"]


def test_a_profile_that_is_missing_taken_or_damaged_is_told(api: Api, relay: Relay) -> None:
    error = provoke(404, "PROFILE_NOT_FOUND", api.get, "/breakpoint-profiles/nothing")
    assert (error.message, error.details["profile"]) == ("Profile 'nothing' not found", "nothing")
    body = {"name": "taken", "breakpoints": []}
    api.post("/breakpoint-profiles", body)
    error = provoke(409, "PROFILE_EXISTS", api.post, "/breakpoint-profiles", body)
    assert "PUT" in error.details["suggestion"]
    (relay.data_dir / "profiles" / "taken.json").write_text("{")
    error = provoke(409, "PROFILE_UNREADABLE", api.get, "/breakpoint-profiles/taken")
    assert "damaged" in error.message
    api.delete("/breakpoint-profiles/taken")


# Looking.


def test_unknown_threads_frames_and_references_are_told(paused: Session) -> None:
    error = provoke(404, "THREAD_NOT_FOUND", paused.get, "/stacktrace", thread_id=4711)
    assert (error.message, error.details["thread_id"]) == ("Thread 4711 does not exist", 4711)
    assert "/threads" in error.details["suggestion"]
    provoke(404, "THREAD_NOT_FOUND", paused.resume, thread_id=4711)
    provoke(404, "THREAD_NOT_FOUND", paused.step, thread_id=4711)

    error = provoke(404, "FRAME_NOT_FOUND", paused.get, "/scopes", frame_id=4711)
    total = paused.get("/stacktrace")["total_frames"]
    assert (error.details["frame_id"], error.details["total_frames"]) == (4711, total)
    assert "/stacktrace" in error.details["suggestion"]

    error = provoke(404, "VARIABLE_NOT_FOUND", paused.get, "/variables", variables_reference=4711)
    assert error.details["variables_reference"] == 4711
    assert "/scopes" in error.details["suggestion"]
    assert paused.get("/status")["status"] == "paused"


def test_references_end_with_the_stop_that_gave_them(paused: Session) -> None:
    reference = paused.get("/scopes")["scopes"][0]["variables_reference"]
    assert paused.get("/variables", variables_reference=reference)["variables"]
    paused.step()
    provoke(404, "VARIABLE_NOT_FOUND", paused.get, "/variables", variables_reference=reference)


def test_what_cannot_be_set_watched_or_read_says_why(paused: Session, tmp_path: Path) -> None:
    paused.evaluate("pair = (1, 2)")
    body = {"expression": "pair[0]", "value": "3"}
    error = provoke(409, "VARIABLE_NOT_SET", paused.post, "/set-expression", body)
    assert "item assignment" in error.message

    error = provoke(404, "WATCH_NOT_FOUND", paused.delete, "/watch/w_7")
    assert (error.details["watch_id"], "/watch" in error.details["suggestion"]) == ("w_7", True)

    error = provoke(404, "EXCEPTION_NOT_FOUND", paused.get, "/exception")
    assert error.details["stop_reason"] == "breakpoint"

    (tmp_path / "other.py").write_text("secret = 1")
    error = provoke(403, "FORBIDDEN", paused.get, f"/source?path={tmp_path}/other.py")
    assert "project_root" in error.details["suggestion"]


def test_code_whose_text_nobody_kept_has_no_source(session: Session) -> None:
    session.launch(code="exec(chr(49) + ' / 0')")
    error = provoke(404, "SOURCE_NOT_FOUND", session.get, "/source")
    assert error.details["path"] == "<string>"


def test_an_expression_that_does_not_parse_is_refused_with_its_place(paused: Session) -> None:
    error = provoke(400, "EVALUATE_ERROR", paused.evaluate, "total +")
    assert error.message == "SyntaxError: invalid syntax"
    assert (error.details["expression"], error.details["offset"]) == ("total +", 8)
    assert paused.evaluate("total")["result"] == "5"


# Launching.


def test_a_launch_that_fails_shows_what_the_interpreter_wrote(session: Session, program: Write) -> None:
    path = program("print('hello')")
    error = provoke(500, "LAUNCH_FAILED", session.launch, path, python_args=["--no-such-option"])
    assert "ended before its debugger connected" in error.message
    assert error.details["exit_code"] == 2
    assert "no-such-option" in error.details["output"]
    assert session.get()["status"] == "created"
    assert session.launch(path)["exit_code"] == 0


def test_a_missing_script_leaves_the_session_ready(session: Session, program: Write, tmp_path: Path) -> None:
    missing = tmp_path / "missing.py"
    error = provoke(400, "LAUNCH_SCRIPT_NOT_FOUND", session.launch, missing)
    assert error.message == f"Script {missing} does not exist"
    assert error.details["path"] == str(missing)
    assert session.get()["status"] == "created"
    missing.write_text("pass")
    assert session.launch(missing)["exit_code"] == 0


def test_a_syntax_error_is_told_before_the_launch(session: Session, program: Write) -> None:
    path = program("x = 1\nif x == 1\n    print('one')\n")
    error = provoke(400, "LAUNCH_SYNTAX_ERROR", session.launch, path)
    assert error.message == "Python syntax error in script"
    assert error.details["suggestion"]
    told = {name: error.details[name] for name in ("file", "line", "offset", "error_message", "text")}
    assert told.pop("text").strip() == "if x == 1"
    assert told == {"file": str(path), "line": 2, "offset": 10, "error_message": "expected ':'"}
    assert session.get()["status"] == "created"
    path.write_text("print('one')\n")
    assert session.launch(path)["exit_code"] == 0
    assert session.output() == "one\n"
    path.write_text("x = (\n")
    error = provoke(400, "LAUNCH_SYNTAX_ERROR", session.launch, path)
    assert error.details["suggestion"].endswith("the session is as it was")
    assert session.get()["status"] == "terminated"


# Attaching.


def test_a_port_where_nobody_listens_refuses(session: Session) -> None:
    port = free_port()
    error = provoke(502, "ATTACH_REFUSED", session.post, "/attach", {"host": "127.0.0.1", "port": port})
    assert f"127.0.0.1:{port}" in error.message
    assert "debugpy --listen" in error.details["suggestion"]
    assert session.get()["status"] == "created"


def test_a_port_that_says_nothing_times_out(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        target = {"host": "127.0.0.1", "port": mute.getsockname()[1], "connect_timeout": 1}
        with soon():
            error = provoke(504, "ATTACH_TIMEOUT", session.post, "/attach", target)
    assert "connect_timeout" in error.details["suggestion"]
    assert session.get()["status"] == "created"


def test_a_port_that_speaks_http_cannot_be_attached_to(session: Session) -> None:
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        target = {"host": "127.0.0.1", "port": server.server_port, "connect_timeout": 5}
        error = provoke(500, "ATTACH_FAILED", session.post, "/attach", target)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert "is not a debugger" in error.message
    assert session.get()["status"] == "created"


@pytest.fixture
def answering(program: Write) -> Path:
    return program(
        """
        def answer(question):
            return question.upper()  # @here

        while question := input():
            print(answer(question), flush=True)
        """
    )


def test_an_attached_program_is_debugged_and_left_running(session: Session, answering: Path) -> None:
    with waiting_for_client(answering) as (process, port):
        assert process.stdin and process.stdout
        session.break_at(answering, "here")
        attached = session.post("/attach", {"host": "127.0.0.1", "port": port})
        assert (attached["attached"], attached["host"], attached["port"]) == (True, "127.0.0.1", port)
        assert (attached["status"], attached["pid"]) == ("running", process.pid)
        process.stdin.write(b"first\n")
        process.stdin.flush()
        stop = session.get("/report", wait=10)
        assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
        assert stop["current_location"]["line"] == line_of(answering, "here")
        assert session.locals() == {"question": "'first'"}
        assert session.evaluate("question * 2")["result"] == "'firstfirst'"
        session.delete()
        process.stdin.write(b"second\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"FIRST\n"
        assert process.stdout.readline() == b"SECOND\n"
        assert process.poll() is None


def test_the_stdin_of_an_attached_program_is_not_ours_and_its_death_ends_the_session(
    session: Session, answering: Path
) -> None:
    with waiting_for_client(answering) as (process, port):
        session.post("/attach", {"host": "127.0.0.1", "port": port})
        error = provoke(400, "NOT_SUPPORTED", session.post, "/stdin", {"input": "x\n"})
        assert "launch" in error.details["suggestion"]
        assert session.get("/status")["status"] == "running"
        assert session.get()["waiting_for_input"] is None
        assert process.poll() is None
        process.kill()
        end = session.get("/report", wait=10)
        assert end["status"] == "terminated"
        assert end["exit_code"] is None
        provoke(409, "INVALID_SESSION_STATE", session.post, "/pause")


# The debugger.


def test_a_program_that_dies_during_an_evaluate_is_a_lost_connection(paused: Session) -> None:
    error = provoke(502, "DEBUGPY_ERROR", paused.evaluate, "__import__('os').kill(__import__('os').getpid(), 9)")
    assert "lost" in error.message
    end = paused.get("/report", wait=10)
    assert (end["status"], end["signal"]) == ("terminated", "SIGKILL")


def test_a_runner_that_dies_during_a_call_fails_only_its_session(
    relay: Relay, api: Api, paused: Session, tmp_path: Path
) -> None:
    runner = relay.runner_of(paused)
    pid = paused.get()["pid"]
    begun = tmp_path / "begun"
    caught: list[ApiError] = []

    def evaluate() -> None:
        with Api(api.base_url) as own:
            expression = f"open({str(begun)!r}, 'w'), __import__('time').sleep(30)"
            caught.append(provoke(502, "DEBUGPY_ERROR", Session(own, paused.id).evaluate, expression))

    caller = threading.Thread(target=evaluate)
    caller.start()
    wait_until(begun.exists)
    runner.kill()
    caller.join(10)
    assert len(caught) == 1
    assert paused.get()["status"] == "failed"
    error = provoke(409, "INVALID_SESSION_STATE", paused.step)
    assert (error.details["current_state"], error.details["required_state"]) == ("failed", "paused")
    wait_until(lambda: not psutil.pid_exists(pid))
    assert paused.delete()["final_status"] == "failed"
    assert api.get("/health")["status"] == "healthy"


def test_what_the_debugger_refuses_is_its_error(session: Session, program: Write) -> None:
    """The code inside the program is damaged, as only a program that means it can do."""
    path = program("x = 1  # @here\nprint(x)\n")
    session.break_at(path, "here")
    session.launch(path)
    session.evaluate("setattr(__import__('_ocdb'), 'call', None)")
    error = provoke(500, "DEBUGPY_ERROR", session.evaluate, "x")
    assert "not callable" in error.message
    assert session.step()["current_location"]["line"] == 2


def test_an_expression_that_runs_too_long_times_out(paused: Session) -> None:
    with soon():
        error = provoke(504, "DEBUGPY_TIMEOUT", paused.evaluate, "__import__('time').sleep(30)", timeout=0.5)
    assert (error.details["operation"], error.details["timeout"]) == ("evaluate", 0.5)
    assert paused.evaluate("total")["result"] == "5"


def test_a_program_that_is_stopped_from_outside_times_out(small: Api, sample: Path) -> None:
    with small.session() as session:
        pid = session.launch(sample, wait=False)["pid"]
        stop_process(pid)
        with soon():
            error = provoke(504, "DEBUGPY_TIMEOUT", session.get, "/threads")
        assert error.details["operation"] == "threads"
        os.kill(pid, signal.SIGCONT)
        assert session.get("/threads")["threads"][0]["name"] == "MainThread"


# Input.


def test_input_that_nobody_can_read_is_refused(session: Session) -> None:
    session.launch(code="print('done')")
    error = provoke(409, "STDIN_CLOSED", session.post, "/stdin", {"input": "late\n"})
    assert (error.message, error.details["unread"]) == ("The program has ended", 0)
    assert "/report" in error.details["suggestion"]


def test_input_that_there_is_no_room_for_is_refused(session: Session, sample: Path) -> None:
    session.launch(sample, wait=False)
    session.post("/stdin", {"input": "x" * 9_000_000})
    error = provoke(409, "STDIN_FULL", session.post, "/stdin", {"input": "y" * 9_000_000})
    assert (error.details["pending"], error.details["max_pending"]) == (9_000_000, 16 * 1024 * 1024)
    assert "again" in error.details["suggestion"]


# The end of the relay.


def test_a_relay_that_shuts_down_says_so_to_whoever_waits(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data").start()
    assert relay.process is not None
    with Api(relay.base_url) as api:
        session = api.session()
        answers: list[ApiError] = []

        def wait() -> None:
            with Api(relay.base_url) as own:
                waiting = Session(own, session.id)
                answers.append(provoke(503, "SHUTTING_DOWN", waiting.get, "/events", cursor=cursor, timeout=60))

        cursor = session.get("/events")["next_cursor"]
        caller = threading.Thread(target=wait)
        caller.start()
        pid = relay.process.pid
        wait_until(lambda: sum(c.status == "ESTABLISHED" for c in psutil.Process(pid).net_connections("tcp")) > 1)
        api.post("/shutdown", {"keep_sessions": True})
        caller.join(20)
        assert relay.process.wait(20) == 0
    assert len(answers) == 1 and "goes on" in answers[0].message
    relay.start()
    with Api(relay.base_url) as api:
        assert api.get(f"/sessions/{session.id}")["status"] == "created"
    assert relay.stop() == 0


# Requests.


def test_a_body_that_is_not_valid_names_every_field(session: Session) -> None:
    items = [
        {"source": {"path": "/x.py"}, "line": -5},
        {"source": {"path": "relative/path.py"}, "line": 1, "conditon": "x"},
    ]
    error = provoke(400, "INVALID_REQUEST", session.post, "/breakpoints", {"breakpoints": items})
    assert error.message == "Request validation failed"
    problems = {problem["field"]: problem for problem in error.details["errors"]}
    assert problems["breakpoints[0].line"] == {
        "field": "breakpoints[0].line",
        "message": "Line number must be a positive integer",
        "value": -5,
    }
    assert "condition" in problems["breakpoints[1].conditon"]["message"]


def test_a_relative_path_is_refused_by_field(session: Session) -> None:
    items = [{"source": {"path": "relative/path.py"}, "line": 1}]
    error = provoke(400, "INVALID_REQUEST", session.post, "/breakpoints", {"breakpoints": items})
    assert error.details["errors"] == [
        {"field": "breakpoints[0].source.path", "message": "Path must be absolute", "value": "relative/path.py"}
    ]


def test_a_missing_parameter_is_named(session: Session) -> None:
    error = provoke(400, "MISSING_PARAMETER", session.get, "/variables")
    assert error.message == "Required parameter 'variables_reference' is missing"
    assert error.details["parameter"] == "variables_reference"


def test_a_wrong_parameter_is_named(session: Session) -> None:
    error = provoke(400, "INVALID_PARAMETER", session.get, "/stacktrace", levels="many")
    assert error.details["parameter"] == "levels"
    assert error.details["errors"] == [{"field": "levels", "message": "Must be an integer", "value": "many"}]


def test_a_fault_of_the_relay_tells_nothing_of_its_insides() -> None:
    with served() as door:
        answer = door.client.get("/api/v1/sessions/broken", headers={"X-Request-ID": "mine"})
        provoke(500, "INTERNAL_ERROR", answered, answer)
        assert "secret" not in answer.text
        assert answer.json()["meta"]["request_id"] == "mine"
        assert door.client.get("/api/v1/health").status_code == 200


def test_an_unknown_path_names_the_nearest(api: Api) -> None:
    error = provoke(404, "ROUTE_NOT_FOUND", api.get, "/sesions")
    assert error.message == "There is no GET /api/v1/sesions"
    assert "/api/v1/sessions" in error.details["suggestion"]


def test_a_wrong_method_names_the_right_ones(api: Api) -> None:
    error = provoke(405, "METHOD_NOT_ALLOWED", api.request, "PUT", "/sessions")
    assert sorted(error.details["allowed"]) == ["GET", "POST"]


def test_a_body_over_ten_megabytes_is_too_large(api: Api) -> None:
    answer = api.http.post("/sessions", json={"name": "x" * (10 * 1024 * 1024)})
    error = provoke(413, "PAYLOAD_TOO_LARGE", answered, answer)
    assert error.details["max_body_bytes"] == 10 * 1024 * 1024


def test_a_body_that_is_not_declared_as_json_is_unsupported(api: Api) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = api.http.post("/sessions", content=b"name=x", headers=form)
    error = provoke(415, "UNSUPPORTED_MEDIA_TYPE", answered, answer)
    assert "application/json" in error.details["suggestion"]


def test_a_foreign_host_is_not_served(api: Api) -> None:
    error = provoke(421, "HOST_NOT_ALLOWED", answered, api.http.get("/health", headers={"Host": "evil.example"}))
    assert "127.0.0.1" in error.details["suggestion"]


def test_a_foreign_origin_is_not_served(api: Api) -> None:
    answer = api.http.post("/sessions", headers={"Origin": "https://evil.example"})
    error = provoke(403, "ORIGIN_NOT_ALLOWED", answered, answer)
    assert "OPENCODE_DEBUG_ALLOWED_ORIGINS" in error.details["suggestion"]


def test_a_token_that_is_not_one_is_not_accepted(api: Api) -> None:
    answer = api.http.get("/sessions", headers={"Authorization": "Bearer ocdb_made-up"})
    error = provoke(401, "UNAUTHORIZED", answered, answer)
    assert "opencode-debugger token create" in error.details["suggestion"]


def test_more_commands_than_are_carried_out_at_once_are_too_many(relay: Relay, session: Session) -> None:
    session.launch(code="import time\ntime.sleep(1000)", wait=False)
    with debug_of(relay, session, kinds="stopped") as socket:
        for _ in range(17):
            socket.send({"action": "report", "wait": 60})
        error = socket.until("error")["payload"]
    assert error["code"] == "TOO_MANY_COMMANDS"
    assert "Send it again" in error["details"]["suggestion"]
    PROVOKED.add(error["code"])


@needs_root
def test_another_user_is_not_served(relay: Relay) -> None:
    (heard,) = heard_by_another_user((("127.0.0.1", relay.port), "GET /api/v1/health HTTP/1.1\r\n\r\n"))
    provoke(403, "OTHER_USER", envelope_of, heard)


def envelope_of(heard: str) -> Any:
    """For answers that were read by hand."""
    head, _, body = heard.partition("\r\n\r\n")
    envelope = json.loads(body)
    raise ApiError(int(head.split()[1]), envelope["error"])


def test_more_streams_than_there_are_descriptors_are_too_many_connections(small: Api) -> None:
    port = small.http.base_url.port
    assert port is not None
    with small.session() as session:
        asked = f"GET /api/v1/sessions/{session.id}/events/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        heard = ""
        with ExitStack() as streams:
            while not heard.startswith("HTTP/1.1 503"):
                stream = streams.enter_context(socket.create_connection(("127.0.0.1", port), 20))
                stream.sendall(asked.encode())
                heard = stream.recv(65536).decode()
                assert "HTTP/1.1 200" in heard or "HTTP/1.1 503" in heard
            error = provoke(503, "TOO_MANY_CONNECTIONS", envelope_of, heard)
            assert "ulimit" in error.details["suggestion"]
        # Only now is the session deleted: before the relay has seen the streams end, that would be one call too many.
        wait_until(lambda: small.http.get("/health").status_code == 200)


def test_what_the_disk_does_not_take_or_keeps_from_starting_is_told(small: Api) -> None:
    """The names are taken by what is no file, as good as a full disk; see test_faults.py for that one."""
    folder = Path(small.get("/config")["settings"]["data_dir"]["value"])
    (folder / ".config.json.tmp" / "full").mkdir(parents=True)
    provoke(507, "STORAGE_FAILED", small.patch, "/config", {"event_log_max": 50, "persist": True})
    (folder / "sessions").rename(folder / "aside")
    (folder / "sessions").touch()
    try:
        provoke(503, "SESSION_NOT_STARTED", small.post, "/sessions", {})
    finally:
        (folder / "sessions").unlink()
        (folder / "aside").rename(folder / "sessions")


def test_who_has_the_wheel_is_told_to_others(session: Session) -> None:
    session.post("/wheel", {"action": "take", "as": "Ann"})
    error = provoke(423, "WHEEL_TAKEN", session.patch, "", {"name": "mine"})
    assert (error.details["holder"], "report?wait=60" in error.details["suggestion"]) == ("Ann", True)


def test_an_entry_that_the_timeline_does_not_have_is_told(session: Session) -> None:
    error = provoke(404, "ENTRY_NOT_FOUND", session.get, "/timeline/7")
    assert (error.details["entry_id"], "/timeline" in error.details["suggestion"]) == (7, True)


def test_what_was_not_recorded_cannot_be_asked(session: Session, program: Write) -> None:
    error = provoke(404, "RECORDING_NOT_FOUND", session.get, "/recording/trace")
    assert "/record" in error.details["suggestion"]
    session.launch(program("def double(number):\n    return number * 2\n\ndouble(2)\n"), record=True)
    error = provoke(404, "CALL_NOT_FOUND", session.get, "/recording/calls", function="duoble")
    assert error.details["suggestion"] == "Did you mean double?"


def test_every_code_of_the_catalogue_was_provoked(request: pytest.FixtureRequest) -> None:
    here = {item.name for item in request.session.items if item.path == request.path}
    if not {name for name in globals() if name.startswith("test_")} <= here:
        pytest.skip("only some of this file's tests were selected")
    assert set(CATALOGUE) - PROVOKED == set()
