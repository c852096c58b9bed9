"""A look into a program with lldb: its scopes and values, expressions that run code, assignments."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from ....errors import RelayError
from ... import rows
from ...rows import AssignmentRow, PageWish, VariablePage, VariableRow
from ...shapes import Frames
from ...value_rows import clipped, page_bounds, paged, row, selected, shortened, within
from ..dap_inspection import ERROR_LIMIT, MOST_SEARCHED, DapInspection, Evaluation, Frame, Inside, Way, not_reached
from ..native_conversation import GRACE
from ..readonly_expressions import Look
from . import lldb_values
from .lldb_conversation import explain_problem, without_echo
from .lldb_exceptions import THROW, LldbExceptions
from .lldb_values import Assignment, not_assigned

SCOPES = ("Locals", "Arguments", "Return", "Globals", "Registers")
LOCALS, LAST_SCOPE = 1, 3
"""References up to the second are those of the scopes, whichever frame's were asked for last."""
RESULT = re.compile(r"^\(.*?\) (\$\w+) = ", re.MULTILINE)
RETURNED = re.compile(r"^Return value: \(.*?\) (\$\w+) = ", re.MULTILINE)
INTERPRETING = "--allow-jit false --apply-fixits false"
"""lldb then goes through the code of an expression itself, and refuses what would call anything."""
INDEX = re.compile(r"-?[0-9]+")
NO_NAME = re.compile(r"\*?\(?\[")
"""The name that lldb-dap gives to an element of a container that the language has no such way into."""
ELEMENT = re.compile(r"\[([0-9]+)\]")
NOT_COMPLETED = re.compile(r"[\x00-\x1f\x7f\"'#%?<@;{}`\\]|(?<!-)>")
"""Places to cut a text for completion: lldb asks a compiler, and that would read the files that are named."""
SHOWN, MOST_OPENED = 10, 20
"""Elements that are shown of a container, and containers of a listing."""
NO_RESULT = "unknown error"
"""The answer of lldb-dap to an expression that has no value."""
SIGNAL = re.compile(r"^signal (\w+)")
ADDRESS = re.compile(r"fault address[:=]? (0x[0-9a-f]+)")
VOID = Evaluation("", "void", {"variables_reference": 0})


