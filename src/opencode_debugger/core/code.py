"""The code of the program: source of its frames and files, the modules it has loaded."""

from __future__ import annotations

import os
from typing import Any

from ..errors import RelayError, invalid_parameter
from ..files import is_inside, is_withheld, refused_source
from ..wording import counted
from . import inspection, source
from .debuggee import LIBRARY, Debuggee
from .settings import Config
from .starting import Starting
from .state import LIVE

MOST_LINES = 1000
LONGEST_LINE = 1000
ROOM = 200_000
"""Characters of source in one answer."""
WHOSE = (
    "Only files of the session are shown: those in its project_root (unless that holds your home folder) that are not "
    "hidden, its script, the files of its frames and breakpoints, and the modules that its program has loaded"
)


class Code:
    def __init__(self, config: Config, debuggee: Debuggee, starting: Starting) -> None:
        self._config = config
        self._debuggee = debuggee
        self._starting = starting

    async def source(
        self,
        path: str | None = None,
        frame_id: int | None = None,
        thread_id: int | None = None,
        start_line: int | None = None,
        end_line: int | None = None,
    ) -> dict[str, Any]:
        """Of a file of the session, or of a frame: its file, or whatever else its code was made from."""
        if start_line is not None and end_line is not None and end_line < start_line:
            raise invalid_parameter("end_line", str(end_line), "end_line comes before start_line", "Exchange the two")
        if path is not None:
            if frame_id is not None:
                raise invalid_parameter(
                    "frame_id", str(frame_id), "Give a path or a frame_id", "Leave one of the two out"
                )
            return _page(await self._of_path(path), start_line, end_line)
        frame_id = inspection.chosen_frame(self._debuggee, frame_id, thread_id)
        return _page(await self._of_frame(frame_id, thread_id), start_line, end_line)

    async def _of_frame(self, frame_id: int, thread_id: int | None) -> dict[str, Any]:
        async with inspection.in_frame(self._debuggee, "source", frame_id, thread_id) as (adapter, number):
            _, frames = await inspection.frames_of(self._debuggee, "source", thread_id)
            frame = inspection.describe_frame(self._debuggee, frames[frame_id], frame_id)
            found: dict[str, Any] = {"frame_id": frame_id, "function": frame["name"], "current_line": frame["line"]}
            path = frame["source"]["path"] or ""
            if _problem(path) is None:
                return {"path": path, "origin": "file", "texts": source.read_lines(path), **found}
            if refused_source(path):
                raise _no_source(path)
            answer = await adapter.frame_source(number)
        if answer["lines"] is None:
            raise _no_source(path or frame["name"])
        return {"path": path or None, "origin": answer["origin"], "texts": answer["lines"], **found}

    async def _of_path(self, given: str) -> dict[str, Any]:
        stop = self._debuggee.stop
        for index, frame in enumerate(stop.frames if stop and given.startswith("<") else []):
            if _path_of(frame) == given:
                return await self._of_frame(index, None)
        path = await self.own_path("path", given)
        found = {"path": path, "current_line": self._current_line(path)}
        if _problem(path) is None:
            return {"origin": "file", "texts": source.read_lines(path), **found}
        if self._debuggee.state in LIVE:
            answer = await self._debuggee.require_adapter().file_source(path)
            if answer["lines"] is not None:
                return {"origin": answer["origin"], "texts": answer["lines"], **found}
        raise _no_source(path)

    async def own_path(self, parameter: str, given: str) -> str:
        """The absolute path of a file of the session; others are refused."""
        if not os.path.isabs(given) and self._config.project_root is None:
            raise invalid_parameter(parameter, given, "Path must be absolute", "Give the absolute path of the file")
        path = os.path.normpath(os.path.join(self._config.project_root or "/", given))
        if not await self._is_ours(path):
            raise RelayError(
                "FORBIDDEN", f"{path[:500]} is not a file of this session", path=path[:500], suggestion=WHOSE
            )
        if refused_source(path):
            raise _no_source(path)
        return path

    def _current_line(self, path: str) -> int | None:
        place = self._debuggee.stop.location if self._debuggee.stop else None
        return place["line"] if place and place["path"] == path else None

    async def _is_ours(self, path: str) -> bool:
        """Where links lead decides: one in the project does not open the rest of the disk."""
        real = os.path.realpath(path)
        if is_withheld(path):
            return False
        if self._config.project_root is not None and _is_of_project(real, os.path.realpath(self._config.project_root)):
            return True
        program = self._starting.program or {}
        known = {program.get("script"), *self._debuggee.modules, *self._frame_paths()}
        if real in {os.path.realpath(name) for name in known if name}:
            return True
        if any(bp.verified for bp in self._debuggee.breakpoints.in_file(path)):
            return True
        return self._debuggee.state in LIVE and await self._debuggee.require_adapter().has_module(real)

    def _frame_paths(self) -> set[str]:
        return {path for frames in self._debuggee.stacks.values() for frame in frames if (path := _path_of(frame))}

    async def modules(self, offset: int = 0, limit: int = 100, filter: str | None = None) -> dict[str, Any]:
        self._debuggee.require("modules")
        answer = await self._debuggee.require_adapter().modules(offset, limit, filter)
        for module in answer["modules"]:
            module["is_user_code"] = LIBRARY.search(module["path"] or "<") is None
        return {**answer, "offset": offset, "limit": limit}


