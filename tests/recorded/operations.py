"""Every operation of a session as a request that could be carried out, by the states that it needs."""

from __future__ import annotations

from typing import Any

from clients import RestSession

Request = tuple[str, str, Any]


def needs_paused() -> list[Request]:
    return [
        ("POST", "/continue", None),
        ("POST", "/threads/1/continue", None),
        ("POST", "/step-over", None),
        ("POST", "/step-into", None),
        ("POST", "/step-out", None),
        ("POST", "/step-until", {"expression": "True"}),
        ("GET", "/step-targets", None),
        ("POST", "/run-to", {"line": 1}),
        ("POST", "/step-back", None),
        ("POST", "/reverse-continue", None),
        ("POST", "/goto", {"moment": "#1"}),
        ("GET", "/memory?address=x", None),
        ("POST", "/memory", {"address": "x", "bytes": "00"}),
        ("GET", "/disassembly", None),
        ("POST", "/data-breakpoints", {"expression": "x"}),
        ("GET", "/stacktrace", None),
        ("GET", "/scopes", None),
        ("GET", "/frames/0/scopes", None),
        ("GET", "/variables?variables_reference=1", None),
        ("GET", "/variables/1", None),
        ("GET", "/scopes/1/variables", None),
        ("GET", "/frames/0/variables/1/children", None),
        ("GET", "/frames/0/variables", None),
        ("POST", "/evaluate", {"expression": "1"}),
        ("POST", "/variables/1/set", {"name": "x", "value": "1"}),
        ("POST", "/set-expression", {"expression": "x", "value": "1"}),
        ("POST", "/completions", {"text": "x"}),
        ("POST", "/hover", {"expression": "x"}),
        ("GET", "/source", None),
        ("GET", "/frames/0/source", None),
        ("GET", "/exception", None),
    ]


def needs_life() -> list[Request]:
    return [
        ("GET", "/threads", None),
        ("GET", "/tasks", None),
        ("GET", "/locks", None),
        ("GET", "/modules", None),
        ("GET", "/threads/1/stacktrace", None),
        ("POST", "/record", {"enabled": False}),
        ("GET", "/record", None),
        ("POST", "/detach", None),
        ("POST", "/terminate", None),
    ]


def only_before() -> list[Request]:
    return [("POST", "/launch", {"code": "1"}), ("POST", "/attach", {"pid": 1})]


def ask_each(session: RestSession, requests: list[Request]) -> None:
    for method, path, body in requests:
        session.ask(method, path, body)
