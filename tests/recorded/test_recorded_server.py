"""What the relay answers about itself, to whom, and to requests that it does not understand."""

from __future__ import annotations

import re
from typing import Any

from clients import Rest, RestSession, Stage, refused_socket
from operations import needs_life, needs_paused, only_before
from relays import Relay

from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.operations.scopes import ALL_SCOPES
from opencode_debugger.persistence.token_store import TokenStore

SCOPES = {
    "reader": ["sessions:read"],
    "writer": ["sessions:write"],
    "admin": ["admin"],
}
NOBODY = "sess_00000000"
UNASKED = {("POST", "/api/v1/shutdown")}
"""Allowed for some token, and the end of the relay."""
ENDLESS = {("GET", "/api/v1/sessions/stream")}
"""Allowed for some token, and without an end."""


def test_about_the_relay(stage: Stage) -> None:
    with stage.rest() as rest:
        rest.get("/health")
        rest.get("/info")
        rest.get("/config")
        rest.patch("/config", {"log_level": "debug", "evaluate_timeout_seconds": 9})
        rest.patch("/config", {"log_level": "info", "persist": True})
        rest.patch("/config", {"port": 1})
        rest.patch("/config", {"max_sessions": 0})
        rest.patch("/config", {"log_level": "loud", "maxsessions": 3})
        rest.patch("/config", {"default_python_path": "/nowhere/python"})
        rest.patch("/config", {})
        rest.patch("/config", {"evaluate_timeout_seconds": 10})
        rest.patch("/config", {"max_sessions": 1})
        rest.post("/sessions", {"name": "the only one"})
        rest.post("/sessions", {"name": "one too many"})
        rest.patch("/config", {"max_sessions": 100})


def test_openapi(stage: Stage) -> None:
    with stage.rest() as rest:
        rest.ask("GET", "/openapi.json")


def test_requests_that_are_not_understood(stage: Stage) -> None:
    with stage.rest() as rest:
        for path in (
            "/",
            "/api/v1/session",
            "/api/v1/sessions//status",
            "/api/v1/sessions/x/stack",
            "/api/v1/sessions/x/",
        ):
            rest.ask("GET", path)
        rest.ask("PUT", "/api/v1/sessions")
        rest.ask("DELETE", "/api/v1/health")
        rest.ask("POST", "/api/v1/sessions/import/x")
        json = {"content-type": "application/json"}
        rest.ask("POST", "/sessions", content="{", headers=json)
        rest.ask("POST", "/sessions", content="[]", headers=json)
        rest.ask("POST", "/sessions", content='{"name": "a", "name": "b"}', headers=json)
        rest.ask("POST", "/sessions", content='{"name": NaN}', headers=json)
        rest.ask("POST", "/sessions", content="name=a", headers={"content-type": "application/x-www-form-urlencoded"})
        rest.ask(
            "POST", "/sessions", content="{}", headers={"content-type": "application/json", "origin": "http://evil"}
        )
        rest.ask("GET", "/health", headers={"host": "evil.example"})
        rest.ask("GET", "/health", headers={"x-request-id": "my-own-id"})
        rest.ask("GET", "/health", unknown="x")
        rest.post("/sessions", {"name": "", "timeout_minutes": 0, "stop_on_entry": "yes", "projectroot": "/"})
        rest.post("/sessions", {"name": "x" * 300})
        rest.post("/sessions", {"adapter": "jdb"})
        rest.get("/sessions", status="odd")
        rest.post("/shutdown", {"timeout": "long"})
        rest.get("/processes", limit=0, kind="odd")


def test_no_session(stage: Stage) -> None:
    """Each route of a session that does not exist."""
    with stage.rest() as rest:
        for method, path, body in every_request(rest):
            if NOBODY in path:
                rest.ask(method, path, body)
    for path in (f"/sessions/{NOBODY}/debug", f"/sessions/{NOBODY}/logs", f"/sessions/{NOBODY}/tunnel", "/sessions/x"):
        refused_socket(stage, path, token_of(stage.relay, "everything", *ALL_SCOPES))


