"""Attaching to running programs by process id: any Python, whatever it does at the moment, and never any harm."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from relays import Api, ApiError, Relay, Session, line_of, pythons, refusal
from targets import Target, attach, listening, running, stopped
from waiting import stop_process, wait_until

from opencode_debugger.debuggers import trusted_gdb
from opencode_debugger.errors import RelayError

Write = Callable[..., Path]
PYTHONS = pythons("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")

ASKED = """
    import sys

    def answer(question):
        return question.upper()  # @here

    print("ready")
    for question in sys.stdin:
        print(answer(question.strip()))
    print("end")
"""
SLEEPING = """
    import os, sys, time

    print("ready")
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
        rounds = 1  # @here
    print("slept")
"""
BUSY = """
    import os, sys

    def spin():
        rounds = 0
        while rounds % 100 or not os.path.exists(sys.argv[1]):
            rounds += len([str(number) for number in range(101)])
            last = rounds  # @here

    print("ready")
    spin()
    print("spun")
"""
THREADS = """
    import os, queue, sys, threading, time

    done = queue.Queue()
    over = threading.Event()

    def compute(name):
        total = 0
        while not over.is_set():
            total += sum(range(50))  # @here
        done.put(name)

    def wait(name):
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        over.set()
        done.put(name)

    threads = [threading.Thread(target=work, args=(i,)) for i, work in enumerate((compute, wait, compute, wait))]
    for thread in threads:
        thread.start()
    print("ready")
    for thread in threads:
        thread.join()
    print(sorted(done.queue))
