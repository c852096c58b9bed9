"""What an answer says to somebody who does not know the relay: why nothing stopped, and what to call next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from relays import Api, Session, refusal
from stub_relay import Door, served
from waiting import wait_until

Write = Callable[..., Path]

SESSION = "/api/v1/sessions/sess_1"


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with served() as running:
        yield running


@pytest.mark.parametrize(
    ("method", "word", "meant"),
    [
        ("POST", "start", "POST {}/launch"),
        ("POST", "run", "POST {}/launch"),
        ("POST", "next", "POST {}/step-over"),
        ("POST", "stop", "POST {}/terminate"),
        ("GET", "locals", "GET {}/frames/0/variables"),
        ("GET", "stack", "GET {}/stacktrace"),
        ("GET", "stdout", "GET {}/output"),
        ("GET", "step-ove", "POST {}/step-over"),
        ("POST", "", "GET {}"),
        ("DELETE", "", "DELETE {}"),
        ("POST", "breakpoints/bp_1/", "PATCH {}/breakpoints/bp_1"),
        ("POST", "threads/2/pause", "POST {}/pause"),
    ],
)
def test_words_of_other_debuggers_lead_to_our_calls(door: Door, method: str, word: str, meant: str) -> None:
    error = door.client.request(method, f"{SESSION}/{word}").json()["error"]
    assert f"Did you mean {meant.format(SESSION)}?" in error["details"]["suggestion"]


@pytest.mark.parametrize("word", ["launch", "start", "debug"])
def test_a_launch_without_a_session_leads_to_the_call_that_makes_both(door: Door, word: str) -> None:
    error = door.client.post(f"/api/v1/{word}", json={}).json()["error"]
    assert "Did you mean POST /api/v1/run?" in error["details"]["suggestion"]


def test_an_id_that_is_missing_is_noticed(door: Door) -> None:
    error = door.client.post("/api/v1/sessions//launch", json={}).json()["error"]
    assert "A part of the path is empty" in error["details"]["suggestion"]


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("/launch", {"file": "a.py"}, "file", "Unknown field 'file'. Did you mean 'script'?"),
        ("/launch", {"script": "a.py", "timeout": 3}, "timeout", "Unknown field 'timeout'. Did you mean 'wait'?"),
        ("/launch", {"script": "a.py", "python": "x"}, "python", "Unknown field 'python'. Did you mean 'python_path'?"),
        ("/breakpoints", {"path": "a.py", "line": 3}, "path", "Unknown field 'path'. Did you mean 'file'?"),
        ("/evaluate", {"expr": "x"}, "expr", "Unknown field 'expr'. Did you mean 'expression'?"),
        (
            "/breakpoints",
            {"source": {"path": "/a.py"}, "breakpoints": [{"line": 3}]},
            "source",
            "Beside breakpoints there is no source: give it in each of them",
        ),
        ("/breakpoints", [{"file": "a.py", "line": 3}], "", "Must be a JSON object with breakpoints"),
        ("/breakpoints", {"source": "a.py", "line": 3}, "source", "Must be a JSON object with path, name"),
        (
            "",
            {"script": "a.py"},
            "script",
            "What runs, and how, is said by POST /sessions/{id}/launch, after this call: give script there, or to "
            "POST /run, which does both",
        ),
    ],
)
def test_a_wrong_field_names_the_one_that_was_meant(
    door: Door, path: str, body: object, field: str, message: str
) -> None:
    answer = door.client.post(SESSION + path if path else "/api/v1/sessions", json=body)
    found = {each["field"]: each["message"] for each in answer.json()["error"]["details"]["errors"]}
    assert found[field] == message


def test_an_end_without_a_stop_says_which_breakpoints_were_not_reached(session: Session, program: Write) -> None:
    elsewhere = program("def never():\n    return 1\n", "elsewhere.py")
    path = program("for i in range(3):\n    print(i)\n# the end\n")
    session.break_at(elsewhere, 2)
    session.break_at(path, 2, condition="i > 5")
    session.break_at(path, 3)
    end = session.launch(path)
    assert end["note"] == (
        f"These breakpoints did not stop the program: bp_1 ({elsewhere}:2) was not reached; "
        f"bp_2 ({path}:2) was not reached, or its condition was never true; bp_3: No executable code at line 3"
    )
    assert session.get("/report", fields="output")["note"] == end["note"]


def test_an_end_after_a_stop_has_no_more_to_say(session: Session, program: Write) -> None:
    path = program("x = 1\ny = 2\n")
    session.break_at(path, 1)
    session.launch(path)
    assert "note" not in session.resume()


def test_a_breakpoint_in_a_worker_that_is_not_debugged_says_how_to_debug_it(session: Session, program: Write) -> None:
    path = program(
        """
        import multiprocessing

        def work():
            print("here")  # @work

        if __name__ == "__main__":
            worker = multiprocessing.Process(target=work)
            worker.start()
            worker.join()
        """
    )
    session.break_at(path, "work")
    assert "launch with debug_subprocesses" in session.launch(path)["note"]


def test_a_launch_that_takes_long_leads_to_a_pause(session: Session, program: Write) -> None:
    going = session.launch(program("import time\ntime.sleep(600)\n"), wait=0.1)
    assert "POST /sessions/{id}/pause" in going["message"]


def test_a_program_that_runs_is_not_told_to_pause_before_it_continues(session: Session, program: Write) -> None:
    session.launch(program("import time\ntime.sleep(60)\n"), wait=False)
    error = refusal(409, "INVALID_SESSION_STATE", session.post, "/continue")
    assert "GET /sessions/{id}/report?wait=30" in error.details["suggestion"]
    error = refusal(409, "INVALID_SESSION_STATE", session.get, "/stacktrace")
    assert "/threads/{thread_id}/stacktrace" in error.details["suggestion"]


def test_a_command_line_is_no_script(session: Session, program: Write) -> None:
    path = program("x = 1\n")
    for script, advice in (
        (f"{path} --verbose", "what follows it as args"),
        (f"python {path}", "python_path is the interpreter"),
        ("pytest", 'POST /sessions/{id}/launch {"module": "pytest"}'),
    ):
        error = refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", session.post, "/launch", {"script": script})
        assert advice in error.details["suggestion"]


def test_input_without_its_newline_is_noticed(session: Session, program: Write) -> None:
    session.launch(program("print('hello ' + input('name? '))\n"))
    assert "newline" in session.post("/stdin", {"input": "Ada", "wait": 20})["message"]
    end = session.post("/stdin", {"input": "\n", "wait": 20})
    assert end["status"] == "terminated" and "message" not in end


def test_all_breakpoints_go_at_once_also_for_the_next_session(api: Api, program: Write) -> None:
    path = program("def f():\n    return 1\n\nf()\n")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, 2, 4)
        session.post("/breakpoints", {"function": "f"})
    answer = api.post("/sessions", {"project_root": str(path.parent)})
    assert answer["message"].startswith("3 breakpoints of this project were restored")
    with Session(api, answer["session_id"]) as session:
        session.launch(path, wait=20)
        removed = session.delete("/breakpoints")
        assert [each["id"] for each in removed["removed"]] == ["bp_1", "bp_2", "bp_3"]
        assert session.get("/breakpoints")["total"] == 0
        assert len([event for event in session.events("breakpoint") if event["body"]["reason"] == "removed"]) == 3
        assert session.resume()["status"] == "terminated"
        assert session.delete("/breakpoints")["removed"] == []
    with api.session(project_root=str(path.parent)) as session:
        assert session.get()["breakpoint_count"] == 0


def test_a_failing_test_stops_where_it_fails_with_one_option_of_the_launch(session: Session, program: Write) -> None:
    program("def double(x):\n    return x + x + 1\n", "shop.py")
    path = program(
        "import unittest\nfrom shop import double\n\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        assert double(2) == 4\n",
        "test_shop.py",
    )
    stop = session.launch(
        module="unittest", args=["test_shop"], cwd=str(path.parent), stop_on_exception="user_unhandled"
    )
    assert (stop["stop_reason"], stop["current_location"]["line"]) == ("exception", 6)


def test_the_end_of_a_long_output_is_one_call_away(session: Session, program: Write) -> None:
    text = "import sys\nfor i in range(3000):\n    print(i)\n    i % 1000 or print('no', i, file=sys.stderr)\n"
    end = session.launch(program(text))
    assert {"tail" in each["get"] for each in end["omitted"]} == {True}
    page = session.get("/output", tail=2, category="stdout")
    assert [entry["output"][:4] for entry in page["entries"]] == ["2998", "2999"]
    page = session.get("/output", tail=2)
    assert len(page["entries"]) == 2 and not page["has_more"]
    assert session.get("/output", cursor=page["next_cursor"])["entries"] == []
    page = session.get("/output", tail=2, category="stderr")
    assert [entry["output"] for entry in page["entries"]] == ["no 1000\n", "no 2000\n"]
    assert len(session.get("/output", tail=1000, category="stderr")["entries"]) == 3
    refusal(400, "INVALID_PARAMETER", session.get, "/output", tail=2, cursor=page["next_cursor"])
    session.delete("/output")
    assert session.get("/output", tail=5)["entries"] == []


def test_the_end_of_output_that_is_larger_than_a_page_is_its_end(session: Session) -> None:
    lines = "print('x' * 5000)\n" * 300
    code = f"import sys\nprint('first', file=sys.stderr, flush=True)\n{lines}print('end')"
    session.launch(code=code)
    page = session.get("/output", tail=1000)
    assert page["entries"][-1]["output"] == "end\n" and len(page["entries"]) < 300
    assert session.get("/output", tail=1000, category="stderr")["entries"][0]["output"] == "first\n"


def test_a_hanging_event_loop_leads_to_its_tasks(session: Session, program: Write) -> None:
    path = program("import asyncio\n\nasync def main():\n    await asyncio.Event().wait()\n\nasyncio.run(main())\n")
    session.launch(path, wait=False)
    wait_until(lambda: [frame["name"] for frame in session.get("/threads/1/stacktrace")["frames"]][:1] == ["select"])
    assert "tasks wait for: GET /sessions/{id}/locks" in session.post("/pause", {"wait": 20})["note"]


@pytest.mark.parametrize(
    "wrong", ["project/lib/shop.py", "/elsewhere/lib/shop.py", "C:\\project\\lib\\shop.py", "shop.py"]
)
def test_a_path_that_leads_nowhere_suggests_the_file_of_the_project(api: Api, tmp_path: Path, wrong: str) -> None:
    meant = tmp_path / "lib" / "shop.py"
    meant.parent.mkdir()
    meant.write_text("x = 1\n")
    with api.session(project_root=str(tmp_path)) as session:
        (breakpoint,) = session.post("/breakpoints", {"file": wrong, "line": 1})["breakpoints"]
        assert (breakpoint["verified"], breakpoint["suggestion"]) == (False, {"path": str(meant)})
        (breakpoint,) = session.post("/breakpoints", {"file": "lib/none.py", "line": 1})["breakpoints"]
        assert "suggestion" not in breakpoint
