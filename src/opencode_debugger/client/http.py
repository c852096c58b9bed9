"""Asks a relay over HTTP: an operation by its name, with the JSON of its answer in return."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from .. import __version__
from ..default_settings import PREFIX
from ..errors import CATALOGUE, ErrorTold, RelayError, invalid_parameter
from ..operations.asking_client import SDK, clean_name
from ..operations.http_request import HttpRequest, request_for
from ..operations.operation import Operation
from ..operations.table import OFFERED, OPERATIONS
from .address import RENEWAL, Address, Problem, unreachable_text
from .streams import BlockingStream, Stream

DOOR = "X-Debug-Door"
"""header that says in which words advice is given: cli or mcp; REST's for others"""
CLIENT = "X-Debug-Client"
"""header with the name under which others see what this client does"""
PATIENCE = 120.0
"""seconds for an answer, beside what the request itself says that it may take"""
WAITS = ("wait", "timeout", "connect_timeout")
REPEATABLE = ("GET", "PUT", "DELETE")
"""methods of requests that do no more if they are carried out twice"""
OK = 200
UNAUTHORIZED = 401
MOST_HEADERS = 100
MOST_IDLE = 4
"""connections that are kept for the next requests"""
OTHER_VERSION = f"It is a relay of another version than this client, which is {__version__}: {RENEWAL}"
FindAgain = Callable[[], Address]


class DebugError(RelayError):
    """A failure that the relay tells of."""

    @property
    def suggestion(self) -> str:
        """What to do about it."""
        return str(self.details["suggestion"])

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.suggestion})" if self.suggestion else "")


class RelayGone(Problem):
    """There is no relay that answers, said in one line with what to do."""


class NotReached(RelayGone):
    """Nothing has been asked yet."""


class LostConnection(RelayGone):
    """The connection ended before the answer was there."""


class HttpAnswer(NamedTuple):
    status: int
    body: bytes
    is_last: bool
    """the relay closes the connection after it"""


class EnvelopeRead(msgspec.Struct):
    success: bool
    data: msgspec.Raw
    error: ErrorTold | None = None


class HttpAsker:
    """Asks and blocks: its coroutines never suspend, so `run_now` runs them without an event loop.

    With `find_again`, a relay that has gone is found or started again."""

    def __init__(
        self, address: Address, base: str | None = None, door: str = SDK, find_again: FindAgain | None = None,
        client_name: str = "",
    ) -> None:
        self.address = address
        self.base = base
        self.environment = own_environment() if address.is_own else None
        self._headers = {DOOR: door, CLIENT: clean_name(client_name).encode("ascii", "replace").decode() or door}
        self._find_again = find_again
        self._idle: list[Stream] = []
        """connections that are free for the next request: there are several only if several were asked at once"""

    async def ask(self, operation: str, params: dict[str, Any]) -> bytes:
        """Return the answer as JSON; failures are raised as DebugError, and as RelayGone if nobody answers."""
        request, patience = spell_request(operation, params), patience_for(params)
        try:
            answer = await self._exchange(request, patience)
        except (NotReached, LostConnection) as gone:
            if self._find_again is None:
                raise
            await self._find_relay(self._find_again)
            if isinstance(gone, LostConnection) and request.method not in REPEATABLE:
                raise RelayGone(f"{gone} what it was asked ({operation}), and is back: look at the session to see "
                                "whether it was done") from None
            answer = await self._exchange(request, patience)
        if answer.status == UNAUTHORIZED and await self._is_elsewhere():
            answer = await self._exchange(request, patience)
        return read_answer(answer, self.address)

    async def download(self, operation: str, params: dict[str, Any]) -> bytes:
        """Return the file that a route answers with."""
        request = request_for(OPERATIONS[operation], params, is_file=True)
        answer = await self._exchange(request, patience_for(params))
        return answer.body if answer.status == OK else read_answer(answer, self.address)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _exchange(self, request: HttpRequest, patience: float) -> HttpAnswer:
        stream = self._take_idle() or await self._reach(patience)
        encoded = encode_request(request, self.address, self._headers)
        try:
            answer = await self._converse(stream, encoded, patience)
        except TimeoutError:
            stream.close()
            raise RelayGone(f"the relay at {self.address.shown_url} has not answered for {patience:g} s") from None
        except (OSError, EOFError):
            stream.close()
            raise LostConnection(f"the relay at {self.address.shown_url} went away before it answered") from None
        except ValueError:
            stream.close()
            raise RelayGone(f"what answers at {self.address.shown_url} is no relay: is it https?") from None
        except BaseException:  # cancelled: the relay notices that nobody waits any more
            stream.close()
            raise
        if answer.is_last or len(self._idle) >= MOST_IDLE:
            stream.close()
        else:
            self._idle.append(stream)
        return answer

    async def _is_elsewhere(self) -> bool:
        """Tell whether our relay is not where it was, or has a new token: another may have taken its place."""
        before = self.address
        if self._find_again is not None and before.is_own:
            await self._find_relay(self._find_again)
        return self.address != before

    async def _find_relay(self, find_again: FindAgain) -> None:
        self.close()
        self.address = await self._call(find_again)

    def _take_idle(self) -> Stream | None:
        while self._idle:
            stream = self._idle.pop()
            if stream.is_usable:
                return stream
            stream.close()
        return None

    async def _reach(self, patience: float) -> Stream:
        try:
            return await self._connect(patience)
        except OSError as error:
            raise NotReached(unreachable_text(self.address, error)) from None
        except Problem as problem:  # somebody else listens there
            raise NotReached(str(problem)) from None

    async def _connect(self, patience: float) -> Stream:
        return BlockingStream(self.address, patience)

    async def _converse(self, stream: Stream, message: bytes, patience: float) -> HttpAnswer:
        assert isinstance(stream, BlockingStream)
        stream.set_timeout(patience)
        await stream.send(message)
        return await read_response(stream)

    async def _call(self, find_again: FindAgain) -> Address:
        return find_again()


