"""Everything that a token to read may do, asked of a paused program, with expressions that would leave a trace.

`Reading` goes over every route of every operation that is declared for the scopes of a reader, and over the streams.
What it asks of an operation is in PARAMETERS: one entry for each, so that a new operation must say here how a reader
could try to run something with it. To use it for another debugger, pause a program that leaves a trace when any of its
code, or a command of its debugger, is run, and give `Reading` the expressions that would run it:

    reading = Reading(relay, session_id, token, expressions=["touch()", '$_shell("touch /tmp/x")'], path=source)
    reading.everything()
    assert not trace.exists()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relays import Api, Relay
from sockets import opened

from opencode_debugger.doors.rest.routes import PREFIX
from opencode_debugger.operations.scopes import ARTIFACTS, READ
from opencode_debugger.operations.table import OPERATIONS

READABLE = {name for name, operation in OPERATIONS.items() if {READ, ARTIFACTS}.issuperset(operation.scopes)}
ROUTES = [
    *((name, route.method, PREFIX + route.path) for name in READABLE for route in OPERATIONS[name].routes),
    ("docs", "GET", "/docs"),
    ("docs", "GET", "/openapi.json"),
    ("docs", "GET", "/"),
    ("docs", "GET", "/llms.txt"),
]
STREAMED = {"follow_output", "follow_events", "follow_sessions"}
WITHOUT_ROUTES = {"summary", "describe", "logs", "locate_recording"}
"""asked by the relay itself; a WebSocket"""
OF_NO_SESSION = {name for name, _, path in ROUTES if "{session_id}" not in path}
SAME_AT_EVERY_STOP = OF_NO_SESSION | {"recording", "trace", "errors", "slow", "calls", "origin", "life", "diff"}
SAME_AT_EVERY_STOP |= {"values", "spans"}
SAME_AT_EVERY_STOP |= {"export_recording", "read_memory", "disassemble", "files", "modules", "ping"}
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

    def routes(self, without: Collection[str] = ()) -> None:
        """Of all operations but those named."""
        with Api(self.relay.base_url, self.token) as api:
            references = self._references(api)
            threads = [row["id"] for row in self._ask(api, "GET", "/threads").get("threads", [])] or [1]
            for operation, method, path in ROUTES:
                if operation in without:
                    continue
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
            "entry_id": [1, 2],
            "call_id": [1],
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
            told = answer.json()
            self.answers.append((operation, told.get("data") or told.get("error") or told))

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
        for column in range(1, len(text), 6) if line % 50 == 0 else ():
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
    **dict.fromkeys(("output", "follow_output", "events", "follow_sessions", "timeline", "timeline_entry"), _plainly),
    **dict.fromkeys(("sign_out", "make_sign_in_code"), _plainly),
    **dict.fromkeys(("recording", "trace", "errors", "slow", "spans", "locate_recording"), _plainly),
    "calls": lambda reading: [{"function": each, "where": each} for each in reading.expressions[:20]],
    "origin": lambda reading: [{"value": each} for each in reading.expressions[:20]],
    "values": lambda reading: [{"name": each} for each in reading.expressions[:20]],
    "life": _plainly,
    "diff": lambda reading: [{"other": each} for each in [*reading.expressions[:5], str(reading.path)]],
    "export_recording": lambda reading: [{}, {"format": "chrome"}],
    "follow_events": lambda reading: [{}, {"timeline": True}],
    "export_timeline": lambda reading: [{}, {"format": "json"}],
    "sign_in": lambda reading: [{"token": reading.token}],
    "files": lambda reading: [{}, {"query": "/../etc/passwd"}, {"query": reading.path.name}],
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
    "read_memory": lambda reading: [{"address": each} for each in reading.expressions[:20]],
    "disassemble": lambda reading: [{}, *({"address": each} for each in reading.expressions[:20])],
}
