"""HTTP on the wire: uvicorn's, with an end to readers that do not read, such as those of server-sent events."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from . import wire


class Http(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._look: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_after(wire.STALLED)

    def resume_writing(self) -> None:
        self._look_no_more()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._look_no_more()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self.flow.write_paused:
            self._look_after(wire.LEAVING)

    def _look_after(self, seconds: float) -> None:
        self._look_no_more()
        self._look = self.loop.call_later(seconds, self._end_if_stalled, wire.unsent(self.transport))

    def _end_if_stalled(self, before: int) -> None:
        if wire.unsent(self.transport) >= before:
            self.transport.abort()
        else:
            self._look_after(wire.STALLED)

    def _look_no_more(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
