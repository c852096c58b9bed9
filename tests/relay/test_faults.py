"""What else can go wrong: strange files, full disks, stopped processes, garbage between our own processes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from relays import (
    RUN_ID,
    RUN_MARKER,
    Api,
    ApiError,
    Relay,
    Session,
    line_of,
    meanwhile,
    pythons,
    refusal,
    wait_for_requests,
)
from waiting import runs, soon, stop_process, wait_until

from opencode_debugger.files import socket_address
from opencode_debugger.persistence.breakpoint_store import BreakpointStore
from opencode_debugger.relay import session_table
from opencode_debugger.runner import rpc
from opencode_debugger.runner.paths import FORKS

Write = Callable[..., Path]

TOLD = 10
"""Seconds within which a client is told what takes 2 s on a machine that has nothing else to do."""
WORDS = {"last_status": "paused", "reason": "timeout", "name": "mine", "children": {}}
GARBAGE_RUNNER = """
import os, socket, sys

server = socket.socket(socket.AF_UNIX)
os.chdir(sys.argv[1])
server.bind("rpc.sock")
server.listen()
print("listens", flush=True)
connection = server.accept()[0]
while connection.recv(65536):
    connection.sendall(b'\\xff\\xfe\\n{"id": [1]}\\n{"method": "expired", "params": {}}\\n')
    connection.sendall(b'{"method": "child", "params": {"info": {}}}\\n{"id": 1, "result": ["garbage"]}\\n')
