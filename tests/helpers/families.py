"""Sessions of programs and of the processes that they start."""

from __future__ import annotations

from functools import partial
from typing import Any

import targets
from relays import Session
from waiting import runs, wait_until

NOT_ENABLED = "Subprocess spawned but not attached. Enable debug_subprocesses for child debugging."


def family(session: Session, count: int) -> list[Session]:
    """The sessions of its children, as soon as there are that many; grandchildren not included."""
    wait_until(lambda: len(session.get()["children"]) >= count)
    return [Session(session.api, child["session_id"]) for child in session.get()["children"]]


stopped = partial(targets.stopped, seconds=30)


def ended(session: Session) -> Any:
    end = session.get("/report", wait=30)
    assert end["status"] == "terminated", end
    return session.get()


def spawns(session: Session) -> list[dict[str, Any]]:
    return [event["body"] for event in session.events("subprocess_spawned")]


def gone(*pids: int) -> None:
    wait_until(lambda: not any(map(runs, pids)))
