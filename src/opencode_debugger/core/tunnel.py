"""The tunnel of a session, as the session sees it: a way in for clients, held by whoever runs the session."""

from __future__ import annotations

from typing import Any, Protocol


class Tunnel(Protocol):
    async def open(self) -> dict[str, str]:
        """Unless it is open already. What the program finds in its environment about it."""

    def info(self, with_token: bool) -> dict[str, Any]:
        """Where it is and who is in it; the token is for those who may change the program."""

    def close(self) -> None:
        """The program is gone: nobody else is let in, and who is in hears of the end and leaves."""

    async def closed(self) -> None:
        """Nobody is in any more. This does not take long, whatever they do."""


class NoTunnel:
    """For sessions that nobody outside can reach."""

    async def open(self) -> dict[str, str]:
        return {}

    def info(self, with_token: bool) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass

    async def closed(self) -> None:
        pass
