"""The code of the program: source of its frames and files, the modules it has loaded."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.shape import UNSET, Maybe
from ...answers.source_code import ExceptionDetails, ModuleList, Source
from ...answers.stop_reports import SourceLine
from ...errors import RelayError, invalid_parameter
from ...files import is_inside, is_withheld, refused_source
from ...operations.advice import advice
from ...operations.states import LIVE
from ...text.paths import is_library
from ...wording import counted
from ..breakpoints import source_files
from ..execution.stops import frame_path
from ..lifecycle.debuggee import Debuggee
from ..lifecycle.starting import Starting
from ..session_settings import Config
from . import paused_program

if TYPE_CHECKING:
    from ...debuggers.rows import FrameRow

MOST_LINES = 1000
LONGEST_LINE = 1000
PAGE_CHARACTERS = 200_000
"""Characters of source in one answer."""
OWN_FILES_ONLY = (
    "Only files of the session are shown: those in its project_root (unless that holds your home folder) that are not "
    "hidden, its script, the files of its frames and breakpoints, and the modules that its program has loaded"
)


@dataclass(frozen=True)
class FoundSource:
    """All lines of a source, and what else is known of it."""

    path: str | None
    origin: str
    texts: list[str]
    current_line: int | None
    frame_id: Maybe[int] = UNSET
    function: Maybe[str] = UNSET
    is_outdated: bool = False
    """whether it is a file that was changed after the program had loaded it"""


@dataclass(eq=False)
class SourceAndModules:
    _config: Config
    _debuggee: Debuggee
    _starting: Starting

    async def source(
        self, path: str | None = None, frame_id: int | None = None, thread_id: int | None = None,
        start_line: int | None = None, end_line: int | None = None,
    ) -> Source:
        """Return the source of a file of the session, or of a frame: its file, or whatever else its code was made
        from."""
        if start_line is not None and end_line is not None and end_line < start_line:
            raise invalid_parameter("end_line", str(end_line), "end_line comes before start_line", "Exchange the two")
        if path is not None and frame_id is not None:
            raise invalid_parameter("frame_id", str(frame_id), "Give a path or a frame_id", "Leave one of the two out")
        if path is not None:
            return _source_page(await self._path_source(path), start_line, end_line)
        frame_id = paused_program.choose_frame(self._debuggee, frame_id, thread_id)
        return _source_page(await self._frame_source(frame_id, thread_id), start_line, end_line)

    async def _frame_source(self, frame_id: int, thread_id: int | None) -> FoundSource:
        async with paused_program.in_frame(self._debuggee, "source", frame_id, thread_id) as (adapter, number):
            _, frames = await paused_program.frames_of(self._debuggee, "source", thread_id)
            frame = frames[frame_id]
            path, place = frame_path(frame) or "", (frame["line"], frame_id, frame["name"])
            if _why_unreadable(path) is None:
                return await self._file_source(path, *place)
            if refused_source(path):
                raise _no_source(path)
            answer = await adapter.sources.frame_source(number)
        if answer["lines"] is None:
            raise _no_source(path or frame["name"])
        return FoundSource(path or None, answer["origin"], answer["lines"], *place)

    def frame_page(
        self, frame: FrameRow, frame_id: int, start_line: int | None, end_line: int | None,
        recorded: list[str] | None = None,
    ) -> Source:
        """Return the source of a frame whose file can be read here, or was recorded."""
        path = frame_path(frame) or ""
        if recorded == [] or (recorded is None and _why_unreadable(path) is not None):
            raise _no_source(path or frame["name"])
        place = (frame["line"], frame_id, frame["name"])
        found = FoundSource(path, "file", source_files.read_lines(path) if recorded is None else recorded, *place)
        return _source_page(found, start_line, end_line)

    async def _path_source(self, given: str) -> FoundSource:
        stop = self._debuggee.stop
        for index, frame in enumerate(stop.frames if stop and given.startswith("<") else []):
            if frame_path(frame) == given:
                return await self._frame_source(index, None)
        path = await self.own_path("path", given)
        if _why_unreadable(path) is None:
            return await self._file_source(path, self._current_line(path))
        if self._debuggee.state in LIVE:
            answer = await self._debuggee.require_adapter().sources.file_source(path)
            if answer["lines"] is not None:
                return FoundSource(path, answer["origin"], answer["lines"], self._current_line(path))
        raise _no_source(path)

    async def _file_source(self, path: str, *place: Any) -> FoundSource:
        is_outdated = False
        if self._debuggee.state in LIVE:
            adapter, is_run = self._debuggee.require_adapter(), self._is_run(path, os.path.realpath(path))
            is_outdated = await self._debuggee.reached.file_changes.is_outdated(path, adapter, is_run)
        return replace(FoundSource(path, "file", source_files.read_lines(path), *place), is_outdated=is_outdated)

    async def own_path(self, parameter: str, given: str) -> str:
        """Return the absolute path of a file of the session; refuse others."""
        if not os.path.isabs(given) and self._config.project_root is None:
            raise invalid_parameter(parameter, given, "Path must be absolute", "Give the absolute path of the file")
        path = os.path.normpath(os.path.join(self._config.project_root or "/", given))
        if not await self._belongs_to_session(path):
            message = f"{path[:500]} is not a file of this session"
            raise RelayError("FORBIDDEN", message, path=path[:500], suggestion=OWN_FILES_ONLY)
        if refused_source(path):
            raise _no_source(path)
        return path

    def _current_line(self, path: str) -> int | None:
        place = self._debuggee.stop.location if self._debuggee.stop else None
        return place.line if place and place.path == path else None

    async def _belongs_to_session(self, path: str) -> bool:
        """Tell whether a file is the session's, by where links lead: one in the project does not open the rest of
        the disk."""
        real = os.path.realpath(path)
        if is_withheld(path):
            return False
        if self._config.project_root is not None and _is_of_project(real, os.path.realpath(self._config.project_root)):
            return True
        program = self._starting.program or {}
        if real in {os.path.realpath(name) for name in (program.get("script"), *self._debuggee.modules) if name}:
            return True
        if self._is_run(path, real):
            return True
        return self._debuggee.state in LIVE and await self._debuggee.require_adapter().sources.has_module(real)

    def _is_run(self, path: str, real: str) -> bool:
        """Tell whether the program is in the file, or is known to come there: a breakpoint in it is verified."""
        frames = [frame for stack in self._debuggee.stacks.values() for frame in stack]
        if real in {os.path.realpath(name) for name in map(frame_path, frames) if name}:
            return True
        return any(bp.verified for bp in self._debuggee.breakpoints.in_file(path))

    async def modules(self, offset: int = 0, limit: int = 100, filter: str | None = None) -> ModuleList:
        self._debuggee.require_state("modules")
        answer = await self._debuggee.require_adapter().sources.modules(offset, limit, filter)
        for module in answer["modules"]:
            module["is_user_code"] = not is_library(module["path"])
        return msgspec.convert({**answer, "offset": offset, "limit": limit}, ModuleList)

    async def exception(self) -> ExceptionDetails:
        """Return the exception of the stop in full."""
        async with paused_program.in_frame(self._debuggee, "exception", 0, None) as (adapter, frame):
            stop = self._debuggee.require_stop("exception")
            told = await adapter.inspection.explain_exception(frame) if stop.exception is not None else None
        if told is None or stop.exception is None:
            message = f"The program is not stopped on an exception but on: {stop.reason}"
            raise RelayError("EXCEPTION_NOT_FOUND", message, stop_reason=stop.reason)
        more = {"break_mode": stop.exception["break_mode"], "thread_id": stop.thread_id, "location": stop.location}
        return msgspec.convert({**told, **more}, ExceptionDetails)


def _is_of_project(real: str, root: str) -> bool:
    """Tell whether a file is in the root: not if that holds everything of the user's, nor if hidden, such as .env
    and .git."""
    if is_inside(os.path.realpath(os.path.expanduser("~")), root) or not is_inside(real, root):
        return False
    return not any(part.startswith(".") for part in os.path.relpath(real, root).split(os.sep) if part != os.curdir)


def _why_unreadable(path: str) -> str | None:
    """Say why a file cannot be read here."""
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
        problem, hint = "the program did not keep its text", advice("Look at another frame: {stack_trace}")
    else:
        problem = _why_unreadable(path) or "it is empty"
        hint = f"Put the source file at {path[:500]}, and make it readable"
    message = f"There is no source for {path[:500]}: {problem}"
    return RelayError("SOURCE_NOT_FOUND", message, path=path[:500], suggestion=hint)


def _source_page(found: FoundSource, start_line: int | None, end_line: int | None) -> Source:
    texts, total, current = found.texts, len(found.texts), found.current_line
    if start_line is None:
        around = current - MOST_LINES // 2 if current and end_line is None and total > MOST_LINES else 1
        start_line = max(1, min(around, end_line or around))
    if start_line > max(1, total):
        message = f"The source has {counted(total, 'line')}"
        raise invalid_parameter("start_line", str(start_line), message, "Ask for an earlier line", max_line=total)
    last = min(total, end_line or total, start_line + MOST_LINES - 1)
    lines, room = [], PAGE_CHARACTERS
    for number in range(start_line, last + 1):
        text = texts[number - 1]
        text = text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"
        room -= len(text)
        if room < 0:
            break
        lines.append(SourceLine(line=number, text=text))
    shown = start_line + len(lines) - 1 if lines else start_line
    return Source(
        path=found.path, origin=found.origin, lines=lines, start_line=start_line, end_line=shown, total_lines=total,
        has_more=shown < min(total, end_line or total), current_line=current, frame_id=found.frame_id,
        function=found.function, source_changed=found.is_outdated or UNSET,
    )
