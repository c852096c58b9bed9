"""A recording as a file to download: the session writes it, and it is gone from there before it is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ...answers.recordings import ExportedRecording
from ...operations.operation import ID

PIECE = 256 * 1024
DOWNLOADS = {"recording": ("application/octet-stream", "ocrec"), "chrome": ("application/json", "json")}
"""by format: the type of the file, and how its name ends"""


async def download_recording(request: Request, params: dict[str, Any]) -> StreamingResponse:
    relay, session_id = request.app.state.relay, params.pop(ID)
    answer = await relay.call(session_id, "export_recording", params)
    written = msgspec.json.decode(answer, type=ExportedRecording)
    file = os.fdopen(os.open(written.path, os.O_RDONLY | os.O_CLOEXEC), "rb")  # closed when it has been sent
    os.unlink(written.path)
    kind, ending = DOWNLOADS[params["format"]]
    headers = {
        "Content-Length": str(written.bytes),
        "Content-Disposition": f'attachment; filename="recording-{session_id}.{ending}"',
    }
    return StreamingResponse(_pieces(file), headers=headers, media_type=kind)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece
