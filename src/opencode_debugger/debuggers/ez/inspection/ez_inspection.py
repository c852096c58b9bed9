"""Answers a session's questions about a program: variables and expressions; threads and stacks from `ez_stacks`.

Debuggers give values as texts: what one is made of is read from that. For one that cannot evaluate, expressions are
reckoned from its variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from ....errors import RelayError
from ....operations.advice import advice
from ... import rows, value_rows
from ...c_expressions import may_change, pointed_at
from ...rows import AssignmentRow, EvaluationRow
from ...run_permission import UNREAD, may_run
from ...shapes import Frames, StackPage
from ...small_debugger import RESTART
from ..ez_conversation import Conversation, Refused, cannot
from ..program_state import ProgramState
from .ez_stacks import Inside, Places, Stacks
from .value_texts import FALSE, Beyond, Malformed, Problem, Value, evaluate_text, split_parts, with_sorted_keys

LOCALS, FUNCTIONS = "Locals", "Functions"
FUNCTION = "FUNCTION"
"""Type of functions, which some debuggers list among the variables."""
SYNTAX = re.compile(r"\bsyntax|\bpars(e|ing)\b|unexpected token", re.IGNORECASE)
LONGEST_JUDGED = 10_000
"""characters of a log message, and of a value in it"""
NO_EVALUATION = "Without it, look at variables with {frame_variables frame_id=0}, or print in the program"


class Judged(NamedTuple):
    """The value of an expression at a stop, as text, or why it has none."""

    text: str
    problem: str | None = None
    is_hopeless: bool = False
    """it will have none later either, as a variable may that does not exist yet"""

    @property
    def is_true(self) -> bool:
        return self.problem is None and self.text.strip() not in FALSE


@dataclass(eq=False)
class EzInspection:
    _state: ProgramState
    _conversation: Conversation
    _places: Places
    _stacks: Stacks

    def __post_init__(self) -> None:
        self.threads, self.ask_stack, self.stack = self._stacks.threads, self._stacks.ask_stack, self._stacks.stack

    async def own_threads(self) -> list[int]:
        return []

    async def look(self, thread_id: int) -> Frames:
        message = f"Thread {thread_id} is running: this debugger shows the stacks of threads that are halted"
        instead = advice("Pause the program with {pause}")
        raise RelayError("INVALID_SESSION_STATE", message, thread_id=thread_id, suggestion=instead)

    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        """Return some frames: nothing was left out of them."""
        return StackPage(frames[start : start + levels], len(frames), True)

    # Variables, and what they are made of.

    async def _list_variables(self, frame: int) -> list[tuple[str, Value]]:
        answer = await self._conversation.require("getVariables", **self._frame_params(frame))
        listed = answer["variables"]
        if self._conversation.announced is None:
            # One of the field lists them in another order each time, and what is in maps and structs too.
            listed = sorted(listed, key=lambda each: each["name"])
            listed = [{**each, "value": with_sorted_keys(each["value"])} for each in listed]
        return [(each["name"], Value(each["value"], each["type"])) for each in listed]

    def _frame_params(self, frame: int) -> dict[str, int]:
        place = self._places.find_frame(frame)
        return {"frameIndex": place.index, **self._conversation.thread_param(place.thread)}

    async def _scope_rows(self, frame: int, scope: str) -> list[rows.VariableRow]:
        listed = await self._list_variables(frame)
        wanted = [(name, value) for name, value in listed if (value.type == FUNCTION) == (scope == FUNCTIONS)]
        return [self._make_row(frame, name, value, name) for name, value in wanted]

    def _make_row(self, frame: int, name: str, value: Value, expression: str) -> rows.VariableRow:
        found = split_parts(value.text)
        if not found:
            return value_rows.row(name, value.text, value.type)
        reference = self._places.values.add(Inside(frame, None, value.text, expression))
        named = sum(part.is_named for part in found)
        return value_rows.row(name, value.text, value.type, reference, named, len(found) - named)

    async def scopes(self, frame: int) -> list[rows.ScopeRow]:
        listed = await self._list_variables(frame)
        functions = sum(value.type == FUNCTION for _, value in listed)
        counts = {LOCALS: len(listed) - functions} | ({FUNCTIONS: functions} if functions else {})
        found: list[rows.ScopeRow] = []
        for name, count in counts.items():
            reference = self._places.values.add(Inside(frame, name))
            row: rows.ScopeRow = {"name": name, "presentation_hint": name.lower(), "variables_reference": reference}
            found.append(row | {"named_variables": count, "indexed_variables": 0, "expensive": False})
        return found

    async def children(self, frame: int, reference: int, page: rows.PageWish) -> rows.VariablePage:
        inside = self._places.values.get(reference)
        if inside is None:
            return {"missing": True}
        return {"variables_reference": reference, **_page_of(await self._rows_inside(inside.frame, inside), page)}

    async def _rows_inside(self, frame: int, inside: Inside) -> list[rows.VariableRow]:
        if inside.scope:
            return await self._scope_rows(frame, inside.scope)
        found = split_parts(inside.text) or []
        return [self._make_row(inside.frame, part.name, part.value, inside.expression + part.access) for part in found]

    async def locals(self, frame: int, page: rows.PageWish) -> rows.VariablePage:
        return _page_of(await self._scope_rows(frame, LOCALS), page)

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> rows.StopRow:
        listed = await self._scope_rows(frame, LOCALS)
        shown = value_rows.within(listed[:names], budget)
        answer: rows.StopRow = {"variables": shown, "omitted": len(listed) - len(shown)}
        answer |= {"left": None, "returned": [], "return_value": []}
        if more.get("watched"):
            answer["watches"] = await self.watch(frame, more["watched"], budget // 2)
        return answer

    async def exception(self, frame: int) -> rows.ExceptionRow | None:
        at = self._state.halt
        if at is None or at.reason != "exception":
            return None
        kind, _, message = (at.text or "exception").partition(": ")
        row: rows.ExceptionRow = {"type": kind.rpartition(".")[2], "full_type": kind, "message": message}
        return row | {"traceback": None, "break_mode": "unhandled", "rules": []}

    explain_exception = exception

    # Expressions.

    async def evaluate(self, frame: int, expression: str, context: str, limit: int, timeout: float) -> EvaluationRow:
        answer = await self.try_to_evaluate(frame, expression.strip(), limit, timeout)
        if answer.pop("beyond", None):
            raise cannot(f"evaluate {expression[:100]!r}: {answer['error']}", NO_EVALUATION)
        return answer

    async def try_to_evaluate(self, frame: int, text: str, limit: int, timeout: float) -> rows.HoverRow:
        """Ask the debugger; reckon from the variables of one that cannot evaluate."""
        try:
            value = await self._find_value(frame, text, timeout)
        except RelayError as error:
            if error.code == "DEBUGPY_TIMEOUT":
                return {"timed_out": True}
            raise
        except (Refused, Problem) as error:
            return _failed_answer(error, text)
        return self._value_answer(frame, value, text, limit)

    async def judge(self, frames: Frames, expression: str) -> Judged:
        """Evaluate a condition, or a part of a log message, where the program has stopped."""
        frame, timeout = frames[0]["id"], self._conversation.timeout
        answer = await self.try_to_evaluate(frame, expression.strip(), LONGEST_JUDGED, timeout)
        if answer.get("timed_out"):
            return Judged("", "the debugger did not answer in time", True)
        is_hopeless = "beyond" in answer or "syntax_error" in answer
        return Judged(answer.get("result") or "", value_rows.complaint(answer) or None, is_hopeless)

    async def _find_value(self, frame: int, text: str, timeout: float) -> Value:
        try:
            answer = await self._conversation.ask("evaluate", timeout, expression=text, **self._frame_params(frame))
            return Value(answer["result"], answer["type"])
        except Refused as error:
            if not error.is_absent:
                raise
        return await self._own_value(frame, text)

    async def _own_value(self, frame: int, text: str) -> Value:
        """Reckon from the variables, without asking the debugger to run anything."""
        return evaluate_text(text, dict(await self._list_variables(frame)).get)

    def _value_answer(self, frame: int, value: Value, text: str, limit: int) -> rows.HoverRow:
        made = value_rows.shortened(self._make_row(frame, "", value, text), limit)
        return cast("rows.HoverRow", value_rows.as_result(made))

    async def _look_up(self, frame: int, text: str, limit: int) -> rows.HoverRow:
        try:
            value = await self._own_value(frame, text)
        except Beyond as error:
            return {"beyond": str(error)}
        except Problem as error:
            return _failed_answer(error, text)
        return self._value_answer(frame, value, text, limit)

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[rows.WatchRow]:
        most = min(value_rows.VALUE_LIMIT, max(1, limit // max(1, len(expressions))))
        return [await self._watch_one(frame, each.strip(), most) for each in expressions]

    async def _watch_one(self, frame: int, text: str, limit: int) -> rows.WatchRow:
        if may_run.get():
            return value_rows.watched_row(await self.try_to_evaluate(frame, text, limit, timeout=2.0), limit)
        answer = await self._look_up(frame, text, limit)
        return {"error": UNREAD} if "beyond" in answer else value_rows.watched_row(answer, limit)

    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> rows.HoverRow:
        expression: str | None = what.get("expression")
        place: dict[str, int] = {}
        if expression is None:
            expression, place = pointed_at(what["path"], what["line"], what["column"])
            if not expression:
                return {"nothing": "There is no name at this place"}
        return {**await self._look_up(frame, expression.strip(), limit), "expression": expression, "place": place}

    async def complete(self, frame: int, text: str, column: int | None) -> rows.CompletionPage:
        """Complete names of variables: the debugger knows no more."""
        typed = text[: len(text) if column is None else column - 1]
        begun = re.search(r"\w*$", typed)
        assert begun is not None
        items: list[rows.CompletionRow] = [
            {"label": name, "type": kind, "start": begun.start() + 1, "length": len(begun[0])}
            for kind, scope in (("variable", LOCALS), ("function", FUNCTIONS))
            for name in sorted(made["name"] for made in await self._scope_rows(frame, scope))
            if name.startswith(begun[0]) and not typed[: begun.start()].endswith(".")
        ]
        return {"items": items[:value_rows.PAGE], "total": len(items), "has_more": len(items) > value_rows.PAGE}

    def check_expression(self, text: str) -> None:
        """Accept anything: only the debugger knows the language."""

    def has_side_effects(self, text: str) -> bool:
        return may_change(text)

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> AssignmentRow:
        inside = self._places.values.get(reference)
        if inside is None:
            return {"missing": "reference"}
        listed = await self._rows_inside(frame, inside)
        before = next((each for each in listed if each["name"] == name), None)
        if before is None:
            return {"missing": "name", "is_global": False}
        parts = [] if inside.scope else split_parts(inside.text) or []
        access = next((part.access for part in parts if part.name == name), name)
        old = Value(before["value"], before["type"])
        return await self._assign_value(frame, inside.expression + access, name, value, old, limit)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> AssignmentRow:
        before = await self.try_to_evaluate(frame, expression, limit, timeout)
        if value_rows.has_failed(before):
            return cast("AssignmentRow", {**before, "part": "expression"})
        old = Value(before["result"] or "", before["type"])
        return await self._assign_value(frame, expression, expression, value, old, limit)

    async def _assign_value(
        self, frame: int, target: str, name: str, value: str, old: Value, limit: int
    ) -> AssignmentRow:
        talk = self._conversation
        try:
            answer = await talk.try_to_ask("setVariable", name=target, value=value, **self._frame_params(frame))
        except Refused as error:
            if talk.lacks_command("setVariable"):
                raise cannot("set variables", RESTART) from error
            return cast("AssignmentRow", {**_failed_answer(error, value), "part": "value"})
        made = value_rows.shortened(self._make_row(frame, name, Value(answer["value"], answer["type"]), target), limit)
        return cast("AssignmentRow", {**made, "old": old.text, "old_type": old.type, "taken": True})


def _page_of(listed: list[rows.VariableRow], page: rows.PageWish) -> rows.VariablePage:
    is_indexed = bool(listed) and all(made["name"].startswith("[") for made in listed)
    return value_rows.page_of(listed, page, is_indexed)


def _failed_answer(error: Exception, text: str) -> rows.HoverRow:
    said = str(error)[:2000]
    if isinstance(error, Malformed) or (isinstance(error, Refused) and SYNTAX.search(said)):
        said = said.removeprefix("SyntaxError: ")
        return {"syntax_error": {"message": said, "line": 1, "offset": 1, "text": text[:500]}}
    answer: rows.HoverRow = {"result": None, "type": None, "error": said, "traceback": None}
    return answer | {"beyond": said} if isinstance(error, Beyond) else answer
