"""Processes that a program starts: seen when they are not debugged, sessions of their own when they are."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from families import NOT_ENABLED, ended, family, gone, spawns, stopped
from places import ROOT
from relays import Api, Relay, Session, line_of, pythons, refusal
from targets import listening
from waiting import holds_for, runs, wait_until

from opencode_debugger.debuggers.python.inside.rpc.runner_connection import reach

Write = Callable[..., Path]

CHILD = """
import sys

def double(number):
    twice = number * 2  # @double
    return twice

sys.exit(double(int(sys.argv[1])))
"""

EVERY_WAY = """
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys

def triple(number):
    thrice = number * 3  # @triple
    return thrice

def in_a_process(how, number):
    process = multiprocessing.get_context(how).Process(target=triple, args=(number,))
    process.start()
    process.join()
    return process.exitcode

if __name__ == "__main__":
    print("subprocess", subprocess.run([sys.executable, sys.argv[1], "21"]).returncode)
    pid = os.fork()
    if pid == 0:
        os._exit(triple(2))
    print("os.fork", os.waitpid(pid, 0)[1] >> 8)
    for number, how in enumerate(("fork", "spawn", "forkserver"), 3):
        print(how, in_a_process(how, number))
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        print("pool", pool.submit(triple, 6).result())
    print("itself", triple(7))