class LldbInspection(DapInspection):
    _exceptions: LldbExceptions

    def reset(self) -> None:
        super().reset()
        self.stop_descriptions: dict[int, str] = {}
        """why each thread halted, in lldb's words"""
        self.core_fault: tuple[int, str] | None = None
        """the signal that a core file is about, and the address of the fault"""

    # Threads and stacks.

    async def threads(self) -> list[rows.ThreadRow]:
        listed = (await self._conversation.request("threads"))["threads"]
        halted = self._program.allows("inspect")
        more = {"halted": halted, "marked": halted, "top": None}
        told = [cast(rows.ThreadRow, {"id": each["id"], "name": each["name"], **more}) for each in listed]
        for made in told[:100] if halted else []:  # of more it would take too long
            frames = await self.fetch_frames(made["id"], 1)
            made["top"] = frames[0] if frames else None
        return told

    async def _fetch_deeper(self, thread_id: int, start: int, levels: int) -> Frames:
        wanted = {"threadId": thread_id, "startFrame": start, "levels": levels}
        return list((await self._conversation.request("stackTrace", wanted))["stackFrames"])

    def _shown_frames(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        """Leave out the function of the C++ library that throws."""
        is_throwing = self._exceptions.is_throwing and len(frames) > 1 and frames[0]["name"].startswith(THROW)
        for frame in frames:
            where = frame.get("instructionPointerReference")
            frame["instructionPointerReference"] = where and where.lower()
            frame["name"] = "" if frame["name"].startswith("___lldb_unnamed_symbol") else frame["name"]
        shown = super()._shown_frames(thread_id, frames, above)
        return shown[1:] if is_throwing else shown

    # Values. Scopes and frames are chosen by the request before: the two are sent together, so that nothing comes
    # between.

    def _choose_frame(self, place: Frame) -> None:
        self._conversation.send("scopes", {"frameId": place.id})

    def _choose_scope(self, inside: Inside) -> None:
        if inside.reference <= LAST_SCOPE:
            self._choose_frame(self.find_frame(inside.frame))

    async def scopes(self, frame: int) -> list[rows.ScopeRow]:
        body = await self._conversation.request("scopes", {"frameId": self.find_frame(frame).id})
        order = {name: place for place, name in enumerate(SCOPES)}
        found = sorted(body["scopes"], key=lambda each: order.get(each["name"], len(SCOPES)))
        return [self._scope_row(frame, scope) for scope in found]

    def _variable_row(self, variable: dict[str, Any], frame: int, way: Way, value: str = "value") -> VariableRow:
        """Show a reference as what it refers to, not where that is; behind a null pointer there is nothing."""
        kind, told = variable.get("type") or "", variable.get(value)
        what = lldb_values.led_to(kind, told or "")
        if kind.endswith(("&", "*") if self._program.is_rust else "&"):
            told = lldb_values.ADDRESSED.sub("", told or "")
        text, named, indexed = told or "", variable.get("namedVariables") or 0, variable.get("indexedVariables") or 0
        if "indexedVariables" not in variable:  # not told of what was evaluated: all of it would be fetched at once
            counted = lldb_values.COUNTED.match(kind) or lldb_values.COUNTED.match(text)
            indexed = int(counted[1] or counted[2]) if counted else 0
        made = row(variable.get("name", ""), told, variable.get("type"), 0, named, indexed)
        reference = 0 if re.fullmatch("0x0+", text) else variable.get("variablesReference") or 0
        path = variable.get("evaluateName") if what is None and not indexed else None
        self._with_contents(made, Inside(reference, frame, named, indexed, way=dict(way), path=path), what)
        if lldb_values.is_cut(text):
            made["truncated"] = True
        return made

    async def children(self, frame: int, reference: int, page: PageWish) -> VariablePage:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": True}
        if inside.path and reference not in inside.way.values():
            # lldb-dap does not tell where a structure is, and what leads back to it is known by that.
            pointer = inside.path[1:] if inside.path.startswith("*") else f"&{inside.path}"
            place, timeout = self.find_frame(inside.frame), self._conversation.timeout
            at = await self.read_value(place, pointer, ERROR_LIMIT, timeout, "hover")
            what = lldb_values.led_to(at.type or "", at.text)
            inside.way.update({what: reference} if what is not None else {})
        start, count = page_bounds(page)
        if inside.indexed and not page.get("name") and page.get("filter") != "named":
            shown, total = await self._fetch_variables(inside, start, count), inside.indexed
            shown = shown if len(shown) <= count else shown[start : start + count]
            if len(shown) < min(count, total - start):  # it took too long to get there
                raise not_reached(self._program.kind, start + len(shown), total)
        else:
            found = await self._fetch_variables(inside, 0, MOST_SEARCHED)
            shown, total = selected(found, page, bool(inside.indexed), start, count)
        return {**paged(shown, total, start, page), "variables_reference": reference}

    async def _fetch_variables(self, inside: Inside, start: int = 0, count: int = 0) -> list[VariableRow]:
        told = [made for made in await self._list_variables(inside, start, count) if lldb_values.has_name(made["name"])]
        for made in [made for made in told if lldb_values.is_closed(made.get("type"), made.get("value"))][:MOST_OPENED]:
            made["value"] = await self._with_elements(made["value"], made["variables_reference"])
        return told

    async def _list_variables(self, inside: Inside, start: int, count: int) -> list[VariableRow]:
        listed = await self._request_variables(inside, start=start, count=count)
        return [self._variable_row(variable, inside.frame, inside.way) for variable in listed]

    async def _request_variables(self, inside: Inside, **part: int) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = []
        for _ in range(4):  # each goes faster than the one before
            self._choose_scope(inside)
            wanted = {"variablesReference": inside.reference, **part}
            listed = (await self._conversation.request("variables", wanted))["variables"]
            if not any(lldb_values.HURRIED.fullmatch(each.get("value") or "") for each in listed):
                break
        return listed

    async def _with_elements(self, value: str, reference: int) -> str:
        """Return a value with what is there: of a container lldb tells only how much is in it, of a reference where it
        leads."""
        inside = self._inside.get(reference)
        if inside is None or value == "size=0":
            return value
        listed = await self._list_variables(inside, 0, SHOWN)
        if not lldb_values.SIZE.fullmatch(value):
            return (listed[0].get("value") if listed else None) or value
        shown = ", ".join(each.get("value") or "" for each in listed[:SHOWN])
        return f"{value} {{{shown}{', ...' if inside.indexed > SHOWN else ''}}}"

    async def _fetch_locals(self, frame: int) -> list[VariableRow]:
        return await self._fetch_variables(Inside(LOCALS, frame))

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> rows.StopRow:
        found = await self._fetch_locals(frame)
        shown = within(found[:names], budget)
        told: rows.StopRow = {"variables": shown, "omitted": len(found) - len(shown), "returned": []}
        returned = await self._returned_value(self.find_frame(frame), budget // 4)
        told["left"] = {"function": self.left_function, "how": "return"} if returned else None
        told["return_value"] = [returned] if returned else []
        if more.get("watched"):
            told["watches"] = await self.watch(frame, more["watched"], budget // 2)
        return told

    async def _returned_value(self, place: Frame, limit: int) -> rows.ReturnRow | None:
        """Return what the function gave that was just left."""
        if self.left_function is None or not self.stop_descriptions.get(place.thread, "").startswith("step out"):
            return None
        self._choose_frame(place)
        kept = RETURNED.search(await self._conversation.run_command("thread info"))
        if kept is None:
            return None
        answer = (await self.read_value(place, kept[1], limit, self._conversation.timeout)).as_answer()
        return cast(rows.ReturnRow, {"name": "(return)", "value": answer.pop("result"), **answer})

    # Expressions.

    async def _run_command(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation:
        self._choose_frame(place)
        arguments = {"expression": text, "frameId": place.id, "context": "repl"}
        try:
            body = await self._conversation.request_contained("evaluate", arguments, timeout)
        except RelayError as error:
            return self._explain_failure(error, text)
        answer = Evaluation.of_row(shortened(row("", body["result"], None), limit))
        return replace(answer, result=without_echo(answer.text))

    async def _look_at(self, place: Frame, look: Look, limit: int, timeout: float) -> Evaluation:
        """Go from member to member if that leads there; else have lldb interpret an expression without running it."""
        path = await self._variable_path(place, look, timeout)
        if path is not None:
            found = await self.read_value(place, path, limit, timeout, "hover")
            if not found.has_failed:
                return found
        return await self.interpret(place, look.text, look.names, limit, timeout)

    async def _variable_path(self, place: Frame, look: Look, timeout: float) -> str | None:
        """Return the path in lldb's words, with numbers as indexes."""
        parts = []
        for part in look.path or ():
            if isinstance(part, Look):
                part = str((await self._look_at(place, part, ERROR_LIMIT, timeout)).result)
                if not INDEX.fullmatch(part):
                    return None
            parts.append(part)
        return "".join(parts) or None

    async def interpret(self, place: Frame, text: str, names: Iterable[str], limit: int, timeout: float) -> Evaluation:
        """Have lldb interpret it. Names are the program's variables, and not its macros, which could do anything."""
        plain = "".join(f"#undef {name}\n" for name in sorted(names))
        command = f"expression {INTERPRETING} --timeout {int(timeout * 1e6)} -- {plain}#line 1\n{text}"
        return await self._by_command(place, command, text, limit, timeout)

    async def _run_expression(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation:
        """Go along a path if it is one; else use a command: lldb-dap's own way has no time limit, and evaluates
        something else than what was asked where lldb has an idea of what was meant ("fix-its")."""
        if not self.has_side_effects(text):
            found = await self.read_value(place, text, limit, timeout, "hover")
            if not found.has_failed:
                return found
        return await self.execute_text(place, text, limit, timeout)

    async def read_value(
        self, place: Frame, text: str, limit: int, timeout: float, context: str = "watch"
    ) -> Evaluation:
        """Read it; in the context `hover` lldb-dap only goes along a path."""
        arguments = {"expression": text, "frameId": place.id, "context": context}
        try:
            body = await self._conversation.request_contained("evaluate", arguments, timeout)
        except RelayError as error:
            answer = self._explain_failure(error, text)
            return VOID if answer.error == NO_RESULT else answer
        made = self._variable_row({"evaluateName": text, **body}, place.number, {}, "result")
        answer = Evaluation.of_row(shortened(made, limit))
        if lldb_values.is_closed(answer.type, answer.result):
            opened = await self._with_elements(answer.text, answer.row["variables_reference"])
            answer.result = clipped(opened, limit)[0]
        return answer

    async def execute_text(self, place: Frame, text: str, limit: int, timeout: float) -> Evaluation:
        command = f"expression --timeout {int(timeout * 1e6)} -- {' '.join(text.splitlines())}"
        return await self._by_command(place, command, text, limit, timeout)

    async def _by_command(self, place: Frame, command: str, text: str, limit: int, timeout: float) -> Evaluation:
        begun = time.monotonic()
        self._choose_frame(place)
        arguments = {"expression": command, "context": "repl"}
        try:
            body = await self._conversation.request_contained("evaluate", arguments, timeout + GRACE)
        except RelayError as error:
            return self._explain_failure(error, text)
        said = str(body["result"]).removeprefix(f"(lldb) {command}\n")
        kept = RESULT.search(said)
        if kept is not None:
            return await self.read_value(place, kept[1], limit, timeout)
        if "error:" not in said:
            return VOID
        is_cut_short = "Execution was interrupted" in said and time.monotonic() - begun >= timeout
        if is_cut_short or "Reached timeout while interpreting" in said:
            return Evaluation(is_timed_out=True)
        return explain_problem(said, text)

    def _explain_refusal(self, said: str, text: str) -> Evaluation:
        return explain_problem(said, text)

    async def _variable_names(self, frame: int) -> list[str]:
        self._choose_frame(self.find_frame(frame))
        listed = (await self._conversation.request("variables", {"variablesReference": LOCALS}))["variables"]
        return [each["name"].partition(" @ ")[0] for each in listed if lldb_values.has_name(each["name"])]

    async def _fetch_completions(self, place: Frame, typed: str) -> list[str]:
        """Complete a command that takes an expression, since lldb completes commands."""
        command = f"expression -- {NOT_COMPLETED.split(typed)[-1].lstrip(' ,.)]-+/|^=')}"
        arguments = {"frameId": place.id, "text": command, "column": len(command) + 1}
        body = await self._conversation.request("completions", arguments)
        return [target.get("text") or target["label"] for target in body["targets"]]

    # Assignments: by expressions, since lldb-dap's own take nothing but numbers.

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> AssignmentRow:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": "reference"}
        element = ELEMENT.fullmatch(name) if inside.indexed else None
        start, count = (int(element[1]), 1) if element else (0, MOST_SEARCHED)
        listed = await self._request_variables(inside, start=start, count=count)
        found = next((each for each in listed if each["name"] == name), None)
        if found is None:
            return {"missing": "name", "is_global": False}
        target, old, old_type = found.get("evaluateName") or name, found.get("value"), found.get("type")
        wish = Assignment(self.find_frame(frame), name, target, value, old, old_type, limit, timeout)
        if element:  # of an array or container, which need not have a name in the language
            new = await self.evaluate_text(wish.place, value, limit, timeout)
            if not new.has_failed and await self._set_raw(inside, f"[{start}]", new.text):
                now = await self._fetch_variables(inside, start, 1)
                if now and now[0].get("value") == new.result:
                    return wish.as_answer(shortened(now[0], limit))
        if NO_NAME.match(target):
            advice = "look into it, or set it by an expression"
            return {"not_set": f"lldb sets numbers, pointers and the like here: {advice}"}
        return await self._assign_value(wish, inside)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> AssignmentRow:
        place = self.find_frame(frame)
        before = await self.evaluate_text(place, expression, limit, timeout)
        if before.has_failed:
            return not_assigned(before, "expression")
        target = f"({expression})"
        wish = Assignment(place, expression, target, value, before.result, before.type, limit, timeout)
        return await self._assign_value(wish)

    async def _assign_value(self, wish: Assignment, inside: Inside | None = None) -> AssignmentRow:
        place, target, value, budget = wish.place, wish.target, wish.value, (wish.limit, wish.timeout)
        done = await self.execute_text(place, f"{target} = ({value})", *budget)
        if "from incompatible type" in (done.error or ""):  # to an enum, say: C would take it
            cast_value = await self.execute_text(place, f"{target} = (__typeof__({target}))({value})", *budget)
            done = done if cast_value.error else cast_value
        if done.error or done.syntax_error:
            alone = await self.evaluate_text(place, f"({value})", *budget)
            if alone.has_failed:
                return not_assigned(alone, "value")
            if inside is not None and await self._set_raw(inside, wish.name, alone.text):
                done = Evaluation()
        if done.has_failed:
            return not_assigned(done, "value")
        now = (await self.read_value(place, target, *budget)).as_answer()
        return wish.as_answer(cast(VariableRow, {"name": wish.name, "value": now.pop("result", value), **now}))

    async def _set_raw(self, inside: Inside, name: str, value: str) -> bool:
        """Set a register, or an element that has no name in the language."""
        self._choose_scope(inside)
        arguments = {"variablesReference": inside.reference, "name": name, "value": value}
        try:
            await self._conversation.request("setVariable", arguments)
        except RelayError:
            return False
        return True

    # Exceptions and signals.

    async def exception(self, frame: int) -> rows.ExceptionRow | None:
        place = self.find_frame(frame)
        thrown = self._exceptions.panics.get(place.thread, self._exceptions.thrown)
        if thrown is None:
            return await super().exception(frame)
        told = await self._exception_row(place, thrown.type, thrown.message, thrown.rules, "always")
        told["is_in_library"] = self._exceptions.is_panicking(place.thread)
        return told

    async def signal_of(self, place: Frame) -> tuple[int | None, str | None]:
        """Add what a core file tells: lldb does not know the address."""
        description = self.stop_descriptions.get(place.thread, "")
        found, told = SIGNAL.match(description), ADDRESS.search(description)
        if found is None or found[1] not in signal.Signals.__members__:
            return None, None
        number, address = int(signal.Signals[found[1]]), told[1] if told else None
        if ": invalid address" in description:
            address = ""
        elif address is None and self.core_fault is not None and self.core_fault[0] == number:
            address = self.core_fault[1]
        return number, address
