"""Tunnels: who is let in, and what real debuggers do through them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from dap_client import Dap, Failed, connect
from native import Builder
from places import DOCS
from relays import Api, Relay, Session, line_of, refusal
from waiting import runs, wait_until
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as ws_connect

COMMAND = str(Path(sys.executable).with_name("opencode-debugger"))
PAGE = DOCS / "tunnels.md"
GDB = str(Path(sys.executable).with_name("gdb"))


@pytest.fixture(scope="module")
def standing(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A paused program that nobody moves."""
    script = tmp_path_factory.mktemp("standing") / "program.py"
    script.write_text("x = 1\n")
    with api.session() as session:
        session.launch(script, stop_on_entry=True)
        yield session


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
def test_without_the_token_nobody_gets_in(standing: Session, line: bytes) -> None:
    with connect(standing.get()["debugger"]["uri"]) as sock:
        sock.sendall(line)
        answer = said(sock)
    assert answer.startswith(b'ERROR the first line must be "Bearer TOKEN"') and answer.count(b"\n") == 1


def test_half_a_line_and_silence_are_cut_off(standing: Session) -> None:
    uri = standing.get()["debugger"]["uri"]
    with connect(uri) as silent, connect(uri) as half:
        half.sendall(b"Bearer ")
        assert said(silent).startswith(b"ERROR") and said(half).startswith(b"ERROR")
    assert standing.get()["debugger"]["state"] == "listening"


def test_too_many_connections_are_turned_away_and_do_no_harm(paused: Session) -> None:
    debugger = paused.get()["debugger"]
    shown = f"Bearer {debugger['token']}\n".encode()
    with contextlib.ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(connect(debugger["uri"])).sendall(shown)
        wait_until(lambda: is_turned_away(debugger["uri"], shown))
    assert paused.step()["status"] == "paused"


def is_turned_away(uri: str, shown: bytes) -> bool:
    """Once all who came before are in."""
    with connect(uri) as one_more:
        one_more.sendall(shown)
        one_more.settimeout(0.2)
        try:
            return one_more.recv(100).startswith(b"ERROR there are 32 connections")
        except TimeoutError:
            return False


def test_who_shows_no_token_takes_no_place_of_those_who_do(paused: Session) -> None:
    debugger = paused.get()["debugger"]
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(debugger["uri"])) for _ in range(60)]
        with Dap.of(paused) as dap:
            assert dap.request("initialize", adapterID="x")
        assert said(silent[0]) == b"", "the oldest goes first"
        assert said(silent[-1]).startswith(b"ERROR the first line")


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
            try:
                assert process.wait(20) == 0
            finally:
                process.kill()


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
    answer = session.post("/launch", {"program": str(program), "tunnel_only": True, "wait": 60, **options})
    assert answer["status"] == "running" and f"opencode-debugger tunnel {session.id}" in answer["message"]
    return session.get()["debugger"]


def test_gdb_steps_a_program_through_the_authenticated_tunnel(relay: Relay, session: Session, build: Builder) -> None:
    built = build("tour")
    debugger = passed_on(session, built.program)
    assert (debugger["adapter"], debugger["protocol"], debugger["state"]) == ("gdbserver", "gdb-remote", "listening")
    loop = built.line("loop")
    first = gdb(built.program, remote(relay, session), f"break {loop}", "continue", "step", "next", "bt", "disconnect")
    assert "Breakpoint 1, main (argc=1, argv=0x" in first
    assert f"#0  add (a=0, b=0) at {built.source}:{built.line('add')}" in first
    assert "#1  0x" in first and "in main (argc=1, argv=0x" in first
    error = refusal(400, "NOT_SUPPORTED", session.post, "/pause")
    assert "tunnel_only" in error.message and "opencode-debugger tunnel" in error.details["suggestion"]
    refusal(400, "NOT_SUPPORTED", session.get, "/threads")
    refusal(400, "NOT_SUPPORTED", session.post, "/continue")
    refusal(400, "NOT_SUPPORTED", session.evaluate, "argc")
    assert session.get("/status")["status"] == "running"
    second = gdb(built.program, remote(relay, session), "info symbol $pc", "print a", "print b", "continue")
    assert "add + " in second and "$1 = 0" in second, "it is where the first left it"
    wait_until(lambda: session.get()["status"] == "terminated", lambda: "the program has ended")
    assert session.get()["exit_code"] == 3
    assert session.output().startswith("hello, world: total 55, 1! = 1, list of 3\n")


