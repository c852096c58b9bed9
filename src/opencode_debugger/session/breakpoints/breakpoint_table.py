"""The breakpoints of a session: checked before the program runs, numbered once, never moved in silence."""

from __future__ import annotations

import contextlib
import copy
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.breakpoints import Breakpoint as BreakpointAnswer
from ...answers.breakpoints import BreakpointGone, CodePlace, SourcePath, Suggestion
from ...answers.documents import SavedBreakpoint
from ...answers.shape import UNSET, unless_none
from ...debuggers.debugger_switch import is_python_source
from ...debuggers.shapes import BY_FUNCTION, Bound, DebuggerBreakpoint
from ...errors import RelayError
from . import conditions
from .examination import check_expressions, examine_breakpoint, not_loaded
from .find_line import LineContent, content_of, find_again, find_line, has_text
from .source_files import TEXT_LIMIT, find_similar_file, read_lines

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter

CHANGED = "The file has changed since the program loaded it: lines are those of the loaded version"
QUOTED = 60

Place = tuple[str, int | str]
"""the real path of a file, and a line or a function; every place has one breakpoint"""


class BreakpointItem(SavedBreakpoint, total=False):
    """A breakpoint as it is asked for."""

    path: str | None
    relative_ok: bool
    text: str | None
    occurrence: int | None


def number_of(id: str) -> int:
    """Return the number in bp_3, dbp_3 or w_3, by which some clients know it."""
    return int(id.rpartition("_")[2])