async def exception(debuggee: Debuggee) -> dict[str, Any]:
    """The exception of the stop in full."""
    async with inspection.in_frame(debuggee, "exception", 0, None) as (adapter, frame):
        stop = debuggee.require_stop("exception")
        told = await adapter.explain_exception(frame) if stop.exception is not None else None
    if told is None or stop.exception is None:
        raise RelayError(
            "EXCEPTION_NOT_FOUND",
            f"The program is not stopped on an exception but on: {stop.reason}",
            stop_reason=stop.reason,
        )
    told.pop("rules", None)  # our numbers of what it stopped for; the stop has their ids in hit_breakpoint_ids
    told.pop("is_in_library", None)  # which has decided on the frame in focus
    return {**told, "break_mode": stop.exception["break_mode"], "thread_id": stop.thread_id, "location": stop.location}


def _path_of(frame: dict[str, Any]) -> str | None:
    return (frame.get("source") or {}).get("path")


def _is_of_project(real: str, root: str) -> bool:
    """Not by a root that holds everything of the user's, nor what is hidden in it, such as .env and .git."""
    if is_inside(os.path.realpath(os.path.expanduser("~")), root) or not is_inside(real, root):
        return False
    return not any(part.startswith(".") for part in os.path.relpath(real, root).split(os.sep) if part != os.curdir)


def _problem(path: str) -> str | None:
    """Why a file cannot be read here."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    if problem := refused_source(path):
        return problem
    if path.endswith((".pyc", ".so", ".pyd")):
        return "It is compiled code"
    return None if os.access(path, os.R_OK) else "Permission denied"


def _no_source(path: str) -> RelayError:
    if path.startswith("<"):
        problem, hint = "the program did not keep its text", "Look at another frame: GET /sessions/{id}/stacktrace"
    else:
        problem, hint = _problem(path) or "it is empty", f"Put the source file at {path[:500]}, and make it readable"
    message = f"There is no source for {path[:500]}: {problem}"
    return RelayError("SOURCE_NOT_FOUND", message, path=path[:500], suggestion=hint)


def _page(found: dict[str, Any], start_line: int | None, end_line: int | None) -> dict[str, Any]:
    texts: list[str] = found.pop("texts")
    total, current = len(texts), found["current_line"]
    if start_line is None:
        around = current - MOST_LINES // 2 if current and end_line is None and total > MOST_LINES else 1
        start_line = max(1, min(around, end_line or around))
    if start_line > max(1, total):
        raise invalid_parameter(
            "start_line",
            str(start_line),
            f"The source has {counted(total, 'line')}",
            "Ask for an earlier line",
            max_line=total,
        )
    last = min(total, end_line or total, start_line + MOST_LINES - 1)
    lines, room = [], ROOM
    for number in range(start_line, last + 1):
        text = texts[number - 1]
        text = text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"
        room -= len(text)
        if room < 0:
            break
        lines.append({"line": number, "text": text})
    shown = start_line + len(lines) - 1 if lines else start_line
    return {
        **found,
        "lines": lines,
        "start_line": start_line,
        "end_line": shown,
        "total_lines": total,
        "has_more": shown < min(total, end_line or total),
    }
