"""Who may do what: every route with every kind of token, against the one table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from locked_door import Locked, locked_door, one_of_each_kind
from places import DOCS
from relays import Api, Relay, Session
from starlette.routing import Route, WebSocketRoute
from stub_relay import ACCESS, StubRelay, StubSettings, served
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from opencode_debugger.app import create_app
from opencode_debugger.auth.access import Access
from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.config import CHANGEABLE, CHOOSING_PROGRAMS
from opencode_debugger.doors.rest.routes import OperationRoute
from opencode_debugger.doors.websocket.commands import ACTIONS
from opencode_debugger.operations.scopes import ALL_SCOPES, MEANINGS
from opencode_debugger.operations.table import OPERATIONS, SUBJECTS
from opencode_debugger.persistence.token_store import TokenStore

APP = create_app(StubRelay(), StubSettings(), ACCESS)
ROUTES = [route for route in APP.routes if isinstance(route, Route)]
STREAMS = [route.path for route in APP.routes if isinstance(route, WebSocketRoute) and "session_id" in route.path]
CALLS = [(method, route) for route in ROUTES for method in sorted(route.methods or ())]
OPEN = {"/api/v1/health", "/api/v1/sign-in", "/", "/page/{path:path}"}
"""what needs no token; whoever sends one that is not good is told"""
NOT_GOOD = ("none", "wrong", "expired", "revoked")
ORDER = ("admin", "sessions:read", "sessions:write", "artifacts:read")
TABLE = {name: frozenset(operation.scopes) for name, operation in OPERATIONS.items()}


def operation_of(route: Route) -> str:
    return route.operation.name if isinstance(route, OperationRoute) else "docs"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    with locked_door(tmp_path_factory.mktemp("locked")) as door:
        yield door


@pytest.fixture(scope="module")
def unlocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    with locked_door(tmp_path_factory.mktemp("unlocked"), is_required=False) as door:
        yield door


def expected(path: str, operation: str, kind: str, is_required: bool) -> int:
    """401, 403, or 200 for anything else."""
    if kind == "none":
        return 401 if is_required and path not in OPEN else 200
    if kind in NOT_GOOD:
        return 401
    held = set(ALL_SCOPES) if kind == "all" else {kind}
    return 200 if held >= TABLE[operation] else 403


def check(answer: Any, path: str, operation: str, kind: str, is_required: bool) -> None:
    wanted = expected(path, operation, kind, is_required)
    assert (answer.status_code if answer.status_code in (401, 403) else 200) == wanted, (kind, answer.text)
    assert answer.headers.get("www-authenticate") == ("Bearer" if wanted == 401 else None)
    if wanted == 200 or answer.request.method == "HEAD":
        return
    envelope = answer.json()
    assert (envelope["success"], envelope["data"]) == (False, None)
    assert envelope["error"]["code"] == {401: "UNAUTHORIZED", 403: "FORBIDDEN"}[wanted]
    assert envelope["error"]["details"]["suggestion"]
    if wanted == 403:
        assert set(envelope["error"]["details"]["required_scopes"]) == TABLE[operation]
        assert set(envelope["error"]["details"]["missing_scopes"]) == TABLE[operation] - {kind}


@pytest.mark.parametrize(("method", "route"), CALLS, ids=lambda part: getattr(part, "path", part))
def test_a_route_lets_in_whom_the_table_says(locked: Locked, unlocked: Locked, method: str, route: Route) -> None:
    operation = operation_of(route)
    for kind in ("none", *locked.tokens):
        check(locked.call(method, route.path, kind), route.path, operation, kind, is_required=True)
    for kind in ("none", "sessions:read", "wrong"):  # a token that is shown is looked at in the same way
        check(unlocked.call(method, route.path, kind), route.path, operation, kind, is_required=False)


def test_every_route_has_an_operation_and_asks_for_it() -> None:
    plain = [route for route in ROUTES if not isinstance(route, OperationRoute)]
    # What is asked by /mcp goes through the routes of operations, for the same caller: see tests/mcp.
    assert {route.path for route in plain} == {"/", "/page/{path:path}", "/llms.txt", "/docs", "/openapi.json", "/mcp"}
    assert TABLE["docs"] == frozenset()  # nobody asks there: that there is a good token is enough


def test_an_operation_is_in_the_table_once_and_needs_known_scopes() -> None:
    listed = [operation for subject in SUBJECTS for operation in subject.OPERATIONS]
    assert len(listed) == len(TABLE)
    assert set().union(*TABLE.values()) == set(ALL_SCOPES) == set(MEANINGS)


def test_streams_need_what_the_protocol_says() -> None:
    assert TABLE["logs"] == {"sessions:read", "artifacts:read"}
    assert TABLE["debug"] == TABLE["tunnel"] == {"sessions:write"}


# WebSockets, which need a token also where REST does not.


@pytest.fixture(scope="module")
def ended(relay: Relay) -> Iterator[Session]:
    """A session whose program has printed and ended."""
    with Api(relay.base_url) as api, api.session() as session:
        session.launch(code="print('out')")
        yield session


@pytest.fixture(scope="module")
def kinds(relay: Relay) -> dict[str, str]:
    return one_of_each_kind(relay.data_dir)


def opened(relay: Relay, path: str, session: Session, token: str | None) -> ClientConnection:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = f"ws://127.0.0.1:{relay.port}{path.replace('{session_id}', session.id)}"
    return connect(address, additional_headers=headers, proxy=None)


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_lets_in_whom_the_table_says(relay: Relay, ended: Session, kinds: dict[str, str], path: str) -> None:
    for kind in ("none", *kinds):
        wanted = expected(path, path.rpartition("/")[2], kind, is_required=True)
        with opened(relay, path, ended, kinds.get(kind)) as stream:
            try:
                stream.recv(timeout=10)
                close = None
            except ConnectionClosed as closed:
                close = closed.rcvd and (closed.rcvd.code, closed.rcvd.reason)
        refused = {401: (1008, "UNAUTHORIZED"), 403: (1008, "FORBIDDEN")}
        assert close == refused[wanted] if wanted in refused else close not in refused.values(), (kind, close)


@pytest.mark.parametrize("beside", [(), *((scope,) for scope in ALL_SCOPES if scope != "sessions:write"), ALL_SCOPES])
def test_an_action_is_for_whom_the_table_says(relay: Relay, ended: Session, beside: tuple[str, ...]) -> None:
    """Each is sent with a parameter that it does not know, so that nothing happens if it is allowed."""
    scopes, token = {"sessions:write", *beside}, new_token()
    TokenStore(relay.data_dir).add(f"write and {beside}", hash_of(token), sorted(scopes))
    with opened(relay, "/sessions/{session_id}/debug", ended, token) as stream:
        for action, needed in ((action, TABLE[action]) for action in ACTIONS):
            stream.send(json.dumps({"action": action, "id": action, "params": {"mind": "read"}}))
            error = answer_to(stream, action)
            assert error["code"] == ("INVALID_REQUEST" if needed <= scopes else "FORBIDDEN"), error
            if not needed <= scopes:
                assert set(error["details"]["missing_scopes"]) == needed - scopes


def answer_to(stream: ClientConnection, id: str) -> dict[str, Any]:
    while True:
        message = json.loads(stream.recv(timeout=10))
        if message["kind"] in ("error", "result") and message["payload"].get("id") == id:
            return dict(message["payload"])


def test_admin_alone_does_not_say_which_program_runs(tmp_path: Path) -> None:
    store, token = TokenStore(tmp_path), new_token()
    store.add("both", hash_of(token), ["admin", "sessions:write"], expires_at=None)
    store.add("admin", hash_of(alone := new_token()), ["admin"], expires_at=None)
    assert {name for name in CHANGEABLE if name.endswith("_path")} <= CHOOSING_PROGRAMS <= CHANGEABLE
    with served(Access(store, True)) as door:
        change = partial(door.client.patch, "/api/v1/config")
        for body in ({"default_python_path": "/bin/sh"}, {"default_python_path": "/bin/sh", "max_sessions": 3}):
            refused = change(json=body, headers={"Authorization": f"Bearer {alone}"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
            assert refused.json()["error"]["details"]["missing_scopes"] == ["sessions:write"]
            assert change(json=body, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert change(json={"max_sessions": 3}, headers={"Authorization": f"Bearer {alone}"}).status_code == 200


def test_the_page_has_the_table() -> None:
    page = (DOCS / "security.md").read_text(encoding="utf-8").splitlines()
    for scopes in set(TABLE.values()):
        needed = " and ".join(f"`{scope}`" for scope in ORDER if scope in scopes) or "any token"
        (row,) = (line for line in page if line.startswith(f"| {needed} | `"))
        listed = re.findall(r"`(\w+)`", row.split("|")[2])
        assert sorted(listed) == sorted(name for name, needs in TABLE.items() if needs == scopes)


def test_the_description_of_the_api_says_which_scopes_a_call_needs(locked: Locked) -> None:
    schema = locked.call("GET", "/openapi.json", "admin").json()
    assert schema["paths"]["/api/v1/sessions/{session_id}/output"]["get"]["security"] == [
        {"token": ["artifacts:read", "sessions:read"]},
        {},
    ]
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert "Scopes: <code>admin</code>" in locked.call("GET", "/docs", "admin").text


@pytest.mark.parametrize(
    "headers",
    [
        [("Authorization", "Bearer")],
        [("Authorization", "")],
        [("Authorization", "Basic {all}")],
        [("Authorization", "{all}")],
        [("Authorization", "Bearer {all}x")],
        [("Authorization", "Bearer {all} {all}")],
        [("Authorization", "Bearer {all}"), ("Authorization", "Bearer {all}")],
        [("Authorization", "Bearer {wrong}"), ("Authorization", "Bearer {all}")],
        [("Authorization", "Bearer \xff\xfe")],
        [("Authorization", "Bearer " + "x" * 50_000)],
        [("Cookie", "token={all}")],
        [("X-API-Key", "{all}")],
    ],
    ids=lambda headers: " ".join(value for _, value in headers)[:40],
)
def test_a_token_counts_only_as_the_one_bearer_header(locked: Locked, headers: list[tuple[str, str]]) -> None:
    sent = [(name, value.format(**locked.tokens).encode("latin-1")) for name, value in headers]
    answer = locked.door.client.get("/api/v1/sessions", headers=sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert locked.tokens["all"] not in answer.text


def test_the_scheme_may_be_written_in_any_case(locked: Locked) -> None:
    answer = locked.door.client.get("/api/v1/sessions", headers={"Authorization": f"bEARER  {locked.tokens['all']}"})
    assert answer.status_code == 200


def test_a_token_in_the_address_is_no_token_and_is_not_repeated(locked: Locked, unlocked: Locked) -> None:
    token = locked.tokens["all"]
    assert locked.door.client.get(f"/api/v1/sessions?token={token}").status_code == 401
    for path in (f"/api/v1/sessions?token={token}", f"/api/v1/sessions?{token}=1", f"/api/v1/{token}"):
        answer = unlocked.door.client.get(path)
        assert answer.status_code in (400, 404)
        assert token not in answer.text and "ocdb_..." in answer.text


def test_without_a_token_nobody_learns_which_routes_there_are(locked: Locked) -> None:
    for method, path in (("GET", "/api/v1/nothing"), ("PUT", "/api/v1/sessions"), ("GET", "/docs")):
        assert locked.call(method, path, "none").status_code == 401
    assert locked.call("GET", "/api/v1/nothing", "admin").status_code == 404


def test_a_foreign_page_is_refused_before_its_token_is_looked_at(locked: Locked) -> None:
    headers = {"Origin": "https://evil.example", "Authorization": f"Bearer {locked.tokens['all']}"}
    answer = locked.door.client.get("/api/v1/sessions", headers=headers)
    assert answer.json()["error"]["code"] == "ORIGIN_NOT_ALLOWED"


def test_a_trusted_page_may_ask_without_a_token_whether_it_may_send_one(locked: Locked) -> None:
    headers = {
        "Origin": "https://trusted.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    answer = locked.door.client.options("/api/v1/sessions", headers=headers)
    assert answer.status_code == 204
    assert "authorization" in answer.headers["access-control-allow-headers"]
