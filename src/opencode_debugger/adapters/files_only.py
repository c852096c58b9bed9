"""For debuggers that have no source but the files themselves, and do not say which version of one was loaded."""

from __future__ import annotations

from typing import Any


class FilesOnly:
    async def frame_source(self, frame: int) -> dict[str, Any]:
        return {"lines": None}

    async def file_source(self, path: str) -> dict[str, Any]:
        return {"lines": None}

    async def loaded(self, paths: list[str]) -> dict[str, Any]:
        return {}
