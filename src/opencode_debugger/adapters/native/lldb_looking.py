"""What is different when lldb looks into a program: expressions that run code, assignments, scopes."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterable
from typing import Any

from ...errors import RelayError
from ..base import Frames
from ..rows import Row, clipped, has_failed, shortened
from . import looks
from .looking import ERROR_LIMIT, MOST_SEARCHED, RUNS_CODE, Frame, Inside, Looking, Object, Way
from .talking import GRACE

LOCALS = 1
SCOPES = 3
"""References up to this are those of the scopes, whichever frame's were asked for last."""
RESULT = re.compile(r"^\(.*?\) (\$\w+) = ", re.MULTILINE)
RETURNED = re.compile(r"^Return value: \(.*?\) (\$\w+) = ", re.MULTILINE)
DIAGNOSTIC = re.compile(r"^(?:error: )?(?:warning: )?(?:<user expression \d+>:(\d+):(\d+): )?(.*)")
SYNTAX = re.compile(r"(expected|extraneous|unterminated|missing|unexpected|invalid (digit|suffix|preprocessing))\b")
WORDY = re.compile(r"^(supposed to interpret, but failed: |Couldn't apply expression side effects : )")
INCOMPATIBLE = "from incompatible type"
INTERPRETING = "--allow-jit false --apply-fixits false"
"""lldb then goes through the code of an expression itself, and refuses what would call anything."""
NOT_INTERPRETED = "Can't evaluate the expression without a running target"
NOT_THERE = "Couldn't look up symbols:"
CRYPTIC = {
    "Couldn't dematerialize a result variable: couldn't read its memory": "Cannot access the memory that it reads",
    "Interpreter couldn't read from memory": "Cannot access the memory that it reads",
    "Execution was interrupted, reason: internal c++ exception breakpoint(-2)..": "It threw an exception of C++, past "
    "which lldb does not go",
}
NULL = re.compile(r"0x0+")
INDEX = re.compile(r"-?[0-9]+")
NO_NAME = re.compile(r"\*?\(?\[")
"""What lldb-dap calls an element of a container that the language has no such way into."""
ELEMENT = re.compile(r"\[([0-9]+)\]")
NOT_COMPLETED = re.compile(r"[\x00-\x1f\x7f\"'#%?<@;{}`\\]|(?<!-)>")
"""What a text for completion is cut off at: lldb asks a compiler, and that would read the files that are named."""
NAMELESS = "<null>"
"""What lldb-dap calls parameters without a name."""
ADDRESSED = re.compile(r"^0x[0-9a-f]+ (?=.)")
ADDRESS_ONLY = re.compile(r"0x[0-9a-f]+")
ADDRESS_FIRST = re.compile(r"0x[0-9a-f]+\b")
LEADING = re.compile(r"(.*?) ?(?:\*|&&?)(?: ?const)?")
"""The type of a pointer or reference, with that of what it leads to."""
QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|class) ")
SIZE = re.compile(r"size=\d+")
COUNTED = re.compile(r"^[^(]*?\[(\d+)\]|size=(\d+)$")
"""How many elements an array has, by its type, and a container, by what lldb tells of it."""
SHOWN, MOST_OPENED = 10, 20
"""Elements that are shown of a container, and containers of a listing."""
LONGEST_TEXT = 20_000
"""characters of a text that lldb shows; of longer ones it shows the beginning"""
CUT = '"...'
"""How it ends these."""
UNNAMED = "___lldb_unnamed_symbol"
"""What lldb calls functions without a name."""
CUT_SHORT = "Execution was interrupted"
INTERPRETED = "Reached timeout while interpreting"
NO_RESULT = "unknown error"
"""What lldb-dap makes of an expression that has no value."""
VOID: dict[str, Any] = {"result": "", "type": "void", "variables_reference": 0, "presentation_hint": None}
SIGNAL = re.compile(r"^signal (\w+)")
WILD = ": invalid address"
ADDRESS = re.compile(r"fault address[:=]? (0x[0-9a-f]+)")


