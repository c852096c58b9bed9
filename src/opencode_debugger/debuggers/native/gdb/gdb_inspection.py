"""A look into a program under gdb, its machine code and watched values: each question is one call of code in gdb."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, cast

from ....errors import RelayError
from ....operations.advice import advice
from ... import rows
from ...run_permission import may_run
from ...shapes import DataBreakpoint, Frames
from ...value_rows import MAX_PAGE, VALUE_LIMIT, page_bounds, paged, row, shortened, watched_row, within
from .. import dap_inspection, readonly_expressions
from ..dap_inspection import (
    RUNS_CODE,
    VALUES,
    DapInspection,
    Evaluation,
    Frame,
    Inside,
    Object,
    Way,
    not_reached,
)
from ..function_names import short_name
from ..native_conversation import said_of
from ..native_exceptions import panic_message
from ..native_memory import HEX, DapInstruction, DataBreakpoints, NativeMemory, RawMemory, WatchedValue, no_code
from .gdb_breakpoints import GdbExceptions

if TYPE_CHECKING:
    from .inside.row_types import AssignedRow, RowPage, ThrownRow, ValueRow

TIMED_OUT = "timed out while in a function called from GDB"
NEAR = re.compile(r"near `(.*)'\.?$", re.DOTALL)
"""The text that gdb could not make sense of; else it says that the end came too early."""
CRYPTIC = {
    "Error while executing Python code.": "gdb has its own code for this method of the C++ library, and that failed: "
    "the element may not exist",
    "Error while looking for matching xmethod workers defined in Python.": "gdb cannot call an object whose class has "
    "no name, such as a lambda",
    "Invalid cast.": "Invalid cast: the types do not fit",
}
CALLS_CODE = "Cannot call functions in the program: may-call-functions is off."
MACRO = "A macro makes something else of it, which is more than a look"
LEAST = 40
"""characters that any value may have"""
WATCH = {"write": "watch", "read": "rwatch", "readWrite": "awatch"}
WATCHPOINT = re.compile(r"(Hardware (?:read |access \(read/write\) )?)?[Ww]atchpoint (\d+)")
SLOW = "The processor cannot watch it: the program is watched step by step and runs much slower"


class GdbInspection(DapInspection):
    _exceptions: GdbExceptions

    async def ask_inside(self, place: Frame, method: str, timeout: float = 0, **arguments: Any) -> Any:
        """Call our code inside gdb, about a frame."""
        where = [place.thread, place.level, self._generation]
        asked = {"method": method, "arguments": {"place": where, **arguments}, "looks": not may_run.get()}
        return await self._conversation.request_contained("ocdb", asked, timeout or self._conversation.timeout)

    def _shown_frames(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        """Leave out the function of the C++ library that throws."""
        told = super()._shown_frames(thread_id, frames, above)
        is_throwing = self._exceptions.stopped_at_throw and len(told) > 1 and told[0]["name"] == "__cxa_throw"
        return told[1:] if is_throwing else told

    async def _fetch_deeper(self, thread_id: int, start: int, levels: int) -> Frames:
        wanted: dict[str, Any] = {"thread": thread_id, "stop": self._generation, "start": start, "levels": levels}
        try:
            return list(await self._conversation.call_inside("deeper", **wanted))
        except RelayError as error:
            if "No frame at level" in (said_of(error) or ""):
                return []
            raise

    def _value_row(self, answer: ValueRow, frame: int, way: Way | None = None) -> rows.VariableRow:
        named, indexed = answer.get("named", 0), answer.get("indexed", 0)
        made = row(answer["name"], answer["value"], answer["type"], 0, named, indexed)
        if "length" in answer:
            made["length"] = answer["length"]
        if "truncated" in answer:
            made["truncated"] = True
        what = Object(**found) if (found := answer.get("object")) else None
        return self._with_contents(made, Inside(answer["reference"], frame, named, indexed, way=dict(way or {})), what)

    async def threads(self) -> list[rows.ThreadRow]:
        listed = (await self._conversation.request("threads"))["threads"]
        halted = self._program.allows("inspect")
        found: list[rows.FrameRow] = await self._conversation.call_inside("tops") if halted else []
        tops = {top.pop("id"): top for top in found}
        for top in found:
            top["name"] = short_name(top["name"])
        return [
            {"id": each["id"], "name": each["name"], "halted": halted, "marked": halted, "top": tops.get(each["id"])}
            for each in listed
        ]

    async def scopes(self, frame: int) -> list[rows.ScopeRow]:
        return [self._scope_row(frame, scope) for scope in await self.ask_inside(self.find_frame(frame), "scopes")]

    async def children(self, frame: int, reference: int, page: rows.PageWish) -> rows.VariablePage:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": True}
        start, count = page_bounds(page)
        left_out = page.get("filter") == ("named" if inside.indexed else "indexed")
        name = page.get("name")
        first, most = (0, dap_inspection.MOST_SEARCHED) if name else (start, 0 if left_out else count)
        budget = max(LEAST, page.get("budget") or page.get("limit_total") or VALUE_LIMIT)
        limit = budget // max(1, min(count, 20))
        wanted = {"reference": inside.reference, "start": first, "count": most, "limit": limit}
        answer: RowPage = await self.ask_inside(self.find_frame(inside.frame), "children", **wanted)
        if answer.get("missing"):
            return {"missing": True}
        _require_reached(answer)
        found = [self._value_row(each, inside.frame, inside.way) for each in answer["rows"]]
        total = 0 if left_out else answer["total"]
        if name:
            found = [made for made in found if name.lower() in made["name"].lower()]
            found, total = found[start : start + count], len(found)
        if inside.indexed:
            for index, made in enumerate(found, start):
                made["index"] = index
        return {"variables_reference": reference, **paged(found, total, start, page)}

    async def _fetch_locals(self, frame: int) -> list[rows.VariableRow]:
        wanted: dict[str, Any] = {"limit": VALUE_LIMIT * 10, "names": MAX_PAGE, "watched": [], "seconds": VALUES}
        answer: RowPage = await self.ask_inside(self.find_frame(frame), "report", **wanted)
        return [self._value_row(each, frame) for each in answer["rows"]]

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> rows.StopRow:
        watched = (more.get("watched") or []) if may_run.get() else []
        limit = min(VALUE_LIMIT, budget)
        wanted: dict[str, Any] = {"limit": limit, "names": names, "watched": watched, "seconds": VALUES}
        answer: RowPage = await self.ask_inside(self.find_frame(frame), "report", VALUES * 2, **wanted)
        shown = within([self._value_row(each, frame) for each in answer["rows"]], budget)
        told: rows.StopRow = {"variables": shown, "omitted": answer["total"] - len(shown), "left": None, "returned": []}
        told["return_value"] = []
        if "returned" in answer:
            told["left"] = {"function": self.left_function, "how": "return"}
            given = shortened(self._value_row(answer["returned"], frame), budget // 4)
            told["return_value"] = [cast(rows.ReturnRow, given)]
        if watched:
            told["watches"] = self._watch_rows(answer["watches"], frame, watched, limit)
        elif more.get("watched"):
            told["watches"] = await self.watch(frame, more["watched"], budget // 2)
        return told

    def _watch_rows(self, found: list[ValueRow], frame: int, watched: list[str], limit: int) -> list[rows.WatchRow]:
        return [
            watched_row(self._evaluation_of(each, frame, text, limit).as_answer(), limit)
            for each, text in zip(found, watched, strict=True)
        ]

    async def _look_at(self, place: Frame, look: readonly_expressions.Look, limit: int, timeout: float) -> Evaluation:
        """Check what macros make of it, too: they can do anything, also run a program."""
        answer = await self._run_expression(place, look.text, limit, timeout, "look")
        if answer.expansion is not None:
            try:
                expanded = readonly_expressions.parse(answer.expansion)
            except readonly_expressions.NotALook as error:
                return Evaluation(error=f"{MACRO}: {error}")
            answer = await self._run_expression(place, expanded.text, limit, timeout, "look")
        return answer if answer.expansion is None else Evaluation(error=MACRO)

    async def _run_expression(
        self, place: Frame, text: str, limit: int, timeout: float, method: str = "evaluate"
    ) -> Evaluation:
        try:
            answer = await self.ask_inside(place, method, timeout + 1, expression=text, limit=limit, seconds=timeout)
        except RelayError as error:
            return self._explain_failure(error, text)
        if "expanded" in answer:
            return Evaluation(expansion=answer["expanded"])
        return self._evaluation_of(answer, place.number, text, limit)

    def _evaluation_of(self, answer: ValueRow, frame: int, text: str, limit: int) -> Evaluation:
        if TIMED_OUT in answer.get("error", ""):
            return Evaluation(is_timed_out=True)
        if "error" in answer:
            return self._explain_refusal(answer["error"], text)
        return Evaluation.of_row(shortened(self._value_row(answer, frame), limit))

    def _explain_refusal(self, said: str, text: str) -> Evaluation:
        plain = advice(RUNS_CODE) if said == CALLS_CODE else CRYPTIC.get(said, said)
        answer = super()._explain_refusal(plain, text)
        if answer.syntax_error is not None:
            rest = NEAR.search(said)
            answer.syntax_error["offset"] = (text.rfind(rest[1]) if rest else len(text)) + 1
        return answer

    async def _run_command(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation:
        try:
            answer: ValueRow = await self.ask_inside(place, "command", timeout, text=text)
        except RelayError as error:
            return self._explain_failure(error, text)
        if "error" in answer:
            return Evaluation(error=answer["error"])
        return Evaluation.of_row(shortened(row("", answer["value"], None), limit))

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[rows.WatchRow]:
        if not may_run.get():
            return await super().watch(frame, expressions, limit)
        most = min(VALUE_LIMIT, max(1, limit // max(1, len(expressions))))
        wanted = {"watched": expressions, "limit": most, "seconds": VALUES}
        answer = await self.ask_inside(self.find_frame(frame), "watch", VALUES * 2, **wanted)
        return self._watch_rows(answer, frame, expressions, most)

    async def _variable_names(self, frame: int) -> list[str]:
        return list(await self.ask_inside(self.find_frame(frame), "names"))

    async def _fetch_completions(self, place: Frame, typed: str) -> list[str]:
        lines = await self.ask_inside(place, "complete", text=typed)
        start = len(typed) - len(re.split(r"\W", typed)[-1])
        return [line[start:] for line in lines]

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> rows.AssignmentRow:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": "reference"}
        wish = {"reference": inside.reference, "name": name, "value": value, "limit": limit, "seconds": timeout}
        return await self._assign_value(inside.frame, "set_variable", wish)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> rows.AssignmentRow:
        wish = {"expression": expression, "value": value, "limit": limit, "seconds": timeout}
        return await self._assign_value(frame, "set_expression", wish)

    async def _assign_value(self, frame: int, method: str, wish: dict[str, Any]) -> rows.AssignmentRow:
        try:
            answer: AssignedRow = await self.ask_inside(self.find_frame(frame), method, wish["seconds"] + 1, **wish)
        except RelayError as error:
            return cast(rows.AssignmentRow, self._explain_failure(error, wish["value"]).as_answer())
        _require_reached(answer)
        if "missing" in answer:
            return {"missing": answer["missing"], "is_global": False}
        if TIMED_OUT in answer.get("error", ""):
            return {"timed_out": True}
        if "error" in answer:
            refused = self._explain_refusal(answer["error"], wish[answer["part"]]).as_answer()
            return cast(rows.AssignmentRow, {**refused, "part": answer["part"]})
        if "not_set" in answer:
            return {"not_set": answer["not_set"]}
        made = shortened(self._value_row(answer, frame), wish["limit"])
        more = {"old": answer["old"], "old_type": answer["old_type"], "taken": answer["taken"]}
        return cast(rows.AssignmentRow, {**made, **more})

    async def exception(self, frame: int) -> rows.ExceptionRow | None:
        place = self.find_frame(frame)
        is_panic = self._exceptions.stopped_at_panic
        if not (self._exceptions.stopped_at_throw or is_panic):
            return await super().exception(frame)
        thrown: ThrownRow = await self.ask_inside(place, "thrown")
        if is_panic:
            read = RawMemory(self._conversation).read
            thrown["message"] = await panic_message(read, thrown["payload"], thrown["methods"])
        name, message = thrown.get("type") or "exception", thrown.get("message") or ""
        told = await self._exception_row(place, name, message, thrown.get("rules", []), "always")
        return {**told, "is_in_library": is_panic}

    async def signal_of(self, place: Frame) -> tuple[int | None, str | None]:
        return tuple(await self.ask_inside(place, "signal"))


class GdbMemory(NativeMemory):
    async def _fetch_instructions(self, address: str, offset: int, count: int) -> list[DapInstruction]:
        """Ask our code inside gdb: DAP's own request only goes forward, and names files as the compiler did."""
        if offset < 0:
            with contextlib.suppress(RelayError):
                found = HEX.search(await self._conversation.run_command(f"x/{offset}i {address}"))
                address, offset = found[0] if found else address, 0
        skipped = max(0, offset)
        wanted: dict[str, Any] = {"address": int(address, 16), "count": skipped + count}
        rows = list(await self._conversation.call_inside("instructions", **wanted))
        if not rows:
            raise no_code(address)
        return rows[skipped:]


class GdbDataBreakpoints(DataBreakpoints):
    _inspection: GdbInspection

    async def _begin_watching(self, frame: int, wanted: DataBreakpoint) -> tuple[int, str | None]:
        command = f"{WATCH[wanted.access]} {wanted.expression}"
        if wanted.condition:
            command += f" if {wanted.condition}"
        place = self._inspection.find_frame(frame)
        answer: ValueRow = await self._inspection.ask_inside(place, "watch_data", command=command)
        made = WATCHPOINT.search(answer.get("value", ""))
        if made is None:
            raise RelayError("EVALUATE_ERROR", answer.get("error") or answer["value"].strip() or "gdb did not say why")
        return int(made[2]), None if made[1] else SLOW

    async def _unwatch_value(self, watched: WatchedValue) -> None:
        await self._conversation.run_command(f"delete {watched.id}")


def _require_reached(answer: RowPage | AssignedRow) -> None:
    """Raise if gdb did not get there: what is in lists and maps is found only by going through them."""
    if "too_far" in answer:
        raise not_reached("gdb", answer["too_far"], answer["total"])