"""


def all_sessions(api: Api, root: Session) -> list[dict[str, Any]]:
    """Of one program: the names say who belongs to whom."""
    name = root.get()["name"]
    items = api.get("/sessions", limit=1000)["items"]
    return [item for item in items if item["name"] == name or item["name"].startswith(f"{name}/")]


@pytest.fixture(params=["3.8", "3.11", "3.12", "3.13"])
def debugged(api: Api, request: pytest.FixtureRequest) -> Iterator[Session]:
    for python in pythons(request.param).values():
        with api.session(python_path=str(python)) as session:
            yield session


# Off: they run freely, and are seen.


def test_a_spawn_is_told_when_children_are_not_debugged(session: Session, program: Write) -> None:
    """User story 4.5: the event, and the program unaffected."""
    child = program(CHILD, "child.py")
    path = program(
        """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, sys.argv[1], "21"])
        print("pid", child.pid, child.wait())
        """
    )
    session.break_at(child, "double")
    end = session.launch(path, args=[str(child)])
    assert (end["status"], end["exit_code"]) == ("terminated", 0)
    pid = int(session.output().split()[1])
    assert session.output() == f"pid {pid} 42\n"
    (event,) = spawns(session)
    assert event == {
        "event": "subprocess_spawned",
        "pid": pid,
        "command": event["command"],
        "debuggable": False,
        "session_id": None,
        "message": NOT_ENABLED,
    }
    assert event["command"].endswith(f"{child} 21")
    assert session.get()["children"] == []


def test_each_kind_of_spawn_says_what_it_is(session: Session, program: Write) -> None:
    path = program(
        """
        import os, subprocess, sys
        subprocess.run(["true"])
        subprocess.run("exit 0", shell=True)
        subprocess.run([sys.executable, "-"], stdin=subprocess.DEVNULL)
        os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", ""], os.environ), 0)
        os.spawnlp(os.P_WAIT, "true", "true")
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        try:
            subprocess.run(["there-is-no-such-program"])
        except FileNotFoundError:
            print("not found")
        """
    )
    assert session.launch(path)["exit_code"] == 0
    assert session.output() == "not found\n"
    assert [event["message"].partition(": ")[2].rstrip(".") for event in spawns(session)] == [
        "it is not a Python program",
        "",
        "it reads its program from its standard input",
        "",
        "it is not a Python program",
        "",
    ]


# On: each is a session.


NOISE_OF_PYTHON = (
    "thread_wakeup.wakeup()",  # 3.8 trips over its own pool when a debugger knows its threads
    "Exception ignored in: <_io.BytesIO",  # what multiprocessing pickled was found by the collector, not freed at once
)


def test_children_of_every_kind_stop_at_the_breakpoints(debugged: Session, program: Write) -> None:
    """subprocess, fork, spawn, forkserver (a grandchild) and a pool of processes, on each Python."""
    child, path = program(CHILD, "child.py"), program(EVERY_WAY, "ways.py")
    debugged.break_at(child, "double")
    debugged.break_at(path, "triple")
    debugged.launch(path, args=[str(child)], debug_subprocesses=True, wait=0, stop_on_exception=False)
    seen: dict[str, str] = {}
    root = debugged.get()
    deadline = time.monotonic() + 60
    while debugged.get("/report", wait=0.2)["status"] not in ("paused", "terminated"):
        assert time.monotonic() < deadline, seen
        for item in all_sessions(debugged.api, debugged)[1:]:
            if item["status"] == "paused":
                one = Session(debugged.api, item["session_id"])
                stop = stopped(one)
                assert stop["stop_reason"] == "breakpoint"
                here = stop["current_location"]["function"]
                assert stop["hit_breakpoint_ids"] == ["bp_1" if here == "double" else "bp_2"]
                seen.update(one.locals())
                info = one.get()
                assert info["output_session_id"] == root["session_id"]
                assert info["name"].startswith(root["name"] + "/")
                one.resume(wait=0)
    assert debugged.locals() == {"number": "7"}
    assert debugged.resume()["exit_code"] == 0
    lines = ["subprocess 42", "os.fork 6", "fork 0", "spawn 0", "forkserver 0", "pool 18", "itself 21"]
    assert debugged.output().splitlines() == lines
    noise = debugged.output("stderr")
    assert noise == "" or any(known in noise for known in NOISE_OF_PYTHON)
    counts = [row["hit_count"] for row in debugged.get("/breakpoints")["breakpoints"]]
    assert counts == [0, 1]


def test_a_child_is_a_session_with_the_breakpoints_of_its_parent(api: Api, session: Session, program: Write) -> None:
    child = program(CHILD, "child.py")
    path = program(
        """
        import subprocess, sys
        print(subprocess.run([sys.executable, sys.argv[1], "21"]).returncode)
        """
    )
    before = session.break_at(child, "double", condition="number == 21")
    session.post("/watch", {"expression": "number * 2"})
    how = {"debug_subprocesses": True, "stop_scope": "thread", "stop_on_exception": False}
    launched = session.launch(path, args=[str(child)], wait=0, **how)
    (one,) = family(session, 1)
    stop = stopped(one)
    assert (stop["current_location"]["function"], stop["watches"][0]["value"]) == ("double", "42")
    assert one.get()["config"]["stop_scope"] == session.get()["config"]["stop_scope"] == "thread"
    error = refusal(400, "NOT_SUPPORTED", api.request, "PATCH", f"/sessions/{one.id}", {"timeout_minutes": 3})
    assert session.id in error.details["suggestion"]
    assert one.evaluate("number + 1")["result"] == "22"
    (row,) = one.get("/breakpoints")["breakpoints"]
    assert (row["id"], row["condition"], row["hit_count"]) == (before[0]["id"], "number == 21", 1)
    info = one.get()
    assert info["parent_session_id"] == session.id
    assert info["program"]["script"] == str(child)
    assert info["program"]["args"] == ["21"]
    assert info["pid"] != launched["pid"]
    (shown,) = session.get()["children"]
    assert shown == {
        "session_id": one.id,
        "name": info["name"],
        "status": "paused",
        "program": str(child),
        "pid": info["pid"],
    }
    assert [item["session_id"] for item in api.get("/sessions", parent_session_id=session.id)["items"]] == [one.id]
    assert api.get("/sessions", parent_session_id=one.id)["items"] == []
    (event,) = spawns(session)
    assert (event["debuggable"], event["session_id"], event["pid"]) == (True, one.id, info["pid"])
    assert session.get("/status")["status"] == "running"
    assert session.get("/report", wait=0.2)["paused_children"] == [one.id]
    assert one.step("over")["stop_reason"] == "step"
    assert one.resume()["exit_code"] == 42
    page = one.get("/output")
    assert (page["entries"], page["output_session_id"]) == ([], session.id)
    assert ended(session)["exit_code"] == 0
    assert session.output() == "42\n"
    assert one.get()["status"] == "terminated"


def test_stops_of_parent_and_children_are_independent(session: Session, program: Write) -> None:
    path = program(
        """
        import multiprocessing

        def work(number):
            return number + 1  # @work

        if __name__ == "__main__":
            children = [multiprocessing.get_context("fork").Process(target=work, args=(n,)) for n in (1, 2)]
            for child in children:
                child.start()
            print("own", work(3))
            for child in children:
                child.join()
            print("joined")
        """
    )
    session.break_at(path, "work")
    session.launch(path, debug_subprocesses=True, wait=0)
    wait_until(lambda: session.get("/status")["status"] == "paused")
    children = family(session, 2)
    for child in children:
        stopped(child)
    everyone = [session, *children]
    assert sorted(one.locals()["number"] for one in everyone) == ["1", "2", "3"]
    assert children[1].resume()["exit_code"] == 0
    assert [one.get("/status")["status"] for one in everyone] == ["paused", "paused", "terminated"]
    assert session.resume(wait=0)["status"] == "running"
    session.wait_for_output("own 4")
    assert [one.get("/status")["status"] for one in everyone] == ["running", "paused", "terminated"]
    assert children[0].resume()["exit_code"] == 0
    assert ended(session)["exit_code"] == 0
    assert session.output() == "own 4\njoined\n"


def test_grandchildren_and_the_end_of_one_process_alone(api: Api, session: Session, program: Write) -> None:
    path = program(
        """
        import subprocess, sys, time
        depth = int(sys.argv[1])
        if depth:
            child = subprocess.Popen([sys.executable, __file__, str(depth - 1)])
            print("ended with", child.wait(), flush=True)
        time.sleep(600)  # @deep
        """
    )
    session.break_at(path, "deep", condition="depth == 0")
    session.launch(path, args=["2"], debug_subprocesses=True, wait=0)
    (child,) = family(session, 1)
    (grandchild,) = family(child, 1)
    stopped(grandchild)
    assert grandchild.get()["parent_session_id"] == child.id
    pids = [one.get()["pid"] for one in (session, child, grandchild)]
    middle = child.delete(force="true")
    assert (middle["deleted"], middle["exit_code"]) == (True, -signal.SIGKILL)
    session.wait_for_output("ended with -9")
    assert (runs(pids[0]), runs(pids[2])) == (True, True)
    refusal(404, "SESSION_NOT_FOUND", child.get)
    assert grandchild.get()["parent_session_id"] == session.id
    assert grandchild.locals()["depth"] == "0"
    assert session.delete()["deleted"]
    gone(*pids)
    refusal(404, "SESSION_NOT_FOUND", grandchild.get)


def test_how_a_child_ended_is_told(session: Session, program: Write) -> None:
    path = program(
        """
        import os, signal, subprocess, sys, time
        for code in ("pass", "import os; os._exit(3)", "raise ValueError", "import os; os.kill(os.getpid(), 9)"):
            subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        pid = os.fork()
        if pid == 0:
            sys.exit(5)
        os.waitpid(pid, 0)
        """
    )
    assert session.launch(path, debug_subprocesses=True, stop_on_exception=False)["exit_code"] == 0
    ends = [ended(child) for child in family(session, 5)]
    assert [(end["exit_code"], end["reason"], end["signal"]) for end in ends] == [
        (0, "exited", None),
        (3, "exited", None),
        (1, "exited", None),
        (-9, "killed", "SIGKILL"),
        (5, "exited", None),
    ]


ENDS_WHEN_IT_MAY_RUN = """
import os, sys

