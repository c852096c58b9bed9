"""A look into a native program: frames, values and expressions, as far as gdb and lldb have it in common."""

from __future__ import annotations

import os
import re
import signal
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, cast

from ...errors import RelayError
from ...operations.advice import advice
from .. import rows
from ..c_expressions import may_change, pointed_at
from ..protocols import Inspection
from ..rows import ExceptionRow, PageWish, VariablePage, VariableRow
from ..run_permission import may_run, only_looks
from ..shapes import Asked, Frames, StackPage
from ..stop_handles import Handles
from ..value_rows import PAGE, VALUE_LIMIT, page_of, watched_row
from . import readonly_expressions, rust_toolchain
from .function_names import short_name
from .native_conversation import NativeConversation
from .native_exceptions import NativeExceptions
from .native_program import NativeProgram

MOST_FRAMES = 500
"""that are fetched of a stack at each stop: one that overflowed has hundreds of thousands"""
ERROR_LIMIT, ASKED_LIMIT = 2000, 200
"""characters of an error, and of a value that is needed for something else"""
LINE_ENDS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""To a debugger, what begins a new line is another command."""
NO_VARIABLE = re.compile(r"""(\.|->|::)\s*$|^[^"]*("[^"]*"[^"]*)*"[^"]*$""")
"""Text that members follow, or that ends in the middle of a string."""
MOST_SEARCHED = 10_000
"""members that are held against a name"""
COMMAND = ">"
"""before a command of the debugger's own in an evaluation"""
RUNS_CODE = "It calls a function of the program, and a look runs nothing: {evaluate} does"
MOVING = re.compile(
    r"(c|cont\w*|fg|n|nex\w*|ni|s|ste\w*|si\w?|fin\w*|u|unt\w*|adv\w*|j|jump|r|run|start\w*|k|kill|det\w*|att\w*|signal"
    r"|ret\w*|reverse-\S*|r[csn]i?|record|disc\w*|interrupt|q|quit|exit|gdb-remote"
    r"|pr\w*\s+(cont\w*|conn\w*|la\w*|att\w*|det\w*|k\w*|int\w*|sig\w*)|th\w*\s+(cont\w*|step\S*|unt\w*|ret\w*|j\w*))(\s|$)"
)
"""Commands of either debugger, as far as they may be shortened, after which the program is somewhere else."""
TRACED = 15
"""frames of a backtrace as text"""
VALUES = 2.0
"""Seconds that one watch may take."""
ADVICE = re.compile(r"To change this behavior use\s+\"[^\"]+\"\.|Use \"[^\"]+\"\.")
"""Advice of debuggers for people who type commands."""


@dataclass
class Frame:
    """A frame of a stopped thread, by the debugger's own id and by its place on the stack."""

    id: int
    thread: int
    level: int
    number: int = 0
    """by which the session knows it"""


@dataclass(frozen=True)
class Object:
    """A value that is shown, by its place in memory and its type: of a pointer or a C++ reference, what it leads to."""

    address: int
    type: str
    is_led_to: bool = field(default=False, compare=False)


Way = dict[Object, int]
"""Objects through which something was reached, each with the number of what is inside of it."""


@dataclass(frozen=True)
class Inside:
    """The contents under a reference: the debugger's reference, of what is in a frame."""

    reference: int
    frame: int
    named: int = 0
    indexed: int = 0
    scope: str | None = None
    way: Way = field(default_factory=dict)
    path: str | None = None
    """the expression for it, where its place in memory is still to be asked for"""


@dataclass
class Evaluation:
    """The value of an expression, or why it has none."""

    result: str | None = None
    type: str | None = None
    row: rows.ValueRow = field(default_factory=rows.ValueRow)
    """what else a row says of a value: how much is inside of it, whether it was cut"""
    error: str | None = None
    syntax_error: rows.SyntaxProblem | None = None
    is_timed_out: bool = False
    expansion: str | None = None
    """the expression with its macros expanded, if it was not evaluated because of them"""

    @classmethod
    def of_row(cls, made: VariableRow) -> Evaluation:
        del made["name"]
        return cls(made.pop("value", ""), made.pop("type"), made)

    @property
    def problem(self) -> str | None:
        """The reason why there is no value, if the debugger said so."""
        return (self.syntax_error or {}).get("message") or self.error

    @property
    def has_failed(self) -> bool:
        return bool(self.error or self.syntax_error or self.is_timed_out)

    @property
    def text(self) -> str:
        return self.result or ""

    def as_answer(self) -> rows.EvaluationRow:
        """Return it as a session wants it."""
        if self.is_timed_out:
            return {"timed_out": True}
        if self.syntax_error is not None:
            return {"syntax_error": self.syntax_error}
        if self.error is not None:
            return {"result": None, "type": None, "error": self.error, "traceback": None}
        return cast(
            rows.EvaluationRow, {"result": self.result, "type": self.type, **self.row, "presentation_hint": None}
        )


@dataclass(eq=False)
class DapInspection(Inspection):
    _program: NativeProgram
    _conversation: NativeConversation
    _exceptions: NativeExceptions

    def __post_init__(self) -> None:
        self._frames, self._inside = Handles[Frame](1), Handles[Inside](1000)
        self._generation = 0
        """counts how often the program went on"""
        self.left_function: str | None = None
        """the function that was stepped out of"""
        self._deepest: dict[int, int] = {}
        """by thread: how far down its stack is known to reach, where it was not fetched as a whole"""
        self.top_functions: dict[int, str] = {}
        """by thread: the function in which it was seen last"""
        self.reset()

    # How each debugger is asked.

    @abstractmethod
    async def _fetch_deeper(self, thread_id: int, start: int, levels: int) -> Frames:
        """Return frames of a deep stack, in the debugger's words; none where it has ended."""

    @abstractmethod
    async def _fetch_locals(self, frame: int) -> list[VariableRow]:
        """Return the variables of a frame; an inner one hides an outer one of the same name."""

    @abstractmethod
    async def _look_at(self, place: Frame, look: readonly_expressions.Look, limit: int, timeout: float) -> Evaluation:
        """Evaluate without calling or changing anything, whatever the program's classes make of an operator."""

    @abstractmethod
    async def _run_expression(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation: ...

    @abstractmethod
    async def _run_command(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation:
        """Run a command of the debugger's own; what it prints is the result."""

    @abstractmethod
    async def _variable_names(self, frame: int) -> list[str]: ...

    @abstractmethod
    async def _fetch_completions(self, place: Frame, typed: str) -> list[str]: ...

    @abstractmethod
    async def signal_of(self, place: Frame) -> tuple[int | None, str | None]:
        """Return the signal that stopped a thread, and the address of it: empty if the processor did not tell."""

    def reset(self) -> None:
        self.forget_places()

    def forget_places(self) -> None:
        """Forget frames and references: they end when the program goes on."""
        self._generation += 1
        self._frames.clear()
        self._inside.clear()
        self._deepest.clear()

    def find_frame(self, number: int) -> Frame:
        frame = self._frames.get(number)
        if frame is None:
            raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
        self._program.require_halted()
        return frame

    # Threads and stacks.

    async def look(self, thread_id: int) -> Frames:
        said = f"Thread {thread_id} is running: {self._program.debugger} shows the stacks of threads that are halted"
        instead = advice("Pause the program with {pause}")
        raise RelayError("INVALID_SESSION_STATE", said, thread_id=thread_id, suggestion=instead)

    async def fetch_frames(self, thread_id: int, levels: int) -> Frames:
        """Return the innermost frames of a halted thread; all of them if `levels` is 0."""
        wanted = {"threadId": thread_id, "startFrame": 0, "levels": levels}
        return self._shown_frames(thread_id, (await self._conversation.request("stackTrace", wanted))["stackFrames"])

    def ask_stack(self, thread_id: int) -> Asked:
        wanted = {"threadId": thread_id, "startFrame": 0, "levels": MOST_FRAMES}
        return self._conversation.send("stackTrace", wanted)

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        body = await self._conversation.answer("stackTrace", asked or self.ask_stack(thread_id))
        return self._shown_frames(thread_id, body["stackFrames"])

    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        last = self._frames.get(frames[-1]["id"]) if frames else None
        known = last.level + 1 if last is not None else 0
        left_out = known - len(frames)  # above them
        if known < MOST_FRAMES or start + levels <= len(frames):
            return StackPage(frames[start : start + levels], len(frames), known < MOST_FRAMES)
        first = max(start, len(frames))
        depth = await self._walk_down(thread_id, first + left_out)
        if depth is not None:
            return StackPage(frames[start:], depth - left_out, True)
        wanted = start + levels - first
        further = await self._fetch_deeper(thread_id, first + left_out, wanted + 1)
        shown = frames[start:] + self._shown_frames(thread_id, further[:wanted], first + left_out)
        return StackPage(shown, first + min(len(further), wanted), len(further) <= wanted)

    async def _walk_down(self, thread_id: int, level: int) -> int | None:
        """Go to a frame far below, in strides, so that no request takes long; return the depth if the stack is less."""
        while (known := self._deepest.get(thread_id, MOST_FRAMES - 1)) < level:
            there = min(level, known + 5000)
            if await self._fetch_deeper(thread_id, there, 1):
                self._deepest[thread_id] = there
                continue
            while there - known > 1:  # the depth is between them
                middle = (known + there) // 2
                is_there = await self._fetch_deeper(thread_id, middle, 1)
                known, there = (middle, there) if is_there else (known, middle)
            return there
        return None

    def _shown_frames(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        """Return frames with ids of ours, and only paths that lead somewhere."""
        told: Frames = []
        for level, frame in enumerate(frames, above):
            path = (frame.get("source") or {}).get("path") or ""
            is_known = path.startswith("/")
            place = Frame(frame["id"], thread_id, level)
            place.number = self._frames.add(place)
            made: rows.FrameRow = {
                "id": place.number,
                "name": short_name(frame["name"].strip("?")) or frame.get("instructionPointerReference") or "??",
                "line": frame["line"] if is_known else 0,
                "column": frame["column"] or 1,
                "source": {"path": path} if is_known else None,
                "address": frame.get("instructionPointerReference"),
            }
            if not is_known or rust_toolchain.STANDARD in path or not os.path.isfile(path):
                made["presentationHint"] = "subtle"
            told.append(made)
        if told and not above:
            self.top_functions[thread_id] = told[0]["name"]
        return told

    async def own_threads(self) -> list[int]:
        return []

    # Values.

    def _scope_row(self, frame: int, scope: dict[str, Any]) -> rows.ScopeRow:
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

    def _with_contents(self, made: VariableRow, inside: Inside, what: Object | None) -> VariableRow:
        """`made` with a number for what is inside of it: that of the object itself, if it was reached through it."""
        if not inside.reference:
            return made
        made["expandable"] = True
        if what is not None and what.is_led_to and what in inside.way:
            made["variables_reference"], made["circular"] = inside.way[what], True
        else:
            made["variables_reference"] = number = self._inside.add(inside)
            inside.way.update({what: number} if what is not None else {})
        return made

    async def locals(self, frame: int, page: PageWish) -> VariablePage:
        return page_of(await self._fetch_locals(frame), page)

    # Expressions.

    async def evaluate(
        self, frame: int, expression: str, context: str, limit: int, timeout: float
    ) -> rows.EvaluationRow:
        place = self.find_frame(frame)
        text = expression.strip()
        if context != "repl" or not text.startswith(COMMAND):
            return (await self.evaluate_text(place, text, limit, timeout)).as_answer()
        command = text.removeprefix(COMMAND).strip()
        if MOVING.match(command):
            word = command.split()[0]
            said = f"`{word}` as a command of {self._program.kind} would move the program past this session"
            instead = advice("{continue}, the steps, run-to, restart, detach and terminate do that")
            raise RelayError("NOT_SUPPORTED", said, suggestion=instead)
        return (await self._run_command(place, command, limit, timeout)).as_answer()

    async def evaluate_text(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation:
        """Return the value of an expression; for those who may only look, only of one that does no more."""
        if may_run.get():
            return await self._run_expression(place, text, limit, timeout)
        try:
            look = readonly_expressions.parse(text)
        except readonly_expressions.NotALook as error:
            return Evaluation(error=f"It is not evaluated for callers who may only read: {error}")
        return await self._look_at(place, look, limit, timeout)

    def _explain_failure(self, error: RelayError, text: str) -> Evaluation:
        """Return what the debugger has against an expression, as an answer; that it is gone or stuck is none."""
        if error.details.get("timed_out"):
            return Evaluation(is_timed_out=True)
        if error.details.get("said") is None:
            raise error
        return self._explain_refusal(error.details["said"], text)

    def _explain_refusal(self, said: str, text: str) -> Evaluation:
        if "syntax error" in said:
            return Evaluation(syntax_error={"message": said[:ERROR_LIMIT], "line": 1, "offset": 1, "text": text[:500]})
        return Evaluation(error=" ".join(ADVICE.sub("", said).split())[:ERROR_LIMIT])

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[rows.WatchRow]:
        most, place = min(VALUE_LIMIT, max(1, limit // max(1, len(expressions)))), self.find_frame(frame)
        found = [await self.evaluate_text(place, each, most, VALUES) for each in expressions]
        return [watched_row(each.as_answer(), most) for each in found]

    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> rows.HoverRow:
        expression, place = what.get("expression"), dict[str, int]()
        if expression is not None:
            self.require_look(expression)
        else:
            expression, place = pointed_at(what["path"], what["line"], what["column"])
            if not expression:
                return {"nothing": "There is no name at this place"}
        with only_looks():
            answer = await self.evaluate_text(self.find_frame(frame), expression, limit, timeout)
        return cast(rows.HoverRow, {**answer.as_answer(), "expression": expression, "place": place})

    def require_look(self, expression: str, code: str = "EVALUATE_ERROR", **details: Any) -> readonly_expressions.Look:
        try:
            return readonly_expressions.parse(expression)
        except readonly_expressions.NotALook as error:
            details |= {"suggestion": advice(readonly_expressions.ADVICE), "expression": expression[:1000]}
            raise RelayError(code, f"{error}: this only looks, and runs nothing", **details) from error

    async def complete(self, frame: int, text: str, column: int | None) -> rows.CompletionPage:
        """Complete whole lines, as the debugger does; only the last word is replaced. It offers all that the program
        and its libraries have, up to a limit: what is in the frame comes before that."""
        column = len(text) + 1 if column is None else column
        typed = text[: column - 1]
        line, word = LINE_ENDS.split(typed)[-1], re.split(r"\W", typed)[-1]
        start = len(typed) - len(word) + 1
        with only_looks():
            labels = await self._fetch_completions(self.find_frame(frame), line)
            names = [] if NO_VARIABLE.search(line.removesuffix(word)) else await self._variable_names(frame)
        items: list[rows.CompletionRow] = [
            {"label": label, "type": "variable", "start": start, "length": len(word)}
            for label in dict.fromkeys([*names, *labels])
            if label.startswith(word)
        ]
        return {"items": items[:PAGE], "total": len(items), "has_more": len(items) > PAGE}

    async def ask_value(self, frame: int, expression: str) -> Evaluation:
        """Return a value that is needed for something else; raise if there is none."""
        place = self.find_frame(frame)
        answer = await self.evaluate_text(place, expression, ASKED_LIMIT, self._conversation.timeout)
        if answer.has_failed:
            raise RelayError("EVALUATE_ERROR", answer.problem or "It took too long", expression=expression[:1000])
        return answer

    # Exceptions: the signals that stop a program.

    async def exception(self, frame: int) -> ExceptionRow | None:
        place = self.find_frame(frame)
        number, address = await self.signal_of(place)
        if number is None:
            return None
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        message = signal.strsignal(number) or ""
        if address is not None:
            message += f" at address {address}" if address else " at an address that no memory can have"
        return await self._exception_row(place, name, message, self._exceptions.fatal_rules, "unhandled")

    async def _exception_row(self, place: Frame, type: str, message: str, rules: list[int], mode: str) -> ExceptionRow:
        trace = backtrace(await self.fetch_frames(place.thread, MOST_FRAMES))
        told: ExceptionRow = {"type": type, "full_type": type, "message": message, "traceback": trace}
        return {**told, "break_mode": mode, "rules": rules}

    async def explain_exception(self, frame: int) -> ExceptionRow | None:
        return await self.exception(frame)

    # Texts of expressions, before they are evaluated.

    def check_expression(self, text: str) -> None:
        """Accept any: only the debugger knows the language."""

    def has_side_effects(self, text: str) -> bool:
        return may_change(text) and not readonly_expressions.is_look(text)


def not_reached(debugger: str, position: int, total: int) -> RelayError:
    said = f"{debugger} has come to element {position} of {total}: there is no shorter way than from the first"
    again = "Ask again: the next request goes on from there"
    return RelayError("DEBUGPY_TIMEOUT", said, suggestion=again, reached=position, total=total)


def backtrace(frames: Frames) -> str:
    lines = []
    for level, frame in enumerate(frames[:TRACED]):
        source = frame.get("source")
        where = f"{source['path']}:{frame['line']}" if source else frame.get("address") or ""
        lines.append(f"#{level} {frame['name']} at {where}")
    more = [f"... and {len(frames) - TRACED} more"] if len(frames) > TRACED else []
    return "\n".join(lines + more)
