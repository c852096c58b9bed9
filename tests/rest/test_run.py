"""One call from nothing to the first stop: POST /run, and POST /attach for programs that run already."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session, line_of, refusal
from targets import running
from waiting import stop_process, wait_until

SHOP = """
    def price_of(item):
        return {"tea": 3, "milk": 2}[item]  # @prices

    def main():
        total = 0
        for item in ("tea", "milk"):
            total += price_of(item)  # @adds
        print("total", total)

    main()
"""
TESTS = """
    import unittest

    class CartTest(unittest.TestCase):
        def test_good(self):
            self.assertEqual(1, 1)

        def test_bad(self):
            total = 5
            self.assertEqual(total, 6)  # @fails
"""
WAITING = """
    import time

    def work():
        ticks = 0
        while True:
            ticks += 1  # @ticks
            time.sleep(0.01)

    print("ready", flush=True)
    work()
"""
PLAIN: dict[str, Any] = {"env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, "python_path": sys.executable}
"""Our own plugins take long to load."""


@pytest.fixture
def run(api: Api) -> Iterator[Callable[..., Any]]:
    """Runs a program; the session ends with the test."""
    made: list[str] = []

    def run(path: str = "/run", **body: Any) -> Any:
        answer = api.post(path, body)
        made.append(answer["session_id"])
        return answer

    yield run
    for session_id in made:
        Session(api, session_id).__exit__()


def session_ids(api: Api) -> list[str]:
    return [item["session_id"] for item in api.get("/sessions", limit=1000)["items"]]


def test_one_call_runs_to_the_first_stop(api: Api, program: Callable[..., Path], run: Callable[..., Any]) -> None:
    path = program(SHOP)
    spelled = f"{path}:{line_of(path, 'prices')} if item == 'milk'"
    stopped = run(script=str(path), breakpoints=[spelled], watches=["item"])
    assert (stopped["status"], stopped["current_location"]["function"]) == ("paused", "price_of")
    assert [(each["expression"], each["value"]) for each in stopped["watches"]] == [("item", "'milk'")]
    assert "breakpoints" not in stopped
    ended = Session(api, stopped["session_id"]).resume()
    assert (ended["status"], ended["exit_code"]) == ("terminated", 0)


def test_without_breakpoints_it_runs_to_its_end(program: Callable[..., Path], run: Callable[..., Any]) -> None:
    ended = run(script=str(program(SHOP)))
    assert (ended["status"], ended["exit_code"]) == ("terminated", 0)
    assert "total 5" in "".join(part["output"] for part in ended["output"])


def test_relative_paths_are_meant_from_cwd(program: Callable[..., Path], run: Callable[..., Any]) -> None:
    path = program(SHOP, "shop/app.py")
    stopped = run(script="app.py", cwd=str(path.parent), breakpoints=[f"app.py:{line_of(path, 'adds')}"])
    assert stopped["current_location"] == {**stopped["current_location"], "path": str(path), "function": "main"}
    root, line = str(path.parent.parent), line_of(path, "adds")
    for spelled in (f"app.py:{line}", f"shop/app.py:{line}"):
        again = run(script="app.py", cwd="shop", project_root=root, breakpoints=[spelled])
        assert again["current_location"]["path"] == str(path)


def test_the_folder_of_a_script_is_its_project(
    api: Api, program: Callable[..., Path], run: Callable[..., Any]
) -> None:
    path = program("import os\nprint(os.getcwd())\n", "shop/app.py")
    ended = run(script=str(path))
    assert ended["output"][0]["output"].strip() == str(path.parent)
    assert Session(api, ended["session_id"]).get()["config"]["project_root"] == str(path.parent)


def test_breakpoints_that_do_not_stop_are_told_with_their_reason(
    program: Callable[..., Path], run: Callable[..., Any]
) -> None:
    path = program(SHOP)
    ended = run(script=str(path), breakpoints=["missing.py:3", "program.py:3", "nobody", "price_of hits 100"])
    told = {each.get("function") or Path(each["source"]["path"]).name: each["message"] for each in ended["breakpoints"]}
    assert set(told) == {"missing.py", "program.py", "nobody"}
    assert told["program.py"] == "No executable code at line 3"


def test_breakpoints_of_a_run_are_not_saved_unless_that_is_asked_for(
    program: Callable[..., Path], run: Callable[..., Any]
) -> None:
    path = program(SHOP)
    here: dict[str, Any] = {"script": str(path), "breakpoints": ["price_of"]}
    assert "restored_breakpoints" not in run(**here)
    assert "restored_breakpoints" not in run(**here, restore_breakpoints=True)
    assert run(script=str(path), restore_breakpoints=True)["restored_breakpoints"]["count"] == 1


def test_the_wait_can_be_said_in_the_query(api: Api, program: Callable[..., Path]) -> None:
    path = program(WAITING)
    answer = api.post("/run", {"script": str(path)}, wait="0.1")
    with Session(api, answer["session_id"]):
        assert (answer["status"], answer["timed_out"]) == ("running", True)


def test_a_program_runs_in_the_environment_that_the_client_sends(run: Callable[..., Any]) -> None:
    sent = {"PATH": os.environ["PATH"], "FROM_CLIENT": "yes"}
    ended = run(code="import os; print(os.environ['FROM_CLIENT'], 'HOME' in os.environ)", environment=sent)
    assert ended["output"][0]["output"] == "yes False\n"


def test_text_has_paths_as_they_are_in_the_project(api: Api, program: Callable[..., Path]) -> None:
    path = program(SHOP, "shop/app.py")
    body = {"script": "app.py", "cwd": str(path.parent), "breakpoints": ["price_of"]}
    said = api.http.post("/run", params={"format": "text"}, json=body).text
    with Session(api, said.split()[0]):
        assert f"at app.py:{line_of(path, 'prices')} in price_of" in said.splitlines()[0]


# Tests of projects.


def test_a_test_stops_where_it_fails(program: Callable[..., Path], run: Callable[..., Any]) -> None:
    path = program(TESTS, "tests/test_cart.py")
    node = "tests/test_cart.py::CartTest::test_bad"
    stopped = run(test=node, cwd=str(path.parent.parent), **PLAIN)
    assert stopped["program"]["module"] == "pytest"
    assert stopped["exception"]["type"] == "AssertionError"
    assert stopped["current_location"]["line"] == line_of(path, "fails")


@pytest.mark.parametrize("test", ["tests.test_cart.CartTest.test_bad", "tests/test_cart.py::CartTest::test_bad"])
def test_unittest_runs_what_it_is_told_to(program: Callable[..., Path], run: Callable[..., Any], test: str) -> None:
    path = program(TESTS, "tests/test_cart.py")
    chosen = {} if "/" not in test else {"runner": "unittest"}
    stopped = run(test=test, cwd=str(path.parent.parent), **chosen)
    assert (stopped["program"]["module"], stopped["program"]["args"]) == (
        "unittest", ["tests.test_cart.CartTest.test_bad"])
    assert stopped["current_location"]["line"] == line_of(path, "fails")


def test_an_environment_without_pytest_runs_unittest_and_says_so(
    program: Callable[..., Path], run: Callable[..., Any]
) -> None:
    path = program(TESTS, "project/tests/test_cart.py")
    project = path.parent.parent
    (project / "pyproject.toml").touch()
    venv.create(project / ".venv", symlinks=True)
    stopped = run(test=f"{path}::CartTest::test_bad")
    assert stopped["program"]["module"] == "unittest"
    assert stopped["program"]["cwd"] == str(project)
    assert stopped["current_location"]["line"] == line_of(path, "fails")
    assert stopped["warnings"] == [f"There is no pytest in {project / '.venv'}: the test is run by unittest"]


def test_a_folder_of_tests_is_run_as_well(program: Callable[..., Path], run: Callable[..., Any]) -> None:
    path = program(TESTS, "tests/test_cart.py")
    stopped = run(test="tests", cwd=str(path.parent.parent), runner="unittest")
    assert stopped["current_location"]["line"] == line_of(path, "fails")
    ended = run(test=str(path), stop_on_exception=False, args=["-k", "good"], **PLAIN)
    assert (ended["status"], ended["exit_code"]) == ("terminated", 0)


# What fails leaves nothing.


@pytest.mark.parametrize(
    ("status", "code", "body"),
    [
        (400, "LAUNCH_SCRIPT_NOT_FOUND", {"script": "/nowhere/app.py"}),
        (400, "LAUNCH_SCRIPT_NOT_FOUND", {"test": "tests/test_nobody.py::test_x", "cwd": "/"}),
        (400, "LAUNCH_SCRIPT_NOT_FOUND", {"test": "test_nobody.py", "cwd": "/"}),
        (400, "LAUNCH_SYNTAX_ERROR", {"code": "def"}),
        (400, "INVALID_PARAMETER", {"script": "app.py"}),
        (400, "INVALID_PARAMETER", {"test": "tests/test_cart.py"}),
        (400, "INVALID_PARAMETER", {"script": "app.py", "cwd": "relative"}),
        (400, "INVALID_PARAMETER", {"code": "1", "cwd": "/nowhere"}),
        (400, "INVALID_PARAMETER", {"code": "1", "project_root": "/nowhere"}),
        (400, "INVALID_PARAMETER", {"code": "1", "python_path": "/nowhere/python"}),
        (400, "INVALID_REQUEST", {"code": "1", "breakpoints": ["relative.py:3"]}),
        (400, "BREAKPOINT_INVALID_CONDITION", {"code": "1", "breakpoints": ["main if ("]}),
        (400, "EVALUATE_ERROR", {"code": "1", "watches": ["("]}),
        (400, "INVALID_REQUEST", {}),
        (400, "INVALID_REQUEST", {"code": "1", "test": "tests"}),
        (400, "INVALID_REQUEST", {"code": "1", "runner": "pytest"}),
        (400, "INVALID_REQUEST", {"code": "1", "venv": "/a", "python_path": "/b"}),
    ],
)
def test_a_run_that_cannot_be_leaves_no_session(api: Api, status: int, code: str, body: dict[str, Any]) -> None:
    before = session_ids(api)
    error = refusal(status, code, api.post, "/run", body)
    assert "the session is as it was" not in error.details["suggestion"]
    assert session_ids(api) == before


def test_a_client_that_goes_before_the_launch_leaves_nothing(tmp_path: Path, program: Callable[..., Path]) -> None:
    trace = tmp_path / "has-run"
    path = program(f"open({str(trace)!r}, 'w').close()\n")
    relay = Relay(tmp_path / "data").start()
    try:
        assert relay.process is not None
        host = f"Host: 127.0.0.1:{relay.port}\r\n"
        body = json.dumps({"script": str(path)})
        about = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        with socket.create_connection(("127.0.0.1", relay.port)) as client:
            client.sendall(f"GET /api/v1/health HTTP/1.1\r\n{host}\r\n".encode())
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
            stop_process(relay.process.pid)  # so that it reads the request and its end together
            client.sendall(f"POST /api/v1/run HTTP/1.1\r\n{host}{about}\r\n{body}".encode())
        os.kill(relay.process.pid, signal.SIGCONT)
        wait_until(lambda: "/api/v1/run" in relay.log.read_text())
        with Api(relay.base_url) as api:
            assert session_ids(api) == []
        assert not trace.exists()
    finally:
        assert relay.stop() == 0


def test_a_client_that_goes_while_it_waits_finds_the_session_again(
    relay: Relay, api: Api, program: Callable[..., Path]
) -> None:
    body = json.dumps({"script": str(program(WAITING)), "name": "left alone"})
    head = f"POST /api/v1/run HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nContent-Type: application/json\r\n"

    def found() -> list[str]:
        running = api.get("/sessions", status="running", limit=1000)["items"]
        return [item["session_id"] for item in running if item["name"] == "left alone"]

    with socket.create_connection(("127.0.0.1", relay.port)) as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        (session_id,) = wait_until(found)
    with Session(api, session_id) as session:
        assert session.post("/pause", {"wait": 30})["status"] == "paused"


# Programs that run already.


def test_one_call_attaches_and_pauses(program: Callable[..., Path], run: Callable[..., Any]) -> None:
    path = program(WAITING)
    with running(path) as target:
        paused = run("/attach", pid=target.pid, pause=True, wait=30, watches=["ticks"])
        assert (paused["attached"], paused["pid"], paused["status"]) == (True, target.pid, "paused")
        assert paused["current_location"]["path"] == str(path)
        assert paused["watches"][0]["value"].isdecimal()


def test_one_call_attaches_and_waits_for_a_breakpoint(program: Callable[..., Path], run: Callable[..., Any]) -> None:
    path = program(WAITING)
    with running(path) as target:
        stopped = run("/attach", pid=target.pid, project_root=str(path.parent), breakpoints=["program.py~ticks += 1"])
        assert stopped["current_location"]["line"] == line_of(path, "ticks")
        assert stopped["hit_breakpoint_ids"] == ["bp_1"]


def test_an_attach_that_fails_leaves_no_session(api: Api) -> None:
    before = session_ids(api)
    refusal(500, "ATTACH_FAILED", api.post, "/attach", {"pid": 2**31 - 1})
    refusal(400, "INVALID_REQUEST", api.post, "/attach", {"pause": True})
    assert session_ids(api) == before