def hook(event, args):
    if event == "socket.connect":
        processor = sys.modules["_pydevd_bundle.pydevd_process_net_command_json"].PyDevJsonCommandProcessor
        processor.on_configurationdone_request = lambda *args: os._exit(3)

sys.addaudithook(hook)
"""


def test_a_child_that_ends_as_soon_as_it_may_run_is_told(session: Session, program: Write, tmp_path: Path) -> None:
    """Before its debugger has said that it runs."""
    (tmp_path / "sitecustomize.py").write_text(ENDS_WHEN_IT_MAY_RUN)
    path = program(
        """
        import os, subprocess, sys
        subprocess.run([sys.executable, "-c", ""], env={**os.environ, "PYTHONPATH": sys.argv[1]})
        """
    )
    session.launch(path, args=[str(tmp_path)], debug_subprocesses=True)
    (child,) = family(session, 1)
    assert ended(child)["exit_code"] == 3


def test_a_wait_ends_when_a_child_stops_and_tells_of_it_once(session: Session, program: Write) -> None:
    path = program(
        """
        import multiprocessing

        def work(n):
            print(n)  # @work

        if __name__ == "__main__":
            for n in (1, 2):
                worker = multiprocessing.get_context("fork").Process(target=work, args=(n,))
                worker.start()
                worker.join()
        """
    )
    session.break_at(path, "work")
    first = session.launch(path, debug_subprocesses=True, wait=600)
    (id,) = first["paused_children"]
    assert first["status"] == "running" and "timed_out" not in first
    assert f"POST /sessions/{id}/continue" in first["message"]
    assert (first["child_report"]["session_id"], first["child_report"]["status"]) == (id, "paused")
    assert session.get("/report", wait=0.3)["timed_out"]
    session.api.post(f"/sessions/{id}/continue")
    (other,) = session.get("/report", wait=600)["paused_children"]
    assert other != id
    session.api.post(f"/sessions/{other}/continue")
    end = session.get("/report", wait=600)
    assert end["exit_code"] == 0 and "note" not in end, "its breakpoint was reached, though in its children"


def test_a_stop_in_a_child_is_told_while_another_thread_is_halted(session: Session, program: Write) -> None:
    path = program(
        """
        import os, threading

        def fork():
            child = os.fork()  # @fork
            if child == 0:
                os._exit(0)  # @child
            os.waitpid(child, 0)

        worker = threading.Thread(target=fork)
        worker.start()
        worker.join()  # @join
        """
    )
    for place in ("fork", "child", "join"):
        session.break_at(path, place)
    session.launch(path, debug_subprocesses=True, stop_scope="thread")
    wait_until(lambda: [row["status"] for row in session.get("/threads")["threads"]] == ["paused", "paused"])
    (worker,) = (row["id"] for row in session.get("/threads")["threads"] if row["name"] != "MainThread")
    answer = session.post(f"/threads/{worker}/continue", {"wait": 600})
    (id,) = answer["paused_children"]
    assert id in answer["message"]


def test_a_child_that_is_debugged_outlives_the_program(session: Session, program: Write) -> None:
    """What the program leaves behind ends with it, but not what somebody debugs; its output is not lost."""
    path = program(
        """
        import os, subprocess, sys
        subprocess.Popen(["sleep", "600"])
        if os.fork() == 0:
            print("still here", flush=True)  # @child
            os._exit(6)
        print("parent ends", flush=True)
        """
    )
    session.break_at(path, "child")
    session.launch(path, debug_subprocesses=True)
    assert session.get("/report", wait=20)["exit_code"] == 0
    (child,) = family(session, 1)
    stopped(child)
    (sleeper,) = (event["pid"] for event in spawns(session) if event["command"] == "sleep 600")
    assert runs(sleeper)
    assert child.resume()["exit_code"] == 6
    assert session.output() == "parent ends\nstill here\n"
    gone(sleeper)


@pytest.mark.parametrize("how", ["shell", "python"])
def test_with_a_program_that_is_let_go_its_children_go(session: Session, program: Write, how: str) -> None:
    child_path = program(
        """
        import os, sys, time
        print("child", sys.argv[1], flush=True)  # @child
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.01)
        """,
        "child.py",
    )
    over = child_path.parent / "over"
    commands = "".join(f"{sys.executable} {child_path} {number} {over}\n" for number in (1, 2, 3))
    path = program(f"#!/bin/sh\n{commands}exit 5\n", "start.sh")
    path.chmod(0o700)
    by_python = program(f"import os, sys\nos.system({commands!r})\nsys.exit(5)\n", "start.py")
    session.break_at(child_path, "child")
    launched = {"program": str(path)} if how == "shell" else {"script": by_python}
    (id,) = session.launch(**launched, debug_subprocesses=True)["paused_children"]
    child = Session(session.api, id)
    answer = session.post("/detach")
    assert (answer["detached"], answer["children_let_go"]) == (True, [id])
    session.wait_for_output("child 1\n")
    assert child.get()["reason"] == "detached"
    deleted = child.delete()
    assert deleted["detached"] and runs(deleted["pid"])
    over.touch()
    wait_until(lambda: session.get()["exit_code"] == 5)  # those that it started later ran freely
    assert session.output() == "child 1\nchild 2\nchild 3\n"
    assert session.get()["children"] == []


def test_a_process_that_replaces_itself_is_followed(session: Session, program: Write) -> None:
    child = program(CHILD, "child.py")
    path = program("import os, sys\nos.execv(sys.executable, [sys.executable, sys.argv[1], '4'])\n")
    session.break_at(child, "double")
    pid = session.launch(path, args=[str(child)], debug_subprocesses=True, wait=0, stop_on_exception=False)["pid"]
    (after,) = family(session, 1)
    stopped(after)
    assert after.get()["pid"] == pid
    assert session.get()["reason"].startswith("the process replaced itself (exec) by: ")
    assert after.resume()["exit_code"] == 8
    assert ended(session)["exit_code"] == 8


def test_a_program_started_again_is_not_taken_for_the_one_that_replaced_itself(
    session: Session, program: Write, tmp_path: Path
) -> None:
    path = program(
        """
        import os, sys
        if not os.path.exists("again"):
            open("again", "w").close()
            os.execvp("sleep", ["sleep", "600"])
        """
    )
    session.launch(path, debug_subprocesses=True, cwd=str(tmp_path), wait=20)
    assert session.get()["reason"].startswith("the process replaced itself (exec) by: ")
    again = session.post("/restart", {"wait": 20})
    assert (again["reason"], again["exit_code"]) == ("exited", 0)


def test_many_short_children_leave_nothing_behind(relay: Relay, session: Session, program: Write) -> None:
    path = program(
        """
        import os, sys
        for number in range(int(sys.argv[1])):
            pid = os.fork()
            if pid == 0:
                number += 1  # @log
                os._exit(number % 7)
            assert os.waitpid(pid, 0)[1] >> 8 == (number + 1) % 7
        print("done")  # @done
        """
    )
    session.break_at(path, "log", log_message="number {number}")
    session.break_at(path, "done")
    stop = session.launch(path, args=["30"], debug_subprocesses=True)
    assert (stop["status"], stop["current_location"]["line"]) == ("paused", line_of(path, "done"))
    children = family(session, 30)
    assert sorted(int(child.output("console").split()[1]) for child in children) == list(range(30))
    assert [ended(child)["exit_code"] for child in children[:8]] == [1, 2, 3, 4, 5, 6, 0, 1]
    runner = relay.runner_of(session)
    assert runner.num_fds() < 40
    assert [process.pid for process in runner.children(recursive=True)] == [session.get()["pid"]]
    assert session.resume()["exit_code"] == 0


def test_children_behave_as_without_a_debugger(session: Session, program: Write) -> None:
    path = program(
        """
        import os, subprocess, sys
        os.chdir(os.path.dirname(os.path.abspath(__file__)))
        def write(name, text, mode=0o644):
            with open(name, "w") as file:
                file.write(text)
            os.chmod(name, mode)
        def run(*args, **options):
            done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
            print(args[1:], done.returncode, done.stdout, done.stderr, flush=True)
        look = "import os, sys; print(__name__, sys.argv, sys.path[0], sys.flags[:6], globals().get('__file__'), "
        look += "getattr(sys, 'orig_argv', [''])[1:], sorted(name for name in os.environ if name[:2] in ('PY', 'OP')))"
        write("look.py", look)
        write("wrong.py", "def f(:")
        write("tool", "#!" + sys.executable + " -s\\n" + look, 0o755)
        python, clean = sys.executable, {"PATH": os.environ["PATH"]}
        run(python, "look.py", "a", "", "-x", env=clean)
        run(python, "-I", "-c", look, "1", env=clean)
        run(python, "-Wignore", "-m", "look", env=clean, cwd=os.getcwd())
        run("./tool", env=clean)
        run(python, "wrong.py")
        run(python, "missing.py")
        run(python, "-c", "raise ValueError(1)")
        run(python, "-c", "import sys; print(sys.stdin.read())", input=b"text")
        run(python, "-c", "print(1)", preexec_fn=os.setsid)
        reading, writing = os.pipe()
        run(python, "-c", "import os, sys; os.write(int(sys.argv[1]), b'x')", str(writing), pass_fds=[writing])
        print(os.read(reading, 9))
        """
    )
    plain = subprocess.run([sys.executable, "-Xfrozen_modules=off", path], capture_output=True, text=True, timeout=60)
    with_debugger = session.launch(path, debug_subprocesses=True, stop_on_exception=False, python_path=sys.executable)
    assert (with_debugger["status"], session.output("stderr")) == ("terminated", plain.stderr)
    # The number of the pipe is another, and children know the session that they belong to.
    assert numbered(session.output()) == numbered(plain.stdout)
    assert sum(event["debuggable"] for event in spawns(session)) == 8


def numbered(text: str) -> str:
    text = text.replace("\\'OPENCODE_DEBUG_SESSION\\', ", "").replace("\\'OPENCODE_DEBUG_SESSION\\'", "")
    return "\n".join(line for line in text.splitlines() if "os.write" not in line)


def test_attached_programs_start_children_freely(session: Session, program: Write) -> None:
    """Their debugpy would have the children wait for somebody who answers."""
    path = program(
        """
        import os, subprocess, sys
        print("ready", flush=True)
        sys.stdin.readline()
        pid = os.fork()
        if pid == 0:
            os._exit(3)
        print(os.waitpid(pid, 0)[1] >> 8, subprocess.run([sys.executable, "-c", ""]).returncode, flush=True)
        """
    )
    with listening(path) as (target, port):
        session.post("/attach", {"host": "127.0.0.1", "port": port})
        target.tell("go")
        assert target.says() == "3 0"
        assert target.finish()[0] == 0
        assert [event["debuggable"] for event in spawns(session)] == [False, False]


# Whoever stands in the way.


def test_a_child_whose_runner_is_gone_starts_as_it_was_meant_to(tmp_path: Path) -> None:
    import debugpy

    folder = ROOT / "src/opencode_debugger/debuggers/python"
    ours = "[name for name in os.environ if name.startswith(('PYDEVD', 'OPENCODE'))]"
    code = f"import os, sys; print(sys.argv, {ours}); sys.exit(4)"
    config = {
        "way": {"folder": str(tmp_path), "name": "gone", "token": "it", "greeting": "us", "user": os.geteuid()},
        "debugpy": os.path.dirname(debugpy.__file__),
        "inside": str(folder / "inside"),
        "kind": "code",
        "target": code,
        "args": ["a"],
        "executable": sys.executable,
        "command": [sys.executable, "-c", code, "a"],
        "orig_argv": [sys.executable, "-c", code, "a"],
        "is_marked": False,
        "marker": ["OPENCODE_DEBUG_SESSION", "sess_1"],
        "first_reference": 1000,
        "subprocesses": True,
        "environment": {"PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        "remove_environment": [],
    }
    done = subprocess.run(
        [sys.executable, str(folder / "launch/child_debugpy_launcher.py"), "a"],
        env={**os.environ, "OPENCODE_DEBUG_LAUNCH": json.dumps(config), "OPENCODE_DEBUG_SESSION": "sess_1"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "['-c', 'a'] []\n", "")


def test_who_does_not_know_the_token_or_says_nonsense_disturbs_nobody(session: Session, program: Write) -> None:
    child = program(CHILD, "child.py")
    path = program("import subprocess, sys\nfor _ in '12':\n    subprocess.run([sys.executable, sys.argv[1], '1'])\n")
    session.break_at(child, "double")
    session.launch(path, args=[str(child)], debug_subprocesses=True, wait=0, stop_on_exception=False)
    (first,) = family(session, 1)
    stopped(first)
    told = json.loads(psutil.Process(first.get()["pid"]).environ()["OPENCODE_DEBUG_LAUNCH"])
    with pytest.raises(OSError):
        reach(**{**told["way"], "token": "0" * 32})
    with contextlib.closing(reach(**told["way"])) as stranger:
        stranger.settimeout(10)
        assert b"evaluate" in stranger.recv(1000)
        stranger.sendall(framed(1, "evaluate", {"result": "nonsense"}))
        assert stranger.recv(1000) == b""
    assert first.resume()["exit_code"] == 2
    second = family(session, 2)[1]
    stopped(second)
    assert second.resume()["exit_code"] == 2
    assert ended(session)["exit_code"] == 0


def framed(request: int, command: str, body: Any) -> bytes:
    answer = {"type": "response", "request_seq": request, "seq": request, "success": True, "command": command}
    text = json.dumps({**answer, "body": body}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)


# The relay.

PAIR = """
import os, time
pid = os.fork()
if pid == 0:
    number = 1
    time.sleep(600)  # @child