"""


@pytest.mark.parametrize("version", PYTHONS)
def test_a_program_that_waits_for_input_is_debugged_and_let_go(api: Api, version: str, program: Write) -> None:
    script = program(ASKED)
    with running(script, python=PYTHONS[version]) as target, api.session() as session:
        attached = attach(session, target)
        assert (attached["attached"], attached["status"], attached["pid"]) == (True, "running", target.pid)
        assert attached["program"]["command"].endswith(str(script))
        assert attached["program"]["python_version"] == version
        session.break_at(script, "here")
        target.tell("first")
        stop = stopped(session)
        assert (stop["stop_reason"], stop["current_location"]["line"]) == ("breakpoint", line_of(script, "here"))
        assert session.locals() == {"question": "'first'"}
        session.evaluate("question = 'changed'")
        answer = session.post("/detach")
        assert (answer["detached"], answer["status"], answer["reason"]) == (True, "terminated", "detached")
        assert answer["pid"] == target.pid
        assert target.says() == "CHANGED"
        target.tell("second")
        assert target.says() == "SECOND"
        assert target.finish() == (0, "end\n", "")


@pytest.mark.parametrize(
    ("kind", "version"),
    [("sleeping", "3.11"), ("busy", "3.8"), ("busy", "3.12"), ("threads", "3.9"), ("threads", "3.13")],
)
def test_attached_to_again_and_again_a_program_ends_as_it_would_have(
    api: Api, kind: str, version: str, program: Write, tmp_path: Path
) -> None:
    ends = {"sleeping": (SLEEPING, "slept\n"), "busy": (BUSY, "spun\n"), "threads": (THREADS, "[0, 1, 2, 3]\n")}
    text, end = ends[kind]
    script = program(text)
    with running(script, str(tmp_path / "over"), python=PYTHONS.get(version, Path(sys.executable))) as target:
        for _ in range(2):
            with api.session() as session:
                session.break_at(script, "here")
                stop = attach(session, target, wait=30)
                assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
                assert session.post("/detach")["detached"] is True
        (tmp_path / "over").touch()
        assert target.finish() == (0, end, "")


@pytest.mark.parametrize("version", [version for version in ("3.8", "3.11", "3.13") if version in PYTHONS])
def test_nothing_of_the_debugger_works_in_a_program_that_was_let_go(api: Api, version: str, program: Write) -> None:
    script = program(
        """
        import sys, threading

        def traced():
            tools = getattr(sys, "monitoring", None)
            return sys.gettrace(), [tools.get_tool(number) for number in range(6)] if tools else []

        def elsewhere(found):
            traced()
            found.append(traced())

        print("ready")
        before = sys.path[:], sys.breakpointhook, sys.getswitchinterval(), sorted(sys.argv)
        for line in sys.stdin:
            found = []  # @here
            thread = threading.Thread(target=elsewhere, args=(found,))
            thread.start()
            thread.join()
            same = before == (sys.path[:], sys.breakpointhook, sys.getswitchinterval(), sorted(sys.argv))
            print(traced(), found[0], same, [thread.name for thread in threading.enumerate()])
        """
    )
    with running(script, python=PYTHONS[version]) as target:
        target.tell("before")
        before = target.says()
        with api.session() as session:
            attach(session, target)
            session.break_at(script, "here")
            target.tell("stopped")
            stopped(session)
            session.post("/detach")
        target.says()
        target.tell("right after: its threads may have to make one more call")
        target.says()
        deadline = time.monotonic() + 30
        while target.tell("after") or (after := target.says()) != before:
            assert time.monotonic() < deadline, f"before: {before}, after: {after}"
        assert target.finish() == (0, "", "")


def test_a_session_attaches_in_the_call_that_creates_it_and_ends_when_the_program_dies(
    api: Api, program: Write
) -> None:
    script = program(ASKED)
    with running(script) as target:
        created = api.post("/sessions", {"mode": "attach", "pid": target.pid, "name": "mine"})
        with Session(api, created["session_id"]) as session:
            assert (created["status"], created["attached"], created["name"]) == ("running", True, "mine")
            assert created["pid"] == session.get()["pid"] == target.pid
            assert created["program"]["interpreter"] == os.path.realpath(sys.executable)
            listed = next(item for item in api.get("/sessions")["items"] if item["session_id"] == session.id)
            assert str(script) in listed["program"]
            target.process.kill()
            end = session.get("/report", wait=10)
            assert (end["status"], end["reason"], end["exit_code"]) == ("terminated", "exited", None)


def test_a_session_that_cannot_attach_is_gone_again(api: Api) -> None:
    before = api.get("/sessions")["total"]
    error = refusal(500, "ATTACH_FAILED", api.post, "/sessions", {"mode": "attach", "pid": 2**31 - 1})
    assert "no such process" in error.message
    assert api.get("/sessions")["total"] == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"mode": "attach"}, ""),
        ({"mode": "attach", "pid": 1, "port": 1}, ""),
        ({"mode": "attach", "pid": 1, "host": "localhost"}, "host"),
        ({"mode": "attach", "pid": 0}, "pid"),
        ({"mode": "detach"}, "mode"),
        ({"pid": 1}, "pid"),
        ({"mode": "launch", "connect_timeout": 5}, "connect_timeout"),
    ],
)
def test_what_to_attach_to_is_checked(api: Api, body: dict[str, object], field: str) -> None:
    error = refusal(400, "INVALID_REQUEST", api.post, "/sessions", body)
    assert [problem["field"] for problem in error.details["errors"]] == [field]


# What cannot be attached to.


def refused(session: Session, pid: int, **options: object) -> str:
    """Why; and the session is as before."""
    error = refusal(500, "ATTACH_FAILED", session.post, "/attach", {"pid": pid, **options})
    assert session.get()["status"] == "created"
    return error.message


def test_a_process_that_is_not_there(session: Session) -> None:
    assert "there is no such process" in refused(session, 2**31 - 1)


def test_a_process_that_has_ended(session: Session) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert "it has ended already" in refused(session, process.pid)
    finally:
        process.wait()


def test_a_process_that_is_not_python(session: Session) -> None:
    with subprocess.Popen(["sleep", "30"]) as process:
        try:
            assert "it is not a Python program" in refused(session, process.pid, adapter="debugpy")
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("version", [version for version in ("2.7", "3.7") if pythons(version).keys() == {version}])
def test_a_python_that_is_too_old(session: Session, version: str, program: Write) -> None:
    script = program("import time; print('ready'); time.sleep(30)")
    with running(script, python=pythons(version)[version]) as target:
        assert f"it runs Python {version}" in refused(session, target.pid)
        assert target.is_alive


def test_a_process_that_is_stopped_or_traced_or_debugged_already(api: Api, session: Session, program: Write) -> None:
    tracer = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0, os.strerror(ctypes.get_errno())  # PTRACE_SEIZE
print("traced", flush=True)
sys.stdin.read()
"""
    script = program(ASKED)
    with running(script) as target, api.session() as first:
        stop_process(target.pid)
        try:
            assert "it is stopped" in refused(session, target.pid)
        finally:
            os.kill(target.pid, signal.SIGCONT)
        other = Target([sys.executable, "-c", tracer, str(target.pid)])
        try:
            assert other.says() == "traced", other.finish()
            assert f"process {other.pid} traces it already" in refused(session, target.pid)
        finally:
            other.end()
        assert attach(first, target)["attached"] is True
        assert "it is being debugged already" in refused(session, target.pid)
        first.break_at(script, "here")
        target.tell("still debugged")
        stopped(first)
        first.post("/detach")
        assert target.finish() == (0, "STILL DEBUGGED\nend\n", "")


