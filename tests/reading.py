"""Everything that a token to read may do, asked of a paused program, with expressions that would leave a trace.

`Reading` goes over every route of every operation that `auth/scopes.py` grants to the scopes of a reader, and over the
streams. What it asks of an operation is in PARAMETERS: one entry for each, so that a new operation must say here how a
reader could try to run something with it. To use it for another debugger, pause a program that leaves a trace when any
of its code, or a command of its debugger, is run, and give `Reading` the expressions that would run it:

    reading = Reading(relay, session_id, token, expressions=["touch()", '$_shell("touch /tmp/x")'], path=source)
    reading.everything()
    assert not trace.exists()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relays import Api, Relay
from sockets import opened
from starlette.routing import Route
from stub_relay import ACCESS, StubRelay, StubSettings

from opencode_debugger.app import create_app
from opencode_debugger.auth.scopes import ARTIFACTS, READ, TABLE, operation_of

READABLE = {operation for operation, scopes in TABLE.items() if scopes <= {READ, ARTIFACTS}}
ROUTES = [
    (operation, method, route.path)
    for route in create_app(StubRelay(), StubSettings(), ACCESS).routes
    if isinstance(route, Route)
    for operation in [operation_of(route.endpoint.__name__)]
    if operation in READABLE
    for method in sorted((route.methods or set()) - {"HEAD"})
]
STREAMED = {"follow_output", "follow_events"}
WITHOUT_ROUTES = {"summary", "describe", "logs"}
"""asked by the relay itself; a WebSocket"""
MOST_ROWS = 80

Asked = dict[str, Any]


@dataclass
class Reading:
    relay: Relay
    session_id: str
    token: str
    expressions: list[str]
    path: Path
    """a file of the program"""
    frames: int = 1
    answers: list[tuple[str, Any]] = field(default_factory=list)
    """of each operation, in order"""

    def everything(self) -> None:
        self.routes()
        self.streams()

    def routes(self) -> None:
        with Api(self.relay.base_url, self.token) as api:
            references = self._references(api)
            threads = [row["id"] for row in self._ask(api, "GET", "/threads").get("threads", [])] or [1]
            for operation, method, path in ROUTES:
                for filled in self._filled(path, threads[:3], references):
                    for asked in PARAMETERS[operation](self):
                        self._call(api, operation, method, filled, asked)

    def _ask(self, api: Api, method: str, path: str, **params: Any) -> Any:
        answer = api.http.request(method, f"{api.base_url}/sessions/{self.session_id}{path}", params=params)
        return answer.json()["data"] or {}

    def _references(self, api: Api) -> list[int]:
        """Of all that can be reached, three levels deep from the frame that it stopped in."""
        found: list[int] = []
        for frame in range(self.frames):
            listed = self._ask(api, "GET", "/scopes", frame_id=frame).get("scopes", [])
            level = [scope["variables_reference"] for scope in listed]
            for _ in range(3 if frame == 0 else 1):
                found += level
                pages = [self._ask(api, "GET", f"/variables/{each}", frame_id=frame) for each in level[:MOST_ROWS]]
                rows = [row for page in pages for row in page.get("variables", [])]
                self.answers += [("variables", row) for row in rows]
                level = [row["variables_reference"] for row in rows if row["variables_reference"]][:MOST_ROWS]
        return found

    def _filled(self, path: str, threads: list[int], references: list[int]) -> Iterator[str]:
        known: dict[str, list[Any]] = {
            "session_id": [self.session_id],
            "thread_id": threads,
            "frame_id": list(range(self.frames)),
            "variables_reference": references[:8],
            "name": ["of-nobody"],
        }
        paths = [path]
        for name, values in known.items():
            place = f"{{{name}}}"
            paths = [each.replace(place, str(value)) for each in paths for value in (values if place in path else [""])]
        yield from paths

    def _call(self, api: Api, operation: str, method: str, path: str, asked: Asked) -> None:
        address = f"http://127.0.0.1:{self.relay.port}{path}"
        options: Asked = {"params": asked} if method == "GET" else {"json": asked}
        if operation in STREAMED:
            with api.http.stream(method, address, **options) as answer:
                assert answer.status_code < 500, (path, asked)
                next(answer.iter_raw())
            return
        answer = api.http.request(method, address, **options)
        assert answer.status_code < 500, (path, asked, answer.text[:500])
        if answer.headers.get("content-type", "").startswith("application/json") and "/sessions/" in path:
            self.answers.append((operation, answer.json()["data"] or answer.json()["error"]))

    def streams(self) -> None:
        """What a reader may not open is closed; an action that needs no evaluation runs nothing for anybody."""
        with opened(self.relay, f"/sessions/{self.session_id}/debug", self.token) as refused:
            assert refused.closed() == (1008, "FORBIDDEN")
        with opened(self.relay, f"/sessions/{self.session_id}/logs", self.token) as logs:
            logs.connection.ping().wait(10)
        with opened(self.relay, f"/sessions/{self.session_id}/debug") as debug:
            for expression in self.expressions[-30:]:
                debug.ask("completions", text=expression)
                if "(" in expression:
                    assert debug.ask("hover", expression=expression)["kind"] == "error", expression


def _hovers(reading: Reading) -> Iterator[Asked]:
    for expression in reading.expressions:
        yield {"expression": expression}
    for line, text in enumerate(reading.path.read_text().splitlines(), 1):
        for column in range(1, len(text), 6) if line % 20 == 0 else ():
            yield {"file": str(reading.path), "line": line, "column": column}


def _completions(reading: Reading) -> Iterator[Asked]:
    for index, expression in enumerate(reading.expressions):
        yield {"text": expression + ".["[index % 2]}
    yield from ({"text": "", "frame_id": frame} for frame in range(reading.frames))


def _frames(reading: Reading) -> Iterator[Asked]:
    return ({"frame_id": frame} for frame in range(reading.frames))


def _plainly(reading: Reading) -> list[Asked]:
    return [{}]


PARAMETERS: dict[str, Callable[[Reading], Any]] = {
    **dict.fromkeys(("health", "server_info", "docs", "list_sessions", "list_profiles", "get_profile"), _plainly),
    **dict.fromkeys(("info", "status", "summary", "describe", "ping", "threads", "exception", "logs"), _plainly),
    **dict.fromkeys(("list_breakpoints", "list_exception_breakpoints", "list_data_breakpoints"), _plainly),
    **dict.fromkeys(("output", "follow_output", "events", "follow_events"), _plainly),
    **dict.fromkeys(("list_watches", "scopes", "step_targets"), _frames),
    "export": lambda reading: [{}, {"include_env": True}],
    "tasks": lambda reading: [{}, {"limit": 1}],
    "locks": lambda reading: [{}],
    "stack_trace": lambda reading: [{}, {"levels": 0}],
    "variables": lambda reading: [{}, {"variables_reference": 1}, {"name": "a"}, {"filter": "indexed"}],
    "children": lambda reading: [{}, {"name": "l"}, {"summary": True}],
    "frame_variables": lambda reading: [{}, {"name": "l"}, {"budget": 1000}, {"summary": True}],
    "source": lambda reading: [{}, {"path": str(reading.path)}, {"path": "/nowhere/hidden.py"}],
    "modules": lambda reading: [{}, {"filter": "e"}],
    "report": lambda reading: [{}, {"wait": 0}, {"fields": "locals,watches,exception,return_value,source"}],
    "completions": _completions,
    "hover": _hovers,
    "read_memory": lambda reading: [{"address": each} for each in reading.expressions[:60]],
    "disassemble": lambda reading: [{}, *({"address": each} for each in reading.expressions[:60])],
}