"""


def deep(levels: int = 100_000) -> bytes:
    return b"[" * levels + b"]" * levels


def fifo(path: Path) -> None:
    os.mkfifo(path, 0o600)


# The relay starts, whatever is in its folder.


@pytest.fixture(scope="module")
def surrounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """A relay in a folder full of things that do not belong there."""
    data = tmp_path_factory.mktemp("surrounded") / "data"
    sessions, breakpoints = data / "sessions", data / "breakpoints"
    for folder in (data, sessions, breakpoints):
        folder.mkdir(mode=0o700)
    contents = [b"null", b"[]", deep(), b'"text"', b'{"last_status": 1}', b"\xff", b'{"children": 3, "name": []}']
    folders = [sessions / f"sess_{number:08x}" for number in range(20)]
    for folder in folders:
        folder.mkdir()
    for folder, content in zip(folders, contents, strict=False):
        (folder / "final.json").write_bytes(content)
    fifo(folders[7] / "final.json")
    (folders[8] / "final.json").mkdir()
    (folders[9] / "final.json").symlink_to("nowhere")
    (folders[10] / "rpc.sock").write_text("no socket")
    (folders[11] / "rpc.sock").mkdir()
    fifo(folders[12] / "rpc.sock")
    (folders[13] / "detached").mkdir()
    fifo(folders[13] / "runner.log")
    with socket.socket(socket.AF_UNIX) as bound, contextlib.chdir(folders[14]):
        bound.bind("final.json")
    (folders[15] / "final.json").write_text(json.dumps(WORDS))
    (sessions / "sess_0000aaaa").write_text("a file")
    fifo(sessions / "sess_0000bbbb")
    (data / "elsewhere").mkdir()
    (data / "elsewhere" / "kept").touch()
    (sessions / "sess_0000cccc").symlink_to(data / "elsewhere")
    os.mkdir(os.fsencode(sessions) + b"/sess_\xff\xfe")
    (sessions / "no-session").mkdir()
    (data / "config.json").mkdir()
    fifo(data / "expired.json")
    fifo(data / "relay.lock")
    (data / "profiles").write_text("a file")
    root = data.parent / "project"
    root.mkdir()
    fifo(BreakpointStore(breakpoints).path_of(root))
    relay = Relay(data, spare_runners=0).start()
    yield relay
    assert relay.stop() == 0


def test_the_relay_starts_whatever_is_in_its_folder(surrounded: Relay) -> None:
    with Api(surrounded.base_url) as api:
        assert api.get("/sessions")["items"] == []
        error = refusal(410, "SESSION_EXPIRED", api.get, "/sessions/sess_0000000f")
        assert error.details["last_status"] == "paused"
        with api.session(project_root=str(surrounded.data_dir.parent / "project")) as session:
            assert session.get()["status"] == "created"
        assert api.post("/breakpoint-profiles", {"name": "new", "breakpoints": []})["name"] == "new"
    assert (surrounded.data_dir / "elsewhere" / "kept").exists()
    left = {path.name for path in (surrounded.data_dir / "sessions").iterdir()}
    assert {"sess_0000aaaa", "no-session"} <= left
    assert not {name for name in left if name.startswith("sess_000000")}
    log = surrounded.log.read_text()
    assert "Traceback" not in log
    assert "config.json is unusable" in log
    assert "sess_00000002 are unusable" in log


def test_profiles_whose_file_is_strange_are_told_as_unreadable(surrounded: Relay) -> None:
    folder = surrounded.data_dir / "profiles"
    with Api(surrounded.base_url) as api:
        api.post("/breakpoint-profiles", {"name": "good", "breakpoints": []})
        (folder / "deep.json").write_bytes(deep())
        fifo(folder / "pipe.json")
        (folder / "folder.json").mkdir()
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json")).touch()
        rows = {row["name"]: row for row in api.get("/breakpoint-profiles")["profiles"]}
        assert "error" not in rows["good"]
        for name in ("deep", "pipe", "folder"):
            assert rows[name]["error"]["code"] == "PROFILE_UNREADABLE"
            refusal(409, "PROFILE_UNREADABLE", api.get, f"/breakpoint-profiles/{name}")


def test_a_runner_that_answers_garbage_is_listed_as_failed_and_can_be_deleted(own_relay: Callable[..., Relay]) -> None:
    relay = own_relay()
    relay.stop()
    folder = relay.data_dir / "sessions" / "sess_0badbad0"
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-c", GARBAGE_RUNNER, str(folder)]
    garbage = subprocess.Popen(command, env={RUN_MARKER: RUN_ID}, stdout=subprocess.PIPE)
    try:
        assert garbage.stdout is not None and garbage.stdout.readline() == b"listens\n"
        relay.start()
        with Api(relay.base_url) as api:
            listed = api.get("/sessions")["items"]
            assert [(row["session_id"], row["status"]) for row in listed] == [("sess_0badbad0", "failed")]
            assert api.delete("/sessions/sess_0badbad0")["deleted"]
            assert api.get("/sessions")["items"] == []
        assert not folder.exists()
        assert "Traceback" not in relay.log.read_text()
    finally:
        garbage.kill()
        garbage.communicate()


@pytest.fixture
def own_relay(tmp_path: Path) -> Iterator[Callable[..., Relay]]:
    started: list[Relay] = []

    def make(**settings: Any) -> Relay:
        started.append(Relay(tmp_path / "data", **settings).start())
        return started[-1]

    yield make
    for relay in started:
        if relay.process is not None and relay.process.poll() == -signal.SIGKILL:
            relay.start()  # it takes care of what its predecessor left
        relay.stop()


# A disk that takes nothing.


@contextlib.contextmanager
def full_disk(relay: Relay) -> Iterator[None]:
    """No file of the relay may grow: each write fails, as on a disk that is full."""
    assert relay.process is not None
    before = resource.prlimit(relay.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(relay.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(relay.process.pid, resource.RLIMIT_FSIZE, before)


def test_what_a_full_disk_does_not_take_is_told(surrounded: Relay, tmp_path: Path, program: Write) -> None:
    path = program("a = 1\nb = 2\nc = 3\n")
    with Api(surrounded.base_url) as api, api.session(project_root=str(tmp_path)) as session:
        with full_disk(surrounded):
            item = {"source": {"path": str(path)}, "line": 1}
            answers = [
                session.post("/breakpoints", item),
                session.post("/breakpoints", {"breakpoints": [{**item, "line": 2}]}),
                session.patch("/breakpoints/bp_1", {"line": 3}),
            ]
            assert all("not saved for its project" in answer["warning"] for answer in answers)
            assert session.get("/breakpoints")["total"] == 2
            error = refusal(507, "STORAGE_FAILED", api.post, "/breakpoint-profiles", {"name": "x", "breakpoints": []})
            assert "not saved" in error.message
            refusal(404, "PROFILE_NOT_FOUND", api.get, "/breakpoint-profiles/x")
            refusal(507, "STORAGE_FAILED", api.patch, "/config", {"event_log_max": 50, "persist": True})
            assert api.get("/config")["settings"]["event_log_max"]["value"] == 10_000
            with api.session() as other:
                assert other.get()["status"] == "created"
        assert "warning" not in session.post("/breakpoints", item)
        saved = BreakpointStore(surrounded.data_dir / "breakpoints").load(tmp_path)
        assert [each["line"] for each in saved] == [1]


def test_a_session_that_cannot_be_started_is_refused_and_the_next_is_made(relay: Relay, api: Api) -> None:
    folder = relay.data_dir / "sessions"
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.write_text("in the way")
    try:
        error = refusal(503, "SESSION_NOT_STARTED", api.post, "/sessions", {})
        assert "sessions" in error.message
    finally:
        folder.unlink()
        aside.rename(folder)
    with api.session() as session:
        assert session.get()["status"] == "created"


def test_a_detach_that_cannot_be_noted_does_not_happen(relay: Relay, session: Session, program: Write) -> None:
    path = program("import time\nwhile True:\n    time.sleep(0.01)\n")
    session.launch(path, wait=False)
    folder = relay.data_dir / "sessions" / session.id
    (folder / "detached").symlink_to("nowhere/at/all")
    wait_until(lambda: session.get("/status")["status"] == "running")
    refusal(507, "STORAGE_FAILED", session.post, "/detach")
    assert session.get("/status")["status"] == "running"


# Processes that are stopped, or gone.


def test_a_stopped_runner_is_told_and_goes_on_later(relay: Relay, session: Session, program: Write) -> None:
    path = program("import time\nfor number in range(3):\n    time.sleep(0.01)  # @stop\n")
    session.break_at(path, "stop")
    session.launch(path)
    runner = relay.runner_of(session)
    stop_process(runner.pid)
    try:
        with soon(), meanwhile(session, lambda own: refusal(504, "DEBUGPY_TIMEOUT", own.step)) as step:
            error = refusal(504, "DEBUGPY_TIMEOUT", session.get, "/status")
            step.result(timeout=TOLD)
        assert str(runner.pid) in error.message and "-CONT" in error.details["suggestion"]
    finally:
        runner.resume()
    wait_until(lambda: session.get("/status")["status"] == "paused")  # what was asked is done now
    assert session.evaluate("number")["result"] in ("0", "1")
    assert session.resume()["current_location"]["line"] == line_of(path, "stop")


def test_a_call_that_takes_its_time_is_waited_for(session: Session, program: Write) -> None:
    path = program("import time\nx = 1  # @stop\n")
    session.break_at(path, "stop")
    session.launch(path)
    assert session.evaluate("time.sleep(2.5) or 'slept'")["result"] == "'slept'"


def test_a_program_that_a_signal_stopped_is_told_and_goes_on_later(session: Session, program: Write) -> None:
    path = program("import time\nx = 1\nwhile x < 2:  # @stop\n    time.sleep(0.01)\n")
    bp = session.break_at(path, "stop")[0]
    pid = session.launch(path)["pid"]
    stop_process(pid)
    try:
        with soon():
            assert "SIGSTOP" in session.get("/status")["message"]
            error = refusal(504, "DEBUGPY_TIMEOUT", session.evaluate, "x")
            assert f"kill -CONT {pid}" in error.message
    finally:
        os.kill(pid, signal.SIGCONT)
    assert wait_until(lambda: session.evaluate("x"))["result"] == "1"
    session.delete(f"/breakpoints/{bp['id']}")
    session.resume(wait=False)
    stop_process(pid)
    try:
        with soon():
            assert "SIGSTOP" in session.get("/report")["message"]
            refusal(504, "DEBUGPY_TIMEOUT", session.get, "/report", wait="60")
            refusal(504, "DEBUGPY_TIMEOUT", session.post, "/pause")
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: session.get("/status")["status"] == "paused")  # the pause was asked for
    stop_process(pid)
    assert session.delete()["deleted"]
    assert not runs(pid)


def are_ready(relay: Relay, count: int) -> bool:
    sockets = list((relay.data_dir / "sessions").glob("*/rpc.sock"))
    return len(sockets) == len(relay.runners()) == count


@pytest.fixture(scope="module")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """A relay whose only runners are spares."""
    relay = Relay(tmp_path_factory.mktemp("lonely") / "data", spare_runners=2).start()
    yield relay
    assert relay.stop() == 0


@pytest.mark.parametrize("fate", ["stopped", "killed"])
def test_new_sessions_come_also_when_the_process_that_forks_them_is_of_no_use(lonely: Relay, fate: str) -> None:
    with Api(lonely.base_url) as api, api.session() as kept:
        kept.launch(code="x = 1", stop_on_entry=True)
        wait_until(lambda: are_ready(lonely, 3))
        forks = psutil.Process(lonely.runner_of(kept).ppid())
        assert forks.cmdline()[-1].endswith(FORKS)
        stop_process(forks.pid) if fate == "stopped" else forks.kill()
        with api.session(), api.session(), api.session() as session:  # two were ready
            assert session.launch(code="x = 1")["status"] == "terminated"
        assert not runs(forks.pid)
        assert kept.evaluate("1 + 1")["result"] == "2"


@pytest.mark.parametrize("fate", ["stopped", "killed", "without its folder"])
def test_a_spare_that_is_of_no_use_fails_no_new_session(lonely: Relay, fate: str) -> None:
    with Api(lonely.base_url) as api:
        api.session().delete()  # by now the spares are ready
        before = wait_until(lambda: lonely.runners() if are_ready(lonely, 2) else None)
        for spare in before:
            if fate == "stopped":
                stop_process(spare.pid)
            elif fate == "killed":
                spare.kill()
            else:
                shutil.rmtree(spare.cmdline()[-1], ignore_errors=True)
        with soon(), api.session() as session:
            assert session.get()["status"] == "created"
    wait_until(lambda: not any(runs(spare.pid) for spare in before))


def test_a_session_found_again_while_its_runner_is_stopped_comes_back_when_it_goes_on(
    own_relay: Callable[..., Relay], program: Write
) -> None:
    relay = own_relay()
    path = program("x = 1\ny = 2  # @stop\n")
    with Api(relay.base_url) as api:
        session = api.session(name="mine")
        session.break_at(path, "stop")
        session.launch(path)
        runner = relay.runner_of(session)
    relay.kill()
    stop_process(runner.pid)
    try:
        relay.start()
        with Api(relay.base_url) as api:
            assert api.get("/sessions")["items"][0]["status"] == "failed"
    finally:
        runner.resume()
    with Api(relay.base_url) as api:
        session = Session(api, session.id)
        wait_until(lambda: session.get()["status"] == "paused")
        assert session.get()["name"] == "mine"
        assert session.resume()["exit_code"] == 0


def test_a_session_that_is_kept_is_kept_also_while_its_runner_is_stopped(own_relay: Callable[..., Relay]) -> None:
    relay = own_relay()
    assert relay.process is not None
    with Api(relay.base_url) as api:
        session = api.session()
        session.launch(code="input()", wait=False)
        runner = relay.runner_of(session)
        stop_process(runner.pid)
        try:
            text = {"input": "x" * 4_000_000}  # more than the socket takes
            with meanwhile(session, lambda own: own.post("/stdin", text)) as sent:
                wait_for_requests(relay, 1)
                api.post("/shutdown", {"keep_sessions": True})
            assert isinstance(sent.exception(timeout=TOLD), ApiError)
            assert relay.process.wait(20) == 0
        finally:
            runner.resume()
    relay.start()
    with Api(relay.base_url) as api:
        assert Session(api, session.id).get()["status"] == "running"
        Session(api, session.id).delete(force="true")


# Garbage between relay and runner.


def test_garbage_on_the_socket_of_a_runner_is_warned_of_and_disturbs_nobody(
    relay: Relay, session: Session, program: Write
) -> None:
    folder = relay.data_dir / "sessions" / session.id
    path = program("import time\nx = 1  # @stop\n")
    session.break_at(path, "stop")
    session.launch(path)
    with (
        meanwhile(session, lambda own: own.evaluate("time.sleep(0.5) or 'kept'")) as kept,
        socket.socket(socket.AF_UNIX) as stranger,
        socket_address(str(folder), "rpc.sock") as address,
    ):
        stranger.connect(address)
        stranger.settimeout(30)
        lines = [b"\xff\xfe", b'{"method": "\xff"}', b"[]", b"null", deep(2000), b"\0" * 1000]
        lines += [b'{"method": "give_up", "params": {"id": [1]}}', b'{"method": "nothing", "id": 1}']
        lines += [b'{"method": "configure", "id": 2, "params": {"limits": 3}}', b'{"method": "is_there", "id": 3}']
        stranger.sendall(b"\n".join(lines) + b"\n")
        with stranger.makefile("rb") as said:
            told = (json.loads(line) for line in said)
            answers = list(itertools.islice((each for each in told if "id" in each), 3))  # others hear of events too
        assert {answer["id"]: "error" in answer for answer in answers} == {1: True, 2: True, 3: False}
        assert kept.result(timeout=30)["result"] == "'kept'"
    log = (folder / "runner.log").read_text()
    assert "Traceback" not in log
    assert log.count("not a call") == 6


def test_a_line_without_end_is_not_collected_for_ever() -> None:
    lines = rpc.LineBuffer()
    piece = b"x" * (rpc.LONGEST // 2)
    assert lines.feed(piece) == []
    assert lines.feed(b"\n" + piece) == [piece]
    with pytest.raises(ValueError, match="a line of more than"):
        lines.feed(piece + b"x")


# Nothing is left of a session whose runner was killed.

DAEMON = """
import os, sys, time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sleep", ["sleep", "600"], {sys.argv[1]: sys.argv[2]})
    os._exit(0)
