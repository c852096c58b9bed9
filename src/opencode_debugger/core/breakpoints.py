"""The breakpoints of a session: checked before the program runs, numbered once, never moved in silence."""

from __future__ import annotations

import contextlib
import copy
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ..adapters.base import BY_FUNCTION, Adapter, Bound, DebuggerBreakpoint
from ..adapters.switch import is_python_source
from ..errors import RelayError
from . import conditions, misplaced
from .by_text import find_line
from .moved_lines import LineContent, content_of, find_again, has_text
from .source import OPEN, TEXT_LIMIT, LineVerdict, SourceFile, read_lines

FOR_NATIVE = 'for a native program, create the session with "adapter": "gdb"'
PENDING = "Source file not found. Breakpoint pending."
CHANGED = "The file has changed since the program loaded it: lines are those of the loaded version"


@dataclass
class Breakpoint:
    path: str
    """of a function: the only file in which it counts, or nothing"""
    line: int
    """0 for a function"""
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None
    enabled: bool = True
    number: int = 0
    verified: bool = False
    message: str | None = None
    suggestion: dict[str, Any] | None = None
    hits: int = 0
    is_pending: bool = False
    is_open: bool = False
    """only the program can tell whether its line has code"""
    function: str | None = None
    places: tuple[dict[str, Any], ...] = ()
    """where a function was found"""
    content: LineContent | None = None
    """what was on the line when it was set, by which it is found again after the file was edited"""
    moved_from: int | None = None
    """the line that it was on, if an edit of the file moved it"""
    edited: str | None = None
    """what an edit of the file means for it"""
    is_restored: bool = False
    """set by an earlier session of the project, and by nobody in this one"""
    source_changed: bool = False
    bad_condition: str | None = None
    """what the debugger has against its condition"""
    key: tuple[str, int | str] = field(init=False)

    def __post_init__(self) -> None:
        real = os.path.realpath(self.path) if self.path else ""
        self.key = (real, self.function or self.line)

    @property
    def id(self) -> str:
        return f"bp_{self.number}"

    @property
    def group(self) -> str:
        """Together with which others the debugger is told of it."""
        return BY_FUNCTION if self.function else self.path

    @property
    def is_counted_inside(self) -> bool:
        return bool(self.condition or self.hit_condition or self.function)

    def judge(self, verdict: LineVerdict) -> None:
        self.verified, self.message, self.suggestion = verdict.verified, verdict.message, verdict.suggestion
        self.is_pending, self.is_open = False, verdict.reason == "open"

    def bind(self, bound: Bound) -> None:
        """What the debugger says is added to what we know of the line."""
        self.bad_condition = bound.bad_condition
        if self.function:
            self._bind_function(bound)
            return
        self.verified = bound.verified
        if self.is_open:
            self._bind_open(bound)
        elif not bound.verified:
            self.message = bound.message or "The debugger could not set it"
        elif bound.line is not None and bound.line != self.line:
            self.verified, self.message = False, _elsewhere(self.line, bound.line)

    def _bind_open(self, bound: Bound) -> None:
        """The program has been loaded, or another of its libraries: now it is known what is on the line."""
        self.message, self.suggestion = bound.message, None
        if bound.line is not None and bound.line != self.line:
            self.verified, self.message = False, bound.message or f"No executable code at line {self.line}"
            text = "".join(read_lines(self.path)[bound.line - 1 : bound.line]).strip()
            self.suggestion = {"line": bound.line, "text": text[:TEXT_LIMIT]}
        elif not bound.verified:
            self.message = bound.message or "The program has no code at this place. Breakpoint pending."

    def _bind_function(self, bound: Bound) -> None:
        """One that was seen in a file is still there when that file is not loaded yet."""
        if bound.verified:
            self.verified, self.message, self.places = True, bound.message, bound.places
        elif bound.message or not self.places:
            self.verified, self.message = False, bound.message or not_loaded(self.function)

    def to_dict(self) -> dict[str, Any]:
        place = self.places[0] if self.places else {"path": self.path, "line": self.line}
        shown: dict[str, Any] = {
            "id": self.id,
            "verified": self.verified,
            "source": {"path": place["path"]} if place["path"] else None,
            "line": place["line"] or None,
            "condition": self.condition,
            "hit_condition": self.hit_condition,
            "log_message": self.log_message,
            "enabled": self.enabled,
            "hit_count": self.hits,
            "message": ". ".join(filter(None, (self.edited, self.message))) or None,
        }
        if self.function is not None:
            shown |= {"function": self.function, "file": self.path or None, "locations": list(self.places)}
        if self.suggestion is not None:
            shown["suggestion"] = self.suggestion
        if self.content is not None and self.content.asked is not None:
            shown["text"] = self.content.text
        if self.is_restored:
            shown["restored"] = True
        if self.moved_from is not None:
            shown["moved_from"] = self.moved_from
        if self.source_changed:
            shown |= {"source_changed": True, "message": self.message or CHANGED}
        return shown

    def follow(self, lines: list[str]) -> Breakpoint:
        """Where its line is now: its file may have been edited, and no program has it loaded. One that moves is new."""
        if self.content is None or not lines:
            self.content = self.content or content_of(lines, self.line)
            return self
        line = find_again(self.content, lines, self.line)
        is_there = 1 <= line <= len(lines) and has_text(self.content, lines[line - 1])
        edited = None if is_there else _lost(self.content, line)
        content = content_of(lines, line, self.content.asked if is_there else None) or self.content
        if line != self.line:
            edited = f"The file was edited: moved with its line, from line {self.line} to line {line}"
            return replace(self, line=line, moved_from=self.line, content=content, edited=edited)
        self.content, self.edited = content, edited or self.edited
        return self

    def for_debugger(self) -> DebuggerBreakpoint:
        log = conditions.log_parts(self.log_message) if self.log_message else None
        hit = conditions.parse_hit_condition(self.hit_condition) if self.hit_condition else None
        return DebuggerBreakpoint(self.number, self.path, self.line, self.condition, hit, log, self.hits, self.function)


