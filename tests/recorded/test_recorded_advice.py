"""Advice that is given only where something is in the way: a wait that is over, a program or runner that is stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
from clients import RestSession, Stage
from native import core_of
from places import STAND_IN
from recording import settled
from relays import Session, line_of
from targets import Target
from waiting import wait_until

LOOPS = "import time\nprint('up', flush=True)\nwhile True:\n    time.sleep(0.01)\n"


def test_waits_that_are_over(stage: Stage) -> None:
    loops = stage.write("loops.py", LOOPS)
    asks = stage.write("asks.py", "name = input('name? ')\nprint(name)\n")
    with stage.session() as session:
        session.launch(loops, wait=False, fields="location")
        session.printed("up")
        session.get("/report", wait=0.1, fields="location")
        session.post("/continue", {"wait": 0.1})
        session.post("/terminate", {"force": True})
        session.launch(asks, fields="location")
        session.post("/pause", {"wait": 0.3, "fields": "location"})
        session.get("/status")
        session.post("/terminate", {"force": True})
        (folder := stage.folder / "shell").mkdir()
        shell = folder / "waits.sh"
        shell.write_text("#!/bin/sh\nread line\necho $line\n")
        shell.chmod(0o755)
        session.launch(program=str(shell), stop_on_entry=True)
        session.post("/pause")
        session.get("/threads")
        session.post("/evaluate", {"expression": "1"})
        session.post("/breakpoints", {"file": str(loops), "line": 2})
        session.post("/stdin", {"input": "bye\n", "wait": 60})


def test_breakpoints_that_were_missed(stage: Stage) -> None:
    script = stage.write("misses.py", "def never():\n    one = 1\n    two = 2\n    return one, two\n\nprint('over')\n")
    with stage.session() as session:
        session.break_at(script, 2, condition="one")
        session.break_at(script, 3, hit_condition="3")
        session.break_at(script, 4)
        session.post("/breakpoints", {"function": "nobody"})
        session.launch(script)


def test_reports_within_a_budget(stage: Stage) -> None:
    text = """
def deeper(depth, filling="x" * 200):
    if depth:
        return deeper(depth - 1)
    for number in range(30):
        print("a line of output", number)
    raise ValueError("deep down" * 30)


class Holder:
    pass


deeper(30)
"""
    script = stage.write("deep.py", text)
    with stage.session() as session:
        for number in range(5):
            session.post("/watch", {"expression": f"[{number}, filling]"})
        session.launch(script, stop_on_exception="uncaught")
        for budget in (200, 400, 800, 1600, 3200):
            session.get("/report", budget=budget)


MADE = """
import types


def function():
    first = 1
    return first


code = function.__code__.replace(co_filename="<gone>")
types.FunctionType(code, globals())()  # @call
"""


def test_source_that_is_nowhere(stage: Stage) -> None:
    made = stage.write("made.py", MADE)
    with stage.session() as session:
        session.launch(made, stop_on_entry=True, fields="location")
        session.post("/run-to", {"line": line_of(made, "call"), "fields": "location"})
        session.step("into", fields="location")
        session.step("into", fields="location")
        session.get("/stacktrace")
        session.get("/source")
        session.post("/run-to", {"line": 2})
        session.post("/terminate")
        session.launch(code="x = 1\ny = 2\n", stop_on_entry=True, fields="location")
        session.post("/run-to", {"line": 2})


THREADS = """
import threading
import time

over = False


def spin():
    while not over:
        time.sleep(0.01)


threading.Thread(target=spin, name="spinner", daemon=True).start()
here = True  # @here
over = True
"""


def test_threads_that_run_beside_one_that_is_paused(stage: Stage) -> None:
    script = stage.write("spins.py", THREADS)
    with stage.session(stop_scope="thread") as session:
        session.break_at(script, "here")
        session.launch(script, fields="location")
        other = settled(lambda: spinner_of(session), bool)
        session.step("over", thread_id=other)
        session.post("/continue", {"thread_id": other})
        session.post("/pause", {"thread_id": 1})
        session.get("/status")
        session.post("/evaluate", {"expression": "over", "thread_id": other})
        session.get("/frames/0/variables", thread_id=other)
        session.resume(fields="location")


def spinner_of(session: RestSession) -> int | None:
    rows = session.quietly("/threads")["threads"]
    return next((row["id"] for row in rows if row["name"] == "spinner" and row["status"] == "running"), None)


def stop(pid: int) -> None:
    """Stop a process, and wait until it is."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)


def test_processes_that_are_stopped_or_gone(stage: Stage) -> None:
    script = stage.write("plain.py", "x = 1\ny = 2\n")
    with stage.session() as session:
        session.launch(script, stop_on_entry=True, fields="location")
        pid = session.quietly()["pid"]
        stop(pid)
        session.post("/evaluate", {"expression": "x"})
        os.kill(pid, signal.SIGCONT)
        runner = stage.relay.runner_of(Session(None, session.id))  # type: ignore[arg-type]
        session.rest.recording.add("(the runner is stopped)", pid=runner.pid)
        stop(runner.pid)
        session.get("/status")
        runner.send_signal(signal.SIGCONT)
        settled(lambda: session.quietly("/status"), bool)
        runner.kill()
        settled(lambda: session.quietly("/status"), lambda found: found and found["status"] == "failed")
        session.get()
        session.get("/status")
        session.get("/report")
        session.get("/output")
        session.post("/launch", {"code": "1"})
        session.post("/continue")
        session.get("/breakpoints")
        session.post("/clone")
        session.rest.get("/sessions")
        session.delete()


