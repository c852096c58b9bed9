"""When a program is said to wait for its input: only when it really does, and then at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Session, meanwhile, pythons
from waiting import soon

Write = Callable[..., Path]

VERSIONS = pythons("3.8", "3.11", "3.13", "3.14")

WAYS = {  # each takes one line
    "input": "input('> ')",
    "getpass": "import getpass\ngetpass.getpass('> ')",
    "readline": "import sys\nprint('> ', end='')\nsys.stdin.readline()",
    "stderr": "import sys\nprint('> ', end='', file=sys.stderr)\nsys.stdin.readline()",
    "read": "import os\nos.write(1, b'log line\\n> ')\nos.read(0, 1)",
    "dup": "import os\nprint('> ', end='')\nos.read(os.dup(0), 1)",
    "in pieces": "print('>', end='', flush=True)\nprint(' ', end='', flush=True)\ninput()",
    "redrawn": "print('10%\\r20%\\r> ', end='')\ninput()",
    "select": "import select, sys\nprint('> ', end='')\nselect.select([sys.stdin], [], [])\nsys.stdin.readline()",
    "poll": "import select\nprint('> ', end='')\np = select.poll()\np.register(0, select.POLLIN)\np.poll()\ninput()",
    "epoll": "import select\nprint('> ', end='')\np = select.epoll()\np.register(0, select.EPOLLIN)\np.poll()\ninput()",
    "child": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', \"input('> ')\"])",
    "shell": "import os\nos.system(\"printf '> '; read answer\")",
    "asyncio": """
import asyncio, sys
async def main():
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    print('> ', end='')
    await reader.readline()
asyncio.run(main())
""",
    "to the end": "import sys\nprint('> ', end='')\nsys.stdin.read()",
}
AFTER_WHICH_NOTHING_IS_READ = ("asyncio", "to the end")

BUSY = {
    "waiting for whatever else there is": """
import os, select, socket, threading, time
server = socket.create_server(('', 0))
others = [
    lambda: os.read(os.pipe()[0], 1),
    lambda: threading.Event().wait(60),
    lambda: select.select([], [0], [0], 60),  # to write to it
    lambda: select.select([server], [], []),
]
for each in others:
    threading.Thread(target=each, daemon=True).start()
