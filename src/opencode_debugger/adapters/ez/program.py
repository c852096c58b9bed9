"""Which debugger is started for EZ programs."""

from __future__ import annotations

import os
import shutil

from ...errors import RelayError

DEFAULT = "ez"
HOW_TO = "Install EZ so that `ez` is on PATH, or name a debugger in OPENCODE_DEBUG_EZ_PATH or in debugger_path"


def find(setting: str | None) -> str:
    """The one that a launch or the settings name, else `ez` on PATH."""
    path = shutil.which(os.path.expanduser(setting or DEFAULT))
    if path is None:
        what = f"{setting!r} is not a program" if setting else f"There is no program `{DEFAULT}`, which debugs EZ"
        raise RelayError("LAUNCH_FAILED", what, status=400, suggestion=HOW_TO)
    return os.path.abspath(path)