os.waitpid(pid, 0)
time.sleep(600)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Relay]]:
    started: list[Relay] = []

    def start(**settings: Any) -> Relay:
        started.append(Relay(tmp_path / "relay" / "data", **settings).start())
        return started[-1]

    (tmp_path / "relay").mkdir()
    yield start
    for relay in started:
        assert relay.stop() in (0, -signal.SIGKILL)


def test_children_take_no_place_and_are_found_again_by_a_new_relay(own: Callable[..., Relay], program: Write) -> None:
    relay, path = own(max_sessions=1), program(PAIR)
    with Api(relay.base_url) as api:
        session = api.session()
        session.break_at(path, "child")
        session.launch(path, debug_subprocesses=True, wait=0)
        (child,) = family(session, 1)
        stopped(child)
        refused = refusal(429, "SESSION_LIMIT_REACHED", api.session)
        assert refused.details["active_sessions"] == 1
        pids = [session.get()["pid"], child.get()["pid"]]
        relay.kill()
        relay.start()
        listed = {item["session_id"]: item["parent_session_id"] for item in api.get("/sessions")["items"]}
        assert listed == {session.id: None, child.id: session.id}
        assert child.locals()["number"] == "1"
        assert session.get()["children"][0]["status"] == "paused"
        assert child.step("into", wait=0.1)["status"] == "running"
        session.delete()
        gone(*pids)
        assert api.get("/sessions")["items"] == []