def test_the_relay_and_its_runners_are_refused(session: Session, relay: Relay) -> None:
    assert relay.process is not None
    for pid in (relay.process.pid, relay.runner_of(session).pid):
        assert "a process of the relay itself" in refused(session, pid)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a program as another user, and a relay too")
def test_a_program_of_another_user(tmp_path_factory: pytest.TempPathFactory, program: Write) -> None:
    script = "import os\nfrom opencode_debugger.debuggers.python.attach import attach_target\n"
    script += "os.setuid(65534)\nprint(attach_target.problem(%d).reason)"
    with running(program(ASKED)) as target:
        code = script % target.pid
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
        assert said.stdout == "it belongs to another user (uid 0)\n", said.stderr


@pytest.mark.parametrize(
    ("scope", "capable", "forbidden"), [(0, False, False), (1, False, True), (1, True, False), (3, True, True)]
)
def test_a_system_that_forbids_it(
    scope: int, capable: bool, forbidden: bool, program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opencode_debugger.debuggers.python.attach import attach_target as looking

    (tmp_path / "ptrace_scope").write_text(f"{scope}\n")
    monkeypatch.setattr(looking, "PTRACE_SCOPE", str(tmp_path / "ptrace_scope"))
    monkeypatch.setattr(looking, "has_ptrace_capability", lambda: capable)
    with running(program(ASKED)) as target:
        found = looking.problem(target.pid)
        assert (found is not None and f"ptrace_scope is {scope}" in found.reason) == forbidden


# Which gdb.


def fake_gdb(folder: Path, version: str) -> Path:
    path = folder / "gdb"
    folder.mkdir()
    path.write_text(f'#!/bin/sh\n[ "$2" = --version ] && echo "GNU gdb (Some Linux {version}-3) {version}"\n')
    path.chmod(0o755)
    return path


def test_a_gdb_that_is_named_is_used_and_refused_if_it_is_too_old(tmp_path: Path) -> None:
    assert trusted_gdb.find(str(fake_gdb(tmp_path / "new", "14.2"))).version == 14
    for setting in (str(fake_gdb(tmp_path / "old", "13.1")), "/no/such/gdb", "/bin/false"):
        with pytest.raises(RelayError, match="is not a gdb of version 14 or newer") as refused:
            trusted_gdb.find(setting)
        assert refused.value.code == "ATTACH_FAILED"
        assert "OPENCODE_DEBUG_GDB_PATH" in refused.value.details["suggestion"]


def test_the_packaged_gdb_comes_before_the_one_on_path_which_must_be_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{fake_gdb(tmp_path / 'new', '15.1').parent}:{os.environ['PATH']}")
    assert trusted_gdb.PACKAGE in trusted_gdb.find(None).command[0]
    monkeypatch.setattr(trusted_gdb, "PACKAGE", "no_such_package")
    assert trusted_gdb.find(None).command == (str(tmp_path / "new" / "gdb"),)
    monkeypatch.setenv("PATH", f"{fake_gdb(tmp_path / 'old', '13.1').parent}:{os.environ['PATH']}")
    with pytest.raises(RelayError, match="needs gdb 14 or newer, and there is none"):
        trusted_gdb.find(None)


def test_a_program_in_native_code_is_given_up_in_time_and_unharmed(session: Session, program: Write) -> None:
    script = program(
        """
        import ctypes, sys

        print("ready")
        ctypes.PyDLL(None).read(0, ctypes.create_string_buffer(1), 1)  # holds the interpreter's lock: no thread runs
        for line in sys.stdin:
            print(line.strip())  # @here
        """
    )
    with running(script) as target:
        error = refusal(504, "ATTACH_TIMEOUT", session.post, "/attach", {"pid": target.pid, "connect_timeout": 1})
        assert "it is busy, perhaps in native code" in error.message
        target.tell("-goes on")
        assert target.says() == "goes on"
        session.break_at(script, "here")
        attach(session, target)
        target.tell("debugged")
        stopped(session)
        session.post("/detach")
        assert target.finish() == (0, "debugged\n", "")


def test_giving_up_again_and_again_does_not_harm_a_program_nor_the_next_session(
    api: Api, program: Write, tmp_path: Path
) -> None:
    """gdb and the loading of the debugger are given up wherever they are."""
    script = program(THREADS)
    with running(script, str(tmp_path / "over"), python=PYTHONS.get("3.8", Path(sys.executable))) as target:
        for _ in range(3):
            with api.session() as session, contextlib.suppress(ApiError):
                session.post("/attach", {"pid": target.pid, "connect_timeout": 1})
        wait_until(lambda: is_untraced(target))
        with api.session() as session:
            session.break_at(script, "here")
            assert attach(session, target, wait=30)["status"] == "paused"
        (tmp_path / "over").touch()
        assert target.finish() == (0, "[0, 1, 2, 3]\n", "")


def test_a_program_that_ends_while_it_is_attached_to(session: Session, program: Write) -> None:
    read = "ctypes.PyDLL(None).read(0, ctypes.create_string_buffer(1), 1)"
    script = program(f"import ctypes, os; print('ready'); {read}; os._exit(0)")
    with running(script) as target, ThreadPoolExecutor(1) as pool:

        def end_when_gdb_has_left() -> None:
            wait_until(lambda: not is_untraced(target))
            wait_until(lambda: is_untraced(target))
            target.tell("now")

        ending = pool.submit(end_when_gdb_has_left)
        assert "ended while it was attached to" in refused(session, target.pid)
        ending.result()


def is_untraced(target: Target) -> bool:
    return "TracerPid:\t0\n" in Path(f"/proc/{target.pid}/status").read_text()


# By port.


def test_by_its_process_id_a_program_that_listens_is_attached_to_through_its_port(api: Api, program: Write) -> None:
    script = program(ASKED)
    with listening(script) as (target, port):
        for body in ({"pid": target.pid}, {"port": port}, {"pid": target.pid}):
            with api.session() as session:
                session.break_at(script, "here")
                attached = session.post("/attach", body)
                assert attached["pid"] == target.pid
                assert str(script) in attached["program"]["command"]
                target.tell("asked")
                stopped(session)
                assert session.post("/detach")["detached"] is True
                assert target.says() == "ASKED"
        assert target.finish()[0] == 0


def test_attached_to_through_its_port_a_program_can_be_attached_to_again_at_once(api: Api, program: Write) -> None:
    """debugpy's adapter ends, and its port with it, if a client that disconnects is gone before it was answered."""
    script = program(ASKED)
    with listening(script) as (target, port):
        for index in range(4):
            with api.session() as session:
                assert session.post("/attach", {"port": port})["status"] == "running"
                if index % 2:
                    session.post("/detach")
        target.tell("still there")
        assert target.says() == "STILL THERE"


def test_a_host_that_does_not_resolve(session: Session) -> None:
    target = {"host": "no-such-host.invalid", "port": 5678, "connect_timeout": 5}
    error = refusal(502, "ATTACH_REFUSED", session.post, "/attach", target)
    assert "no-such-host.invalid:5678" in error.message
    assert session.get()["status"] == "created"
