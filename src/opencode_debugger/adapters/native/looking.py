"""What a session asks about a native program, in the words of DAP: a debugger that can do better overrides it."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass, field
from typing import Any

from ...errors import RelayError
from ..base import ExceptionRule, Frames, Listener, StackPage
from ..files_only import FilesOnly
from ..handles import Handles
from ..hovering import may_change, pointed_at
from ..permission import may_run, only_looks
from ..rows import (
    MAX_PAGE,
    PAGE,
    VALUE_LIMIT,
    Row,
    as_result,
    has_failed,
    paged,
    row,
    selected,
    shortened,
    watched_row,
    within,
)
from . import looks, rust
from .names import short_name
from .talking import Talking

MOST_FRAMES = 500
"""that are fetched of a stack at each stop: one that overflowed has hundreds of thousands"""
STRIDE = 5000
"""frames that a debugger goes down in one request"""
MOST_THREADS = 100
"""whose places are asked for, when all are listed"""
ERROR_LIMIT = 2000
LINE_ENDS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""To a debugger, what begins a new line is another command."""
NO_VARIABLE = re.compile(r"""(\.|->|::)\s*$|^[^"]*("[^"]*"[^"]*)*"[^"]*$""")
"""What members follow, or is in the middle of a text."""
MOST_SEARCHED = 10_000
"""members that are held against a name"""
COMMAND = ">"
"""before a command of the debugger's own in an evaluation"""
ONLY_LOOKS = "It is not evaluated for callers who may only read"
RUNS_CODE = "It calls a function of the program, and a look runs nothing: POST /sessions/{id}/evaluate does"
NOWHERE = " at an address that no memory can have"
MOVING = re.compile(
    r"(c|cont\w*|fg|n|nex\w*|ni|s|ste\w*|si\w?|fin\w*|u|unt\w*|adv\w*|j|jump|r|run|start\w*|k|kill|det\w*|att\w*|signal"
    r"|ret\w*|reverse-\S*|r[csn]i?|record|disc\w*|interrupt|q|quit|exit|gdb-remote"
    r"|pr\w*\s+(cont\w*|conn\w*|la\w*|att\w*|det\w*|k\w*|int\w*|sig\w*)|th\w*\s+(cont\w*|step\S*|unt\w*|ret\w*|j\w*))(\s|$)"
)
"""Commands of either debugger, as far as they may be shortened, after which the program is somewhere else."""
SCOPES = ("Locals", "Arguments", "Return", "Globals", "Registers")
ADVICE = re.compile(r"To change this behavior use\s+\"[^\"]+\"\.|Use \"[^\"]+\"\.")
"""What debuggers tell people who type commands."""


@dataclass(frozen=True)
class Frame:
    """A frame of a stopped thread, by the debugger's own id and by its place on the stack."""

    id: int
    thread: int
    level: int


@dataclass(frozen=True)
class Object:
    """What is shown, by its place in memory and its type: of a pointer or a C++ reference, what it leads to."""

    address: int
    type: str
    is_led_to: bool = field(default=False, compare=False)


Way = dict[Object, int]
"""Objects through which something was reached, each with the number of what is inside of it."""


@dataclass(frozen=True)
class Inside:
    """What is under a reference: the debugger's reference, of what is in a frame."""

    reference: int
    frame: int
    named: int = 0
    indexed: int = 0
    scope: str | None = None
    way: Way = field(default_factory=dict)
    path: str | None = None
    """the expression for it, where its place in memory is still to be asked for"""