time.sleep(60)
""",
    "computing": "n = 0\nwhile True:\n    n += 1",
    "looking at stdin now and then": "import select\nwhile True:\n    select.select([0], [], [], 0.05)",
}


def test_however_it_waits_it_is_told_with_the_prompt(session: Session) -> None:
    """One way after the other in one program, and then those after which nothing more can be read."""
    ways = [way for way in WAYS if way not in AFTER_WHICH_NOTHING_IS_READ]
    program = "\n".join(f"exec({WAYS[way]!r})" for way in ways)
    pid, asked = None, None
    for number, way in enumerate(ways, 1):
        with soon():
            asked = session.post("/stdin", {"input": "\n", "wait": 30}) if asked else session.launch(code=program)
            pid = pid or asked["pid"]
            assert asked["waiting_for_input"] == {"prompt": "> "}, way
        told_to_wait(session, number, pid, way)
    assert session.post("/stdin", {"input": "\n", "wait": 30})["exit_code"] == 0
    for number, way in enumerate(AFTER_WHICH_NOTHING_IS_READ, len(ways) + 1):
        with soon():
            asked = session.launch(code=WAYS[way])
            assert asked["waiting_for_input"] == {"prompt": "> "}, way
        told_to_wait(session, number, asked["pid"], way)
        assert session.post("/stdin", {"input": "\n", "eof": True, "wait": 30})["exit_code"] == 0


def told_to_wait(session: Session, times: int, pid: int, way: str) -> None:
    """See that it is told now, for the so-manieth time, by the process that waits."""
    assert session.get("/status")["status"] == "waiting_for_input", way
    events = session.events("input_requested")
    assert (len(events), events[-1]["body"]["prompt"]) == (times, "> "), way
    assert (events[-1]["body"]["pid"] == pid) == (way not in ("child", "shell")), way


@pytest.mark.parametrize("what", BUSY)
def test_whatever_else_it_does_is_no_wait_for_input(session: Session, what: str) -> None:
    answer = session.launch(code=BUSY[what], wait=0.4)
    assert (answer["status"], answer["timed_out"]) == ("running", True)
    assert "waiting_for_input" not in answer
    assert session.get("/status")["status"] == "running"
    assert session.get()["waiting_for_input"] is None
    assert session.events("input_requested") == []


@pytest.mark.parametrize("version", VERSIONS)
def test_in_each_interpreter_asking_sleeping_and_paused_are_told_apart(
    session: Session, program: Write, version: str
) -> None:
    path = program(
        """
        import os, sys, time
        first = input("first? ")
        print(first)  # @between
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        second = input("second? ")
        print(second)
        """
    )
    session.break_at(path, "between")
    go = path.with_name("go")
    asked = session.launch(path, args=[str(go)], python_path=str(VERSIONS[version]))
    assert asked["waiting_for_input"] == {"prompt": "first? "}
    assert session.post("/stdin", {"input": "1\n", "wait": 10})["stop_reason"] == "breakpoint"
    assert session.get("/status")["status"] == "paused"
    assert session.get()["waiting_for_input"] is None
    assert "prompt" not in session.get("/status")
    asleep = session.resume(wait=0.2)
    assert (asleep["status"], asleep["timed_out"], "waiting_for_input" in asleep) == ("running", True, False)
    assert session.get("/status")["status"] == "running"
    go.touch()
    assert session.get("/report", wait=10)["waiting_for_input"] == {"prompt": "second? "}
    assert session.post("/stdin", {"input": "2\n", "wait": 10})["exit_code"] == 0
    assert len(session.events("input_requested")) == 2


def test_a_step_over_a_question_ends_when_it_is_asked_and_goes_on_when_answered(
    session: Session, program: Write
) -> None:
    path = program("x = input('x? ')\ny = x  # @next\n")
    session.launch(path, stop_on_entry=True)
    with soon():
        asked = session.step()
    assert (asked["status"], asked["waiting_for_input"]) == ("running", {"prompt": "x? "})
    assert "timed_out" not in asked
    stop = session.post("/stdin", {"input": "5\n", "wait": 10})
    assert (stop["stop_reason"], stop["current_location"]["line"]) == ("step", 2)
    assert session.locals() == {"x": "'5'"}


def test_a_stop_while_another_thread_waits_is_a_stop(session: Session, program: Write) -> None:
    path = program(
        """
        import os, sys, threading, time
        threading.Thread(target=input, args=("name? ",), daemon=True).start()
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        print("working")  # @working
        time.sleep(0.3)
        print("done")  # @done
        """
    )
    session.break_at(path, "working", "done")
    go = path.with_name("go")
    assert session.launch(path, args=[str(go)])["waiting_for_input"] == {"prompt": "name? "}
    threading.Timer(0.3, go.touch).start()
    stop = session.get("/report", wait=10)
    assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
    assert session.get("/status")["status"] == "paused"
    assert session.get()["waiting_for_input"] is None
    stop = session.resume(wait=10)
    assert (stop["status"], stop["current_location"]["function"]) == ("paused", "<module>")
    assert len(session.events("input_requested")) == 1
    assert session.resume(wait=10)["status"] == "terminated"


def test_a_wait_that_begins_while_it_waits_ends_at_once(session: Session) -> None:
    session.launch(code="input('name? ')", wait=False)
    session.wait_for_output("name? ")
    for _ in range(3):
        with soon():
            assert session.get("/report", wait=60)["waiting_for_input"] == {"prompt": "name? "}
    assert len(session.events("input_requested")) == 1


def test_everybody_who_waits_is_told(session: Session) -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    session.launch(code=code + "time.sleep(1.5)\ninput('name? ')", wait=False)
    with meanwhile(session, lambda other: other.get("/report", wait=20)) as other:
        assert session.get("/report", wait=20)["waiting_for_input"] == {"prompt": "name? "}
        assert other.result(10)["waiting_for_input"] == {"prompt": "name? "}
    assert len(session.events("input_requested")) == 1


def test_a_wait_during_the_launch_is_told_too(session: Session) -> None:
    def launch(other: Session) -> Any:
        return other.launch(code="input('name? ')", wait=False)

    with meanwhile(session, launch) as launched:
        while session.get()["status"] == "created":
            pass
        assert session.get("/report", wait=20)["waiting_for_input"] == {"prompt": "name? "}
        assert launched.result(10)["status"] == "running"


def test_the_prompt_is_only_what_was_asked_since_the_last_answer(session: Session) -> None:
    code = "a = input('A? ')\nb = input()\nprint('x' * 5000, end='')\ninput('C? ')\nprint('line')\ninput()"
    assert session.launch(code=code)["waiting_for_input"] == {"prompt": "A? "}
    assert session.post("/stdin", {"input": "1\n", "wait": 10})["waiting_for_input"] == {"prompt": ""}
    prompt = session.post("/stdin", {"input": "2\n", "wait": 10})["waiting_for_input"]["prompt"]
    assert (len(prompt), prompt[-5:]) == (1000, "xxC? ")
    assert session.post("/stdin", {"input": "3\n", "wait": 10})["waiting_for_input"] == {"prompt": ""}


def test_the_prompt_keeps_to_a_small_budget(session: Session) -> None:
    asked = session.launch(code="input('x' * 900 + '? ')", budget=200)
    assert asked["waiting_for_input"]["prompt"] == "x" * 48 + "? "


def test_a_pause_of_a_program_that_asks_says_what_it_needs(session: Session, program: Write) -> None:
    path = program("x = input('x? ')\ny = x\nz = y\n")
    session.launch(path)
    answer = session.post("/pause", {"wait": 0.3})
    assert (answer["status"], answer["timed_out"]) == ("running", True)
    assert answer["waiting_for_input"] == {"prompt": "x? "}
    assert "/stdin" in answer["message"]
    stop = session.post("/stdin", {"input": "5\n", "wait": 10})
    assert (stop["status"], stop["stop_reason"]) == ("paused", "pause")


def test_the_list_of_sessions_goes_by_the_real_state(session: Session, api: Api) -> None:
    session.launch(code="input('name? ')")
    running = {
        item["session_id"]: item["status"] for item in api.get("/sessions", status="running", limit=1000)["items"]
    }
    assert running[session.id] == "running"
