"""Recordings beyond one session: compared with those of others, exported, and opened again."""

import contextlib
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ..errors import RelayError, invalid_parameter
from ..operations.operation import ID

OF_SESSION = re.compile(r"(?P<session>sess_[0-9a-f]{8})(?:/(?P<recording>.+))?", re.ASCII)
LONGEST_NAME = 100


@dataclass(frozen=True)
class RecordedRuns:
    create_session: Callable[..., Awaitable[bytes]]
    call: Callable[[str, str, dict[str, Any]], Awaitable[bytes]]
    delete_session: Callable[[str, bool], Awaitable[bytes]]

    async def diff(self, session_id: str, other: str, **params: Any) -> bytes:
        """Have the session compare its recording with another one."""
        return await self.call(session_id, "diff", {**params, "other": await self._find(other)})

    async def _find(self, other: str) -> dict[str, Any]:
        """Return the recording that is meant, as the session takes it."""
        if os.path.isabs(other):
            return {"path": other, "is_file": True, "name": other}
        named = OF_SESSION.fullmatch(other)
        if named is None:
            return {"recording": other}
        asked = {"recording": named["recording"]} if named["recording"] else {}
        found = msgspec.json.decode(await self.call(named["session"], "locate_recording", asked))
        return {**found, "name": f"{named['session']}/{found['name']}"}

    async def open_file(self, path: str) -> bytes:
        """Create a session that answers questions about an exported recording: both, or nothing."""
        if not os.path.isabs(path):
            raise invalid_parameter("path", path, "The path is not absolute", "Give the whole path of the file")
        created = await self.create_session(name=os.path.basename(path)[:LONGEST_NAME] or "recording")
        session_id = msgspec.json.decode(created)[ID]
        try:
            opened = msgspec.json.decode(await self.call(session_id, "open_recording", {"path": path}))
        except BaseException:
            with contextlib.suppress(RelayError):
                await self.delete_session(session_id, True)
            raise
        return msgspec.json.encode({ID: session_id, **opened})
