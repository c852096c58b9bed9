"""Who asks: the door through which a call came, the name of its client, and the wheel if he holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from .door_words import COMMAND_LINE, MCP

REST = "rest"
WEBSOCKET = "websocket"
EDITOR = "editor"
PAGE = "page"
SDK = "sdk"
NAMED_DOORS = frozenset({COMMAND_LINE, MCP, PAGE, SDK})
"""doors that come over HTTP and say what they are"""
LONGEST_NAME = 64
LONGEST_WHEEL = 100

_ODD = re.compile(r"[^\w .:/@+()-]+")
_PRODUCT = re.compile(r"[\w.-]+")


class AskingClient(NamedTuple):
    door: str = ""
    """rest, websocket, cli, mcp, sdk, page or editor; empty: the relay itself asks"""
    name: str = ""
    """what the client calls itself"""
    wheel: str = ""
    """shows that it holds the wheel of a session: see session/shared_control/wheel.py"""

    @property
    def looks_by_itself(self) -> bool:
        """Tell whether it looks at all that happens without being asked: nobody wants to know what it looked at, and
        what it has seen is still news to others."""
        return self.door in (PAGE, EDITOR)


asking_client: ContextVar[AskingClient] = ContextVar("asking_client", default=AskingClient())  # noqa: B039


@contextmanager
def asked_by_relay() -> Iterator[None]:
    """Ask in this block for the relay itself: nobody needs to know of it."""
    before = asking_client.set(AskingClient(wheel=asking_client.get().wheel))
    try:
        yield
    finally:
        asking_client.reset(before)


def clean_name(text: str) -> str:
    """Return a name as it is shown: short, on one line, without anything odd."""
    return " ".join(_ODD.sub(" ", text[: 4 * LONGEST_NAME]).split())[:LONGEST_NAME]


def product_name(user_agent: str) -> str:
    """Return the name of the program that a User-Agent names first."""
    if user_agent.startswith("Mozilla/"):
        return "browser"
    found = _PRODUCT.match(user_agent)
    return found[0][:LONGEST_NAME] if found else ""


def client_from_headers(headers: list[tuple[bytes, bytes]], door: str = REST) -> AskingClient:
    """Return who has sent these headers; the door is the one that it came through if it names none."""
    name = agent = wheel = ""
    for key, value in headers:
        if key == b"x-debug-door":
            given = value.decode("latin-1")
            door = given if given in NAMED_DOORS else door
        elif key == b"x-debug-client":
            name = clean_name(value.decode("utf-8", "replace"))
        elif key == b"x-debug-wheel":
            wheel = value.decode("latin-1")[:LONGEST_WHEEL]
        elif key == b"user-agent":
            agent = value.decode("latin-1")
    return AskingClient(door, name or product_name(agent), wheel)
