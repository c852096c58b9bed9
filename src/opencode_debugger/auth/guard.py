"""The outermost layer: who may talk to the relay at all, how much, and under which request id."""

import ipaddress
import logging
import re
import socket
import time
import uuid
from collections.abc import Iterable, MutableMapping

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import logs
from ..config import Settings
from ..debuggers.run_permission import may_run
from ..errors import RelayError
from ..models import envelope
from .access import ANYBODY, Access, Caller
from .sign_ins import cookie_name, cookie_value

LOG = logging.getLogger(__name__)

OPEN_PATHS = frozenset({"/api/v1/health", "/api/v1/sign-in", "/"})
"""Answered without a token, always: whether there is a relay is no secret to whoever reaches it, and signing in is how
browsers show that they have a token."""
NO_COOKIES = "/mcp"
"""For programs, which have tokens: a browser that has signed in does not count there."""
PAGE_FILES = "/page/"
"""Below it are the files of the page, which are no secret either."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::", "")
SANE_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")
TRUSTED_SITES = (b"none", b"same-origin")
JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")
CHALLENGE = (b"www-authenticate", b"Bearer")
CACHE_CONTROL = b"cache-control"
KEPT_HEADERS = ((b"x-content-type-options", b"nosniff"),)
"""Of answers that browsers may keep, which say so themselves."""
COMMON_HEADERS = (*KEPT_HEADERS, (CACHE_CONTROL, b"no-store"))
ALLOWED_HEADERS = (
    b"authorization, content-type, x-request-id, last-event-id, x-debug-door, x-debug-client, x-debug-wheel, "
    b"mcp-session-id, mcp-protocol-version, mcp-method, mcp-name"
)
"""What pages of trusted origins may send."""

Headers = MutableMapping[bytes, bytes]
Extra = Iterable[tuple[bytes, bytes]]


class Guard:
    """Checks Host, Origin, size and token; gives each request its id, its log line and an answer whatever happens.

    Which scopes a request needs is known once its route is: that is checked there, with `scope["caller"]`."""

    def __init__(self, app: ASGIApp, settings: Settings, access: Access) -> None:
        self.app = app
        self.access = access
        self.hosts = HostNames(settings.host, settings.port, bool(settings.certfile), bool(settings.uds))
        self.trusted_origins = {origin.rstrip("/").lower().encode() for origin in settings.allowed_origins}
        self.max_body_bytes = settings.max_body_bytes
        self.is_tls = bool(settings.certfile)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await Exchange(self, scope, receive, send).answer_request()
        elif scope["type"] == "websocket":
            await self._guard_websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _guard_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = dict(scope["headers"])
        try:
            self.check_caller(scope, headers)
        except RelayError as error:
            LOG.warning("websocket refused: %s", error.message)
            await send_refusal(send, error, choose_request_id(headers), "websocket.http", COMMON_HEADERS)
        else:
            await self.app(scope, receive, send)

    def check_caller(self, scope: Scope, headers: Headers) -> None:
        self.hosts.check_host(scope, headers)
        if b"origin" in headers:
            for origin in (value for name, value in scope["headers"] if name == b"origin"):
                if origin.lower() not in self.trusted_origins and not self.hosts.is_own_origin(scope, origin):
                    message = f"Requests from the origin {shown_name(origin)} are not allowed"
                    raise RelayError("ORIGIN_NOT_ALLOWED", message)
        elif headers.get(b"sec-fetch-site", b"none") not in TRUSTED_SITES:
            raise RelayError("ORIGIN_NOT_ALLOWED", "Requests caused by pages of another site are not allowed")

    def find_caller(self, scope: Scope, headers: Headers) -> Caller:
        """Return who sends a request: by its token, or on our own page by the cookie of having signed in."""
        access = self.access
        if access.is_required and b"cookie" in headers and b"authorization" not in headers:
            id = cookie_value(headers[b"cookie"], self.cookie_name(scope))
            if id and scope["path"] != NO_COOKIES and self.is_from_page(scope, headers):
                return access.find_browser(id)
        return access.find_caller(scope["headers"])

    def is_from_page(self, scope: Scope, headers: Headers) -> bool:
        """Tell whether a page of this relay itself sends a request: browsers say so, and let no script say it."""
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if origins:
            return len(origins) == 1 and self.hosts.is_own_origin(scope, origins[0])
        return headers.get(b"sec-fetch-site") == b"same-origin"

    def cookie_name(self, scope: Scope) -> str:
        return cookie_name(self.hosts.reached_port(scope), self.is_tls)

    def check_length(self, headers: Headers) -> None:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise RelayError("INVALID_REQUEST", "The Content-Length header is not a number")
        if int(length[:20]) > self.max_body_bytes:
            raise self.too_large()

    def too_large(self) -> RelayError:
        limit = self.max_body_bytes
        return RelayError("PAYLOAD_TOO_LARGE", f"The body is larger than {limit} bytes", max_body_bytes=limit)


class HostNames:
    """Names under which this server may be addressed: DNS rebinding brings others."""

    def __init__(self, host: str, port: int, is_tls: bool = False, is_unix: bool = False) -> None:
        bracketed = f"[{host}]" if ":" in host else host
        own = (socket.gethostname(),) if host in WILDCARDS else (bracketed,)
        self.names = {name.lower().encode() for name in (*LOOPBACK, *own)}
        self.any_address = host in WILDCARDS
        self.configured_port = port
        self.is_unix = is_unix
        self.scheme, self.usual_port = (b"https", b"443") if is_tls else (b"http", b"80")

    def check_host(self, scope: Scope, headers: Headers) -> None:
        host = headers.get(b"host")
        if host is None or sum(name == b"host" for name, _ in scope["headers"]) != 1:
            raise RelayError("HOST_NOT_ALLOWED", "Exactly one Host header is needed")
        if not self.is_own(scope, host):
            message = f"The host {shown_name(host)} is not an address of this relay"
            raise RelayError("HOST_NOT_ALLOWED", message, port=self.reached_port(scope))

    def is_own(self, scope: Scope, host: bytes) -> bool:
        name, colon, port = host.rpartition(b":") if not host.endswith(b"]") else (host, b"", b"")
        if not colon:
            name, port = host, self.usual_port
        if self.is_unix:
            return self._is_known(name.lower())  # it has no port, and what clients put there means nothing
        return port == b"%d" % self.reached_port(scope) and self._is_known(name.lower())

    def is_own_origin(self, scope: Scope, origin: bytes) -> bool:
        scheme, _, host = origin.partition(b"://")
        if self.is_unix:  # by whatever port it is forwarded: that of the request, and no other page's
            return scheme.lower() == self.scheme and host.lower() == dict(scope["headers"])[b"host"].lower()
        return scheme.lower() == self.scheme and self.is_own(scope, host)

    def reached_port(self, scope: Scope) -> int:
        """The port the connection came in on: with port 0 the configured one says nothing."""
        server = scope.get("server")
        return server[1] if server and server[1] else self.configured_port

    def _is_known(self, name: bytes) -> bool:
        return name in self.names or (self.any_address and is_address(name))


class Exchange:
    """One HTTP request on its way through the guard."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self.guard, self.scope, self._receive, self._send = guard, scope, receive, send
        self.headers: Headers = dict(scope["headers"])
        self.request_id = choose_request_id(self.headers)
        self.shared_with: bytes | None = None
        """the foreign origin that was listed as trusted, for the headers that browsers ask for"""
        self.received = 0
        self.status = 0

    async def answer_request(self) -> None:
        started = time.perf_counter()
        token = logs.request_id.set(self.request_id)
        try:
            await self._answer_request()
        finally:
            seconds = time.perf_counter() - started
            logs.log_access(self.scope["method"], self.scope["path"], self.status or 499, seconds)
            logs.request_id.reset(token)

    async def _answer_request(self) -> None:
        try:
            self.guard.check_caller(self.scope, self.headers)
            self.guard.check_length(self.headers)
            origin = self.headers.get(b"origin")
            if origin is not None and origin.lower() in self.guard.trusted_origins:
                self.shared_with = origin
            if self.shared_with and b"access-control-request-method" in self.headers:
                await self._answer_preflight()
            else:
                is_open = is_open_path(self.scope["path"]) and b"authorization" not in self.headers
                caller = ANYBODY if is_open else self.guard.find_caller(self.scope, self.headers)
                self.scope["caller"], self.scope["guard"] = caller, self.guard
                may_run.set(caller.may_run)
                await self.guard.app(self.scope, self.receive_counted, self.send_with_headers)
        except RelayError as error:
            await self._send_refusal(error)
        except ClientDisconnect:
            LOG.debug("client went away")
        except Exception as error:
            LOG.exception("unhandled %s", type(error).__name__)
            message = f"Unexpected server error: {type(error).__name__}"
            await self._send_refusal(RelayError("INTERNAL_ERROR", message, request_id=self.request_id))

    async def receive_counted(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self.received += len(message.get("body", b""))
            if self.received > self.guard.max_body_bytes:
                raise self.guard.too_large()
        return message

    async def send_with_headers(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = list(message["headers"])
            is_kept = any(name == CACHE_CONTROL for name, _ in given)
            message["headers"] = [*given, *self._extra_headers(KEPT_HEADERS if is_kept else COMMON_HEADERS)]
        await self._send(message)

    def _extra_headers(self, common: Extra) -> list[tuple[bytes, bytes]]:
        extra = [(b"x-request-id", self.request_id.encode()), *common]
        if self.status == 401:
            extra.append(CHALLENGE)
        if self.shared_with:
            extra += [(b"access-control-allow-origin", self.shared_with), (b"vary", b"origin")]
            extra += [(b"access-control-expose-headers", b"x-request-id, mcp-session-id")]
        return extra

    async def _answer_preflight(self) -> None:
        allowed = [
            (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
            (b"access-control-allow-headers", ALLOWED_HEADERS),
        ]
        await self.send_with_headers({"type": "http.response.start", "status": 204, "headers": allowed})
        await self.send_with_headers({"type": "http.response.body", "body": b""})

    async def _send_refusal(self, error: RelayError) -> None:
        if not self.status:
            await send_refusal(self.send_with_headers, error, self.request_id)


async def send_refusal(send: Send, error: RelayError, request_id: str, kind: str = "http", extra: Extra = ()) -> None:
    kind = f"{kind}.response"
    body = envelope.failure_answer(error, request_id)
    headers = [JSON_TYPE, (b"content-length", b"%d" % len(body)), *extra]
    await send({"type": f"{kind}.start", "status": error.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


def choose_request_id(headers: Headers) -> str:
    given = headers.get(b"x-request-id")
    return given.decode() if given and SANE_REQUEST_ID.fullmatch(given) else str(uuid.uuid4())


def is_open_path(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(PAGE_FILES)


def is_address(name: bytes) -> bool:
    try:
        ipaddress.ip_address(name.decode("latin-1").strip("[]"))
    except ValueError:
        return False
    return True


def shown_name(header: bytes) -> str:
    return repr(header[:200].decode("latin-1"))
