"""debugpy's own ways with DAP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import Frames

ALLOWED = frozenset(
    {
        "pydevdSystemInfo", "initialize", "launch", "attach", "configurationDone", "disconnect",
        "setBreakpoints", "continue", "next", "stepIn", "stepOut", "pause", "threads",
        "stackTrace", "evaluate",
    }
)  # fmt: skip
"""debugpy never answers what it does not know, and some requests kill it: nothing else is ever sent."""

CLIENT = {
    "clientID": "opencode-debugger",
    "adapterID": "debugpy",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsVariableType": True,
}
FIELD = "ocdb"
"""What we add to DAP's messages, for our code inside the program."""
CHAINED = "[Chained Exc: "
"""Names of frames that debugpy adds below the real ones for the causes of an exception; its traceback has them."""
CURRENT = " (Current frame)"
"""What it adds to the name of the frame that an exception leaves."""


def scope_options(stop_scope: str) -> dict[str, Any]:
    """debugpy halts all threads and lets all go unless told otherwise."""
    if stop_scope == "all":
        return {}
    return {"stopAllThreadsOnSuspend": False, "steppingResumesAllThreads": False}


def real_frames(told: Frames, spell: Callable[[str], str]) -> Frames:
    """With the user's names of files; a module that has not begun is at line 0 on Python 3.11."""
    frames = [frame for frame in told if not frame["name"].startswith(CHAINED)]
    paths: dict[str, str] = {}
    for frame in frames:
        frame["line"] = max(frame["line"], 1)
        frame["name"] = frame["name"].removesuffix(CURRENT)
    for source in (frame["source"] for frame in frames if (frame.get("source") or {}).get("path")):
        path = source["path"]
        if path not in paths:
            paths[path] = spell(path)
        source["path"] = paths[path]
    return frames
