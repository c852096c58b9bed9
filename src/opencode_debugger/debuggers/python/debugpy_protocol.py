"""debugpy's own ways with DAP: which requests it knows, and what it makes of stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..shapes import Frames

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
"""The field that we add to DAP's messages, for our code inside the program."""
CHAINED = "[Chained Exc: "
"""Names of frames that debugpy adds below the real ones for the causes of an exception; its traceback has them."""
CURRENT = " (Current frame)"
"""Its addition to the name of the frame that an exception leaves."""


DebugOptions = dict[str, Any]


def debug_options(just_my_code: bool, stop_scope: str, **more: bool) -> DebugOptions:
    """Return what debugpy is told first: it halts all threads and lets all go unless told otherwise."""
    options = {"justMyCode": just_my_code, "redirectOutput": False, "showReturnValue": True, **more}
    if stop_scope != "all":
        options |= {"stopAllThreadsOnSuspend": False, "steppingResumesAllThreads": False}
    return {**options, "breakOnSystemExit": []}  # an exit is no crash, whatever its code


def real_frames(told: Frames, spell: Callable[[str], str]) -> Frames:
    """Return the program's frames with the user's names of files; a module that has not begun is at line 0 on 3.11."""
    frames = [frame for frame in told if not frame["name"].startswith(CHAINED)]
    paths: dict[str, str] = {}
    for frame in frames:
        frame["line"] = max(frame["line"], 1)
        frame["name"] = frame["name"].removesuffix(CURRENT)
        source = frame.get("source")
        if source and (path := source.get("path")):
            if path not in paths:
                paths[path] = spell(path)
            source["path"] = paths[path]
    return frames