class Looking(Talking, FilesOnly):
    """The part of the adapter that looks into the program, and changes values in it."""

    def __init__(
        self, session_id: str, listener: Listener, timeout: float, launch_timeout: float, path: str | None
    ) -> None:
        super().__init__(session_id, listener, timeout, launch_timeout, path)
        self._frames: Handles[Frame] = Handles(1)
        self._inside: Handles[Inside] = Handles(1000)
        self._generation = 0
        """counts how often the program went on"""
        self._left: str | None = None
        """the function that was stepped out of"""
        self._fatal_rules: list[int] = []
        """numbers of the exception breakpoints that want to hear of crashes"""
        self._deepest: dict[int, int] = {}
        """by thread: how far down its stack is known to reach, where it was not fetched as a whole"""
        self._tops: dict[int, str] = {}
        """by thread: the function in which it was seen last"""

    @property
    def _is_halted(self) -> bool:
        return not self._is_running

    def _forget_places(self) -> None:
        self._generation += 1
        self._frames.clear()
        self._inside.clear()
        self._deepest.clear()

    def _frame(self, number: int) -> Frame:
        frame = self._frames.get(number)
        if frame is None:
            raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
        if self._is_running:
            raise self._not_halted()
        return frame

    # Threads and stacks.

    async def threads(self) -> list[dict[str, Any]]:
        listed = (await self._request("threads"))["threads"]
        halted = self._is_halted
        rows = [
            {"id": each["id"], "name": each["name"], "halted": halted, "marked": halted, "top": None} for each in listed
        ]
        for made in rows[:MOST_THREADS] if halted else []:
            frames = await self._stack(made["id"], 1)
            made["top"] = frames[0] if frames else None
        return rows

    async def look(self, thread_id: int) -> Frames:
        raise RelayError(
            "INVALID_SESSION_STATE",
            f"Thread {thread_id} is running: {self.name} shows the stacks of threads that are halted",
            thread_id=thread_id,
            suggestion="Pause the program with POST /sessions/{id}/pause",
        )

    async def _stack(self, thread_id: int, levels: int) -> Frames:
        body = await self._request("stackTrace", {"threadId": thread_id, "startFrame": 0, "levels": levels})
        return self._told(thread_id, body["stackFrames"])

    async def _deeper(self, thread_id: int, start: int, levels: int) -> Frames:
        """Frames of a deep stack, in the debugger's words; none where it has ended."""
        wanted = {"threadId": thread_id, "startFrame": start, "levels": levels}
        return list((await self._request("stackTrace", wanted))["stackFrames"])

    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        last = self._frames.get(frames[-1]["id"]) if frames else None
        known = last.level + 1 if last is not None else 0
        left_out = known - len(frames)  # above them
        if known < MOST_FRAMES:
            return StackPage(frames[start : start + levels], len(frames), True)
        if start + levels <= len(frames):
            return StackPage(frames[start : start + levels], len(frames), False)
        first = max(start, len(frames))
        depth = await self._walk_down(thread_id, first + left_out)
        if depth is not None:
            return StackPage(frames[start:], depth - left_out, True)
        wanted = start + levels - first
        further = await self._deeper(thread_id, first + left_out, wanted + 1)
        shown = frames[start:] + self._told(thread_id, further[:wanted], first + left_out)
        return StackPage(shown, first + min(len(further), wanted), len(further) <= wanted)

    async def _walk_down(self, thread_id: int, level: int) -> int | None:
        """To a frame far below, in strides, so that no request takes long. The depth of a stack that ends above it."""
        while (known := self._deepest.get(thread_id, MOST_FRAMES - 1)) < level:
            there = min(level, known + STRIDE)
            if not await self._deeper(thread_id, there, 1):
                return await self._depth_between(thread_id, known, there)
            self._deepest[thread_id] = there
        return None

    async def _depth_between(self, thread_id: int, there: int, gone: int) -> int:
        while gone - there > 1:
            middle = (there + gone) // 2
            if await self._deeper(thread_id, middle, 1):
                there = middle
            else:
                gone = middle
        return gone

    def _told(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        """With ids of ours, and only paths that lead somewhere."""
        told: Frames = []
        for level, frame in enumerate(frames, above):
            path = (frame.get("source") or {}).get("path") or ""
            is_known = path.startswith("/")
            made = {
                "id": self._frames.add(Frame(frame["id"], thread_id, level)),
                "name": short_name(frame["name"].strip("?")) or frame.get("instructionPointerReference") or "??",
                "line": frame["line"] if is_known else 0,
                "column": frame["column"] or 1,
                "source": {"path": path} if is_known else None,
                "address": frame.get("instructionPointerReference"),
            }
            if not is_known or rust.STANDARD in path or not os.path.isfile(path):
                made["presentationHint"] = "subtle"
            told.append(made)
        if told and not above:
            self._tops[thread_id] = told[0]["name"]
        return told

    async def own_threads(self) -> list[int]:
        return []

    # Values.

    async def scopes(self, frame: int) -> list[dict[str, Any]]:
        place = self._frame(frame)
        body = await self._request("scopes", {"frameId": place.id})
        found = {scope["name"]: scope for scope in body["scopes"]}
        return [self._scope(frame, found[name]) for name in _ordered(found)]

    def _scope(self, frame: int, scope: dict[str, Any]) -> dict[str, Any]:
        named = scope.get("namedVariables") or 0
        inside = Inside(scope["variablesReference"], frame, named, scope.get("indexedVariables") or 0, scope["name"])
        return {
            "name": scope["name"],
            "presentation_hint": scope.get("presentationHint") or scope["name"].lower(),
            "variables_reference": self._inside.add(inside),
            "named_variables": inside.named,
            "indexed_variables": inside.indexed,
            "expensive": bool(scope.get("expensive")),
        }

    def _row(
        self,
        variable: dict[str, Any],
        frame: int,
        value: str = "value",
        way: Way | None = None,
        what: Object | None = None,
    ) -> Row:
        named, indexed = variable.get("namedVariables") or 0, variable.get("indexedVariables") or 0
        made = row(variable.get("name", ""), variable.get(value), variable.get("type"), 0, named, indexed)
        path = variable.get("evaluateName") if what is None and not indexed else None
        reference = variable.get("variablesReference") or 0
        return self._expandable(made, Inside(reference, frame, named, indexed, way=dict(way or {}), path=path), what)

    def _expandable(self, made: Row, inside: Inside, what: Object | None) -> Row:
        """`made` with a number for what is inside of it: that of the object itself, if it was reached through it."""
        if not inside.reference:
            return made
        made["expandable"] = True
        if what is not None and what.is_led_to and what in inside.way:
            return {**made, "variables_reference": inside.way[what], "circular": True}
        made["variables_reference"] = number = self._inside.add(inside)
        if what is not None:
            inside.way[what] = number
        return made

    async def _variables(self, inside: Inside, start: int = 0, count: int = 0) -> list[Row]:
        arguments = {"variablesReference": inside.reference, "start": start, "count": count}
        body = await self._request("variables", arguments)
        return [self._row(variable, inside.frame, way=inside.way) for variable in body["variables"]]

    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": True}
        answer: dict[str, Any] = {"variables_reference": reference}
        start, count = page.get("start") or 0, min(page.get("count") or PAGE, MAX_PAGE)
        if inside.indexed and not page.get("name") and page.get("filter") != "named":
            rows, total = await self._variables(inside, start, count), inside.indexed
            rows = rows if len(rows) <= count else rows[start : start + count]
            if len(rows) < min(count, total - start):  # it took too long to get there
                raise not_reached(self.kind, start + len(rows), total)
        else:
            rows = await self._variables(inside, 0, MOST_SEARCHED)
            rows, total = selected(rows, page, bool(inside.indexed), start, count)
        return answer | paged(rows, total, start, page)

    async def locals(self, frame: int, page: dict[str, Any]) -> dict[str, Any]:
        start, count = page.get("start") or 0, min(page.get("count") or PAGE, MAX_PAGE)
        rows, total = selected(await self._locals(frame), page, False, start, count)
        return paged(rows, total, start, page)

    async def _locals(self, frame: int, scopes: tuple[str, ...] = ("Arguments", "Locals")) -> list[Row]:
        """Of all these scopes; an inner variable hides an outer one of the same name."""
        body = await self._request("scopes", {"frameId": self._frame(frame).id})
        rows: list[Row] = []
        for scope in body["scopes"]:
            if scope["name"] in scopes and scope.get("variablesReference"):
                rows += await self._variables(Inside(scope["variablesReference"], frame))
        return rows

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> dict[str, Any]:
        rows = await self._locals(frame)
        shown = within(rows[:names], budget)
        answer: dict[str, Any] = {"variables": shown, "omitted": len(rows) - len(shown)}
        returned = await self._returned(frame, budget // 4)
        answer |= {"left": returned and {"function": returned.pop("function", None), "how": "return"}, "returned": []}
        answer["return_value"] = [returned] if returned else []
        if more.get("watched"):
            answer["watches"] = await self.watch(frame, more["watched"], budget // 2)
        return answer

    async def _returned(self, frame: int, limit: int) -> Row | None:
        """What the function gave that was just left."""
        return None

    # Expressions.

    async def evaluate(self, frame: int, expression: str, context: str, limit: int, timeout: float) -> dict[str, Any]:
        place = self._frame(frame)
        text = expression.strip()
        if context == "repl" and text.startswith(COMMAND):
            command = text.removeprefix(COMMAND).strip()
            if MOVING.match(command):
                raise RelayError(
                    "NOT_SUPPORTED",
                    f"`{command.split()[0]}` as a command of {self.kind} would move the program past this session",
                    suggestion="POST /sessions/{id}/continue, the steps, run-to, restart, detach and terminate do that",
                )
            return await self._command(place, command, limit, timeout)
        return await self._evaluated(frame, place, text, limit, timeout)

    async def _evaluated(self, frame: int, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        """The value of an expression; for those who may only look, only of one that does no more."""
        if may_run.get():
            return await self._run(frame, place, text, limit, timeout)
        try:
            look = looks.parse(text)
        except looks.NotALook as error:
            return {"result": None, "type": None, "error": f"{ONLY_LOOKS}: {error}", "traceback": None}
        return await self._looked_at(frame, place, look, limit, timeout)

    async def _looked_at(
        self, frame: int, place: Frame, look: looks.Look, limit: int, timeout: float
    ) -> dict[str, Any]:
        """Without calling or changing anything, whatever the classes of the program make of an operator."""
        raise NotImplementedError

    async def _run(self, frame: int, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        return await self._asked_for(frame, place, text, limit, timeout, "watch")

    async def _asked_for(
        self, frame: int, place: Frame, text: str, limit: int, timeout: float, context: str
    ) -> dict[str, Any]:
        arguments = {"expression": text, "frameId": place.id, "context": context}
        try:
            body = await self._contained("evaluate", arguments, timeout)
        except RelayError as error:
            return self._failed(error, text)
        return as_result(shortened(self._row({"evaluateName": text, **body}, frame, "result"), limit))

    async def _command(self, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        """A command of the debugger's own; what it prints is the result."""
        arguments = {"expression": text, "frameId": place.id, "context": "repl"}
        try:
            body = await self._contained("evaluate", arguments, timeout)
        except RelayError as error:
            return self._failed(error, text)
        return as_result(shortened(row("", body["result"], None), limit))

    def _failed(self, error: RelayError, text: str) -> dict[str, Any]:
        """What the debugger has against an expression is an answer; that it is gone or stuck is not."""
        if error.details.get("timed_out"):
            return {"timed_out": True}
        said = error.details.get("said")
        if said is None:
            raise error
        return self._refused(said, text)

    def _refused(self, said: str, text: str) -> dict[str, Any]:
        if self._is_syntax_error(said):
            problem = {"message": said[:ERROR_LIMIT], "line": 1, "offset": 1, "text": text[:500]}
            return {"syntax_error": problem}
        told = " ".join(ADVICE.sub("", said).split())
        return {"result": None, "type": None, "error": told[:ERROR_LIMIT], "traceback": None}

    def _is_syntax_error(self, said: str) -> bool:
        return "syntax error" in said

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[dict[str, Any]]:
        most, place = min(VALUE_LIMIT, max(1, limit // max(1, len(expressions)))), self._frame(frame)
        return [watched_row(await self._evaluated(frame, place, each, most, VALUES), most) for each in expressions]

    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> dict[str, Any]:
        expression = what.get("expression")
        if expression is None:
            expression, place = pointed_at(what["path"], what["line"], what["column"])
            if not expression:
                return {"nothing": "There is no name at this place"}
        else:
            place = {}
            self._require_look(expression)
        with only_looks():
            answer = await self._evaluated(frame, self._frame(frame), expression, limit, timeout)
        return {**answer, "expression": expression, "place": place}

    def _require_look(self, expression: str, code: str = "EVALUATE_ERROR", **details: Any) -> looks.Look:
        try:
            return looks.parse(expression)
        except looks.NotALook as error:
            said = f"{error}: this only looks, and runs nothing"
            raise RelayError(code, said, suggestion=looks.ADVICE, expression=expression[:1000], **details) from error

    async def complete(self, frame: int, text: str, column: int | None) -> dict[str, Any]:
        """The debugger completes whole lines; only the last word is replaced. It offers all that the program and its
        libraries have, up to a limit: what is in the frame comes before that."""
        column = len(text) + 1 if column is None else column
        typed = text[: column - 1]
        line, word = LINE_ENDS.split(typed)[-1], re.split(r"\W", typed)[-1]
        start = len(typed) - len(word) + 1
        with only_looks():
            labels = await self._completions(self._frame(frame), line, len(line) + 1)
            names = [] if NO_VARIABLE.search(line.removesuffix(word)) else await self._names(frame)
        items = [
            {"label": label, "type": "variable", "start": start, "length": len(word)}
            for label in dict.fromkeys([*names, *labels])
            if label.startswith(word)
        ]
        return {"items": items[:PAGE], "total": len(items), "has_more": len(items) > PAGE}

    async def _names(self, frame: int) -> list[str]:
        """Of the variables in a frame."""
        raise NotImplementedError

    async def _completions(self, place: Frame, typed: str, column: int) -> list[str]:
        arguments = {"frameId": place.id, "text": typed, "column": column}
        body = await self._request("completions", arguments)
        return [target.get("text") or target["label"] for target in body["targets"]]

    # Assignments.

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": "reference"}
        before = next((each for each in await self._variables(inside) if each["name"] == name), None)
        if before is None:
            return {"missing": "name", "is_global": False}
        arguments = {"variablesReference": inside.reference, "name": name, "value": value}
        return await self._set("setVariable", arguments, frame, name, before, limit, timeout)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        place = self._frame(frame)
        before = await self._evaluated(frame, place, expression, limit, timeout)
        if has_failed(before):
            return before | {"part": "expression"}
        arguments = {"expression": expression, "value": value, "frameId": place.id}
        before = {"value": before["result"], "type": before["type"]}
        return await self._set("setExpression", arguments, frame, expression, before, limit, timeout)

    async def _set(
        self, command: str, arguments: dict[str, Any], frame: int, name: str, before: Row, limit: int, timeout: float
    ) -> dict[str, Any]:
        try:
            body = await self._contained(command, arguments, timeout)
        except RelayError as error:
            answer = self._failed(error, arguments["value"])
            return answer | {"part": "value"}
        made = shortened(self._row({**body, "name": name, "type": body.get("type") or before["type"]}, frame), limit)
        return {**made, "old": before.get("value"), "old_type": before["type"], "taken": True}

    # Exceptions: the signals that stop a program.

    async def exception(self, frame: int) -> dict[str, Any] | None:
        place = self._frame(frame)
        number, address = await self._signal(place)
        if number is None:
            return None
        name, message = signal_text(number)
        if address is not None:
            message += f" at address {address}" if address else NOWHERE
        trace = backtrace(await self._stack(place.thread, MOST_FRAMES))
        return {
            "type": name,
            "full_type": name,
            "message": message,
            "traceback": trace,
            "break_mode": "unhandled",
            "rules": self._fatal_rules,
        }

    def _check_exceptions(self, rules: list[ExceptionRule], conditions: bool) -> None:
        """Refuses what is Python's only; crashes stop in any case, and count for those who asked for them."""
        for rule in rules:
            for filter in {"user_unhandled", "test_failure"}.intersection(rule.filters):
                advice = "Use raised (when it is thrown) or uncaught (when it ends the program)"
                raise RelayError("NOT_SUPPORTED", f"{filter} is for Python exceptions", suggestion=advice)
            if rule.condition and not conditions:
                advice = "Name the classes to stop on in `exceptions` instead"
                raise RelayError("NOT_SUPPORTED", f"{self.kind} has no conditions on exceptions", suggestion=advice)
        self._fatal_rules = [rule.number for rule in rules if "uncaught" in rule.filters and not rule.exceptions]

    async def explain_exception(self, frame: int) -> dict[str, Any] | None:
        return await self.exception(frame)

    async def _signal(self, place: Frame) -> tuple[int | None, str | None]:
        """The signal that stopped a thread, and the address that it is about: empty if the processor did not tell."""
        return None, None

    # Code.

    async def modules(self, offset: int, limit: int, filter: str | None) -> dict[str, Any]:
        listed = (await self._request("modules"))["modules"]
        wanted = (filter or "").lower()
        found = [
            {"name": os.path.basename(each["name"]), "path": each.get("path"), "version": each.get("version")}
            for each in listed
            if wanted in (each.get("path") or each["name"]).lower()
        ]
        shown = found[offset : offset + limit]
        return {"modules": shown, "total": len(found), "has_more": offset + len(shown) < len(found)}

    async def _read(self, address: int, count: int) -> bytes | None:
        """Memory of the program; none if not all of it can be read."""
        raise NotImplementedError

    async def has_module(self, path: str) -> bool:
        return False

    def has_side_effects(self, text: str) -> bool:
        return may_change(text) and not looks.is_look(text)


TRACED = 15
"""frames of a backtrace as text"""
VALUES = 2.0
"""Seconds that one watch may take."""


def not_reached(debugger: str, position: int, total: int) -> RelayError:
    return RelayError(
        "DEBUGPY_TIMEOUT",
        f"{debugger} has come to element {position} of {total}: there is no shorter way than from the first",
        suggestion="Ask again: the next request goes on from there",
        reached=position,
        total=total,
    )


def _ordered(found: dict[str, Any]) -> list[str]:
    return sorted(found, key=lambda name: SCOPES.index(name) if name in SCOPES else len(SCOPES))


def signal_text(number: int) -> tuple[str, str]:
    try:
        return signal.Signals(number).name, signal.strsignal(number) or ""
    except ValueError:
        return f"signal {number}", signal.strsignal(number) or ""


def backtrace(frames: Frames) -> str:
    lines = []
    for level, frame in enumerate(frames[:TRACED]):
        source = frame.get("source")
        where = f"{source['path']}:{frame['line']}" if source else frame.get("address") or ""
        lines.append(f"#{level} {frame['name']} at {where}")
    if len(frames) > TRACED:
        lines.append(f"... and {len(frames) - TRACED} more")
    return "\n".join(lines)
