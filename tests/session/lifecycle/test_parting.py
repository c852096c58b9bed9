"""Parting from a program: let go, ended, or launched again, while the session stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, left_running, line_of, pythons, refusal
from targets import attach, listening, running, stopped
from waiting import holds_for, runs, wait_until

Write = Callable[..., Path]
PYTHONS = pythons("3.8", "3.12")

COUNTING = """
    import os, sys, time

    print("started", sys.argv[1:])
    count = 0
    while not os.path.exists("over"):
        count += 1  # @here
        print("count", count, "x" * 1000)
        time.sleep(0.01)
    with open("survived", "w") as file:
        file.write(str(count))
    sys.exit(7)
"""


@pytest.fixture
def counting(program: Write) -> Iterator[Path]:
    script = program(COUNTING)
    yield script
    (script.parent / "over").touch()


# Let go.


@pytest.mark.parametrize("version", PYTHONS)
def test_a_launched_program_runs_on_when_it_is_let_go(api: Api, version: str, counting: Path) -> None:
    with api.session(python_path=str(PYTHONS[version])) as session:
        session.break_at(counting, "here")
        stop = session.launch(counting, cwd=str(counting.parent))
        assert stop["status"] == "paused"
        answer = session.post("/detach")
        assert (answer["status"], answer["reason"], answer["detached"]) == ("terminated", "detached", True)
        assert (answer["pid"], answer["exit_code"]) == (stop["pid"], None)
        session.wait_for_output("count 20 ")  # neither stopped nor stuck, and still recorded
        assert (session.get()["status"], session.get()["reason"], session.get()["pid"]) == (
            "terminated",
            "detached",
            None,
        )
        (ended,) = session.events("terminated")
        assert ended["body"] == {"exit_code": None, "restart": False, "reason": "detached"}
        for operation in ("/pause", "/detach"):
            advice = refusal(409, "INVALID_SESSION_STATE", session.post, operation).details["suggestion"]
            assert "was let go" in advice and "attach to it in another session" in advice
        assert "was let go" in refusal(409, "INVALID_SESSION_STATE", session.post, "/restart").message
        (counting.parent / "over").touch()
        wait_until(lambda: session.get()["exit_code"] == 7)
        assert session.get()["reason"] == "detached"


def test_a_program_that_was_let_go_outlives_its_session(api: Api, counting: Path) -> None:
    with api.session() as session:
        pid = session.launch(counting, cwd=str(counting.parent), wait=False)["pid"]
        session.wait_for_output("count 3 ")
        session.post("/detach")
        assert "was let go" in refusal(409, "INVALID_SESSION_STATE", session.launch, counting).message
        gone = session.delete()
        assert (gone["detached"], gone["final_status"], gone["pid"]) == (True, "detached", pid)
    refusal(404, "SESSION_NOT_FOUND", session.get)
    holds_for(1.0, lambda: runs(pid))  # it writes 100 KB in this time: more than a pipe holds
    (counting.parent / "over").touch()
    survived = counting.parent / "survived"
    wait_until(survived.exists)
    wait_until(lambda: not runs(pid))
    wait_until(lambda: not [line for line in left_running() if "select.select" in line])


def test_a_program_with_many_threads_at_breakpoints_runs_to_its_end_when_it_is_let_go(
    session: Session, program: Write
) -> None:
    script = program(
        """
        import threading

        def work(number):
            for index in range(20):
                total = number + index  # @here

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("all done")
        """
    )
    session.break_at(script, "here")
    assert session.launch(script)["status"] == "paused"
    session.resume()
    session.post("/detach")
    session.wait_for_output("all done")
    wait_until(lambda: session.get()["exit_code"] == 0)


def test_a_program_that_is_let_go_at_once_runs_all_the_same(api: Api, program: Write) -> None:
    path = program("import time\ntime.sleep(0.3)\nprint('done')\n")
    for _ in range(3):
        with api.session() as session:
            session.launch(path, wait=False)
            assert session.post("/detach")["detached"] is True
            session.wait_for_output("done")
            assert session.output("stderr") == ""


def test_hit_counts_are_known_after_a_detach(session: Session, counting: Path) -> None:
    session.break_at(counting, "here", hit_condition=">=5")
    session.launch(counting, cwd=str(counting.parent))
    session.post("/detach")
    assert session.get("/breakpoints")["breakpoints"][0]["hit_count"] == 5


# Ended.


def test_a_launched_program_is_ended_and_its_session_stays(session: Session, program: Write) -> None:
    script = program(
        """
        import subprocess, sys, time

        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        print("child", child.pid)
        time.sleep(60)  # @here
        """
    )
    session.break_at(script, "here")
    pid = session.launch(script)["pid"]
    child = int(session.output().split()[1])
    answer = session.post("/terminate")
    assert (answer["status"], answer["reason"], answer["terminated"]) == ("terminated", "terminated", True)
    assert (answer["pid"], answer["exit_code"], answer["signal"]) == (pid, -15, "SIGTERM")
    assert not runs(pid) and not runs(child)
    assert session.output() == f"child {child}\n"
    shown = session.get()
    assert (shown["status"], shown["reason"], shown["signal"]) == ("terminated", "terminated", "SIGTERM")
    assert len(session.get("/breakpoints")["breakpoints"]) == 1
    refusal(409, "INVALID_SESSION_STATE", session.post, "/terminate")


STUBBORN = """
    import signal, time

    signal.signal(signal.SIGTERM, lambda *args: print("not yet", flush=True))
    print("ready")
    while True:
        time.sleep(0.05)
