"""What a session asks about a program under gdb: each question is one call of the code inside gdb."""

from __future__ import annotations

import re
from typing import Any

from ...errors import RelayError
from ..base import Frames
from ..permission import may_run
from ..rows import (
    MAX_PAGE,
    PAGE,
    VALUE_LIMIT,
    Row,
    as_result,
    paged,
    row,
    shortened,
    watched_row,
    within,
)
from . import looks, panics
from .looking import (
    MOST_FRAMES,
    MOST_SEARCHED,
    RUNS_CODE,
    VALUES,
    Frame,
    Inside,
    Looking,
    Object,
    Way,
    backtrace,
    not_reached,
)
from .names import short_name
from .talking import said_of

THROW = "__cxa_throw"
TIMED_OUT = "timed out while in a function called from GDB"
NEAR = re.compile(r"near `(.*)'\.?$", re.DOTALL)
"""What gdb could not make sense of; else it says that the end came too early."""
CRYPTIC = {
    "Error while executing Python code.": "gdb has its own code for this method of the C++ library, and that failed: "
    "the element may not exist",
    "Error while looking for matching xmethod workers defined in Python.": "gdb cannot call an object whose class has "
    "no name, such as a lambda",
    "Invalid cast.": "Invalid cast: the types do not fit",
    "Cannot call functions in the program: may-call-functions is off.": RUNS_CODE,
}
MACRO = "A macro makes something else of it, which is more than a look"
NO_FRAME = "No frame at level"
LEAST = 40
"""characters that any value may have"""


