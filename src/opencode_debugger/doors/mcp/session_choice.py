"""Which debug session a client of the MCP server asked about last."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class LastSession:
    """The one session that is remembered for a connection."""

    session_id: str | None = None

    def recall(self) -> str | None:
        return self.session_id

    def remember(self, session_id: str | None) -> None:
        self.session_id = session_id