"""


@pytest.mark.parametrize("force", [False, True])
def test_a_program_that_does_not_want_to_end_is_killed(session: Session, force: bool, program: Write) -> None:
    session.launch(program(STUBBORN), wait=False)
    session.wait_for_output("ready")
    answer = session.post("/terminate", {"force": force})
    assert (answer["exit_code"], answer["signal"]) == (-9, "SIGKILL")
    assert ("not yet" in session.output()) == (not force)


def test_an_attached_program_cannot_be_launched_again_but_is_ended_too(session: Session, program: Write) -> None:
    with running(program(STUBBORN)) as target:
        attach(session, target)
        error = refusal(400, "NOT_SUPPORTED", session.post, "/restart")
        assert "did not launch the program" in error.message
        assert target.is_alive and session.get()["status"] == "running"
        answer = session.post("/terminate")
        assert (answer["status"], answer["reason"], answer["pid"]) == ("terminated", "terminated", target.pid)
        assert target.process.wait(10) == -9
        assert session.get()["attached"] is True


def test_a_program_attached_to_by_port_is_ended_too(session: Session, program: Write) -> None:
    with listening(program(STUBBORN)) as (target, port):
        session.post("/attach", {"port": port, "connect_timeout": 60})
        assert session.post("/terminate")["terminated"] is True
        target.process.wait(10)
        assert session.get()["status"] == "terminated"


@pytest.mark.parametrize("operation", ["/detach", "/terminate", "/restart"])
def test_there_is_nothing_to_part_from_before_a_launch(session: Session, operation: str) -> None:
    error = refusal(409, "INVALID_SESSION_STATE", session.post, operation)
    assert error.details["current_state"] == "created"


# Launched again.


def test_a_paused_program_is_launched_again(session: Session, counting: Path) -> None:
    session.break_at(counting, "here")
    options: dict[str, Any] = {"cwd": str(counting.parent), "args": ["a", "b"], "env": {"SOME": "thing"}}
    first = session.launch(counting, **options)
    session.resume()
    assert session.get("/breakpoints")["breakpoints"][0]["hit_count"] == 2
    again = session.post("/restart", {"wait": 30, "fields": ["source", "locals"]})
    assert (again["status"], again["stop_reason"], again["restarted"]) == ("paused", "breakpoint", True)
    assert again["current_location"]["line"] == line_of(counting, "here")
    assert again["previous"] == {"exit_code": -15, "signal": "SIGTERM", "reason": "restarted"}
    assert "stack" not in again and "locals" in again
    assert again["program"] == first["program"]
    assert again["pid"] != first["pid"] and not runs(first["pid"])
    (bp,) = session.get("/breakpoints")["breakpoints"]
    assert (bp["id"], bp["hit_count"], bp["verified"]) == ("bp_1", 1, True)
    assert session.evaluate("count, __import__('os').environ['SOME']")["result"] == "(0, 'thing')"
    assert session.output().count("started ['a', 'b']") == 2
    kinds = [event["type"] for event in session.events("stopped", "terminated", "restarted")]
    assert kinds == ["stopped", "stopped", "terminated", "restarted", "stopped"]
    (ended,), (restarted,) = session.events("terminated"), session.events("restarted")
    assert (ended["body"]["restart"], ended["body"]["signal"]) == (True, "SIGTERM")
    assert restarted["body"] == {"pid": again["pid"], "previous": again["previous"]}
    shown = session.get()
    assert (shown["status"], shown["pid"], shown["exit_code"], shown["reason"]) == ("paused", again["pid"], None, None)


def test_a_running_program_is_launched_again(session: Session, counting: Path) -> None:
    session.launch(counting, cwd=str(counting.parent), wait=False)
    session.wait_for_output("count 3 ")
    again = session.post("/restart")
    assert again["status"] == "running"
    wait_until(lambda: session.output().count("count 3 ") == 2)


def test_a_program_that_has_ended_is_launched_again_and_again(session: Session, program: Write) -> None:
    script = program("import sys\nprint('ran')\nsys.exit(int(sys.argv[1]))")
    session.launch(script, args=["0"])
    for number in range(2, 4):
        again = session.post("/restart", {"wait": 30})
        assert (again["status"], again["exit_code"]) == ("terminated", 0)
        assert again["previous"] == {"exit_code": 0, "signal": None, "reason": "exited"}
        assert session.output() == "ran\n" * number
        assert len(session.events("terminated")) == number


def test_what_the_program_before_left_running_does_not_take_the_next_one_with_it(
    session: Session, program: Write
) -> None:
    script = program(
        """
        import subprocess
        for _ in range(3):
            subprocess.Popen(["sleep", "60"], start_new_session=True)
        print("over")
        """
    )
    session.launch(script)
    for _ in range(2):
        assert session.post("/restart", {"wait": 30})["exit_code"] == 0


def test_a_script_that_no_longer_compiles_leaves_everything_as_it_was(session: Session, counting: Path) -> None:
    session.break_at(counting, "here")
    pid = session.launch(counting, cwd=str(counting.parent))["pid"]
    good = counting.read_text()
    counting.write_text(good + "\nx = = 1\n")
    error = refusal(400, "LAUNCH_SYNTAX_ERROR", session.post, "/restart")
    assert (error.details["current_state"], error.details["text"].strip()) == ("paused", "x = = 1")
    assert (session.get()["status"], session.get()["pid"]) == ("paused", pid)
    assert session.evaluate("count")["result"] == "0"
    counting.write_text(good)
    assert session.post("/restart", {"wait": 30})["status"] == "paused"
    counting.unlink()
    refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", session.post, "/restart")
    assert session.get()["status"] == "paused"


def test_a_restart_that_fails_leaves_an_ended_session_that_can_be_restarted(
    session: Session, program: Write, tmp_path: Path
) -> None:
    """An interpreter that does not come up any more: the program before has ended by then."""
    script = program("import time\nprint('up')\ntime.sleep(60)")
    session.launch(script, wait=False, env={"PYTHONPATH": str(tmp_path / "broken")})
    session.wait_for_output("up")
    program("import os; os._exit(9)", "broken/sitecustomize.py")
    error = refusal(500, "LAUNCH_FAILED", session.post, "/restart")
    assert error.details["exit_code"] == 9
    shown = session.get()
    assert (shown["status"], shown["reason"], shown["signal"]) == ("terminated", "restarted", "SIGTERM")
    (tmp_path / "broken" / "sitecustomize.py").unlink()
    assert session.post("/restart")["status"] == "running"
    wait_until(lambda: session.output() == "up\nup\n")


def test_a_breakpoint_by_text_follows_its_text_through_an_edit(session: Session, program: Write) -> None:
    text = "def work(a):\n    b = a + 1\n    return b\n\nprint(work(1))\n"
    path = program(text)
    placed = session.post("/breakpoints", {"file": str(path), "text": "return b"})
    assert session.launch(path)["current_location"]["line"] == 3
    path.write_text("# one\n# two\n" + text)
    again = session.post("/restart", {"wait": 30})
    assert (again["current_location"]["line"], again["hit_breakpoint_ids"]) == (5, [placed["breakpoint_id"]])
    (row,) = session.get("/breakpoints")["breakpoints"]
    assert (row["line"], row["text"], row["verified"]) == (5, "return b", True)
    path.write_text("# one\n# two\n# three\n# four\n# five\nprint('other')\n")
    assert session.post("/restart", {"wait": 30})["status"] == "terminated"
    (row,) = session.get("/breakpoints")["breakpoints"]
    assert (row["line"], row["verified"], row.get("text")) == (5, False, None)


def test_deleting_a_session_says_what_became_of_its_program(api: Api, program: Write) -> None:
    script = program("import sys; print('ready', flush=True); sys.stdin.read()")
    with running(script) as target:
        session = api.session()
        attach(session, target)
        gone = session.delete()
        assert (gone["detached"], gone["final_status"], gone["pid"]) == (True, "detached", target.pid)
        assert runs(target.pid)
    with api.session() as session:
        session.launch(script, wait=False)
        gone = session.delete()
        assert (gone["detached"], gone["final_status"]) == (False, "terminated")


def test_breakpoints_set_after_the_launch_are_there_after_a_restart(session: Session, counting: Path) -> None:
    session.launch(counting, cwd=str(counting.parent), wait=False)
    session.wait_for_output("count 1 ")
    session.break_at(counting, "here")
    stopped(session)
    assert session.post("/restart", {"wait": 30})["hit_breakpoint_ids"] == ["bp_1"]
    assert session.evaluate("count")["result"] == "0"