def _lost(content: LineContent, line: int) -> str:
    if content.asked is not None:
        return f"The file was edited: no line contains {content.asked[:100]!r} any more. It stays at line {line}"
    return f"The file was edited: line {line} was {content.quoted} when it was set"


def _elsewhere(line: int, bound: int) -> str:
    """The debugger sees another file than was judged. Line 0: it sees no code there or above."""
    if bound < 1:
        return f"No executable code at line {line}"
    return f"The debugger would stop at line {bound} instead of line {line}"


def not_loaded(function: str | None) -> str:
    return f"Function '{function}' is not loaded yet. Breakpoint pending."


def never_loaded(function: str | None) -> str:
    is_call = function is not None and function.endswith(")")
    advice = "write it without parentheses" if is_call else "check its name, and of a library its module"
    return f"The program never loaded a function '{function}': {advice} (json.dumps)"


class BreakpointTable:
    def __init__(self, project_root: str | None) -> None:
        self.project_root = project_root
        self._by_key: dict[tuple[str, int | str], Breakpoint] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def copy_from(self, other: BreakpointTable) -> None:
        """The same breakpoints with the same ids, not hit yet."""
        self._by_key = copy.deepcopy(other._by_key)
        self._last = other._last
        for bp in self._by_key.values():
            bp.hits = 0

    def all(self) -> list[Breakpoint]:
        return sorted(self._by_key.values(), key=lambda bp: bp.number)

    def by_number(self, number: int) -> Breakpoint | None:
        return next((bp for bp in self._by_key.values() if bp.number == number), None)

    def at(self, path: str, line: int) -> Breakpoint | None:
        return self._by_key.get((os.path.realpath(path), line))

    def find(self, breakpoint_id: str) -> Breakpoint:
        for bp in self._by_key.values():
            if bp.id == breakpoint_id:
                return bp
        raise RelayError("BREAKPOINT_NOT_FOUND", f"Breakpoint '{breakpoint_id}' not found", breakpoint_id=breakpoint_id)

    async def check(self, items: list[dict[str, Any]], strict: bool, adapter: Adapter) -> list[Breakpoint]:
        """Drafts that are good to place; raises for the first that is not, so that a batch is all or nothing."""
        drafts = [await self._draft(item, index, adapter) for index, item in enumerate(items)]
        for draft in drafts:
            check_expressions(draft, adapter.check_expression if is_python_source(draft.path) else None)
        for draft in drafts:
            await examine(draft, strict, adapter)
            if draft.is_pending and self.project_root and (meant := misplaced.meant(draft.path, self.project_root)):
                draft.suggestion = {"path": meant}
        return drafts

    async def _draft(self, item: dict[str, Any], index: int, adapter: Adapter) -> Breakpoint:
        given = item.get("path")
        field = "file" if item.get("relative_ok") else "source.path"
        path = self.resolve(given, f"breakpoints[{index}].{field}") if given else ""
        line, text = item.get("line") or 0, item.get("text")
        if text is not None:
            line = await find_line(path, text, item.get("occurrence"), adapter)
        return Breakpoint(
            path=path,
            line=line,
            condition=item.get("condition"),
            hit_condition=item.get("hit_condition"),
            log_message=item.get("log_message"),
            enabled=item.get("enabled", True),
            function=item.get("function"),
            content=content_of(read_lines(path), line, text.strip() if text else None) if path and line else None,
        )

    def restored(self, item: dict[str, Any]) -> Breakpoint:
        """One of an earlier session, as it was then."""
        names = ("line", "condition", "hit_condition", "log_message", "enabled", "function")
        known = {name: item[name] for name in names if item.get(name) is not None}
        path = self.resolve(item["path"], "source.path") if item.get("path") else ""
        content = msgspec.convert(item.get("content"), LineContent | None)
        return Breakpoint(**{"path": path, "line": 0, **known}, content=content, is_restored=True)

    def resolve(self, path: str, field: str) -> str:
        """An absolute path; `field` is where the client gave it."""
        if os.path.isabs(path):
            return os.path.normpath(path)
        if self.project_root is not None:
            return os.path.normpath(os.path.join(self.project_root, path))
        raise RelayError(
            "INVALID_REQUEST",
            "Request validation failed",
            errors=[{"field": field, "message": "Path must be absolute", "value": path}],
            suggestion="Give an absolute path, or create the session with a project_root",
        )

    def place(self, draft: Breakpoint) -> tuple[Breakpoint, str]:
        """Adds it, or replaces the one at the same place; the second value says which (new or changed)."""
        old = self._by_key.get(draft.key)
        if old is None:
            self._last += 1
            draft.number = self._last
        else:
            draft.number, draft.hits = old.number, old.hits
        self._by_key[draft.key] = draft
        return draft, "new" if old is None else "changed"

    def require_room(self, old: Breakpoint, new: Breakpoint) -> None:
        """A breakpoint is moved only to where there is no other."""
        other = self._by_key.get(new.key)
        if other is not None and other is not old:
            raise RelayError(
                "BREAKPOINT_INVALID_LINE",
                f"Line {new.line} has a breakpoint already: {other.id}",
                file=new.path,
                line=new.line,
                breakpoint_id=other.id,
                suggestion=f"Change {other.id} instead, or remove it first",
            )

    def replace(self, old: Breakpoint, new: Breakpoint) -> None:
        """Under the same number; at another place it counts anew."""
        new.number, new.hits = old.number, old.hits if new.key == old.key else 0
        self._by_key.pop(old.key, None)
        self._by_key[new.key] = new

    def follow_lines(self, numbers: set[int] | None = None) -> list[tuple[Breakpoint, Breakpoint]]:
        """Puts breakpoints, all or some, where their lines are in files that were edited.

        Says which moved, as they were and are."""
        stay = {bp.number for bp in self.all() if bp.function or not (numbers is None or bp.number in numbers)}
        followed = [(bp, bp if bp.number in stay else bp.follow(read_lines(bp.path))) for bp in self.all()]
        while clashing := _clashing(followed):  # two lines have become one: those that moved there stay
            followed = [(old, old if new.key in clashing else new) for old, new in followed]
        self._by_key = {new.key: new for _, new in followed}
        return [(old, new) for old, new in followed if new is not old]

    def remove(self, bp: Breakpoint) -> None:
        del self._by_key[bp.key]

    @contextlib.contextmanager
    def unchanged_on_failure(self) -> Iterator[None]:
        before, last = dict(self._by_key), self._last
        try:
            yield
        except BaseException:
            self._by_key, self._last = before, last
            raise

    def in_file(self, path: str) -> list[Breakpoint]:
        """Those that the debugger is to know of. It would snap the others to a line nobody asked for."""
        enabled = [bp for bp in self.all() if bp.enabled]
        if path == BY_FUNCTION:
            return [bp for bp in enabled if bp.function]
        real = os.path.realpath(path)
        lines = [bp for bp in enabled if bp.key[0] == real and not bp.function]
        return [bp for bp in lines if not bp.is_pending and _has_code(bp)]

    def for_debugger(self) -> dict[str, list[DebuggerBreakpoint]]:
        files = {bp.group for bp in self._by_key.values()}
        groups = {path: [bp.for_debugger() for bp in self.in_file(path)] for path in sorted(files)}
        return {path: group for path, group in groups.items() if group}

    def can_stop(self) -> bool:
        """A function that is not loaded yet may be in a moment."""
        may = (bp for bp in self._by_key.values() if bp.enabled and not bp.log_message)
        return any(bp.verified or bp.function or bp.is_open for bp in may)

    def forget_hits(self) -> None:
        """A program that starts has reached nothing yet."""
        for bp in self._by_key.values():
            bp.hits, bp.source_changed = 0, False

    def conclude(self) -> None:
        """The program has come to its end: what it has not loaded it never had."""
        for bp in self._by_key.values():
            if bp.function and bp.message == not_loaded(bp.function):
                bp.message = never_loaded(bp.function)

    def pending(self) -> list[Breakpoint]:
        return [bp for bp in self._by_key.values() if bp.is_pending]