def test_programs_that_cannot_be_attached_to(stage: Stage) -> None:
    target = Target(["sleep", "1000"])
    try:
        with stage.session() as session, stage.session() as other:
            session.post("/attach", {"pid": target.pid, "adapter": "debugpy"})
            session.post("/attach", {"pid": target.pid, "adapter": "ez"})
            assert stage.relay.process is not None
            session.post("/attach", {"pid": stage.relay.process.pid})
            session.post("/attach", {"pid": target.pid, "adapter": "gdb", "connect_timeout": 60, "fields": "location"})
            other.post("/attach", {"pid": target.pid, "adapter": "gdb"})
            session.get("/threads/1/stacktrace")
            session.post("/evaluate", {"expression": "1"})
            session.post("/pause", {"wait": 60, "fields": "location"})
            session.post("/evaluate", {"expression": "> continue", "context": "repl"})
            session.post("/evaluate", {"expression": "> info line main", "context": "repl"})
            session.get("/memory", address="main()")
            session.post("/hover", {"expression": "main()"})
            session.post("/detach")
            stop(target.pid)
            other.post("/attach", {"pid": target.pid, "adapter": "gdb"})
            os.kill(target.pid, signal.SIGCONT)
    finally:
        target.end()
    with stage.session() as session:
        session.launch(program="/bin/sleep", args=["1000"], debugger="gdbserver", wait=False)
        session.post("/breakpoints", {"function": "main"})
        session.post("/terminate", {"force": True})


EZ = """
do main() {
    temp x int = 1
    temp y int = 2  // @second
    as_long_as x > 0 {
        x = 1
    }
}
"""


def test_an_ez_program_that_runs(stage: Stage) -> None:
    tour = stage.write("loops.ez", EZ)
    how = {"debugger_path": str(STAND_IN)}
    with stage.session() as session:
        session.break_at(tour, "second")
        session.launch(tour, **how, fields="location")
        session.post("/evaluate", {"expression": "main()"})
        session.post("/evaluate", {"expression": "x +"})
        session.delete("/breakpoints")
        session.post("/continue")
        session.get("/threads/1/stacktrace")
        session.post("/pause", {"wait": 0.3})
        session.post("/breakpoints", {"file": str(tour), "line": line_of(tour, "second") + 2})
        session.get("/report", wait=60, fields="location")
        session.post("/terminate", {"force": True})


def test_refusals_of_programs(stage: Stage) -> None:
    """Launches, breakpoints and questions that are refused before anything runs."""
    tour, crash = stage.build("tour"), stage.build("crash")
    native, plain = str(tour.program), str(stage.write("plain.py", "def f():\n    return 1\n\n\nf()\n"))
    unmarked = stage.write("unmarked", "")
    unmarked.write_bytes(tour.program.read_bytes())
    unmarked.chmod(0o644)
    scripts = {
        "binary": "\0\1\2",
        "nowhere.sh": "#!/nowhere/sh\n",
        "windows.sh": "#!/bin/sh\r\n",
        "nobody.sh": "#!\n",
        "good.sh": "#!/bin/sh\n",
    }
    for name, text in scripts.items():
        stage.write(name, text).chmod(0o755)
    with stage.session() as session:
        for name in scripts:
            session.post("/launch", {"program": name, "adapter": "gdb"})
        refused = [
            {"program": str(unmarked)},
            {"program": str(core_of(crash))},
            {"program": native, "core": plain},
            {"program": native, "core": native},
            {"program": native, "adapter": "debugpy"},
            {"program": native, "adapter": "gdb", "debugger": "lldb-server"},
            {"program": native, "adapter": "lldb", "debug_subprocesses": True},
            {"program": native, "adapter": "lldb", "recordable": True},
            {"program": native, "debugger_path": native},
            {"program": native, "tunnel_only": True, "core": str(core_of(crash))},
            {"program": "good.sh", "tunnel_only": True},
            {"script": plain, "core": plain},
            {"script": "good.sh", "python_args": ["-B"], "wait": 60},
            {"script": str(tour.source)},
        ]
        for body in refused:
            session.post("/launch", body)
        session.post("/exception-breakpoints", {"exceptions": ["StopIteration"]})
        session.post("/breakpoints", {"function": "f"})
        session.patch("/breakpoints/bp_1", {"line": 2})
        session.post("/breakpoints", {"file": plain, "line": 1})
        session.post("/breakpoints", {"function": "f()"})
        session.ask("GET", "/output?" + "&".join(f"a{number}=1" for number in range(200)))
        session.launch(Path(plain), fields="location")
        session.get("/source", path=plain, frame_id=0)
        session.get("/source", path=plain, start_line=99)
    with stage.session() as session:
        session.post("/attach", {"port": 1, "debugger": "gdbserver", "connect_timeout": 1})
        session.post("/attach", {"port": 1, "debugger": "lldb-server", "adapter": "gdb"})