def test_without_the_token_gdb_gets_nothing(session: Session, build: Builder) -> None:
    built = build("tour")
    uri = passed_on(session, built.program)["uri"]
    said = gdb(built.program, f"target remote {uri.removeprefix('tcp://')}", "break main", "continue", "bt")
    assert "main (" not in said
    assert "The program is not being run." in said
    assert session.get()["status"] == "running"


@pytest.mark.parametrize("server", ["gdbserver", "lldb-server"])
def test_a_debug_server_has_no_port_of_its_own(session: Session, build: Builder, server: str) -> None:
    passed_on(session, build("tour").program, debugger=server)
    process = psutil.Process(session.get()["pid"]).parent()
    assert process is not None and server in process.cmdline()[0]
    assert process.net_connections("inet") == []


def test_gdb_at_a_tunnel_that_speaks_dap_is_told_so(relay: Relay, standing: Session, build: Builder) -> None:
    said = gdb(build("tour").program, remote(relay, standing))
    assert "This tunnel speaks DAP" in said


def test_an_editor_at_a_debug_server_is_told_so(session: Session, build: Builder) -> None:
    passed_on(session, build("tour").program)
    with Dap.of(session) as dap, pytest.raises(Failed, match="gdb's remote protocol, not DAP"):
        dap.request("initialize", adapterID="x")


def test_a_debugger_that_dies_leaves_the_program_to_the_next(relay: Relay, session: Session, build: Builder) -> None:
    built = build("slow")
    passed_on(session, built.program)
    commands = [f"set sysroot {os.sep}", remote(relay, session), "continue"]
    command = [GDB, "-nx", "-q", *(part for each in commands for part in ("-ex", each)), str(built.program)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdin=subprocess.PIPE, **silent) as first:
        session.wait_for_output("\n")
        with Dap.of(session) as second:
            second.sock.sendall(b"+$qSupported#37")
            assert b"Another client is connected" in second.ended()
        first.kill()
    wait_until(lambda: session.get()["debugger"]["state"] == "listening", lambda: "its tunnel is closed")
    said = gdb(built.program, remote(relay, session), "bt", "kill")
    assert " main (" in said
    wait_until(lambda: session.get()["status"] == "terminated", lambda: "the program was killed")
    assert session.get()["signal"] == "SIGKILL"


def test_input_and_output_of_the_program_stay_with_the_session(relay: Relay, session: Session, build: Builder) -> None:
    built = build("echo")
    passed_on(session, built.program, stdin_inputs=["one"])
    session.post("/stdin", {"input": "two\n", "eof": True})
    said = gdb(built.program, remote(relay, session), "continue")
    assert "exited" in said
    wait_until(lambda: session.get()["status"] == "terminated", lambda: "the program has ended")
    assert session.output() == "name? hello one\nname? hello two\nname? "
    assert session.output("stderr") == "2 lines\n"
    assert session.get()["exit_code"] == 2


def test_a_debug_server_that_is_killed_is_told_at_once(session: Session, build: Builder) -> None:
    passed_on(session, build("slow").program)
    program = psutil.Process(session.get()["pid"])
    server = program.parent()
    assert server is not None and "gdbserver" in server.cmdline()[0]
    with Dap.of(session) as client:
        client.sock.sendall(b"+")
        server.kill()
        report = session.get("/report", wait=10)
        assert (report["status"], report["exit_code"]) == ("terminated", None)
        assert "the debug server (gdbserver) was killed by SIGKILL" in report["reason"]
        client.ended()
    wait_until(lambda: not runs(program.pid))


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