@dataclass
class Breakpoint:
    path: str
    """the file of the line; for a function the only file in which it counts, or empty"""
    line: int
    """0 for a function"""
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None
    enabled: bool = True
    number: int = 0
    verified: bool = False
    message: str | None = None
    suggestion: Suggestion | None = None
    hits: int = 0
    is_pending: bool = False
    is_undecided: bool = False
    """only the program can tell whether its line has code"""
    function: str | None = None
    places: tuple[dict[str, Any], ...] = ()
    """where a function was found"""
    content: LineContent | None = None
    """text of the line when it was set, by which it is found again after the file was edited"""
    moved_from: int | None = None
    """the line that it was on, if an edit of the file moved it"""
    edit_note: str | None = None
    """tells how an edit of the file has affected it"""
    is_restored: bool = False
    """set by an earlier session of the project, and by nobody in this one"""
    source_changed: bool = False
    bad_condition: str | None = None
    """the debugger's objection to its condition"""
    key: Place = field(init=False)

    def __post_init__(self) -> None:
        real = os.path.realpath(self.path) if self.path else ""
        self.key = (real, self.function or self.line)

    @property
    def id(self) -> str:
        return f"bp_{self.number}"

    @property
    def debugger_group(self) -> str:
        """Return the file, or the name for all functions: the debugger is always told of a whole group."""
        return BY_FUNCTION if self.function else self.path

    @property
    def paths(self) -> set[str]:
        """Return the files in which it stops."""
        return {place["path"] for place in self.places} or ({self.path} if self.path else set())

    @property
    def real_paths(self) -> set[str]:
        return {os.path.realpath(place["path"]) for place in self.places} | {self.key[0]}

    @property
    def is_counted_inside(self) -> bool:
        return bool(self.condition or self.hit_condition or self.function)

    def apply_binding(self, bound: Bound) -> None:
        """Add what the debugger says to what is known of the line."""
        self.bad_condition = bound.bad_condition
        if self.function and bound.verified:
            self.verified, self.message, self.places = True, bound.message, bound.places
        elif self.function:
            if bound.message or not self.places:  # places that were seen in its file are kept until that is loaded
                self.verified, self.message = False, bound.message or not_loaded(self.function)
        elif self.is_undecided:
            self._bind_open(bound)
        elif not bound.verified:
            self.verified, self.message = False, bound.message or "The debugger could not set it"
        elif bound.line is None or bound.line == self.line:
            self.verified = True
        else:  # it sees another file than was examined; line 0: no code there or above
            there = f"The debugger would stop at line {bound.line} instead of line {self.line}"
            self.verified, self.message = False, there if bound.line > 0 else f"No executable code at line {self.line}"

    def _bind_open(self, bound: Bound) -> None:
        """Take over what is on the line, now that the program, or another of its libraries, has been loaded."""
        self.verified, self.message, self.suggestion = bound.verified, bound.message, None
        if bound.line is not None and bound.line != self.line:
            self.verified, self.message = False, bound.message or f"No executable code at line {self.line}"
            text = "".join(read_lines(self.path)[bound.line - 1 : bound.line]).strip()
            self.suggestion = Suggestion(line=bound.line, text=text[:TEXT_LIMIT])
        elif not bound.verified:
            self.message = bound.message or "The program has no code at this place. Breakpoint pending."

    def to_answer(self) -> BreakpointAnswer:
        places = [CodePlace(path=place["path"], line=place["line"]) for place in self.places]
        place = places[0] if places else CodePlace(path=self.path, line=self.line)
        message = ". ".join(filter(None, (self.edit_note, self.message))) or None
        return BreakpointAnswer(
            id=self.id, verified=self.verified, enabled=self.enabled, hit_count=self.hits,
            condition=self.condition, hit_condition=self.hit_condition, log_message=self.log_message,
            source=SourcePath(path=place.path) if place.path else None, line=place.line or None,
            message=(self.message or CHANGED) if self.source_changed else message,
            function=unless_none(self.function), file=UNSET if self.function is None else self.path or None,
            locations=UNSET if self.function is None else places, suggestion=unless_none(self.suggestion),
            text=UNSET if self.content is None or self.content.asked is None else self.content.text,
            restored=self.is_restored or UNSET, moved_from=unless_none(self.moved_from),
            source_changed=self.source_changed or UNSET,
        )

    def to_removed(self) -> BreakpointGone:
        source, path = SourcePath(path=self.path) if self.path else None, self.path or None
        return BreakpointGone(id=self.id, source=source, line=self.line or None, function=self.function, file=path)

    def to_exported(self, path: str | None) -> SavedBreakpoint:
        """Return it as a client would set it, with its path as it is to be written."""
        exported: SavedBreakpoint = {"condition": self.condition, "hit_condition": self.hit_condition}
        exported["log_message"], exported["enabled"] = self.log_message, self.enabled
        if not self.function:
            return {**exported, "source": {"path": path}, "line": self.line}
        exported["function"] = self.function
        return {**exported, "file": path} if path else exported

    def to_saved(self) -> SavedBreakpoint:
        """Return it as it is set, with the text of its line, so that the next session finds that."""
        saved = self.to_exported(None)
        saved["source"] = {"path": self.path} if self.path else None
        saved["line"], saved["function"] = self.line or None, self.function
        saved["content"] = msgspec.to_builtins(self.content)
        return saved

    def follow_line(self, lines: list[str]) -> Breakpoint:
        """Return the breakpoint where its line is now, a new one if that has moved.

        Its file may have been edited while no program had it loaded."""
        if self.content is None or not lines:
            self.content = self.content or content_of(lines, self.line)
            return self
        line = find_again(self.content, lines, self.line)
        is_there = 1 <= line <= len(lines) and has_text(self.content, lines[line - 1])
        edited = None
        if not is_there and self.content.asked is None:
            text = self.content.text if len(self.content.text) <= QUOTED else self.content.text[: QUOTED - 1] + "…"
            edited = f"The file was edited: line {line} was {text!r} when it was set"
        elif not is_there:
            asked = (self.content.asked or "")[:100]
            edited = f"The file was edited: no line contains {asked!r} any more. It stays at line {line}"
        content = content_of(lines, line, self.content.asked if is_there else None) or self.content
        if line != self.line:
            edited = f"The file was edited: moved with its line, from line {self.line} to line {line}"
            return replace(self, line=line, moved_from=self.line, content=content, edit_note=edited)
        self.content, self.edit_note = content, edited or self.edit_note
        return self

    def for_debugger(self) -> DebuggerBreakpoint:
        log = conditions.log_parts(self.log_message) if self.log_message else None
        hit = conditions.parse_hit_condition(self.hit_condition) if self.hit_condition else None
        return DebuggerBreakpoint(self.number, self.path, self.line, self.condition, hit, log, self.hits, self.function)


