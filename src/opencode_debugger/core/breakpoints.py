"""The breakpoints of a session: checked before the program runs, numbered once, never moved in silence."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..adapters.base import Adapter, Bound, DebuggerBreakpoint
from ..errors import RelayError
from . import conditions
from .source import LineVerdict, SourceFile

PENDING = "Source file not found. Breakpoint pending."


@dataclass
class Breakpoint:
    path: str
    line: int
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
    key: tuple[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.key = (os.path.realpath(self.path), self.line)

    @property
    def id(self) -> str:
        return f"bp_{self.number}"

    def judge(self, verdict: LineVerdict) -> None:
        self.verified, self.message, self.suggestion = verdict.verified, verdict.message, verdict.suggestion
        self.is_pending = False

    def bind(self, bound: Bound) -> None:
        """What the debugger says is added to what we know of the line."""
        self.verified = bound.verified
        if not bound.verified:
            self.message = bound.message or "The debugger could not set it"
        elif bound.line is not None and bound.line != self.line:
            self.verified = False
            self.message = f"The debugger would stop at line {bound.line} instead of line {self.line}"

    def to_dict(self) -> dict[str, Any]:
        shown = {
            "id": self.id,
            "verified": self.verified,
            "source": {"path": self.path},
            "line": self.line,
            "condition": self.condition,
            "hit_condition": self.hit_condition,
            "log_message": self.log_message,
            "enabled": self.enabled,
            "hit_count": self.hits,
            "message": self.message,
        }
        if self.suggestion is not None:
            shown["suggestion"] = self.suggestion
        return shown

    def for_debugger(self) -> DebuggerBreakpoint:
        log = conditions.log_parts(self.log_message) if self.log_message else None
        hit = conditions.parse_hit_condition(self.hit_condition) if self.hit_condition else None
        return DebuggerBreakpoint(self.number, self.path, self.line, self.condition, hit, log, self.hits)


class BreakpointTable:
    def __init__(self, project_root: str | None) -> None:
        self._project_root = project_root
        self._by_key: dict[tuple[str, int], Breakpoint] = {}
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
        drafts = [self._draft(item, index) for index, item in enumerate(items)]
        for draft in drafts:
            check_expressions(draft, adapter)
        for draft in drafts:
            await examine(draft, strict, adapter)
        return drafts

    def _draft(self, item: dict[str, Any], index: int) -> Breakpoint:
        if item.get("function"):
            raise RelayError(
                "NOT_SUPPORTED",
                "Function breakpoints are not available",
                suggestion="Set a breakpoint on the first line inside the function",
            )
        return Breakpoint(
            path=self._resolve(item["path"], index, bool(item.get("relative_ok"))),
            line=item["line"],
            condition=item.get("condition"),
            hit_condition=item.get("hit_condition"),
            log_message=item.get("log_message"),
            enabled=item.get("enabled", True),
        )

    def _resolve(self, path: str, index: int, relative_ok: bool) -> str:
        if os.path.isabs(path):
            return os.path.normpath(path)
        if self._project_root is not None:
            return os.path.normpath(os.path.join(self._project_root, path))
        field_name = "file" if relative_ok else "source.path"
        raise RelayError(
            "INVALID_REQUEST",
            "Request validation failed",
            errors=[{"field": f"breakpoints[{index}].{field_name}", "message": "Path must be absolute", "value": path}],
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

    def remove(self, bp: Breakpoint) -> None:
        del self._by_key[bp.key]

    @contextlib.contextmanager
    def unchanged_on_failure(self) -> Iterator[None]:
        before = dict(self._by_key)
        try:
            yield
        except BaseException:
            self._by_key = before
            raise

    def in_file(self, path: str) -> list[Breakpoint]:
        """Those that the debugger is to know of. It would snap the others to a line nobody asked for."""
        real = os.path.realpath(path)
        return [bp for bp in self.all() if bp.key[0] == real and bp.enabled and not bp.is_pending and _has_code(bp)]

    def for_debugger(self) -> dict[str, list[DebuggerBreakpoint]]:
        files = {bp.path for bp in self._by_key.values()}
        groups = {path: [bp.for_debugger() for bp in self.in_file(path)] for path in sorted(files)}
        return {path: group for path, group in groups.items() if group}

    def can_stop(self) -> bool:
        return any(bp.enabled and bp.verified and not bp.log_message for bp in self._by_key.values())

    def pending(self) -> list[Breakpoint]:
        return [bp for bp in self._by_key.values() if bp.is_pending]


def _has_code(bp: Breakpoint) -> bool:
    return bp.suggestion is None and bp.verified


def check_expressions(bp: Breakpoint, adapter: Adapter) -> None:
    if bp.condition is not None:
        problem = adapter.check_expression(bp.condition)
        if problem is not None:
            raise RelayError(
                "BREAKPOINT_INVALID_CONDITION",
                f"Condition {bp.condition[:200]!r}: {problem.message}",
                condition=bp.condition[:1000],
                error_message=problem.message,
                offset=problem.offset,
                line=bp.line,
            )
    if bp.hit_condition is not None:
        conditions.parse_hit_condition(bp.hit_condition)
    if bp.log_message is not None:
        conditions.parse_log_message(bp.log_message, adapter.check_expression)


async def examine(bp: Breakpoint, strict: bool, adapter: Adapter) -> None:
    """Holds the line against the file's real line table."""
    if not os.path.isfile(bp.path):
        if strict:
            raise RelayError("BREAKPOINT_FILE_NOT_FOUND", f"Source file not found: {bp.path}", file=bp.path)
        bp.is_pending, bp.message = True, PENDING
        return
    source = SourceFile(bp.path, await adapter.examine(bp.path))
    verdict = source.verdict(bp.line)
    if verdict.reason == "past_end":
        raise RelayError(
            "BREAKPOINT_INVALID_LINE", verdict.message or "", file=bp.path, line=bp.line, max_line=source.max_line
        )
    if strict and not verdict.verified:
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