def test_lldb_steps_a_program_as_the_page_on_tunnels_says(relay: Relay, session: Session, build: Builder) -> None:
    built = build("tour")
    (example,) = re.findall(r"```sh\n([^`]*\nlldb .*)\n```", PAGE.read_text(encoding="utf-8"))
    launch = json.loads(re.search(r"-d '(.*)'", example)[1])
    debugger = passed_on(session, **{**launch, "program": built.program, "args": ["7"]})
    assert (debugger["adapter"], debugger["protocol"]) == ("lldb-server", "gdb-remote")
    commands = ["breakpoint set --name add", "process continue", "next", "frame variable", "process continue"]
    with listening(relay, session) as address:
        line = example.splitlines()[-1].replace("127.0.0.1:5690", address).replace("/home/dev/app", str(built.program))
        given = [*commands, "breakpoint disable", "process continue"]
        then = [part for command in given for part in ("-o", command)]
        command = ["lldb-19", *shlex.split(line)[1:], "--no-lldbinit", "--batch", *then]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "stop reason = breakpoint 1.1" in done.stdout, done.stdout + done.stderr
    assert "(int) a = 0" in done.stdout
    wait_until(lambda: session.get()["status"] == "terminated", lambda: done.stdout)
    assert session.get()["exit_code"] == 7
    assert "total 55" in session.output()


def test_the_debugger_of_a_python_program_is_left_to_the_client(session: Session, program: Callable[..., Path]) -> None:
    script = program("""
        import sys
        number = int(sys.stdin.readline())  # @read
        print(number * 2)  # @print
        sys.exit(number)
    """)
    answer = session.launch(script, tunnel_only=True, wait=0, stdin_inputs=["4"])
    assert (answer["status"], session.get()["debugger"]["protocol"]) == ("running", "dap")
    assert refusal(400, "NOT_SUPPORTED", session.get, "/threads").details["suggestion"]
    for is_first in (True, False):
        with Dap.of(session) as dap:
            dap.request("initialize", adapterID="test", pathFormat="path")
            attaching = dap.send("attach", justMyCode=False)
            dap.event("initialized")
            if is_first:
                continue  # nothing runs before a client has said what it wants
            assert session.output() == ""
            lines = [{"line": line_of(script, "print")}]
            dap.request("setBreakpoints", source={"path": str(script)}, breakpoints=lines)
            dap.request("configurationDone")
            dap.answer(attaching)
            thread = dap.event("stopped", reason="breakpoint")["threadId"]
            frame = dap.stack(thread)[0]["id"]
            assert dap.request("evaluate", expression="number", frameId=frame)["result"] == "4"
            with Dap.of(session) as other, pytest.raises(Failed, match="Another client is connected"):
                other.request("initialize")
            assert dap.request("evaluate", expression="number + 1", frameId=frame)["result"] == "5"
    wait_until(lambda: session.get()["status"] == "terminated")  # who leaves without a word lets it run on
    assert (session.output(), session.get()["exit_code"]) == ("8\n", 4)


# Through the relay.


@contextlib.contextmanager
def websocket(relay: Relay, session_id: str, token: str | None, prefix: str = "") -> Iterator[ClientConnection]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"ws://127.0.0.1:{relay.port}{prefix}/sessions/{session_id}/tunnel"
    with ws_connect(url, additional_headers=headers, proxy=None, compression=None) as stream:
        yield stream


def own_token(relay: Relay) -> str:
    return (relay.data_dir / "local-token").read_text().strip()


def made_token(relay: Relay, *scopes: str, name: str | None = None) -> str:
    given = [part for scope in scopes for part in ("--scope", scope)]
    command = [COMMAND, "token", "create", "--name", name or f"tunnels-{os.urandom(4).hex()}", *given]
    done = subprocess.run(
        [*command, "--json", "--data-dir", str(relay.data_dir)], capture_output=True, text=True, check=True
    )
    return str(json.loads(done.stdout)["token"])


@pytest.mark.parametrize("prefix", ["", "/api/v1"])
def test_the_relay_carries_the_tunnel_to_other_machines(relay: Relay, paused: Session, prefix: str) -> None:
    request = json.dumps({"seq": 1, "type": "request", "command": "threads"}).encode()
    with websocket(relay, paused.id, own_token(relay), prefix) as stream:
        framed = b"Content-Length: %d\r\n\r\n%b" % (len(request), request)
        stream.send(framed[:10])
        stream.send(framed[10:])
        answer = stream.recv(10)
        assert isinstance(answer, bytes) and b'"command":"threads"' in answer
        paused.delete()
        with pytest.raises(ConnectionClosedOK):
            while True:
                stream.recv(10)


def closed_with(stream: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as caught:
        stream.recv(10)
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason


def test_who_may_not_is_turned_away_before_any_data(relay: Relay, standing: Session) -> None:
    reader = made_token(relay, "sessions:read", "artifacts:read", "admin")
    for session_id, token, code in (
        (standing.id, None, "UNAUTHORIZED"),
        (standing.id, "ocdb_wrong", "UNAUTHORIZED"),
        (standing.id, reader, "FORBIDDEN"),
        ("sess_00000000", own_token(relay), "SESSION_NOT_FOUND"),
    ):
        with websocket(relay, session_id, token) as stream:
            assert closed_with(stream) == (1008, code)
    with standing.api.session() as new, websocket(relay, new.id, own_token(relay)) as stream:
        code, reason = closed_with(stream)
        assert code == 1008 and reason.startswith("INVALID_SESSION_STATE: There is no tunnel: session is created")


def test_a_tunnel_ends_when_its_token_is_revoked(relay: Relay, standing: Session) -> None:
    token = made_token(relay, "sessions:write", name="revoked")
    with websocket(relay, standing.id, token) as stream:
        stream.send(b"Content-")
        command = [COMMAND, "token", "revoke", "revoked", "--data-dir", str(relay.data_dir)]
        subprocess.run(command, check=True, capture_output=True)
        stream.send(b"Length: 2\r\n")
        assert closed_with(stream) == (1008, "UNAUTHORIZED")


def test_clients_that_come_and_go_leave_nothing(relay: Relay, paused: Session) -> None:
    debugger, runner = paused.get()["debugger"], relay.runner_of(paused)
    script = paused.get()["program"]["script"]
    held = runner.num_fds()
    for number in range(150):
        with Dap.of(paused) if number % 50 == 0 else Dap(connect(debugger["uri"])) as dap:
            if number % 50 == 0:
                dap.attach()
                dap.request("setBreakpoints", source={"path": script}, breakpoints=[{"line": 2}])
            elif number % 2:
                dap.sock.sendall(f"Bearer {debugger['token']}\nContent-Length: 50\r\n\r\n{{".encode())
    wait_until(lambda: paused.get()["debugger"]["state"] == "listening", lambda: "they have left")
    wait_until(lambda: runner.num_fds() <= held + 1, lambda: "their connections are closed")
    assert paused.get("/breakpoints")["total"] == 0
    assert paused.step()["status"] == "paused"


def test_the_tunnels_token_is_shown_only_to_those_who_may_change_the_program(relay: Relay, standing: Session) -> None:
    token = standing.get()["debugger"]["token"]

    def seen(*scopes: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {made_token(relay, *scopes)}"}
        return dict(httpx2.get(f"{relay.base_url}/sessions/{standing.id}", headers=headers).json()["data"]["debugger"])

    assert seen("sessions:read", "sessions:write")["token"] == token
    shown = seen("sessions:read")
    assert "token" not in shown and shown["uri"] and shown["state"] == "listening"
    for path in ("/sessions", f"/sessions/{standing.id}/export?include_env=true", f"/sessions/{standing.id}/events"):
        assert token not in httpx2.get(relay.base_url + path).text
    assert token not in relay.log.read_text()
    assert token not in (relay.data_dir / "sessions" / standing.id / "runner.log").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["sess_00000000"], "there is no session sess_00000000"),
        (["../sess_00000000"], "../sess_00000000 is not the id of a session"),
        (["SESSION", "--server", "https://127.0.0.1:PORT"], "does not speak TLS"),
        (["SESSION", "--token-file", "EMPTY"], "is empty"),
        (["SESSION", "--token-file", "WRONG"], "the relay does not know this token"),
        (["SESSION", "--server", "http://127.0.0.1:1"], "no relay answers at http://127.0.0.1:1/api/v1"),
        pytest.param(["SESSION", "--server", "ftp://x.org"], "is not the address of a relay", marks=pytest.mark.wide),
        (["SESSION", "--server", "https://example.org"], "example.org needs a token of its own"),
        pytest.param(["sess_00000000", "--listen", "0"], "there is no session sess_00000000", marks=pytest.mark.wide),
        (["SESSION", "--listen", "0", "--token-file", "WRONG"], "the relay does not know this token"),
    ],
)
def test_the_command_says_what_is_wrong(
    relay: Relay, standing: Session, tmp_path: Path, options: list[str], words: str
) -> None:
    for name, content in (("EMPTY", ""), ("WRONG", "ocdb_wrong")):
        (tmp_path / name).write_text(content)
    named = {"SESSION": standing.id, "EMPTY": str(tmp_path / "EMPTY"), "WRONG": str(tmp_path / "WRONG")}
    command = [COMMAND, "tunnel", *(named.get(option, option).replace("PORT", str(relay.port)) for option in options)]
    done = subprocess.run(
        [*command, "--data-dir", str(relay.data_dir)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done
    assert words in done.stderr and done.stderr.startswith("opencode-debugger: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("listen", [[], ["--listen", "0"]], ids=["pipe", "port"])
def test_a_relay_under_a_name_that_it_does_not_know_says_so(relay: Relay, standing: Session, listen: list[str]) -> None:
    token = relay.data_dir / "local-token"
    command = [COMMAND, "tunnel", standing.id, "--server", f"http://127.1:{relay.port}", "--token-file", str(token)]
    done = subprocess.run([*command, *listen], input="", capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "The host '127.1:" in done.stderr.splitlines()[-1]


def test_a_local_port_is_closed_when_its_session_is_gone(relay: Relay, api: Api) -> None:
    with api.session() as session:
        command = tunnel(relay, session, "--listen", "0")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.readline()
            session.delete()
            assert process.wait(10) == 1 and "is gone" in process.stderr.read()


def test_a_pipe_ends_with_the_program(relay: Relay, paused: Session) -> None:
    with subprocess.Popen(
        tunnel(relay, paused), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as pipe:
        assert pipe.stdin is not None and pipe.stdout is not None
        request = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": {}}).encode()
        pipe.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(request), request))
        pipe.stdin.flush()
        assert pipe.stdout.readline().startswith(b"Content-Length: ")
        paused.post("/terminate")
        assert pipe.wait(10) == 0
        assert pipe.stderr is not None and pipe.stderr.read() == b""


def test_children_have_tunnels_of_their_own(session: Session, program: Callable[..., Path]) -> None:
    child = program("value = 5\nprint(value)\n", "child.py")
    script = program(f"""
        import subprocess, sys
        subprocess.run([sys.executable, {str(child)!r}])
    """)
    session.break_at(child, 2)
    session.launch(script, debug_subprocesses=True, wait=0)
    wait_until(lambda: bool(session.get()["children"]), lambda: "the child is debugged")
    other = Session(session.api, session.get()["children"][0]["session_id"])
    wait_until(lambda: other.get()["status"] == "paused", lambda: "the child stops")
    with Dap.of(other) as dap:
        dap.attach()
        dap.ready()
        frame = dap.stack(dap.event("stopped", reason="breakpoint")["threadId"])[0]
        assert dap.locals(frame["id"])["value"]["value"] == "5"
    assert other.get()["debugger"]["uri"] != session.get()["debugger"]["uri"]


@pytest.mark.parametrize("kind", ["program", "script"])
def test_what_is_left_to_the_client_can_be_started_again(
    session: Session, build: Builder, program: Callable[..., Path], kind: str
) -> None:
    target = build("slow").program if kind == "program" else program("input()\n")
    launched = session.post("/launch", {kind: str(target), "tunnel_only": True, "stop_on_entry": True})
    assert launched["warnings"] == ["stop_on_entry has no effect with tunnel_only: that is for the client to say"]
    before = session.get()
    session.post("/restart")
    after = session.get()
    assert after["status"] == "running" and after["pid"] != before["pid"]
    assert after["debugger"]["uri"] == before["debugger"]["uri"]
    assert session.post("/terminate")["status"] == "terminated"
    assert session.get()["debugger"]["state"] == "closed"