def _clashing(followed: list[tuple[Breakpoint, Breakpoint]]) -> set[tuple[str, int | str]]:
    """Places at which two would be, and one that moved."""
    moved = {new.key for old, new in followed if new.key != old.key}
    count = Counter(new.key for _, new in followed)
    return {key for key in moved if count[key] > 1}


def _has_code(bp: Breakpoint) -> bool:
    return bp.is_open or (bp.suggestion is None and bp.verified)


def check_expressions(bp: Breakpoint, check: conditions.Checker | None) -> None:
    """Those of other languages than Python are left to the debugger."""
    if bp.condition is not None and check is not None:
        problem = check(bp.condition)
        if problem is not None:
            raise _bad_condition(bp, problem.message, problem.offset)
    if bp.hit_condition is not None:
        conditions.parse_hit_condition(bp.hit_condition)
    if bp.log_message is not None:
        conditions.parse_log_message(bp.log_message, check)


def _bad_condition(bp: Breakpoint, message: str, offset: int | None) -> RelayError:
    condition = bp.condition or ""
    # Without a file it is taken for Python unless the session says otherwise.
    advice: dict[str, Any] = {} if bp.path else {"suggestion": f"Correct it; {FOR_NATIVE}"}
    return RelayError(
        "BREAKPOINT_INVALID_CONDITION",
        f"Condition {condition[:200]!r}: {message}",
        condition=condition[:1000],
        error_message=message,
        offset=offset,
        line=bp.line,
        **advice,
    )


