"""What the REST door needs from the relay behind it."""

from __future__ import annotations

from typing import Any, Protocol


class RelayService(Protocol):
    """Answers are the raw JSON of `data`; failures are raised as RelayError."""

    async def create_session(self, options: dict[str, Any]) -> bytes: ...

    async def list_sessions(
        self, status: str | None, offset: int, limit: int, parent_session_id: str | None = None
    ) -> bytes: ...

    async def delete_session(self, session_id: str, force: bool) -> bytes: ...

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes: ...

    def health(self) -> dict[str, Any]: ...

    def info(self) -> dict[str, Any]: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...