os.wait()
while True:
    time.sleep(0.01)
"""


def sleepers_of(runner: psutil.Process) -> list[int]:
    found = []
    for child in runner.children(recursive=True):
        with contextlib.suppress(psutil.Error):  # others come and go
            found += [child.pid] if child.cmdline()[:1] == ["sleep"] else []
    return found


def test_what_dropped_the_marker_is_gone_when_a_killed_runner_is_told(relay: Relay, api: Api, program: Write) -> None:
    path = program(DAEMON)
    kept, doomed = api.session(), api.session()
    pids = []
    try:
        for session in (kept, doomed):
            session.launch(path, args=[RUN_MARKER, RUN_ID], wait=False)
            runner = relay.runner_of(session)
            pids += wait_until(lambda runner=runner: sleepers_of(runner))
        let_go = kept.post("/detach")["pid"]
        kept.delete()
        pids.append(let_go)
        runner.kill()
        assert doomed.get()["status"] == "failed"
        assert [runs(pid) for pid in pids] == [True, False, True]
        doomed.delete()
        assert runs(pids[0])
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in pids))  # collected, too


def test_children_of_the_relay_that_are_from_no_session_are_left_alone(own_relay: Callable[..., Relay]) -> None:
    relay = own_relay(started_by=("sh", "-c", 'setsid sleep 600 & exec "$@"', "--"))
    assert relay.process is not None
    (sleeper,) = wait_until(lambda: [each.pid for each in sleepers(relay)])
    try:
        with Api(relay.base_url) as api, api.session() as session:
            session.launch(code="x = 1")
            session.delete()
        assert runs(sleeper)
    finally:
        os.kill(sleeper, signal.SIGKILL)


def test_a_relay_that_is_started_without_its_streams_works(own_relay: Callable[..., Relay]) -> None:
    relay = own_relay(started_by=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "--"))
    with Api(relay.base_url) as api, api.session() as session:
        assert session.launch(code="import sys\nprint('said', file=sys.stderr)")["exit_code"] == 0
        assert session.output("stderr") == "said\n"


def sleepers(relay: Relay) -> list[psutil.Process]:
    assert relay.process is not None
    return [each for each in psutil.Process(relay.process.pid).children() if each.name() == "sleep"]


def test_who_came_while_no_session_ended_and_who_cannot_be_ended_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there, killed = {1}, set[int]()

    def kill(pid: int, number: int) -> None:
        if pid == 4:
            raise PermissionError
        killed.add(pid)
        there.discard(pid)

    monkeypatch.setattr(session_table, "_find_orphans", lambda: set(there))
    monkeypatch.setattr(session_table, "marker_of", lambda pid: None)
    monkeypatch.setattr(os, "kill", kill)
    known = session_table.OrphanProcesses()
    there.add(2)
    known.look_again()
    with known.awaiting_end():
        there.add(3)
        known.look_again()
        known.look_again()
    known.look_again()
    there.update((4, 5))
    asyncio.run(known.end_new("sess_x"))
    assert (there, killed) == ({1, 2, 3, 4}, {5}), "3 was there for two looks after all had ended"


GDB_AT_WORK = """\
#!/bin/sh
case "$*" in *--version*) echo "GNU gdb (stand-in) 18.1"; exit;; esac
echo $$ > {0}/begun.new && mv {0}/begun.new {0}/begun
while [ ! -e {0}/go ]; do sleep 0.05; done
"""


def test_a_gdb_that_has_a_program_in_its_hands_is_not_ended_with_its_runner(
    own_relay: Callable[..., Relay], tmp_path: Path, program: Write
) -> None:
    stand_in = program(GDB_AT_WORK.format(tmp_path), "gdb")
    stand_in.chmod(0o700)
    relay = own_relay(gdb_path=str(stand_in))
    target = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        with Api(relay.base_url) as api, api.session() as session:
            with meanwhile(session, lambda session: session.post("/attach", {"pid": target.pid})) as attach:
                gdb = int(wait_until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").read_text()))
                assert psutil.Process(gdb).cwd() == "/", "a folder of its own would be left behind"
                relay.runner_of(session).kill()
                assert isinstance(attach.exception(), ApiError)
            assert session.get()["status"] == "failed"
            assert runs(gdb)
            (tmp_path / "go").touch()
            wait_until(lambda: not psutil.pid_exists(gdb))  # collected, too
    finally:
        (tmp_path / "go").touch()
        target.kill()
        target.wait()


# After code that harms its own debugger.

HARM = [
    "(lambda f: f(f))(lambda f: f(f))",
    "import sys, threading; sys.settrace(None); threading.settrace(None); sys.setprofile(None)",
    "import sys; sys.modules.clear()",
    "import gc; gc.disable()",
    "import builtins, sys, threading; builtins.print = None; threading.Thread = None; del sys.stdout",
    "raise KeyboardInterrupt",
    "raise SystemExit(3)",
    "raise GeneratorExit",
    "import sys; sys.setrecursionlimit(60)",
]
ENDS = ["os._exit(3)", "signal.alarm(1)", "[os.close(number) for number in range(3, 30)]"]
STEPS = """
x = 1
while True:
    y = 2  # @stop
    z = 3  # @next