async def examine(bp: Breakpoint, strict: bool, adapter: Adapter) -> None:
    """Holds the line against the file's real line table."""
    if bp.function:
        await examine_function(bp, strict, adapter)
        return
    if not file_exists(bp, strict):
        return
    source = SourceFile(bp.path, await adapter.examine(bp.path))
    verdict = source.verdict(bp.line)
    if verdict.reason == "past_end":
        raise RelayError(
            "BREAKPOINT_INVALID_LINE", verdict.message or "", file=bp.path, line=bp.line, max_line=source.max_line
        )
    if strict and not verdict.verified and verdict.reason != "open":
        nearest = verdict.suggestion
        advice: dict[str, Any] = {}
        if nearest:
            advice["suggestion"] = f"Try line {nearest['line']} which contains: {nearest['text']!r}"
        raise RelayError(
            "BREAKPOINT_INVALID_LINE",
            f"Cannot set breakpoint at line {bp.line}: {source.why_not(bp.line)}",
            file=bp.path,
            line=bp.line,
            content=source.text(bp.line)[:200],
            **advice,
        )
    bp.judge(verdict)


def file_exists(bp: Breakpoint, strict: bool) -> bool:
    """Until it does, the breakpoint is pending."""
    if os.path.isfile(bp.path):
        bp.suggestion = None
        return True
    if strict:
        raise RelayError("BREAKPOINT_FILE_NOT_FOUND", f"Source file not found: {bp.path}", file=bp.path)
    bp.verified, bp.is_pending, bp.message = False, True, PENDING
    return False


async def examine_function(bp: Breakpoint, strict: bool, adapter: Adapter) -> None:
    """What the file says, if one is given; the program has the last word."""
    bp.is_pending, bp.verified, bp.message = False, False, not_loaded(bp.function)
    if not bp.path or not bp.function:
        return
    if not file_exists(bp, strict):
        return
    found = await adapter.find_function(bp.path, bp.function)
    if found:
        bp.verified, bp.message = True, None
        bp.places = tuple({"path": bp.path, "line": line} for line in found)
    else:
        bp.message = f"No function '{bp.function}' in {bp.path}. Breakpoint pending."


def require_good_condition(bp: Breakpoint) -> None:
    """Of another language than Python: only the debugger can tell, once the program is loaded."""
    if bp.bad_condition is not None:
        raise _bad_condition(bp, bp.bad_condition, None)


def require_found(bp: Breakpoint) -> None:
    """For those who want only what can stop."""
    if bp.is_open and not bp.verified and bp.message != OPEN:
        nearest = bp.suggestion
        advice: dict[str, Any] = {}
        if nearest:
            advice["suggestion"] = f"Try line {nearest['line']} which contains: {nearest['text']!r}"
        raise RelayError("BREAKPOINT_INVALID_LINE", bp.message or "", file=bp.path, line=bp.line, **advice)
    if bp.function and not bp.verified:
        raise RelayError(
            "BREAKPOINT_FUNCTION_NOT_FOUND",
            (bp.message or "").replace(" Breakpoint pending.", ""),
            function=bp.function,
        )
