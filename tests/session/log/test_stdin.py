"""Input for the program: sent while it runs, given at launch, ended; and what cannot be taken is refused whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Session, meanwhile, refusal

Write = Callable[..., Path]

ASKING = """
name = input("Enter your name: ")
age = input("Enter your age: ")
print(f"{name} is {age}")  # @told
"""


def send(session: Session, text: str, **options: Any) -> Any:
    return session.post("/stdin", {"input": text, **options})


@pytest.fixture
def asking(program: Write) -> Path:
    return program(ASKING)


def test_a_program_that_asks_is_answered_in_all_three_ways(session: Session, asking: Path) -> None:
    """4.6 of the user story: told that it waits, answered by /stdin and /input; then the answers given at launch."""
    asked = session.launch(asking)
    assert (asked["status"], asked["waiting_for_input"]) == ("running", {"prompt": "Enter your name: "})
    assert "timed_out" not in asked

    status = session.get("/status")
    assert (status["status"], status["prompt"]) == ("waiting_for_input", "Enter your name: ")
    full = session.get()
    assert (full["status"], full["waiting_for_input"]) == ("running", {"prompt": "Enter your name: "})

    sent = session.post("/stdin", {"input": "Ada\n"})
    assert (sent["status"], sent["accepted"], sent["eof"]) == ("running", 4, False)
    asked = session.get("/report", wait=10)
    assert asked["waiting_for_input"] == {"prompt": "Enter your age: "}

    end = session.post("/input", {"input": "36\n", "wait": 10})
    assert (end["status"], end["exit_code"], end["accepted"], end["pending"]) == ("terminated", 0, 3, 0)
    assert end["output"][-1] == {"category": "stdout", "output": "Ada is 36\n"}
    requests = [event["body"]["prompt"] for event in session.events("input_requested")]
    assert requests == ["Enter your name: ", "Enter your age: "]

    with session.api.session() as configured:
        end = configured.launch(asking, stdin_inputs=["Grace", "85\n"])
        assert (end["status"], end["exit_code"]) == ("terminated", 0)
        assert configured.output() == "Enter your name: Enter your age: Grace is 85\n"
        assert configured.events("input_requested") == []


def test_one_call_sends_the_input_and_brings_the_stop(session: Session, asking: Path) -> None:
    session.break_at(asking, "told")
    session.launch(asking)
    assert send(session, "Ada\n", wait=10)["waiting_for_input"]["prompt"] == "Enter your age: "
    stop = send(session, "36\n", wait=10, fields=["locals"])
    assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
    assert {row["name"]: row["value"] for row in stop["locals"]} == {"name": "'Ada'", "age": "'36'"}
    assert (stop["accepted"], stop["pending"], "stack" in stop) == (3, 0, False)


def test_input_may_come_before_it_is_asked_for(session: Session, asking: Path) -> None:
    session.launch(asking, stop_on_entry=True)
    sent = send(session, "Ada\n36")
    assert (sent["status"], sent["accepted"], sent["pending"]) == ("paused", 6, 6)
    sent = send(session, "\n", wait=5)
    assert (sent["status"], sent["stop_reason"], sent["pending"]) == ("paused", "entry", 7)
    assert session.resume()["exit_code"] == 0
    assert session.output() == "Enter your name: Enter your age: Ada is 36\n"


def test_the_text_arrives_exactly_as_sent(session: Session, program: Write) -> None:
    path = program("import sys\ndata = sys.stdin.buffer.read()\nprint(data)  # @read\n")
    session.launch(path)
    text = "grün 漢字 \U0001f40d\r\n\ttab\0nul \u2028 no newline"
    assert send(session, text)["accepted"] == len(text.encode())
    session.post("/stdin", {"eof": True, "wait": 10})
    assert session.output() == f"{text.encode()}\n"


def test_the_end_of_input_is_an_eoferror(session: Session, asking: Path) -> None:
    session.launch(asking)
    stop = send(session, "Ada\n", eof=True, wait=10)
    assert (stop["status"], stop["stop_reason"], stop["eof"]) == ("paused", "exception", True)
    assert (stop["exception"]["type"], stop["current_location"]["line"]) == ("EOFError", 2)
    error = refusal(409, "STDIN_CLOSED", send, session, "36\n")
    assert error.message == "An earlier call has ended the program's input"
    assert session.resume()["exit_code"] == 1


def test_an_input_that_ends_at_launch(session: Session, program: Write) -> None:
    path = program("import sys\nfor line in sys.stdin:\n    print('got', line, end='')\nprint('end')\n")
    end = session.launch(path, stdin_inputs=["one", "", "two\nthree"], stdin_eof=True)
    assert (end["exit_code"], session.output()) == (0, "got one\ngot \ngot two\ngot three\nend\n")
    assert session.events("input_requested") == []
    with session.api.session() as nothing:
        nothing.launch(path, stdin_eof=True)
        assert nothing.output() == "end\n"


def test_a_reading_loop_takes_line_by_line(session: Session, program: Write) -> None:
    session.launch(program("import sys\nfor line in sys.stdin:\n    print('got', line, end='')\nprint('end')\n"))
    for word in ("one", "two"):
        answer = send(session, f"{word}\n", wait=10)
        assert answer["output"] == [{"category": "stdout", "output": f"got {word}\n"}]
        assert answer["waiting_for_input"] == {"prompt": ""}
    assert session.post("/input", {"eof": True, "wait": 10})["exit_code"] == 0
    assert session.output() == "got one\ngot two\nend\n"
    assert len(session.events("input_requested")) == 3


def test_a_megabyte_is_read_as_slowly_as_the_program_likes(session: Session, program: Write) -> None:
    path = program(
        """
        import hashlib, os, time
        digest = hashlib.sha256()
        read = 0
        print("ready", flush=True)
        while data := os.read(0, 20_000):
            digest.update(data)
            read += len(data)
            time.sleep(0.002)
        print(read, digest.hexdigest())
        """
    )
    session.launch(path, wait=False)
    session.wait_for_output("ready")
    text = "".join(f"{n:07}\n" for n in range(150_000))
    sent = send(session, text)
    assert sent["accepted"] == len(text) > 2**20
    assert 0 < sent["pending"] <= len(text)
    assert session.post("/stdin", {"eof": True, "wait": 30})["exit_code"] == 0
    assert session.output().splitlines()[-1] == f"{len(text)} {hashlib.sha256(text.encode()).hexdigest()}"


def test_more_than_there_is_room_for_is_refused_whole(session: Session, program: Write) -> None:
    path = program(
        """
        import os, sys
        while not os.path.exists(sys.argv[1]): pass  # @busy
        print(len(sys.stdin.buffer.read()))
        """
    )
    go = path.with_name("go")
    session.launch(path, args=[str(go)], wait=False)
    size = 9_000_000
    sent = send(session, "x" * size)
    assert (sent["accepted"], sent["pending"]) == (size, size)
    error = refusal(409, "STDIN_FULL", send, session, "y" * size)
    assert (error.details["pending"], error.details["max_pending"]) == (size, 16 * 1024 * 1024)
    assert send(session, "z")["pending"] == size + 1
    go.touch()
    assert session.post("/stdin", {"eof": True, "wait": 20})["exit_code"] == 0
    assert session.output() == f"{size + 1}\n"


def test_inputs_at_launch_that_are_too_much_start_nothing(session: Session) -> None:
    session.launch(code="input()", stdin_inputs=["x" * 4_000_000, "y" * 4_000_000], wait=10)
    assert session.get()["exit_code"] == 0
    with session.api.session() as other:
        wide = ["ä" * 2_400_000] * 2
        assert other.launch(code="print(len(input()))", stdin_inputs=wide)["exit_code"] == 0
        refusal(413, "PAYLOAD_TOO_LARGE", other.launch, code="1", stdin_inputs=["x" * 11_000_000])


def test_a_program_that_closed_its_stdin_takes_no_more(session: Session, program: Write) -> None:
    path = program(
        """
        import os, time
        os.read(0, 3)
        os.close(0)
        print("closed", flush=True)
        time.sleep(60)
        """
    )
    session.launch(path)
    assert send(session, "abcde")["accepted"] == 5
    session.wait_for_output("closed")
    error = refusal(409, "STDIN_CLOSED", send, session, "more\n")
    assert error.message == "The program has closed its stdin"
    assert error.details["unread"] == 2
    refusal(409, "STDIN_CLOSED", session.post, "/stdin", {"eof": True})
    assert session.get("/status")["status"] == "running"


def test_a_closed_sys_stdin_leaves_the_input_pending(session: Session, program: Write) -> None:
    """Closing the object does not close the descriptor: what is sent is there for whoever reads it later."""
    path = program(
        """
        import os, sys
        sys.stdin.close()
        while True:  # @loop
            data = os.environ.get("NOT_THERE")
            if os.path.exists(sys.argv[1]):
                print(os.read(0, 100))
                break
        """
    )
    go = path.with_name("go")
    session.launch(path, args=[str(go)], wait=False)
    assert send(session, "kept\n", wait=0.3)["pending"] == 5
    assert session.get("/status")["status"] == "running"
    go.touch()
    session.get("/report", wait=10)
    assert session.output() == "b'kept\\n'\n"


def test_a_program_that_ended_takes_no_more(session: Session) -> None:
    session.launch(code="print('done')", stdin_inputs=["unread"])
    error = refusal(409, "STDIN_CLOSED", send, session, "late\n")
    assert (error.message, error.details["unread"]) == ("The program has ended", 7)
    assert session.output() == "done\n"


def test_a_program_that_ends_while_its_input_waits(session: Session) -> None:
    session.launch(code="import time; input(); time.sleep(0.3)", wait=False)
    end = send(session, "x\n" * 200_000, wait=20)
    assert (end["status"], end["exit_code"]) == ("terminated", 0)
    assert 0 < end["pending"] < 400_000


def test_a_session_without_a_program_takes_none(session: Session) -> None:
    error = refusal(409, "INVALID_SESSION_STATE", send, session, "x\n")
    assert error.message == "Cannot send input: session is not paused or running"
    assert "launch" in error.details["suggestion"]


NO_INPUT: list[tuple[dict[str, Any], str]] = [
    ({}, "input"), ({"input": ""}, "input"), ({"input": 5}, "input"), ({"input": "x", "oef": True}, "oef")
]  # fmt: skip


def test_what_is_no_input_is_refused_by_field(session: Session) -> None:
    for body, field in NO_INPUT:
        error = refusal(400, "INVALID_REQUEST", session.post, "/stdin", body)
        assert [problem["field"] for problem in error.details["errors"]] == [field], body


def test_a_refused_report_field_sends_nothing(session: Session, asking: Path) -> None:
    session.launch(asking)
    refusal(400, "INVALID_PARAMETER", send, session, "Ada\n", wait=1, fields=["colour"])
    assert session.get("/status")["prompt"] == "Enter your name: "


def test_two_clients_send_whole_lines(session: Session, program: Write) -> None:
    session.launch(program("import sys\nprint(sorted(set(sys.stdin)))\n"))
    lines = {letter: letter * 30_000 + "\n" for letter in "ab"}
    with meanwhile(session, lambda other: [send(other, lines["a"]) for _ in range(20)]) as done:
        for _ in range(20):
            send(session, lines["b"])
        assert sum(answer["accepted"] for answer in done.result(30)) == 20 * 30_001
    session.post("/stdin", {"eof": True, "wait": 20})
    assert session.output() == f"{sorted(lines.values())}\n"