class GdbLooking(Looking):
    _throw_id: int | None = None
    """gdb's number of the breakpoint where C++ throws"""
    _stopped_at_throw = False
    _panic_ids: tuple[int, ...] = ()
    """and of those where Rust panics"""
    _stopped_at_panic = False

    @property
    def _is_throwing(self) -> bool:
        return self._stopped_at_throw

    def _is_panicking(self, thread_id: int) -> bool:
        return self._stopped_at_panic

    async def _inside_gdb(self, place: Frame, method: str, timeout: float = 0, **arguments: Any) -> Any:
        where = [place.thread, place.level, self._generation]
        asked = {"method": method, "arguments": {"place": where, **arguments}, "looks": not may_run.get()}
        return await self._contained("ocdb", asked, timeout or self._timeout)

    def _told(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        """At a throw, without the function of the C++ library that throws."""
        told = super()._told(thread_id, frames, above)
        is_throwing = self._stopped_at_throw and len(told) > 1 and told[0]["name"] == THROW
        return told[1:] if is_throwing else told

    async def _deeper(self, thread_id: int, start: int, levels: int) -> Frames:
        wanted = {"thread": thread_id, "stop": self._generation, "start": start, "levels": levels}
        try:
            return list(await self._request("ocdb", {"method": "deeper", "arguments": wanted}))
        except RelayError as error:
            if NO_FRAME in (said_of(error) or ""):
                return []
            raise

    def _made(self, answer: dict[str, Any], frame: int, way: Way | None = None) -> Row:
        named, indexed = answer.get("named", 0), answer.get("indexed", 0)
        made = row(answer["name"], answer["value"], answer["type"], 0, named, indexed)
        made |= {name: answer[name] for name in ("length", "truncated") if name in answer}
        what = Object(**answer["object"]) if answer.get("object") else None
        return self._expandable(made, Inside(answer["reference"], frame, named, indexed, way=dict(way or {})), what)

    async def threads(self) -> list[dict[str, Any]]:
        rows = [
            {"id": each["id"], "name": each["name"], "halted": False, "marked": False, "top": None}
            for each in (await self._request("threads"))["threads"]
        ]
        if not self._is_halted:
            return rows
        found = await self._request("ocdb", {"method": "tops"})
        tops = {top["thread"]: top for top in found["tops"]}
        for made in rows:
            made["halted"] = made["marked"] = True
            if made["id"] in tops:
                made["top"] = _top(tops[made["id"]])
        return rows

    async def scopes(self, frame: int) -> list[dict[str, Any]]:
        answer = await self._inside_gdb(self._frame(frame), "scopes")
        return [self._scope(frame, scope) for scope in answer["scopes"]]

    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": True}
        start, count = page.get("start") or 0, min(page.get("count") or PAGE, MAX_PAGE)
        left_out = page.get("filter") == ("named" if inside.indexed else "indexed")
        wanted: dict[str, Any] = {"reference": inside.reference, "start": start, "count": 0 if left_out else count}
        if page.get("name"):
            wanted |= {"start": 0, "count": MOST_SEARCHED}
        limit = max(LEAST, page.get("budget") or page.get("limit_total") or VALUE_LIMIT) // max(1, min(count, 20))
        answer = await self._inside_gdb(self._frame(inside.frame), "children", limit=limit, **wanted)
        if answer.get("missing"):
            return {"missing": True}
        _require_reached(answer)
        rows = [self._made(each, inside.frame, inside.way) for each in answer["rows"]]
        total = 0 if left_out else answer["total"]
        if page.get("name"):
            rows = [made for made in rows if page["name"].lower() in made["name"].lower()]
            rows, total = rows[start : start + count], len(rows)
        if inside.indexed:
            for place, made in enumerate(rows, start):
                made["index"] = place
        return {"variables_reference": reference, **paged(rows, total, start, page)}

    async def _locals(self, frame: int, scopes: tuple[str, ...] = ()) -> list[Row]:
        wanted: dict[str, Any] = {"limit": VALUE_LIMIT * 10, "names": MAX_PAGE, "watched": [], "seconds": VALUES}
        answer = await self._inside_gdb(self._frame(frame), "report", **wanted)
        return [self._made(each, frame) for each in answer["rows"]]

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> dict[str, Any]:
        watched = (more.get("watched") or []) if may_run.get() else []
        limit = min(VALUE_LIMIT, budget)
        answer = await self._inside_gdb(
            self._frame(frame), "report", VALUES * 2, limit=limit, names=names, watched=watched, seconds=VALUES
        )
        rows = [self._made(each, frame) for each in answer["rows"]]
        shown = within(rows, budget)
        returned = answer.get("returned")
        given = [shortened(self._made(returned, frame), budget // 4)] if returned else []
        left = {"function": self._left, "how": "return"} if given else None
        told = {"variables": shown, "omitted": answer["total"] - len(shown), "left": left, "returned": []}
        if watched:
            told["watches"] = [
                watched_row(self._evaluation(each, frame, text, limit), limit)
                for each, text in zip(answer["watches"], watched, strict=True)
            ]
        elif more.get("watched"):
            told["watches"] = await self.watch(frame, more["watched"], budget // 2)
        return told | {"return_value": given}

    async def _looked_at(
        self, frame: int, place: Frame, look: looks.Look, limit: int, timeout: float
    ) -> dict[str, Any]:
        """What macros make of it must be a look, too: they can do anything, also run a program."""
        answer = await self._valued("look", frame, place, look.text, limit, timeout)
        if "expanded" in answer:
            try:
                expanded = looks.parse(answer["expanded"])
            except looks.NotALook as error:
                return {"result": None, "type": None, "error": f"{MACRO}: {error}", "traceback": None}
            answer = await self._valued("look", frame, place, expanded.text, limit, timeout)
        if "expanded" in answer:
            return {"result": None, "type": None, "error": MACRO, "traceback": None}
        return answer

    async def _run(self, frame: int, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        return await self._valued("evaluate", frame, place, text, limit, timeout)

    async def _valued(
        self, method: str, frame: int, place: Frame, text: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        try:
            answer = await self._inside_gdb(place, method, timeout + 1, expression=text, limit=limit, seconds=timeout)
        except RelayError as error:
            return self._failed(error, text)
        return dict(answer) if "expanded" in answer else self._evaluation(answer, frame, text, limit)

    def _evaluation(self, answer: dict[str, Any], frame: int, text: str, limit: int) -> dict[str, Any]:
        if "error" in answer:
            return {"timed_out": True} if TIMED_OUT in answer["error"] else self._refused(answer["error"], text)
        return as_result(shortened(self._made(answer, frame), limit))

    def _refused(self, said: str, text: str) -> dict[str, Any]:
        answer = super()._refused(CRYPTIC.get(said, said), text)
        if "syntax_error" in answer:
            rest = NEAR.search(said)
            answer["syntax_error"]["offset"] = (text.rfind(rest[1]) if rest else len(text)) + 1
        return answer

    async def _command(self, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        try:
            answer = await self._inside_gdb(place, "command", timeout, text=text)
        except RelayError as error:
            return self._failed(error, text)
        if "error" in answer:
            return {"result": None, "type": None, "error": answer["error"], "traceback": None}
        return as_result(shortened(row("", answer["text"], None), limit))

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[dict[str, Any]]:
        if not may_run.get():
            return await super().watch(frame, expressions, limit)
        most = min(VALUE_LIMIT, max(1, limit // max(1, len(expressions))))
        wanted = {"watched": expressions, "limit": most, "seconds": VALUES}
        answer = await self._inside_gdb(self._frame(frame), "watch", VALUES * 2, **wanted)
        return [
            watched_row(self._evaluation(each, frame, text, most), most)
            for each, text in zip(answer, expressions, strict=True)
        ]

    async def _names(self, frame: int) -> list[str]:
        return list(await self._inside_gdb(self._frame(frame), "names"))

    async def _completions(self, place: Frame, typed: str, column: int) -> list[str]:
        lines = await self._inside_gdb(place, "complete", text=typed)
        start = len(typed) - len(re.split(r"\W", typed)[-1])
        return [line[start:] for line in lines]

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": "reference"}
        wish = {"reference": inside.reference, "name": name, "value": value, "limit": limit, "seconds": timeout}
        return await self._assigned(inside.frame, "set_variable", value, wish, timeout)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        wish = {"expression": expression, "value": value, "limit": limit, "seconds": timeout}
        return await self._assigned(frame, "set_expression", value, wish, timeout)

    async def _assigned(
        self, frame: int, method: str, value: str, wish: dict[str, Any], timeout: float
    ) -> dict[str, Any]:
        try:
            answer = await self._inside_gdb(self._frame(frame), method, timeout + 1, **wish)
        except RelayError as error:
            return self._failed(error, value)
        _require_reached(answer)
        if "missing" in answer:
            return {**answer, "is_global": False}
        if TIMED_OUT in answer.get("error", ""):
            return {"timed_out": True}
        if "error" in answer:
            text = value if answer["part"] == "value" else wish["expression"]
            return {**self._refused(answer["error"], text), "part": answer["part"]}
        if "not_set" in answer:
            return dict(answer)
        made = shortened(self._made(answer, frame), wish["limit"])
        return {**made, **{name: answer[name] for name in ("old", "old_type", "taken")}}

    async def exception(self, frame: int) -> dict[str, Any] | None:
        place = self._frame(frame)
        if self._stopped_at_throw or self._stopped_at_panic:
            thrown = await self._inside_gdb(place, "thrown")
            if self._stopped_at_panic:
                thrown["message"] = await panics.message(self._read, thrown["payload"], thrown["methods"])
            trace = backtrace(await self._stack(place.thread, MOST_FRAMES))
            name, message = thrown.get("type") or "exception", thrown.get("message") or ""
            told = {"type": name, "full_type": name, "message": message, "traceback": trace, "break_mode": "always"}
            return {**told, "rules": thrown.get("rules", []), "is_in_library": self._stopped_at_panic}
        return await super().exception(frame)

    async def _signal(self, place: Frame) -> tuple[int | None, str | None]:
        answer = await self._inside_gdb(place, "signal")
        return answer["number"], answer["address"]

    async def has_module(self, path: str) -> bool:
        if not self._is_halted:
            return False
        answer = await self._request("ocdb", {"method": "sources", "arguments": {"path": path}})
        return bool(answer["known"])


def _require_reached(answer: dict[str, Any]) -> None:
    """What is in lists and maps is found only by going through them."""
    if "too_far" in answer:
        raise not_reached("gdb", answer["too_far"], answer["total"])


def _top(top: dict[str, Any]) -> dict[str, Any]:
    source = {"path": top["path"]} if top["path"] else None
    return {"name": short_name(top["name"]), "line": top["line"], "column": 1, "source": source}
