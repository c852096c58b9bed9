"""Tunnels: who is let in, and what real debuggers do through them."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dap_client import connect
from relays import Session

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
