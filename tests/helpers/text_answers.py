"""Answers as text, asked for over REST."""

from __future__ import annotations

from typing import Any

from relays import Session


def in_text(session: Session, method: str, path: str, body: Any = None, **params: Any) -> str:
    """The text of an answer, without the end of its last line."""
    wanted = {"format": "text", **params}
    answer = session.api.http.request(method, f"/sessions/{session.id}{path}", json=body, params=wanted)
    assert answer.status_code < 300, answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.endswith("\n")
    return answer.text[:-1]


def launch_in_text(session: Session, script: Any = None, **options: Any) -> str:
    target = {"script": str(script)} if script is not None else {}
    return in_text(session, "POST", "/launch", {**target, "wait": 30, **options})


def step_in_text(session: Session, how: str = "over", **options: Any) -> str:
    return in_text(session, "POST", f"/step-{how}", options or None)