def test_tokens(stage: Stage) -> None:
    """What each route says to tokens without the scopes that it needs."""
    with stage.rest() as rest:
        requests = every_request(rest)
    stage.recording.exchanges.clear()
    for name, scopes in SCOPES.items():
        with stage.rest(token_of(stage.relay, name, *scopes)) as rest:
            for method, path, body in requests:
                if ((method, path) in UNASKED and name == "admin") or ((method, path) in ENDLESS and name == "reader"):
                    continue
                rest.ask(method, path, body)
                last = stage.recording.exchanges[-1]
                if last["status"] != 403:
                    stage.recording.exchanges[-1] = {"asked": last["asked"], "status": last["status"]}
                last["asked"] = f"as {name}: {last['asked']}"
    with stage.rest("ocdb_not-a-token") as rest:
        rest.get("/sessions")
        rest.get("/health")
    for path in ("debug", "logs", "tunnel"):
        refused_socket(stage, f"/sessions/{NOBODY}/{path}", token_of(stage.relay, "nobody", "admin"))
        refused_socket(stage, f"/sessions/{NOBODY}/{path}", "ocdb_not-a-token")
        refused_socket(stage, f"/sessions/{NOBODY}/{path}")


def token_of(relay: Relay, name: str, *scopes: str) -> str:
    token = new_token()
    TokenStore(relay.data_dir).add(f"{name}-{token[-6:]}", hash_of(token), list(scopes), expires_at=None)
    return token


def every_request(rest: Rest) -> list[tuple[str, str, Any]]:
    """Return each route of the document with a body that it takes, about a session that does not exist."""
    bodies = {
        (method, path.partition("?")[0]): body for method, path, body in needs_paused() + needs_life() + only_before()
    }
    bodies |= MORE_BODIES
    found = []
    for path, methods in rest.http.get("/openapi.json").json()["paths"].items():
        for method in methods:
            filled = path.replace("{session_id}", NOBODY)
            filled = re.sub(r"\{\w+\}", "1", filled)
            short = filled.partition(NOBODY)[2] or filled
            asked = ASKED.get(short, "") if method == "get" else ""
            found.append((method.upper(), filled + asked, bodies.get((method.upper(), short))))
    return found


ASKED = {"/memory": "?address=x", "/variables": "?variables_reference=1"}
MORE_BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/breakpoints"): {"file": "x.py", "line": 1},
    ("PATCH", "/breakpoints/1"): {"enabled": True},
    ("POST", "/exception-breakpoints"): {"filters": ["uncaught"]},
    ("POST", "/watch"): {"expression": "x"},
    ("POST", "/stdin"): {"input": "x"},
    ("POST", "/input"): {"input": "x"},
    ("PATCH", NOBODY): {"name": "x"},
    ("POST", "/api/v1/sessions/import"): {"format": "opencode-debugger/session", "version": 1},
    ("POST", "/api/v1/breakpoint-profiles/1/apply"): {"session_id": NOBODY},
    ("POST", "/wheel"): {"action": "take"},
    ("POST", "/api/v1/sign-in"): {"code": "q1Jx"},
}


def test_without_a_token(stage: Stage, own_relay: Relay) -> None:
    """A relay that asks for tokens, until it is shut down."""
    with stage.rest() as rest:
        requests = every_request(rest)
    shared, stage.relay = stage.relay, own_relay
    with stage.rest() as rest:
        for method, path, body in requests:
            rest.ask(method, path, body)
    with stage.rest(token_of(own_relay, "everything", *ALL_SCOPES)) as rest:
        session = RestSession(rest, rest.post("/sessions", {"project_root": str(stage.folder)})["session_id"])
        session.launch(stage.write("plain.py", "x = 1\n"), stop_on_entry=True, fields="location")
        rest.post("/shutdown", {"keep_sessions": False})
        assert own_relay.process is not None
        assert own_relay.process.wait(60) == 0
    stage.relay = shared