class LldbLooking(Looking):
    _described: dict[int, str]

    async def _line(self, command: str) -> str:
        """What a command of lldb's own prints."""
        body = await self._request("evaluate", {"expression": command, "context": "repl"})
        return without_echo(str(body["result"]))

    def _told(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        for frame in frames:
            where = frame.get("instructionPointerReference")
            frame["instructionPointerReference"] = where and where.lower()
            frame["name"] = "" if frame["name"].startswith(UNNAMED) else frame["name"]
        return super()._told(thread_id, frames, above)

    # Scopes and frames are chosen by the request before: the two are sent together, so that nothing comes between.

    def _choose(self, frame: int) -> None:
        self._require_talk().send("scopes", {"frameId": self._frame(frame).id})

    def _row(
        self,
        variable: dict[str, Any],
        frame: int,
        value: str = "value",
        way: Way | None = None,
        what: Object | None = None,
    ) -> Row:
        """A reference is what it refers to, not where that is; behind a null pointer there is nothing."""
        what = _led_to(variable.get("type") or "", variable.get(value) or "")
        if (variable.get("type") or "").endswith(("&", "*") if self._is_rust else "&"):
            variable = {**variable, value: ADDRESSED.sub("", variable.get(value) or "")}
        if NULL.fullmatch(variable.get(value) or ""):
            variable = {**variable, "variablesReference": 0}
        if "indexedVariables" not in variable:  # not told of what was evaluated: all of it would be fetched at once
            found = COUNTED.match(variable.get("type") or "") or COUNTED.match(variable.get(value) or "")
            variable = {**variable, "indexedVariables": int(found[1] or found[2]) if found else 0}
        made = super()._row(variable, frame, value, way, what)
        told = variable.get(value) or ""  # of a std::string that is cut it says nothing
        return made | {"truncated": True} if told.endswith(CUT) or len(told) > LONGEST_TEXT else made

    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]:
        """Of a structure lldb-dap does not tell where it is; what leads back to it is known by that."""
        inside = self._inside.get(reference)
        if inside is not None and inside.path and reference not in inside.way.values():
            place = self._frame(inside.frame)
            pointer = inside.path[1:] if inside.path.startswith("*") else f"&{inside.path}"
            found = await self._asked_for(inside.frame, place, pointer, ERROR_LIMIT, self._timeout, "hover")
            what = _led_to(found.get("type") or "", found.get("result") or "")
            if what is not None:
                inside.way[what] = reference
        return await super().children(frame, reference, page)

    async def _variables(self, inside: Inside, start: int = 0, count: int = 0) -> list[Row]:
        if inside.reference <= SCOPES:
            self._choose(inside.frame)
        rows = [
            made
            for made in await super()._variables(inside, start, count)
            if made["name"].partition(" @ ")[0] != NAMELESS
        ]
        for made in [made for made in rows if _is_closed(made.get("type"), made.get("value"))][:MOST_OPENED]:
            made["value"] = await self._opened(made["value"], made["variables_reference"])
        return rows

    async def _opened(self, value: str, reference: int) -> str:
        """lldb tells of a container only how much is in it, and of a reference where it leads: with what is there."""
        inside = self._inside.get(reference)
        if inside is None or value == "size=0":
            return value
        listed = await super()._variables(inside, 0, SHOWN)
        if not SIZE.fullmatch(value):
            return (listed[0].get("value") if listed else None) or value
        shown = ", ".join(each.get("value") or "" for each in listed[:SHOWN])
        return f"{value} {{{shown}{', ...' if inside.indexed > SHOWN else ''}}}"

    async def _locals(self, frame: int, scopes: tuple[str, ...] = ("Arguments", "Locals")) -> list[Row]:
        return await self._variables(Inside(LOCALS, frame))

    async def _command(self, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        self._require_talk().send("scopes", {"frameId": place.id})
        answer = await super()._command(place, text, limit, timeout)
        if isinstance(answer.get("result"), str):
            answer["result"] = without_echo(answer["result"])
        return answer

    async def _returned(self, frame: int, limit: int) -> Row | None:
        place = self._frame(frame)
        if self._left is None or not self._described.get(place.thread, "").startswith("step out"):
            return None
        self._require_talk().send("scopes", {"frameId": place.id})
        kept = RETURNED.search(await self._line("thread info"))
        if kept is None:
            return None
        answer = await self._read_value(frame, place, kept[1], limit, self._timeout)
        return {"name": "(return)", "value": answer.pop("result"), **answer, "function": self._left}

    # Expressions.

    async def _looked_at(
        self, frame: int, place: Frame, look: looks.Look, limit: int, timeout: float
    ) -> dict[str, Any]:
        """From member to member if that leads there; else as an expression whose code lldb reads and does not run."""
        path = await self._path_of(frame, place, look, timeout)
        if path is not None:
            found = await self._read_value(frame, place, path, limit, timeout, "hover")
            if not has_failed(found):
                return found
        return await self._interpreted(frame, place, look.text, look.names, limit, timeout)

    async def _path_of(self, frame: int, place: Frame, look: looks.Look, timeout: float) -> str | None:
        """In lldb's words, with numbers as indexes."""
        parts = []
        for part in look.path or ():
            if isinstance(part, looks.Look):
                found = await self._looked_at(frame, place, part, ERROR_LIMIT, timeout)
                part = str(found.get("result"))
                if not INDEX.fullmatch(part):
                    return None
            parts.append(part)
        return "".join(parts) or None

    async def _interpreted(
        self, frame: int, place: Frame, text: str, names: Iterable[str], limit: int, timeout: float
    ) -> dict[str, Any]:
        """Names are the program's variables, and not its macros, which could do anything."""
        plain = "".join(f"#undef {name}\n" for name in sorted(names))
        command = f"expression {INTERPRETING} --timeout {int(timeout * 1e6)} -- {plain}#line 1\n{text}"
        return await self._by_command(frame, place, command, text, limit, timeout)

    async def _run(self, frame: int, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        """Along a path if it is one; else as a command: lldb-dap's own way has no time limit, and evaluates something
        else than what was asked where lldb has an idea of what was meant ("fix-its")."""
        if not self.has_side_effects(text):
            found = await self._read_value(frame, place, text, limit, timeout, "hover")
            if not has_failed(found):
                return found
        return await self._executed(frame, place, text, limit, timeout)

    async def _read_value(
        self, frame: int, place: Frame, text: str, limit: int, timeout: float, context: str = "watch"
    ) -> dict[str, Any]:
        """In the context `hover` lldb-dap only goes along a path."""
        answer = await self._asked_for(frame, place, text, limit, timeout, context)
        if answer.get("error") == NO_RESULT:
            return dict(VOID)
        if _is_closed(answer.get("type"), answer.get("result")):
            answer["result"] = clipped(await self._opened(answer["result"], answer["variables_reference"]), limit)[0]
        return answer

    async def _executed(self, frame: int, place: Frame, text: str, limit: int, timeout: float) -> dict[str, Any]:
        command = f"expression --timeout {int(timeout * 1e6)} -- {' '.join(text.splitlines())}"
        return await self._by_command(frame, place, command, text, limit, timeout)

    async def _by_command(
        self, frame: int, place: Frame, command: str, text: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        begun = time.monotonic()
        self._require_talk().send("scopes", {"frameId": place.id})
        try:
            body = await self._contained("evaluate", {"expression": command, "context": "repl"}, timeout + GRACE)
        except RelayError as error:
            return self._failed(error, text)
        said = str(body["result"]).removeprefix(f"(lldb) {command}\n")
        kept = RESULT.search(said)
        if kept is not None:
            return await self._read_value(frame, place, kept[1], limit, timeout)
        if "error:" not in said:
            return dict(VOID)
        if INTERPRETED in said or (CUT_SHORT in said and time.monotonic() - begun >= timeout):
            return {"timed_out": True}
        return problem(said, text)

    def _failed(self, error: RelayError, text: str) -> dict[str, Any]:
        said = error.details.get("said")
        if said is None or error.details.get("timed_out"):
            return super()._failed(error, text)
        return problem(said, text)

    async def _names(self, frame: int) -> list[str]:
        self._choose(frame)
        listed = (await self._request("variables", {"variablesReference": LOCALS}))["variables"]
        return [name for each in listed if (name := each["name"].partition(" @ ")[0]) != NAMELESS]

    async def _completions(self, place: Frame, typed: str, column: int) -> list[str]:
        """lldb completes commands, of which this one takes an expression."""
        command = f"expression -- {NOT_COMPLETED.split(typed)[-1].lstrip(' ,.)]-+/|^=')}"
        return await super()._completions(place, command, len(command) + 1)

    # Assignments: by expressions, since lldb-dap's own take nothing but numbers.

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": "reference"}
        if inside.reference <= SCOPES:
            self._choose(inside.frame)
        place = ELEMENT.fullmatch(name)
        is_element = place is not None and inside.indexed
        part = {"start": int(place[1]) if place and is_element else 0, "count": 1 if is_element else MOST_SEARCHED}
        listed = (await self._request("variables", {"variablesReference": inside.reference, **part}))["variables"]
        found = next((each for each in listed if each["name"] == name), None)
        if found is None:
            return {"missing": "name", "is_global": False}
        before = {"value": found.get("value"), "type": found.get("type")}
        if place and is_element:
            made = await self._set_element(frame, inside, int(place[1]), value, limit, timeout)
            if made is not None:
                return {**made, "old": before["value"], "old_type": before["type"], "taken": True}
        target = found.get("evaluateName") or name
        if NO_NAME.match(target):
            return {
                "not_set": "lldb sets numbers, pointers and the like here: look into it, or set it by an expression"
            }
        return await self._assigned(frame, inside, name, target, before, value, limit, timeout)

    async def _set_element(
        self, frame: int, inside: Inside, index: int, value: str, limit: int, timeout: float
    ) -> Row | None:
        """Of an array or container: what lldb shows of it need not have a name in the language. None if it stays."""
        new = await self._evaluated(frame, self._frame(frame), value, limit, timeout)
        if has_failed(new) or not await self._set_raw(inside, f"[{index}]", new["result"]):
            return None
        now = await self._variables(inside, index, 1)
        return shortened(now[0], limit) if now and now[0].get("value") == new["result"] else None

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        before = await self._evaluated(frame, self._frame(frame), expression, limit, timeout)
        if has_failed(before):
            return before | {"part": "expression"}
        old = {"value": before["result"], "type": before["type"]}
        return await self._assigned(frame, None, expression, f"({expression})", old, value, limit, timeout)

    async def _assigned(
        self,
        frame: int,
        inside: Inside | None,
        name: str,
        target: str,
        before: dict[str, Any],
        value: str,
        limit: int,
        timeout: float,
    ) -> dict[str, Any]:
        place = self._frame(frame)
        done = await self._executed(frame, place, f"{target} = ({value})", limit, timeout)
        if INCOMPATIBLE in (done.get("error") or ""):  # to an enum, say: C would take it
            cast = await self._executed(frame, place, f"{target} = (__typeof__({target}))({value})", limit, timeout)
            done = done if cast.get("error") else cast
        if done.get("error") or done.get("syntax_error"):
            alone = await self._evaluated(frame, place, f"({value})", limit, timeout)
            if has_failed(alone):
                return alone | {"part": "value"}
            if inside is not None and await self._set_raw(inside, name, alone["result"]):
                done = {}
        if has_failed(done):
            return done | {"part": "value"}
        now = await self._read_value(frame, place, target, limit, timeout)
        made = {"name": name, "value": now.pop("result", value), **now}
        return {**made, "old": before["value"], "old_type": before["type"], "taken": True}

    async def _set_raw(self, inside: Inside, name: str, value: str) -> bool:
        """A register, or an element that has no name in the language."""
        if inside.reference <= SCOPES:
            self._choose(inside.frame)
        arguments = {"variablesReference": inside.reference, "name": name, "value": value}
        try:
            await self._request("setVariable", arguments)
        except RelayError:
            return False
        return True

    # Signals.

    async def _signal(self, place: Frame) -> tuple[int | None, str | None]:
        description = self._described.get(place.thread, "")
        found, address = SIGNAL.match(description), ADDRESS.search(description)
        if found is None or found[1] not in signal.Signals.__members__:
            return None, None
        if WILD in description:
            return int(signal.Signals[found[1]]), ""
        return int(signal.Signals[found[1]]), address[1] if address else None


def _led_to(kind: str, value: str) -> Object | None:
    """By a pointer or reference."""
    leads, address = LEADING.fullmatch(kind), ADDRESS_FIRST.match(value)
    if leads is None or address is None:
        return None
    return Object(int(address[0], 16), QUALIFIERS.sub("", leads[1]), is_led_to=True)


def _is_closed(kind: str | None, value: str | None) -> bool:
    """Whether it takes a look inside to tell what it is."""
    is_referred_to = (kind or "").endswith("&") and ADDRESS_ONLY.fullmatch(value or "")
    return bool(is_referred_to or SIZE.fullmatch(value or ""))


def without_echo(text: str) -> str:
    """lldb-dap repeats each command before what it prints."""
    return text.partition("\n")[2] if text.startswith("(lldb) ") else text


def problem(said: str, text: str) -> dict[str, Any]:
    first = DIAGNOSTIC.match(_first_error(said))
    assert first is not None
    message = _plainly(first[3], said)[:ERROR_LIMIT]
    if not first[1] or not SYNTAX.match(message):
        return {"result": None, "type": None, "error": message, "traceback": None}
    lines = text.splitlines() or [""]
    line, offset = int(first[1]), int(first[2])
    if line > len(lines):  # behind its end
        line, offset = len(lines), len(lines[-1]) + 1
    return {"syntax_error": {"message": message, "line": line, "offset": offset, "text": text[:500]}}


def _first_error(said: str) -> str:
    """lldb tells warnings first, and shows the place of each in the lines below it."""
    lines = said.strip().splitlines() or [""]
    return next((line for line in lines if line.startswith("error: ")), lines[0])


def _plainly(message: str, said: str) -> str:
    if message.startswith(NOT_THERE):
        names = ", ".join(line.strip() for line in said.partition(NOT_THERE)[2].splitlines() if line.startswith("  "))
        return f"The program has no code of its own for what this calls ({names}): it is inlined, or never used"
    message = WORDY.sub("", message)
    return RUNS_CODE if NOT_INTERPRETED in message else CRYPTIC.get(message, message)
