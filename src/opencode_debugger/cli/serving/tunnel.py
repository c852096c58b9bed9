"""`opencode-debugger tunnel`: the tunnel of a session as a pipe, or as a port on this machine."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from ...client.address import Address, Problem, unreachable_text
from ...client.discovery import find_relay
from ...debuggers.process.loopback_peers import is_other_user
from .failure import fail

LOOK = 2.0
"""Seconds after which it is seen that a session is gone for which a port was kept open."""
CHUNK = 65536
LARGEST = 1024 * 1024
"""Bytes of one message of the relay."""
OPENING = 10.0
INTERRUPTED = 130
HERE = "127.0.0.1"

NEXT = {
    "UNAUTHORIZED": "the relay does not know this token: make one with `opencode-debugger token create`",
    "FORBIDDEN": "the token lacks the scope sessions:write: make another with `opencode-debugger token create`",
    "SESSION_NOT_FOUND": "there is no session {session}: GET /api/v1/sessions lists them",
    "SESSION_EXPIRED": "session {session} has expired: create another",
    "ROUTE_NOT_FOUND": "{session} is not the id of a session: GET /api/v1/sessions lists them",
    "SHUTTING_DOWN": "the relay is shutting down",
}
"""What to say when the relay turns a tunnel away."""
GONE = ("SESSION_NOT_FOUND", "SESSION_EXPIRED")
FINE = 1000

Read = Callable[[], bytes]
Write = Callable[[bytes], None]


def open_tunnel(
    session: str, listen: int | None, server: str | None, token_file: Path | None, data_dir: Path | None,
    cafile: Path | None = None,
) -> int:
    try:
        address = find_relay(server, token_file, data_dir, cafile)
        if listen is not None:
            return serve_port(address, session, listen)
        with open_websocket(address, session) as tunnel:
            join_streams(tunnel, session, lambda: os.read(0, CHUNK), lambda data: write_all(1, data))
        return 0
    except Problem as problem:
        return fail(str(problem))
    except KeyboardInterrupt:
        return INTERRUPTED if listen is None else 0


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def open_websocket(address: Address, session: str) -> ClientConnection:
    url = f"ws{address.url.removeprefix('http')}/sessions/{quote(session, safe='')}/tunnel"
    try:
        return connect(
            url, sock=address.connect_socket(), ssl=address.tls_trust, additional_headers=address.token_headers,
            compression=None, max_size=LARGEST, open_timeout=OPENING, close_timeout=1,
            proxy=None if address.is_here else True,
        )
    except InvalidMessage as error:
        raise Problem(f"what answers at {address.shown_url} is no relay ({error}): is it https?") from None
    except (OSError, EOFError) as error:
        raise Problem(unreachable_text(address, error)) from None
    except InvalidStatus as error:
        raise refused_error(address, session, error.response.body) from None
    except InvalidHandshake as error:
        raise Problem(f"{address.shown_url} refused the connection: {error}") from None


def join_streams(tunnel: ClientConnection, session: str, read: Read, write: Write) -> None:
    """Bytes both ways. Returns when it is over; raises what the relay says if that was not meant."""
    sender = threading.Thread(target=send, args=(tunnel, read), daemon=True)
    sender.start()
    try:
        while True:
            data = tunnel.recv()
            write(data if isinstance(data, bytes) else data.encode())
    except ConnectionClosed as closed:
        said = closed.rcvd  # also when we were about to close it ourselves
        if said.code != FINE if said else closed.sent is None:
            raise problem_of(said.reason if said else "", session) from None
    except OSError:
        pass  # whoever reads what we write has gone


def send(tunnel: ClientConnection, read: Read) -> None:
    with contextlib.suppress(ConnectionClosed, OSError):
        while data := read():
            tunnel.send(data)
    tunnel.close()


class TurnedAway(Problem):
    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def problem_of(reason: str, session: str) -> TurnedAway:
    """A reason begins with the code of an error, if it is one."""
    code = reason.partition(":")[0]
    message = NEXT[code].format(session=session) if code in NEXT else reason
    return TurnedAway(message or "the connection to the relay was lost: is it still running?", code)


def refused_error(address: Address, session: str, answer: bytes | bytearray) -> Problem:
    """By an answer in HTTP, which is the envelope if it is a relay's."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        error = json.loads(answer)["error"]
        message = NEXT[error["code"]].format(session=session) if error["code"] in NEXT else error["message"]
        return TurnedAway(message, error["code"])
    return Problem(f"what answers at {address.shown_url} is no relay")


# A port for those who cannot use a pipe.


def serve_port(address: Address, session: str, port: int) -> int:
    """Each connection is a tunnel of its own."""
    check_session(address, session)
    with listener_on(port) as listener:
        print(f"Listening on {HERE}:{listener.getsockname()[1]} for session {session}", flush=True)
        listener.settimeout(LOOK)
        while True:
            try:
                client, _ = listener.accept()
            except TimeoutError:
                if is_gone(address, session):
                    return fail(f"session {session} is gone")
                continue
            except OSError:
                return 1  # the session is gone, and that has been said
            threading.Thread(target=carry_connection, args=(address, session, client, listener), daemon=True).start()


def listener_on(port: int) -> socket.socket:
    try:
        return socket.create_server((HERE, port))
    except OSError as error:
        raise Problem(f"cannot listen on {HERE}:{port}: {error.strerror}. Choose another port, or 0 for any") from None


def check_session(address: Address, session: str) -> None:
    """Before anybody is asked to connect: whether there is such a session, as far as the token lets us see."""
    request = Request(f"{address.url}/sessions/{quote(session, safe='')}", headers=address.token_headers)
    handlers = [HTTPSHandler(context=address.tls_trust), *([ProxyHandler({})] if address.is_here else [])]
    opener = build_opener(*handlers, *([UnixHandler(address)] if address.uds else []))
    try:
        with opener.open(request, timeout=OPENING) as answer:
            answer.read()
    except HTTPError as refusal:
        problem = refused_error(address, session, refusal.read())
        if not isinstance(problem, TurnedAway) or problem.code != "FORBIDDEN":
            raise problem from None
    except OSError as error:
        raise Problem(unreachable_text(address, error)) from None


class UnixHandler(HTTPHandler):
    """Requests that go to a unix socket."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address

    def http_open(self, request: Request) -> HTTPResponse:
        def connection(host: str, **options: Any) -> HTTPConnection:
            made = HTTPConnection(host, **options)
            connected = self._address.connect_socket()
            assert connected is not None
            connected.settimeout(made.timeout)
            made.sock = connected
            return made

        return self.do_open(connection, request)


def is_gone(address: Address, session: str) -> bool:
    """A relay that does not answer may come back with the session."""
    try:
        check_session(address, session)
    except Problem as problem:
        return isinstance(problem, TurnedAway) and problem.code in GONE
    return False


def carry_connection(address: Address, session: str, client: socket.socket, listener: socket.socket) -> None:
    with client, contextlib.suppress(OSError):
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if is_other_user(client):
                raise Problem("a process of another user was turned away")
            with open_websocket(address, session) as tunnel:
                join_streams(tunnel, session, lambda: client.recv(CHUNK), client.sendall)
        except Problem as problem:
            fail(str(problem))
            if isinstance(problem, TurnedAway) and problem.code in GONE:
                listener.shutdown(socket.SHUT_RDWR)
        finally:
            client.shutdown(socket.SHUT_RDWR)  # closed alone, it would wait for the thread that reads from it
