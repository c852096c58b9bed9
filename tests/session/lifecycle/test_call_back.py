"""The way back from a program to its runner: nobody else comes in, and what was given up finds nobody to obey."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ez_client import Ide
from relays import Relay, Session, meanwhile, pythons, refusal
from targets import Target, attach, running, stopped
from waiting import wait_until

from opencode_debugger.dap.channel import Channel
from opencode_debugger.debuggers.python.inside.rpc.runner_connection import reach
from opencode_debugger.debuggers.python.launch import callback_socket as calling_back
from opencode_debugger.debuggers.python.launch.callback_socket import CallBack

Write = Callable[..., Path]
NOBODY = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
PYTHON_OF_THE_SYSTEM = "/usr/bin/python3"
for_every_user = pytest.mark.skipif(
    not os.path.exists(PYTHON_OF_THE_SYSTEM), reason="needs a Python that every user can read"
)

IN_NATIVE_CODE = """
    import ctypes, sys

    print("ready")
    ctypes.PyDLL(None).read(0, ctypes.create_string_buffer(1), 1)  # holds the interpreter's lock: no thread runs
    for line in sys.stdin:
        print(line.strip(), "debugpy" in sys.modules)
"""


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="call-back-") as folder:
        yield folder


# What was given up.


@contextlib.contextmanager
def impostor(path: Path, says: bytes) -> Iterator[list[bytes]]:
    """Somebody who listens where the runner did, and sends the same to everybody; with what he is told."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(30)

        def serve() -> None:
            with contextlib.suppress(OSError), listener.accept()[0] as caller:
                caller.settimeout(30)
                token = caller.recv(1000)
                with contextlib.suppress(ConnectionError):
                    caller.sendall(says)
                    caller.shutdown(socket.SHUT_WR)
                    token += caller.recv(1000)
                heard.append(token)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield heard
        thread.join(30)