def test_a_family_expires_together(own: Callable[..., Relay], program: Write) -> None:
    relay, path = own(session_timeout_seconds=2), program(PAIR)
    with Api(relay.base_url) as api:
        session = api.session()
        session.break_at(path, "child")
        session.launch(path, debug_subprocesses=True, wait=0)
        (child,) = family(session, 1)
        stopped(child)
        pids = [session.get()["pid"], child.get()["pid"]]
        holds_for(2.5, lambda: child.get("/ping")["status"] == "paused")
        assert session.get()["status"] == "running"
        gone(*pids)
        wait_until(lambda: not api.get("/sessions")["items"])
        for one in (session, child):
            assert refusal(410, "SESSION_EXPIRED", one.get).details["reason"] == "timeout"


def test_a_family_whose_runner_dies_has_failed(relay: Relay, session: Session, program: Write) -> None:
    path = program(PAIR)
    session.break_at(path, "child")
    session.launch(path, debug_subprocesses=True, wait=0)
    (child,) = family(session, 1)
    stopped(child)
    pids = [session.get()["pid"], child.get()["pid"]]
    relay.runner_of(session).kill()
    gone(*pids)
    assert [one.get("/status")["status"] for one in (session, child)] == ["failed", "failed"]
    assert child.delete()["final_status"] == "failed"
    assert session.delete()["final_status"] == "failed"
    for one in (session, child):
        refusal(404, "SESSION_NOT_FOUND", one.get)


def test_the_example_debugs_three_processes_of_four_threads_at_once(relay: Relay) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/three_processes.py"), f"http://127.0.0.1:{relay.port}"],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "3 processes are paused at once"
    for process in ("main", "spawned", "started"):
        counting = [line for line in lines if f"counts as '{process} " in line]
        assert sorted(line[-2] for line in counting) == ["1", "2", "3", "4"]
    assert sum("stopped 4 times, then terminated with exit code 0" in line for line in lines) == 3
    assert lines[-2:] == ["all done", "left running: []"]
