"""Breakpoints in lldb: which of them a stop is about, which lldb-dap does not always say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..base import Bound, DebuggerBreakpoint
from .lldb_looking import problem
from .lldb_prologues import Prologues, Run, quoted
from .marks import BETWEEN, NO_CODE_THERE, VISIT, Answers, Ask, Marks
from .names import AN_ADDRESS, rust_pattern

LABEL = "dap"
"""What lldb-dap calls the breakpoints of which it tells changes."""
SET = re.compile(r"^Breakpoint (\d+): (no locations|where = .* at .*?:(\d+)(?::\d+)?,)?", re.MULTILINE)
COUNT = re.compile(r"^(\d+): .*hit count = (\d+)\s*$", re.MULTILINE)
LOCATION = re.compile(r"^\s+location = (.+?):(\d+)(?::\d+)?$", re.MULTILINE)
FOUND = re.compile(r"^\s+Summary: .* at .*?:(\d+)(?::\d+)?$", re.MULTILINE)
LINE = re.compile(r"^\[0x.*\): .*?:(\d+)(?::\d+)?$", re.MULTILINE)
NEAR = 100
"""Lines before one without code in which the last one with code is looked for."""
SIGNATURE = re.compile(r"(\w+) *\(.*\)")
"""Of a function that may be one of C, which has no parameters in its name."""
MANGLED = "mangled function = "
"""What a function of C++ has."""
BLANKS = re.compile(r"(?<=[(<]) +| +(?=[)>,])")
EXECUTABLE = re.compile(r"^\[0x[0-9a-f]+-0x[0-9a-f]+\) ..x", re.MULTILINE)
RANGE = re.compile(r"^\s+Function: .*range = \[(0x\w+)-", re.MULTILINE)
INSTRUCTION = re.compile(r"^(?:->)?\s+(0x[0-9a-f]+) ", re.MULTILINE)
LONGEST_INSTRUCTION = 16
LISTED = re.compile(r"\bthread #(\d+): tid = (\w+),")
HALTED = re.compile(r"\bthread #\d+: tid = (\w+),.*stop reason = breakpoint ([\d. ]+)$", re.MULTILINE)


class LldbMarks(Marks):
    def __init__(self, ask: Ask, rebound: Callable[..., None], run: Run) -> None:
        super().__init__(ask, rebound)
        self._run = run
        self._counted: dict[int, int] = {}
        """hits by id, as far as they were told"""
        self._named: dict[tuple[int, str | None, str | None], int] = {}
        """ids of those on functions, by number, name and condition"""
        self._visiting: int | None = None
        self._judged: dict[str, str | None] = {}
        """what is wrong with conditions"""
        self._renewed = 0
        self.prologues = Prologues(run)

    def clear(self) -> None:
        super().clear()
        self._counted.clear()
        self._named.clear()
        self._visiting = None
        self.prologues.clear()

    async def _set_file(self, real: str) -> list[Bound]:
        bound = await super()._set_file(real)
        await self.mend()
        return bound

    async def _set_functions(self) -> list[Bound]:
        bound = await super()._set_functions()
        await self.mend()
        return bound

    def is_new(self, ids: list[int]) -> bool:
        """Whether one of them has a place in what the program has just loaded."""
        asked = {id for group in self._ids.values() for id in group}
        return any(id in asked and not self.prologues.knows(id) for id in ids)

    async def mend(self) -> None:
        await self.prologues.mend(self._marked)

    def changed(self, answer: dict[str, Any]) -> None:
        self.prologues.forget(answer.get("id"))
        super().changed({**answer, "verified": True} if self.prologues.has(answer.get("id")) else answer)

    @property
    def is_alone(self) -> bool:
        """Whether there is only one breakpoint that a stop can be about."""
        return len(self._marked) == 1

    @property
    def are_set(self) -> bool:
        return bool(self._marked)

    # lldb-dap keeps one breakpoint per line and one per name, and answers about those on functions in any order. So all
    # that may share a place with others are set by commands.

    async def place_lines(self, path: str, wanted: list[DebuggerBreakpoint]) -> Answers:
        lines = [bp for bp in wanted if bp.number != VISIT]
        answers = await super().place_lines(path, lines)
        for bp, answer in zip(lines, answers, strict=True):
            if self.prologues.has(answer.get("id")):
                answer |= {"verified": True, "line": bp.line}
            answer["condition_problem"] = await self._problem(bp.condition)
            if not answer.get("verified"):
                answer["nearest"] = await self._nearest(path, bp.line)
        if self._visiting is not None:
            await self._run(f"breakpoint delete {self._visiting}")
            self._visiting = None
        for bp in (bp for bp in wanted if bp.number == VISIT):  # which is the last
            answers.append(await self._set(f"--file {quoted(path)} --line {bp.line}"))
            self._visiting = answers[-1].get("id")
            if not answers[-1]["verified"]:
                answers[-1]["nearest"] = await self._nearest(path, bp.line)
        return answers

    async def place_functions(self, wanted: list[DebuggerBreakpoint]) -> Answers:
        keys = [(bp.number, bp.function, bp.condition) for bp in wanted]
        for key in [key for key in self._named if key not in keys]:
            await self._run(f"breakpoint delete {self._named.pop(key)}")
        answers = []
        for key in keys:
            if key in self._named:
                answers.append({"id": self._named[key]} | await self._found(self._named[key]))
                continue
            condition = f" --condition {quoted(key[2])}" if key[2] else ""
            answers.append(await self._set_function(key[1] or "", condition))
            if "id" in answers[-1]:
                self._named[key] = answers[-1]["id"]
                answers[-1] |= await self._found(answers[-1]["id"])
                answers[-1]["condition_problem"] = await self._problem(key[2])
        return answers

    async def _nearest(self, path: str, line: int) -> int | None:
        """A line with code, of a file that has some: lldb has no advice for those before and behind all functions."""
        after = FOUND.findall(await self._run(f"image lookup --file {quoted(path)} --line {line}"))
        if not after:
            start = max(1, line - NEAR)
            before = await self._run(f"source info --file {quoted(path)} --line {start} --count {line - start}")
            return max(map(int, LINE.findall(before)), default=None)
        said = await self._run(f"breakpoint set --file {quoted(path)} --line {min(map(int, after))}")
        made = SET.search(said)
        if made is None:
            return None
        await self._run(f"breakpoint delete {made[1]}")
        return int(made[3]) if made[3] else None

    async def _problem(self, condition: str | None) -> str | None:
        """What can be seen of a mistake before a condition is evaluated; names mean something only at its place."""
        if not condition or ";" in condition or "{" in condition:
            return None
        if condition not in self._judged:
            said = await self._run(f"expression -- (int)sizeof(({' '.join(condition.splitlines())}))")
            if "error:" in said and "<user expression" not in said:
                return None  # the program runs
            self._judged[condition] = (problem(said, condition).get("syntax_error") or {}).get("message")
        return self._judged[condition]

    async def renew(self, condition: str) -> None:
        """lldb cannot evaluate again what it had to interrupt, unless the text is another."""
        self._renewed += 1
        text = quoted(condition + " " * (1 + self._renewed % 2))
        for id in [id for id, bp in self._marked.items() if bp.condition == condition]:
            await self._run(f"breakpoint modify --condition {text} {id}")

    async def _set(self, what: str) -> dict[str, Any]:
        said = await self._run(f"breakpoint set {what} --breakpoint-name {LABEL}")
        made = SET.search(said)
        if made is None:
            return {"verified": False, "message": said.removeprefix("error: ").strip() or None}
        answer: dict[str, Any] = {"id": int(made[1]), "verified": made[2] != "no locations"}
        if made[3]:
            answer["line"] = int(made[3])
        return answer

    async def _set_function(self, name: str, condition: str) -> dict[str, Any]:
        if name.startswith(AN_ADDRESS):
            return await self._set_address(name.removeprefix(AN_ADDRESS), condition)
        named = await self._set(f"--name {quoted(BLANKS.sub('', name))}{condition}")
        signature = SIGNATURE.fullmatch(name)
        if named["verified"] or "id" not in named or not (signature or {":", "<"}.intersection(name)):
            return named
        other = f"--name {quoted(signature[1])}" if signature else f"--func-regex {quoted(rust_pattern(name))}"
        found = await self._set(f"{other}{condition}")
        if signature and MANGLED in await self._run(f"breakpoint list --verbose {found.get('id')}"):
            found["verified"] = False
        worse = named if found["verified"] else found
        if "id" in worse:
            await self._run(f"breakpoint delete {worse['id']}")
        return found if found["verified"] else named

    async def _set_address(self, address: str, condition: str) -> dict[str, Any]:
        """Only where an instruction begins: what is anywhere else would be spoilt."""
        if not EXECUTABLE.search(await self._run(f"memory region {address}")):
            return {"verified": False, "message": NO_CODE_THERE}
        known = RANGE.search(await self._run(f"image lookup --verbose --address {address}"))
        if known is not None and int(known[1], 16) < int(address, 16):
            end = hex(int(address, 16) + LONGEST_INSTRUCTION)
            listed = await self._run(f"disassemble --start-address {known[1]} --end-address {end}")
            begins = [int(each, 16) for each in INSTRUCTION.findall(listed)]
            if begins and int(address, 16) not in begins:
                return {
                    "verified": False,
                    "message": BETWEEN.format(address=hex(max(each for each in begins if each < int(address, 16)))),
                }
        return await self._set(f"--address {address}{condition}")

    async def _found(self, id: int) -> dict[str, Any]:
        """All the places of a function."""
        listed = await self._run(f"breakpoint list --verbose {id}")
        places = [{"path": path, "line": int(line)} for path, line in LOCATION.findall(listed)]
        return {"verified": "address = " in listed, "places": places}

    def places(self, answer: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        return tuple(answer["places"]) if "places" in answer else super().places(answer)

    # Hits: of several breakpoints at one place lldb-dap names the first, whether or not its condition was true, and
    # threads that have not moved are named again. What counts is what lldb has counted.

    def count(self, ids: list[int]) -> None:
        for id in ids:
            self._counted[id] = self._counted.get(id, 0) + 1

    async def fresh(self) -> dict[int, int]:
        """How often each was hit since this was asked for or counted."""
        counts = {int(id): int(hits) for id, hits in COUNT.findall(await self._run("breakpoint list --brief"))}
        found = {id: hits - self._counted.get(id, 0) for id, hits in counts.items()}
        self._counted = counts
        return {id: hits for id, hits in found.items() if hits > 0}

    async def halted(self) -> dict[int, list[int]]:
        """Threads that stand at breakpoints, and the ids of all that are there."""
        listed = await self._run("thread list")
        return {
            int(thread, 0): [int(place.split(".")[0]) for place in places.split()]
            for thread, places in HALTED.findall(listed)
        }

    async def index_of(self, thread_id: int) -> int:
        """What lldb's commands call a thread."""
        listed = LISTED.findall(await self._run("thread list"))
        return next((int(index) for index, thread in listed if int(thread, 0) == thread_id), 0)