class BreakpointTable:
    def __init__(self, project_root: str | None) -> None:
        self.project_root = project_root
        self._by_key: dict[Place, Breakpoint] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def copy_from(self, other: BreakpointTable) -> None:
        """Take the same breakpoints with the same ids, not hit yet."""
        self._by_key = copy.deepcopy(other._by_key)
        self._last = other._last
        for bp in self._by_key.values():
            bp.hits = 0

    def all(self) -> list[Breakpoint]:
        return sorted(self._by_key.values(), key=lambda bp: bp.number)

    def by_number(self, number: int) -> Breakpoint | None:
        return next((bp for bp in self._by_key.values() if bp.number == number), None)

    def at_line(self, path: str, line: int) -> Breakpoint | None:
        return self._by_key.get((os.path.realpath(path), line))

    def find_by_id(self, breakpoint_id: str) -> Breakpoint:
        for bp in self._by_key.values():
            if bp.id == breakpoint_id:
                return bp
        raise RelayError("BREAKPOINT_NOT_FOUND", f"Breakpoint '{breakpoint_id}' not found", breakpoint_id=breakpoint_id)

    async def check_drafts(self, items: Sequence[BreakpointItem], strict: bool, adapter: Adapter) -> list[Breakpoint]:
        """Return drafts that are good to place; raise for the first that is not, so that a batch is all or nothing."""
        drafts = [await self._make_draft(item, index, adapter) for index, item in enumerate(items)]
        for draft in drafts:
            check_expressions(draft, adapter.inspection.check_expression if is_python_source(draft.path) else None)
        for draft in drafts:
            await examine_breakpoint(draft, strict, adapter)
            if draft.is_pending and self.project_root and (similar := find_similar_file(draft.path, self.project_root)):
                draft.suggestion = Suggestion(path=similar)
        return drafts

    async def _make_draft(self, item: BreakpointItem, index: int, adapter: Adapter) -> Breakpoint:
        field = "file" if item.get("relative_ok") else "source.path"
        draft = self.from_item(item, f"breakpoints[{index}].{field}")
        text = item.get("text")
        if text is not None:
            draft = replace(draft, line=await find_line(draft.path, text, item.get("occurrence"), adapter))
        if draft.path and draft.line:
            draft.content = content_of(read_lines(draft.path), draft.line, text.strip() if text else None)
        return draft

    def from_item(self, item: BreakpointItem, field: str) -> Breakpoint:
        """Make a breakpoint of what was given; `field` is where its path was."""
        path = self.resolve_path(path, field) if (path := item.get("path")) else ""
        wishes = item.get("condition"), item.get("hit_condition"), item.get("log_message")
        is_enabled = True if (enabled := item.get("enabled")) is None else enabled
        return Breakpoint(path, item.get("line") or 0, *wishes, is_enabled, function=item.get("function"))

    def resolve_path(self, path: str, field: str) -> str:
        """Return an absolute path; `field` is where the client gave it."""
        if os.path.isabs(path):
            return os.path.normpath(path)
        if self.project_root is not None:
            return os.path.normpath(os.path.join(self.project_root, path))
        errors = [{"field": field, "message": "Path must be absolute", "value": path}]
        suggestion = "Give an absolute path, or create the session with a project_root"
        raise RelayError("INVALID_REQUEST", "Request validation failed", errors=errors, suggestion=suggestion)

    def add_or_replace(self, draft: Breakpoint) -> tuple[Breakpoint, str]:
        """Add a breakpoint, or replace the one at the same place; the second value says which (new or changed)."""
        old = self._by_key.get(draft.key)
        if old is None:
            self._last += 1
            draft.number = self._last
        else:
            draft.number, draft.hits = old.number, old.hits
        self._by_key[draft.key] = draft
        return draft, "new" if old is None else "changed"

    def require_room(self, old: Breakpoint, new: Breakpoint) -> None:
        """Refuse to move a breakpoint to where there is another."""
        other = self._by_key.get(new.key)
        if other is not None and other is not old:
            message = f"Line {new.line} has a breakpoint already: {other.id}"
            place: dict[str, Any] = {"file": new.path, "line": new.line, "breakpoint_id": other.id}
            suggestion = f"Change {other.id} instead, or remove it first"
            raise RelayError("BREAKPOINT_INVALID_LINE", message, suggestion=suggestion, **place)

    def replace_breakpoint(self, old: Breakpoint, new: Breakpoint) -> None:
        """Put one in the place of another, under the same number; at another place it counts anew."""
        new.number, new.hits = old.number, old.hits if new.key == old.key else 0
        self._by_key.pop(old.key, None)
        self._by_key[new.key] = new

    def follow_lines(self, numbers: set[int] | None = None) -> list[tuple[Breakpoint, Breakpoint]]:
        """Put breakpoints, all or some, where their lines are in files that were edited.

        Return those that moved, as they were and as they are."""
        stay = {bp.number for bp in self.all() if bp.function or not (numbers is None or bp.number in numbers)}
        followed = [(bp, bp if bp.number in stay else bp.follow_line(read_lines(bp.path))) for bp in self.all()]
        while True:
            count = Counter(new.key for _, new in followed)
            clashing = {new.key for old, new in followed if new.key != old.key and count[new.key] > 1}
            if not clashing:
                break
            # Two lines have become one: those that moved there stay.
            followed = [(old, old if new.key in clashing else new) for old, new in followed]
        self._by_key = {new.key: new for _, new in followed}
        return [(old, new) for old, new in followed if new is not old]

    def remove_breakpoint(self, bp: Breakpoint) -> None:
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
        """Return those that the debugger is to know of. It would snap the others to a line nobody asked for."""
        enabled = [bp for bp in self.all() if bp.enabled]
        if path == BY_FUNCTION:
            return [bp for bp in enabled if bp.function]
        real = os.path.realpath(path)
        lines = [bp for bp in enabled if bp.key[0] == real and not bp.function and not bp.is_pending]
        return [bp for bp in lines if bp.is_undecided or (bp.suggestion is None and bp.verified)]

    def for_debugger(self) -> dict[str, list[DebuggerBreakpoint]]:
        files = {bp.debugger_group for bp in self._by_key.values()}
        groups = {path: [bp.for_debugger() for bp in self.in_file(path)] for path in sorted(files)}
        return {path: group for path, group in groups.items() if group}

    def can_stop(self) -> bool:
        """Tell whether a breakpoint may stop the program; a function that is not loaded yet may be in a moment."""
        may = (bp for bp in self._by_key.values() if bp.enabled and not bp.log_message)
        return any(bp.verified or bp.function or bp.is_undecided for bp in may)

    def mark_never_loaded(self) -> None:
        """Say of functions that the program, which has ended, never loaded them."""
        for bp in self._by_key.values():
            if bp.function and bp.message == not_loaded(bp.function):
                name = "check its name, and of a library its module"
                advice = "write it without parentheses" if bp.function.endswith(")") else name
                bp.message = f"The program never loaded a function '{bp.function}': {advice} (json.dumps)"

    def pending_breakpoints(self) -> list[Breakpoint]:
        return [bp for bp in self._by_key.values() if bp.is_pending]
