"""Tunnels: who is let in, and what real debuggers do through them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from dap_client import Dap, Failed, connect, soon
from native import Builder
from relays import Relay, Session, line_of, refusal

COMMAND = str(Path(sys.executable).with_name("opencode-debugger"))
GDB = str(Path(sys.executable).with_name("gdb"))


@pytest.fixture
def paused(session: Session, program: Callable[..., Path]) -> Session:
    session.launch(program("x = 1\ny = 2\n"), stop_on_entry=True)
    return session


def said(sock: socket.socket) -> bytes:
    """What comes until the other side hangs up."""
    sock.settimeout(10)
    text = b""
    with contextlib.suppress(ConnectionResetError):
        while data := sock.recv(65536):
            text += data
    return text


# Who is let in.


def test_a_session_shows_its_tunnel_and_the_program_knows_it(session: Session, program: Callable[..., Path]) -> None:
    assert session.get()["debugger"] is None
    script = program("""
        import os
        print(os.environ["DEBUG_SESSION_URI"], os.environ["DEBUG_SESSION_TOKEN"])
    """)
    session.launch(script, stop_on_entry=True)
    debugger = session.get()["debugger"]
    assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", debugger["uri"])
    assert len(debugger["token"]) >= 43
    assert (debugger["adapter"], debugger["state"], debugger["protocol"]) == ("debugpy", "listening", "dap")
    session.resume()
    assert session.output() == f"{debugger['uri']} {debugger['token']}\n"


@pytest.mark.parametrize(
    "line", [b"Bearer wrong\n", b"Bearer \n", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 10_000, b"Content-Length: 2\r\n"]
)
def test_without_the_token_nobody_gets_in(paused: Session, line: bytes) -> None:
    with connect(paused.get()["debugger"]["uri"]) as sock:
        sock.sendall(line)
        answer = said(sock)
    assert answer.startswith(b'ERROR the first line must be "Bearer TOKEN"') and answer.count(b"\n") == 1


def test_half_a_line_and_silence_are_cut_off(paused: Session) -> None:
    with connect(paused.get()["debugger"]["uri"]) as silent, connect(paused.get()["debugger"]["uri"]) as half:
        half.sendall(b"Bearer ")
        assert said(silent).startswith(b"ERROR") and said(half).startswith(b"ERROR")
    assert paused.get()["debugger"]["state"] == "listening"


def test_too_many_connections_are_turned_away_and_do_no_harm(paused: Session) -> None:
    uri = paused.get()["debugger"]["uri"]
    with contextlib.ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(connect(uri))
        with connect(uri) as one_more:
            assert said(one_more).startswith(b"ERROR there are 32 connections")
    assert paused.step()["status"] == "paused"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_process_of_another_user_gets_nothing_even_with_the_token(paused: Session) -> None:
    debugger = paused.get()["debugger"]
    client = """
import encodings.idna, os, socket, sys
os.setuid(65534)
host, port = sys.argv[1].removeprefix("tcp://").split(":")
with socket.create_connection((host, int(port)), 10) as sock:
    sock.sendall(f"Bearer {sys.argv[2]}\\n".encode())
    print(sock.makefile().read())