class AsyncHttpAsker(HttpAsker):
    """Asks on an event loop, several things at once if need be. Cancelled, it hangs up."""

    async def _connect(self, patience: float) -> Stream:
        from .async_streams import AsyncStream  # here, because asyncio takes long to load

        return await AsyncStream.connect(self.address)

    async def _converse(self, stream: Stream, message: bytes, patience: float) -> HttpAnswer:
        import asyncio

        async with asyncio.timeout(patience):
            await stream.send(message)
            return await read_response(stream)

    async def _call(self, find_again: FindAgain) -> Address:
        import asyncio

        return await asyncio.to_thread(find_again)


def own_environment() -> dict[str, str]:
    """Return the environment for programs that are run: ours, without the relay's settings and tokens."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX) and _is_text(name + value)}


def _is_text(value: str) -> bool:
    try:
        return bool(value.encode())
    except UnicodeEncodeError:
        return False  # it is no UTF-8, and so cannot be sent


# Requests.


def spell_request(name: str, params: dict[str, Any]) -> HttpRequest:
    operation = find_operation(name)
    try:
        return request_for(operation, params)
    except KeyError as missing:
        given = missing.args[0]
        raise DebugError("MISSING_PARAMETER", f"{name} needs {given}", suggestion=f"Give {given}") from None
    except (ValueError, TypeError, OverflowError) as error:
        use = "Use ids as answers have them, text in UTF-8, numbers, true, false, null, lists and objects"
        raise DebugError("INVALID_PARAMETER", f"{name} cannot be asked with that: {error}", suggestion=use) from None


def find_operation(name: str) -> Operation:
    if name in OFFERED:
        return OFFERED[name]
    import difflib  # here, because it is seldom needed

    near = difflib.get_close_matches(name, OFFERED, n=3) or list(OFFERED)
    wrong = invalid_parameter("operation", name, f"There is no operation {name}", f"Use one of: {', '.join(near)}")
    raise DebugError(wrong.code, wrong.message, **wrong.details)


def patience_for(params: dict[str, Any]) -> float:
    given = (params.get(name) for name in WAITS)
    return PATIENCE + sum(value for value in given if isinstance(value, int | float))


def encode_request(request: HttpRequest, address: Address, about: dict[str, str]) -> bytes:
    headers = {"Host": address.netloc, "Accept": "application/json", **address.token_headers, **about}
    if request.body is not None:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(request.body))}
    lines = [f"{request.method} {request.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (request.body or b"")


# Responses.


class NoHttp(ValueError):
    """What came is not HTTP, or not as a relay speaks it."""


async def read_response(stream: Stream) -> HttpAnswer:
    """Raises EOFError if the stream ends before the answer does."""
    line = await stream.read_line()
    if not line:
        raise EOFError
    parts = line.split(None, 2)
    if not line.startswith(b"HTTP/1.") or len(parts) < 2 or not parts[1].isdigit():
        raise NoHttp
    headers = await _read_headers(stream)
    is_last = headers.get(b"connection", b"").lower() == b"close"
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return HttpAnswer(int(parts[1]), await _read_chunks(stream), is_last)
    length = headers.get(b"content-length", b"")
    if not length.isdigit():
        raise NoHttp
    return HttpAnswer(int(parts[1]), await stream.read_exactly(int(length)), is_last)


async def _read_headers(stream: Stream) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for _ in range(MOST_HEADERS):
        line = await stream.read_line()
        if not line.endswith(b"\n"):
            raise EOFError
        if not line.strip():
            return headers
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    raise NoHttp


async def _read_chunks(stream: Stream) -> bytes:
    """As proxies send it."""
    chunks = []
    while size := int((await stream.read_line()).partition(b";")[0], 16):
        chunks.append(await stream.read_exactly(size))
        await stream.read_line()
    await _read_headers(stream)
    return b"".join(chunks)


def read_answer(answer: HttpAnswer, address: Address) -> bytes:
    try:
        read = msgspec.json.decode(answer.body, type=EnvelopeRead)
    except msgspec.MsgspecError:
        raise RelayGone(f"what answers at {address.shown_url} is no relay (HTTP {answer.status})") from None
    if read.success or read.error is None:
        return bytes(read.data)
    raise told_error(answer.status, read.error)


def told_error(status: int, error: ErrorTold) -> DebugError:
    """Return the error as it was told, also if the relay is newer and has a code that is not known here."""
    code = error["code"] if error["code"] in CATALOGUE else "INTERNAL_ERROR"
    told = DebugError(code, error["message"], status=status)
    told.code, told.details = error["code"], {"suggestion": "", **error["details"]}
    if told.code == "ROUTE_NOT_FOUND":
        told.details["suggestion"] = OTHER_VERSION
    return told
