"""Breakpoints in lldb, and those that a stop is about, which lldb-dap does not always say."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable

from ....errors import RelayError
from ...shapes import DebuggerBreakpoint
from ..function_names import AN_ADDRESS, rust_pattern
from ..native_breakpoints import BETWEEN, NO_CODE_THERE, VISIT, Answers, NativeBreakpoints, PlacedBreakpoint
from .lldb_conversation import explain_problem, quoted

LABEL = "dap"
"""The name that lldb-dap gives to breakpoints of which it tells changes."""
MADE = re.compile(r"^Breakpoint (\d+): where", re.MULTILINE)
SET = re.compile(r"^Breakpoint (\d+): (no locations|where = .* at .*?:(\d+)(?::\d+)?,)?", re.MULTILINE)
COUNT = re.compile(r"^(\d+): .*hit count = (\d+)\s*$", re.MULTILINE)
LOCATION = re.compile(r"^\s+location = (.+?):(\d+)(?::\d+)?$", re.MULTILINE)
FOUND = re.compile(r"^\s+Summary: .* at .*?:(\d+)(?::\d+)?$", re.MULTILINE)
LINE = re.compile(r"^\[0x.*\): .*?:(\d+)(?::\d+)?$", re.MULTILINE)
NEAR = 100
"""Lines before one without code in which the last one with code is looked for."""
SIGNATURE = re.compile(r"(\w+) *\(.*\)")
"""A function that may be one of C, which has no parameters in its name."""
BLANKS = re.compile(r"(?<=[(<]) +| +(?=[)>,])")
EXECUTABLE = re.compile(r"^\[0x[0-9a-f]+-0x[0-9a-f]+\) ..x", re.MULTILINE)
RANGE = re.compile(r"^\s+Function: .*range = \[(0x\w+)-", re.MULTILINE)
INSTRUCTION = re.compile(r"^(?:->)?\s+(0x[0-9a-f]+) ", re.MULTILINE)
LONGEST_INSTRUCTION = 16
AT_START = re.compile(
    r"^\s+(\d+\.\d+): where = \S*?`((?:(?! \+ \d+ at ).)*) at \S+, address = (?:(\S*)\[)?(0x\w+)", re.MULTILINE
)
"""Places of a breakpoint that are at the first instruction of a function."""
FIRST = re.compile(r"^\s+LineEntry: \[(0x\w+)-(0x\w+)\)", re.MULTILINE)
ON_THE_STACK = "location = DW_OP_fbreg"
"""Variables of code that is not optimized: the others are where they are said to be from the beginning."""
STALE = "\0"
"""No condition: of breakpoints that are to be looked at again."""


class Prologues:
    """The beginnings of functions, where parameters are not in their places yet.

    lldb looks for the end of one in the next line of the source: of a function that gcc compiled from a single line it
    finds none, and stops at the first instruction, where every parameter is garbage."""

    def __init__(self, run: Callable[[str], Awaitable[str]]) -> None:
        self._run = run
        self._instead: dict[int, tuple[str | None, list[int]]] = {}
        """by id of a breakpoint that has places: its condition, and the ids of those that stop in place of it"""
        self._mending = asyncio.Lock()

    def has_substitutes(self, id: int | None) -> bool:
        """Say if others stop in place of it, so that lldb takes it for one without a place."""
        return id in self._instead and bool(self._instead[id][1])

    async def mend_all(self, marked: dict[int, DebuggerBreakpoint]) -> None:
        """Switch off breakpoints that stop too early, and set others where the function really begins."""
        async with self._mending:
            for id, (condition, others) in list(self._instead.items()):
                if id not in marked or marked[id].condition != condition:
                    self._instead.pop(id, None)
                    for other in others:
                        marked.pop(other, None)
                        await self._run(f"breakpoint delete {other}")
            known = {*self._instead, *(other for _, others in self._instead.values() for other in others)}
            for id, bp in [(id, bp) for id, bp in marked.items() if id not in known]:
                listed = await self._run(f"breakpoint list {id}")
                if (bp.function or "").startswith(AN_ADDRESS):
                    self._instead[id] = (bp.condition, [])
                elif "where = " in listed:
                    self._instead[id] = (bp.condition, await self._move_places(listed, bp.condition))
                    marked |= dict.fromkeys(self._instead[id][1], bp)

    def forget_breakpoint(self, id: int | None) -> None:
        """Look at one again: it has got further places."""
        if id in self._instead:
            self._instead[id] = (STALE, self._instead[id][1])

    def knows_breakpoint(self, id: int) -> bool:
        return id in self._instead and self._instead[id][0] is not STALE

    def accept_places(self, ids: list[int]) -> None:
        """Take breakpoints as they are, if they could not be looked at."""
        for id in (id for id in ids if not self.knows_breakpoint(id)):
            self._instead[id] = (None, self._instead[id][1] if id in self._instead else [])

    async def _move_places(self, listed: str, condition: str | None) -> list[int]:
        made = []
        for place, _, module, address in AT_START.findall(listed):
            end = await self.prologue_end(address, module)
            if end is None:
                continue
            where = f"--address {end}" + (f" --shlib {quoted(module)}" if module else "")
            asked = f" --condition {quoted(condition)}" if condition else ""
            said = MADE.search(await self._run(f"breakpoint set {where}{asked}"))
            if said is not None:
                await self._run(f"breakpoint disable {place}")
                made.append(int(said[1]))
        return made

    async def prologue_end(self, address: str = "$pc", module: str = "") -> str | None:
        """Find where the beginning of a function ends that this address is in."""
        known = await self._run(f"image lookup --verbose --address {address} {quoted(module) if module else ''}")
        function, first = RANGE.search(known), FIRST.search(known)
        if function is None or first is None or ON_THE_STACK not in known or function[1] != first[1]:
            return None
        return first[2]


class LldbBreakpoints(NativeBreakpoints):
    def __post_init__(self) -> None:
        self._run = self._conversation.run_command
        self._judged: dict[str, str | None] = {}
        """what is wrong with conditions"""
        self._renewed = 0
        super().__post_init__()

    def reset(self) -> None:
        super().reset()
        self._counted: dict[int, int] = {}
        """hits by id, as far as they were told"""
        self._named: dict[tuple[int, str | None, str | None], int] = {}
        """ids of those on functions, by number, name and condition"""
        self._visiting: int | None = None
        self.prologues = Prologues(self._run)

    async def _remember_ids(self, key: str, wanted: list[DebuggerBreakpoint], answers: Answers) -> None:
        await super()._remember_ids(key, wanted, answers)
        await self.mend_prologues()

    def is_new(self, ids: list[int]) -> bool:
        """Say if one of them has a place in what the program has just loaded."""
        asked = {id for group in self._ids.values() for id in group}
        return any(id in asked and not self.prologues.knows_breakpoint(id) for id in ids)

    async def mend_prologues(self) -> None:
        await self.prologues.mend_all(self._marked)

    def on_changed(self, answer: PlacedBreakpoint) -> None:
        id = answer.get("id")
        self.prologues.forget_breakpoint(id)
        super().on_changed({**answer, "verified": True} if self.prologues.has_substitutes(id) else answer)
        self._conversation.spawn(self._mend_again())

    async def _mend_again(self) -> None:
        with contextlib.suppress(RelayError):
            await self.mend_prologues()

    @property
    def count(self) -> int:
        """The number of breakpoints that a stop can be about."""
        return len(self._marked)

    # lldb-dap keeps one breakpoint per line and one per name, and answers about those on functions in any order. So all
    # that may share a place with others are set by commands.

    async def place_lines(self, path: str, wanted: list[DebuggerBreakpoint]) -> Answers:
        lines = [bp for bp in wanted if bp.number != VISIT]
        asked = [{"line": bp.line} | ({"condition": bp.condition} if bp.condition else {}) for bp in lines]
        body = await self._conversation.request("setBreakpoints", {"source": {"path": path}, "breakpoints": asked})
        answers: Answers = body["breakpoints"]
        for bp, answer in zip(lines, answers, strict=True):
            if self.prologues.has_substitutes(answer.get("id")):
                answer["verified"], answer["line"] = True, bp.line
            answer["condition_problem"] = await self._condition_problem(bp.condition)
            if not answer.get("verified"):
                answer["nearest"] = await self._nearest_line(path, bp.line)
        if self._visiting is not None:
            await self._run(f"breakpoint delete {self._visiting}")
            self._visiting = None
        for bp in (bp for bp in wanted if bp.number == VISIT):  # which is the last
            answers.append(await self._set_breakpoint(f"--file {quoted(path)} --line {bp.line}"))
            self._visiting = answers[-1].get("id")
            if not answers[-1]["verified"]:
                answers[-1]["nearest"] = await self._nearest_line(path, bp.line)
        return answers

    async def place_functions(self, wanted: list[DebuggerBreakpoint]) -> Answers:
        keys = [(bp.number, bp.function, bp.condition) for bp in wanted]
        for key in [key for key in self._named if key not in keys]:
            await self._run(f"breakpoint delete {self._named.pop(key)}")
        answers: Answers = []
        for key in keys:
            if key in self._named:
                answers.append(await self._find_places(self._named[key]))
                continue
            _, name, condition = key
            answer = await self._set_function(name or "", f" --condition {quoted(condition)}" if condition else "")
            if "id" in answer:
                self._named[key] = answer["id"]
                answer |= await self._find_places(answer["id"])
                answer["condition_problem"] = await self._condition_problem(condition)
            answers.append(answer)
        return answers

    async def _nearest_line(self, path: str, line: int) -> int | None:
        """Find a line with code, for which lldb has no advice before and behind all functions of a file."""
        after = FOUND.findall(await self._run(f"image lookup --file {quoted(path)} --line {line}"))
        if not after:
            start = max(1, line - NEAR)
            before = await self._run(f"source info --file {quoted(path)} --line {start} --count {line - start}")
            return max(map(int, LINE.findall(before)), default=None)
        made = SET.search(await self._run(f"breakpoint set --file {quoted(path)} --line {min(map(int, after))}"))
        if made is not None:
            await self._run(f"breakpoint delete {made[1]}")
        return int(made[3]) if made is not None and made[3] else None

    async def _condition_problem(self, condition: str | None) -> str | None:
        """Find a mistake in a condition before it is evaluated: names mean something only at its place."""
        if not condition or ";" in condition or "{" in condition:
            return None
        if condition not in self._judged:
            said = await self._run(f"expression -- (int)sizeof(({' '.join(condition.splitlines())}))")
            if "error:" in said and "<user expression" not in said:
                return None  # the program runs
            self._judged[condition] = (explain_problem(said, condition).syntax_error or {}).get("message")
        return self._judged[condition]

    async def renew_condition(self, condition: str) -> None:
        """Change the text a little: else lldb cannot evaluate again what it had to interrupt."""
        self._renewed += 1
        text = quoted(condition + " " * (1 + self._renewed % 2))
        for id in [id for id, bp in self._marked.items() if bp.condition == condition]:
            await self._run(f"breakpoint modify --condition {text} {id}")

    async def _set_breakpoint(self, what: str) -> PlacedBreakpoint:
        said = await self._run(f"breakpoint set {what} --breakpoint-name {LABEL}")
        made = SET.search(said)
        if made is None:
            return {"verified": False, "message": said.removeprefix("error: ").strip() or None}
        answer: PlacedBreakpoint = {"id": int(made[1]), "verified": made[2] != "no locations"}
        if made[3]:
            answer["line"] = int(made[3])
        return answer

    async def _set_function(self, name: str, condition: str) -> PlacedBreakpoint:
        if name.startswith(AN_ADDRESS):
            return await self._set_address(name.removeprefix(AN_ADDRESS), condition)
        named = await self._set_breakpoint(f"--name {quoted(BLANKS.sub('', name))}{condition}")
        signature = SIGNATURE.fullmatch(name)
        if named["verified"] or "id" not in named or not (signature or {":", "<"}.intersection(name)):
            return named
        other = f"--name {quoted(signature[1])}" if signature else f"--func-regex {quoted(rust_pattern(name))}"
        found = await self._set_breakpoint(f"{other}{condition}")
        listed = await self._run(f"breakpoint list --verbose {found.get('id')}") if signature else ""
        if "mangled function = " in listed:  # which only those of C++ have
            found["verified"] = False
        worse = named if found["verified"] else found
        if "id" in worse:
            await self._run(f"breakpoint delete {worse['id']}")
        return found if found["verified"] else named

    async def _set_address(self, address: str, condition: str) -> PlacedBreakpoint:
        """Set it only where an instruction begins: what is anywhere else would be spoilt."""
        if not EXECUTABLE.search(await self._run(f"memory region {address}")):
            return {"verified": False, "message": NO_CODE_THERE}
        known = RANGE.search(await self._run(f"image lookup --verbose --address {address}"))
        if known is not None and int(known[1], 16) < int(address, 16):
            end = hex(int(address, 16) + LONGEST_INSTRUCTION)
            listed = await self._run(f"disassemble --start-address {known[1]} --end-address {end}")
            begins = [int(each, 16) for each in INSTRUCTION.findall(listed)]
            if begins and int(address, 16) not in begins:
                before = max(each for each in begins if each < int(address, 16))
                return {"verified": False, "message": BETWEEN.format(address=hex(before))}
        return await self._set_breakpoint(f"--address {address}{condition}")

    async def _find_places(self, id: int) -> PlacedBreakpoint:
        listed = await self._run(f"breakpoint list --verbose {id}")
        places = [{"path": path, "line": int(line)} for path, line in LOCATION.findall(listed)]
        return {"id": id, "verified": "address = " in listed, "places": places}

    # Hits: of several breakpoints at one place lldb-dap names the first, whether or not its condition was true, and
    # threads that have not moved are named again. What counts is what lldb has counted.

    def count_hits(self, ids: list[int]) -> None:
        for id in ids:
            self._counted[id] = self._counted.get(id, 0) + 1

    async def fresh_hits(self) -> dict[int, int]:
        """Return how often each was hit since this was asked for or counted."""
        counts = {int(id): int(hits) for id, hits in COUNT.findall(await self._run("breakpoint list --brief"))}
        found = {id: hits - self._counted.get(id, 0) for id, hits in counts.items()}
        self._counted = counts
        return {id: hits for id, hits in found.items() if hits > 0}