"""


@pytest.mark.parametrize("version", pythons("3.8", "3.11", "3.13"))
def test_a_session_answers_after_an_evaluation_that_harms_its_debugger(api: Api, version: str, program: Write) -> None:
    path = program(STEPS)
    with api.session(python_path=str(pythons(version)[version])) as session:
        session.break_at(path, "stop")
        session.launch(path)
        for harm in HARM:
            session.evaluate(harm)
            assert session.evaluate("x + 1")["result"] == "2"
            assert session.get("/status")["status"] == "paused"
            assert session.step()["current_location"]["line"] == line_of(path, "next")
            assert session.resume()["current_location"]["line"] == line_of(path, "stop")
        assert session.post("/restart", {"wait": 30})["current_location"]["line"] == line_of(path, "stop")


@pytest.mark.parametrize("end", ENDS)
def test_a_session_whose_program_ended_itself_or_its_debugger_says_so(
    session: Session, end: str, program: Write
) -> None:
    path = program(STEPS)
    session.break_at(path, "stop")
    session.launch(path)
    with contextlib.suppress(ApiError):
        session.evaluate(f"import os, signal; {end}", timeout=1)
    wait_until(lambda: session.get("/status")["status"] == "terminated")
    assert session.post("/restart", {"wait": 30})["current_location"]["line"] == line_of(path, "stop")
