"""Recordings as one file, in each format that there is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from ....errors import RelayError
from ..recorded_calls import RecordedCalls
from .chrome_trace import write_chrome_trace
from .exported_file import write_export

Writer = Callable[[RecordedCalls, BinaryIO], None]
WRITERS: dict[str, Writer] = {"recording": write_export, "chrome": write_chrome_trace}
EXPORTS = "exports"


@dataclass(frozen=True)
class ExportFolder:
    """Has files that are about to be sent, in the folder of the session."""

    session_folder: str | None

    def write(self, writer: Writer, calls: RecordedCalls) -> str:
        """Write a recording to a new file, and return its path."""
        if not self.session_folder:
            raise RelayError("NOT_SUPPORTED", "The session has no folder to write the recording to")
        folder = os.path.join(self.session_folder, EXPORTS)
        path = os.path.join(folder, os.urandom(8).hex())
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                writer(calls, file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise RelayError("STORAGE_FAILED", f"The recording cannot be written: {error.strerror or error}") from None
        return path