@pytest.mark.parametrize("version", pythons("3.8", "3.13"))
def test_what_an_attach_left_behind_that_was_given_up_obeys_nobody(
    relay: Relay, session: Session, version: str, program: Write, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    code = b"g" * 32 + b"{}\nopen(%r, 'w')\n" % str(trace)
    with running(program(IN_NATIVE_CODE), python=pythons("3.8", "3.13")[version]) as target:
        asked = {"pid": target.pid, "connect_timeout": 3}
        with meanwhile(session, lambda own: refusal(504, "ATTACH_TIMEOUT", own.post, "/attach", asked)) as attaching:
            path = wait_until(lambda: relay.call_back_of(session))
            attaching.result()
        assert not path.exists()
        with impostor(path, code) as heard:
            target.tell("-goes on")
            assert target.says() == "goes on False"
            wait_until(lambda: heard)
        assert len(heard[0]) == 32, "it showed the token, and nothing more"
        path.unlink()
        assert target.finish() == (0, "", "")
    assert not trace.exists()


def test_after_one_that_was_given_up_an_attach_brings_one_debugger(session: Session, program: Write) -> None:
    script = program(IN_NATIVE_CODE)
    with running(script) as target:
        refusal(504, "ATTACH_TIMEOUT", session.post, "/attach", {"pid": target.pid, "connect_timeout": 1})
        wait_until(lambda: is_untraced(target))
        session.break_at(script, 6)
        with meanwhile(session, lambda own: attach(own, target)) as attaching:
            wait_until(lambda: not is_untraced(target))
            wait_until(lambda: is_untraced(target))
            target.tell("-now")
            assert attaching.result()["attached"] is True
        target.tell("then")
        stopped(session)
        names = "[thread.name for thread in __import__('threading')._active.values()]"
        assert session.evaluate(f"{names}.count('pydevd.Reader')")["result"] == "1"
        session.post("/detach")
        assert target.finish()[0] == 0


def is_untraced(target: Target) -> bool:
    return "TracerPid:\t0\n" in Path(f"/proc/{target.pid}/status").read_text()


# What can be reached.


def listening_ports(runner: psutil.Process) -> set[int]:
    return {found.laddr.port for found in runner.net_connections("tcp") if found.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize("tunnel_only", [False, True])
def test_no_port_is_ever_open_but_the_tunnels(
    relay: Relay, session: Session, tunnel_only: bool, program: Write, tmp_path: Path
) -> None:
    (tmp_path / "slow").mkdir()
    wait = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'gate')!r}): time.sleep(0.01)\n"
    (tmp_path / "slow" / "sitecustomize.py").write_text(wait)
    options: dict[str, Any] = {"env": {"PYTHONPATH": str(tmp_path / "slow")}, "tunnel_only": tunnel_only, "wait": False}
    runner, path = relay.runner_of(session), program("print('done')\nimport time\ntime.sleep(60)\n")
    with meanwhile(session, lambda own: own.launch(path, **options)) as launching:
        where = wait_until(lambda: relay.call_back_of(session))
        early = listening_ports(runner)
        assert (where.stat().st_mode & 0o777, where.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        (tmp_path / "gate").touch()
        launching.result()
    tunnel = int(session.get()["debugger"]["uri"].rpartition(":")[2])
    assert early | listening_ports(runner) == {tunnel}
    assert not where.exists()


@only_root
def test_another_user_gets_nowhere_near_the_socket_and_learns_nothing_from_the_list_of_processes(
    relay: Relay, session: Session, program: Write
) -> None:
    session.launch(program("import time\ntime.sleep(60)\n"), wait=False, debug_subprocesses=True)
    path = wait_until(lambda: relay.call_back_of(session))
    told = json.loads(environment_of(session.get()["pid"])["OPENCODE_DEBUG_LAUNCH"])
    command = b" ".join(Path(f"/proc/{session.get()['pid']}/cmdline").read_bytes().split(b"\0")).decode()
    assert told["way"]["token"] not in command
    assert as_nobody(f"socket.socket(socket.AF_UNIX).connect({str(path)!r})").endswith("Permission denied\n")


def environment_of(pid: int) -> dict[str, str]:
    return dict(item.split("=", 1) for item in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in item)


def as_nobody(code: str) -> str:
    """The last line that Python prints for it, as another user; started before the rights are given up."""
    text = f"import encodings.idna, os, socket, sys\nos.setuid({NOBODY})\n{code}\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=30)
    return (done.stdout + done.stderr).splitlines(keepends=True)[-1]


@only_root
@for_every_user
def test_a_program_of_another_user_is_attached_to_by_whoever_may(session: Session, folder: str) -> None:
    """It cannot see the session's folder; whoever calls must be that user."""
    os.chmod(folder, 0o755)
    script = Path(folder, "program.py")
    lines = "import os, sys", "os.setuid(65534)", "print('ready')", "for line in sys.stdin:", "    print(line) # @here"
    script.write_text("\n".join(lines))
    with running(script, python=PYTHON_OF_THE_SYSTEM) as target:
        session.break_at(script, "here")
        attach(session, target)
        target.tell("asked")
        stopped(session)
        session.post("/detach")
        assert target.finish() == (0, "asked\n\n", "")


@only_root
@for_every_user
def test_children_of_another_user_run_undebugged_and_nobody_waits_for_them(session: Session, program: Write) -> None:
    path = program(
        """
        import os, subprocess, sys

        command = [sys.executable, "-c", "import os; print('as', os.getuid(), flush=True)"]
        subprocess.run(command, user=65534, cwd="/")
        subprocess.run(command, preexec_fn=lambda: os.setuid(65534), cwd="/")
        """
    )
    end = session.launch(path, python_path=PYTHON_OF_THE_SYSTEM, debug_subprocesses=True)
    assert (end["status"], end["exit_code"]) == ("terminated", 0)
    assert session.output() == "as 65534\n" * 2
    first, second = session.events("subprocess_spawned")
    assert "it runs as another user" in first["body"]["message"]
    assert (second["body"]["debuggable"], second["body"]["session_id"]) == (False, None)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_debugger_without_a_relay_has_a_private_folder_that_goes_with_it(
    end: signal.Signals, program: Write, folder: str
) -> None:
    with Ide.of(program("print(1)\n"), env={"TMPDIR": folder}) as ide:
        (own,) = Path(folder).glob("ocdb-*")
        assert own.stat().st_mode & 0o777 == 0o700
        ide.send("start")
        ide.until("stopped")
        ide.process.send_signal(end)
        ide.process.wait(30)
        wait_until(lambda: not own.exists())


# The runner's end.


def with_call_back(folder: str | None, use: Callable[[CallBack], Awaitable[None]]) -> None:
    async def open_it() -> None:
        async with asyncio.timeout(30), CallBack(folder, lambda: Channel(lambda event: None)) as callback:
            await use(callback)

    asyncio.run(open_it())


def dialled(callback: CallBack) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(20)
    sock.connect(os.path.join(callback.folder, callback.name))
    return sock


def last_words(sock: socket.socket, said: bytes) -> bytes:
    """What is answered before the connection ends."""
    with sock, contextlib.suppress(ConnectionError):
        sock.sendall(said)
        return sock.recv(1000)
    return b""


@pytest.mark.parametrize("said", [b"0" * 32, b"Content-Length: 300000000\r\n\r\n{", b"x" * 10_000_000, b"\xff" * 100])
def test_whoever_does_not_know_the_token_is_cut_off_and_holds_up_nobody(folder: str, said: bytes) -> None:
    async def use(callback: CallBack) -> None:
        silent = [dialled(callback) for _ in range(20)]
        assert await asyncio.to_thread(last_words, dialled(callback), said) == b""
        sock = await asyncio.to_thread(reach, **callback.way())
        assert (await callback.debugger).is_open
        for one in (sock, *silent):
            one.close()

    with_call_back(folder, use)


def test_whoever_says_nothing_is_cut_off(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling_back, "INTRODUCTION", 0.2)

    async def use(callback: CallBack) -> None:
        for said in (b"", callback.way()["token"].encode()[:-1]):
            assert await asyncio.to_thread(last_words, dialled(callback), said) == b""

    with_call_back(folder, use)


def test_the_token_lets_in_once_and_the_runner_shows_that_it_is_the_runner(folder: str) -> None:
    async def use(callback: CallBack) -> None:
        way = callback.way()
        with pytest.raises(OSError, match="somebody else listens"):
            await asyncio.to_thread(reach, **{**way, "greeting": "0" * 32})
        with pytest.raises(OSError):
            await asyncio.to_thread(reach, **way)

    with_call_back(folder, use)


def test_a_folder_may_be_deeper_than_a_socket_may_be(folder: str) -> None:
    deep = os.path.join(folder, "d" * 100, "e" * 100)
    os.makedirs(deep)

    async def use(callback: CallBack) -> None:
        sock = await asyncio.to_thread(reach, **callback.way())
        assert (await callback.debugger).is_open
        sock.close()

    with_call_back(deep, use)
    assert os.listdir(deep) == []


def test_a_debugger_that_nobody_took_is_sent_away(folder: str) -> None:
    found: list[Any] = []

    async def use(callback: CallBack) -> None:
        found.append(await asyncio.to_thread(reach, **callback.way()))
        await callback.debugger

    with_call_back(folder, use)
    found[0].settimeout(10)
    assert found[0].recv(1) == b""
    found[0].close()


@only_root
@pytest.mark.parametrize("is_open", [True, False])
def test_another_user_is_turned_away_before_a_byte_is_read(folder: str, is_open: bool) -> None:
    async def use(callback: CallBack) -> None:
        if is_open:  # as if the folder did not keep him out
            os.chmod(folder, 0o777)
            os.chmod(os.path.join(folder, callback.name), 0o777)
        address = os.path.join(callback.folder, callback.name)
        token = callback.way()["token"]
        said = f"s = socket.socket(socket.AF_UNIX)\ns.connect({address!r})\ns.send({token!r}.encode())\n"
        heard = await asyncio.to_thread(as_nobody, f"{said}print(s.recv(100))")
        assert heard == "b''\n" or "Error: [Errno" in heard
        assert not callback.debugger.done()

    with_call_back(folder if is_open else None, use)


@only_root
def test_a_socket_of_another_user_is_not_taken_for_the_runners(folder: str) -> None:
    os.chmod(folder, 0o777)
    path = os.path.join(folder, "s")
    code = f"""
import os, socket, sys
os.setuid({NOBODY})
listener = socket.socket(socket.AF_UNIX)
listener.bind({path!r})
listener.listen()
print("ready")
listener.accept()[0].send(b"g" * 32)
sys.stdin.read()
"""
    listener = Target([sys.executable, "-c", code])
    try:
        assert listener.says() == "ready"
        with pytest.raises(OSError, match="another user"):
            reach(folder, "s", "t" * 32, "g" * 32, os.geteuid())
    finally:
        listener.end()


def test_so_many_call_at_once_that_they_cannot_wait_in_line(folder: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as waiting:
        listener.bind(os.path.join(folder, "s"))
        listener.listen(0)
        waiting.enter_context(socket.socket(socket.AF_UNIX)).connect(os.path.join(folder, "s"))
        found: list[Any] = []
        late = threading.Thread(target=lambda: found.append(reach(folder, "s", "t", "g", os.geteuid())))
        late.start()
        for _ in range(2):
            assert select.select([listener], [], [], 20)[0]
            caller = waiting.enter_context(listener.accept()[0])
            caller.sendall(b"g")
        late.join(20)
        found[0].close()