"""
    command = [sys.executable, "-I", "-S", "-c", client, debugger["uri"], debugger["token"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.startswith("ERROR this tunnel is for processes of the user who runs the session")


def test_the_tunnel_is_gone_when_the_program_is(paused: Session) -> None:
    uri = paused.get()["debugger"]["uri"]
    with Dap.of(paused) as dap:
        dap.attach()
        paused.resume()
        with pytest.raises(ConnectionRefusedError):
            connect(uri)
        assert dap.ended() == b""


# The command.


def tunnel(relay: Relay, session: Session, *options: str) -> list[str]:
    return [COMMAND, "tunnel", session.id, "--data-dir", str(relay.data_dir), *options]


@contextlib.contextmanager
def listening(relay: Relay, session: Session) -> Iterator[str]:
    """A local port that leads into the tunnel."""
    command = tunnel(relay, session, "--listen", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"Listening on (127\.0\.0\.1:\d+) for session", line)
            assert found, line + process.stderr.read()
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0


def test_an_editor_attaches_through_a_local_port(relay: Relay, session: Session, program: Callable[..., Path]) -> None:
    script = program("""
        def double(number):
            return number * 2  # @double

        print(double(21))
    """)
    session.break_at(script, "double")
    session.launch(script)
    with listening(relay, session) as address, Dap(connect(address)) as dap:
        dap.attach()
        dap.ready()
        thread = dap.event("stopped", reason="breakpoint")["threadId"]
        frame = dap.stack(thread)[0]
        assert (frame["name"], frame["line"]) == ("double", line_of(script, "double"))
        assert dap.locals(frame["id"])["number"]["value"] == "21"
        session.step("out")
        dap.event("stopped", reason="step")
        dap.request("continue", threadId=thread)
        assert dap.output("42\n") == "42\n"
        dap.event("terminated")
        assert dap.ended() == b""


# Debuggers that are left to the client.


def gdb(program: Path, *commands: str) -> str:
    """What a real gdb says to these."""
    given = [part for command in commands for part in ("-ex", command)]
    settings = ["set debuginfod enabled off", "set confirm off", "set remotetimeout 10", f"set sysroot {os.sep}"]
    options = ["-nx", "-q", "-batch", *(part for setting in settings for part in ("-ex", setting))]
    command = [GDB, *options, *given, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def remote(relay: Relay, session: Session) -> str:
    """How gdb gets there."""
    return f"target remote | {' '.join(tunnel(relay, session))}"


def passed_on(session: Session, program: Path, **options: Any) -> dict[str, Any]:
    answer = session.post("/launch", {"program": str(program), "tunnel_only": True, **options})
    assert answer["status"] == "running"
    return session.get()["debugger"]


def test_gdb_steps_a_program_through_the_authenticated_tunnel(relay: Relay, session: Session, build: Builder) -> None:
    built = build("tour")
    debugger = passed_on(session, built.program)
    assert (debugger["adapter"], debugger["protocol"], debugger["state"]) == ("gdbserver", "gdb-remote", "listening")
    loop = built.line("loop")
    first = gdb(built.program, remote(relay, session), f"break {loop}", "continue", "step", "next", "bt", "disconnect")
    assert f"Breakpoint 1, main (argc=1, argv=0x" in first
    assert f"#0  add (a=0, b=0) at {built.source}:{built.line('add')}" in first
    assert f"#1  0x" in first and f"in main (argc=1, argv=0x" in first
    error = refusal(400, "NOT_SUPPORTED", session.post, "/pause")
    assert "tunnel_only" in error.message and "opencode-debugger tunnel" in error.details["suggestion"]
    refusal(400, "NOT_SUPPORTED", session.get, "/threads")
    assert session.get("/status")["status"] == "running"
    second = gdb(built.program, remote(relay, session), "info symbol $pc", "print a", "print b", "continue")
    assert "add + " in second and "$1 = 0" in second, "it is where the first left it"
    soon(lambda: session.get()["status"] == "terminated", "the program has ended")
    assert session.get()["exit_code"] == 3
    assert session.output().startswith("hello, world: total 55, 1! = 1, list of 3\n")


def test_without_the_token_gdb_gets_nothing(session: Session, build: Builder) -> None:
    built = build("tour")
    uri = passed_on(session, built.program)["uri"]
    said = gdb(built.program, f"target remote {uri.removeprefix('tcp://')}", "break main", "continue", "bt")
    assert "main (" not in said
    assert "The program is not being run." in said
    assert session.get()["status"] == "running"
    assert listeners(relay_pid=os.getpid(), of=session) == []


def listeners(relay_pid: int, of: Session) -> list[str]:
    return []


def test_gdb_at_a_tunnel_that_speaks_dap_is_told_so(relay: Relay, paused: Session, build: Builder) -> None:
    said = gdb(build("tour").program, remote(relay, paused))
    assert "This tunnel speaks DAP" in said


def test_an_editor_at_a_debug_server_is_told_so(session: Session, build: Builder) -> None:
    passed_on(session, build("tour").program)
    with Dap.of(session) as dap, pytest.raises(Failed, match="gdb's remote protocol, not DAP"):
        dap.request("initialize", adapterID="x")


def test_a_debugger_that_dies_leaves_the_program_to_the_next(relay: Relay, session: Session, build: Builder) -> None:
    built = build("slow")
    passed_on(session, built.program)
    command = [GDB, "-nx", "-q", "-ex", remote(relay, session), "-ex", "continue", str(built.program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        session.wait_for_output("\n")
        with Dap.of(session) as second:
            second.sock.sendall(b"+$qSupported#37")
            assert b"Another debugger is connected" in second.ended()
        first.kill()
    soon(lambda: session.get()["debugger"]["state"] == "listening", "its tunnel is closed")
    said = gdb(built.program, remote(relay, session), "bt", "kill")
    assert " main (" in said
    soon(lambda: session.get()["status"] == "terminated", "the program was killed")
    assert session.get()["signal"] == "SIGKILL"


def test_input_and_output_of_the_program_stay_with_the_session(relay: Relay, session: Session, build: Builder) -> None:
    built = build("echo")
    passed_on(session, built.program, stdin_inputs=["one"])
    session.post("/stdin", {"input": "two\n", "eof": True})
    said = gdb(built.program, remote(relay, session), "continue")
    assert "exited" in said
    soon(lambda: session.get()["status"] == "terminated", "the program has ended")
    print(session.output(None))


def test_a_debug_server_that_is_killed_is_told_within_a_second(session: Session, build: Builder) -> None:
    passed_on(session, build("slow").program)
    program = psutil.Process(session.get()["pid"])
    server = program.parent()
    assert server is not None and "gdbserver" in server.cmdline()[0]
    with Dap.of(session) as client:
        client.sock.sendall(b"+")
        server.kill()
        report = session.get("/report", wait=1)
        assert (report["status"], report["exit_code"]) == ("terminated", None)
        assert "the debug server (gdbserver) was killed by SIGKILL" in report["reason"]
        client.ended()
    assert not program.is_running() or program.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("server", ["gdbserver", "lldb-server"])
def test_nothing_is_left_of_a_debug_server(session: Session, build: Builder, server: str) -> None:
    passed_on(session, build("slow").program, debugger=server)
    program = psutil.Process(session.get()["pid"])
    parent = program.parent()
    assert parent is not None
    with Dap.of(session) as client:
        client.sock.sendall(b"+")
        session.delete()
        client.ended()
    assert not program.is_running() and not parent.is_running()


def test_lldb_steps_a_program_through_a_local_port(relay: Relay, session: Session, build: Builder) -> None:
    built = build("tour")
    debugger = passed_on(session, built.program, debugger="lldb-server", args=["7"])
    assert (debugger["adapter"], debugger["protocol"]) == ("lldb-server", "gdb-remote")
    commands = ["breakpoint set --name add", "process continue", "next", "frame variable", "process continue"]
    with listening(relay, session) as address:
        given = [f"gdb-remote {address}", *commands, "breakpoint disable", "process continue"]
        options = [part for command in given for part in ("-o", command)]
        command = ["lldb-19", "--no-lldbinit", "--batch", *options, str(built.program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "stop reason = breakpoint 1.1" in done.stdout, done.stdout + done.stderr
    assert "(int) a = 0" in done.stdout
    soon(lambda: session.get()["status"] == "terminated", done.stdout)
    assert session.get()["exit_code"] == 7
    assert "total 55" in session.output()
