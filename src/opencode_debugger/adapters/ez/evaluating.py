"""Expressions and assignments: by the debugger, and from its variables by one that cannot evaluate."""

from __future__ import annotations

import re
from typing import Any

from ...errors import RelayError
from ..hovering import may_change, pointed_at
from ..permission import UNREAD, may_run
from ..rows import PAGE, VALUE_LIMIT, Row, as_result, has_failed, shortened, watched_row
from . import texts
from .looking import Looking
from .reckoning import Beyond, Malformed, Problem, reckoned
from .talking import Refused
from .texts import Value

SYNTAX = re.compile(r"\bsyntax|\bpars(e|ing)\b|unexpected token", re.IGNORECASE)
ERROR_LIMIT = 2000
VALUES = 2.0
"""Seconds that one watch may take."""
NO_EVALUATION = "Without it, look at variables with GET /sessions/{id}/frames/0/variables, or print in the program"
RESTART = "Change the program's source and run it again with POST /sessions/{id}/restart"


class Evaluating(Looking):
    async def evaluate(self, frame: int, expression: str, context: str, limit: int, timeout: float) -> dict[str, Any]:
        answer = await self._evaluated(frame, expression.strip(), limit, timeout)
        if answer.pop("beyond", False):
            raise self._cannot(f"evaluate {expression[:100]!r}: {answer['error']}", NO_EVALUATION)
        return answer

    async def _evaluated(self, frame: int, text: str, limit: int, timeout: float) -> dict[str, Any]:
        """By the debugger; by one that cannot, from its variables."""
        try:
            value = await self._value(frame, text, timeout)
        except RelayError as error:
            if error.code == "DEBUGPY_TIMEOUT":
                return {"timed_out": True}
            raise
        except (Refused, Problem) as error:
            return _failed(error, text)
        return as_result(shortened(self._row(frame, "", value, text), limit))

    async def _value(self, frame: int, text: str, timeout: float) -> Value:
        place = self._frame(frame)
        whose = {"frameIndex": place.index, **self._whose(place.thread)}
        try:
            answer = await self._ask("evaluate", timeout, expression=text, **whose)
            return Value(answer["result"], answer["type"])
        except Refused as error:
            if not error.is_absent:
                raise
        return await self._reckoned(frame, text)

    async def _reckoned(self, frame: int, text: str) -> Value:
        """From its variables, without asking the debugger to run anything."""
        known = {each["name"]: Value(each["value"], each["type"]) for each in await self._variables(frame)}
        return reckoned(text, known.get)

    async def _looked_up(self, frame: int, text: str, limit: int) -> dict[str, Any]:
        try:
            value = await self._reckoned(frame, text)
        except Beyond as error:
            return {"beyond": str(error)}
        except Problem as error:
            return _failed(error, text)
        return as_result(shortened(self._row(frame, "", value, text), limit))

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[dict[str, Any]]:
        most = min(VALUE_LIMIT, max(1, limit // max(1, len(expressions))))
        return [await self._watched_text(frame, each.strip(), most) for each in expressions]

    async def _watched_text(self, frame: int, text: str, limit: int) -> dict[str, Any]:
        if may_run.get():
            return watched_row(await self._evaluated(frame, text, limit, VALUES), limit)
        answer = await self._looked_up(frame, text, limit)
        return {"error": UNREAD} if "beyond" in answer else watched_row(answer, limit)

    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> dict[str, Any]:
        expression = what.get("expression")
        place: dict[str, Any] = {}
        if expression is None:
            expression, place = pointed_at(what["path"], what["line"], what["column"])
            if not expression:
                return {"nothing": "There is no name at this place"}
        return {**await self._looked_up(frame, expression.strip(), limit), "expression": expression, "place": place}

    async def complete(self, frame: int, text: str, column: int | None) -> dict[str, Any]:
        """Names of variables: the debugger knows no more."""
        typed = text[: len(text) if column is None else column - 1]
        begun = re.search(r"\w*$", typed)
        assert begun is not None
        items = [
            {"label": name, "type": kind, "start": begun.start() + 1, "length": len(begun[0])}
            for kind, scope in (("variable", "Locals"), ("function", "Functions"))
            for name in sorted(made["name"] for made in await self._rows(frame, scope))
            if name.startswith(begun[0]) and not typed[: begun.start()].endswith(".")
        ]
        return {"items": items[:PAGE], "total": len(items), "has_more": len(items) > PAGE}

    # Assignments.

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": "reference"}
        rows = await self._rows(frame, inside.scope) if inside.scope else self._parts_of(inside)
        before = next((each for each in rows if each["name"] == name), None)
        if before is None:
            return {"missing": "name", "is_global": False}
        parts = [] if inside.scope else texts.parts(inside.text) or []
        access = next((part.access for part in parts if part.name == name), name)
        return await self._set(frame, inside.expression + access, name, value, before, limit, timeout)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        before = await self._evaluated(frame, expression, limit, timeout)
        if has_failed(before):
            return before | {"part": "expression"}
        old = {"value": before["result"], "type": before["type"]}
        return await self._set(frame, expression, expression, value, old, limit, timeout)

    async def _set(
        self, frame: int, target: str, name: str, value: str, before: Row, limit: int, timeout: float
    ) -> dict[str, Any]:
        place = self._frame(frame)
        try:
            whose = {"frameIndex": place.index, **self._whose(place.thread)}
            answer = await self._try("setVariable", name=target, value=value, **whose)
        except Refused as error:
            if "setVariable" in self._lacks:
                raise self._cannot("set variables", RESTART) from error
            return _failed(error, value) | {"part": "value"}
        made = shortened(self._row(frame, name, Value(answer["value"], answer["type"]), target), limit)
        return {**made, "old": before.get("value"), "old_type": before["type"], "taken": True}

    def _cannot(self, what: str, instead: str) -> RelayError:
        message = f"The debugger of this session ({self.name}) cannot {what}"
        return RelayError("NOT_SUPPORTED", message, suggestion=instead)

    def check_expression(self, text: str) -> Any:
        """Only the debugger knows the language."""
        return None

    def has_side_effects(self, text: str) -> bool:
        return may_change(text)


def _failed(error: Exception, text: str) -> dict[str, Any]:
    said = str(error)[:ERROR_LIMIT]
    if isinstance(error, Malformed) or (isinstance(error, Refused) and SYNTAX.search(said)):
        said = said.removeprefix("SyntaxError: ")
        return {"syntax_error": {"message": said, "line": 1, "offset": 1, "text": text[:500]}}
    more = {"beyond": True} if isinstance(error, Beyond) else {}
    return {"result": None, "type": None, "error": said, "traceback": None, **more}
