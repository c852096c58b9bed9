"""Whether a debugger speaks the protocol as its document has it: the flows and error cases, as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .driving import Driven, Event, Silence
from .protocol import CAPABILITIES
from .sheet import UNKNOWN, Result, Sheet

SILENT = 1.0
"""Seconds after which nothing more is taken to come that was not asked for."""
LONG = 8 * 1024 * 1024
STEPS = 12
"""Steps in which the program is looked at."""

SAMPLE = """\
def add(a, b):
    total = a + b
    return total


x = 10
y = 20
result = add(x, y)
print("Result:", result)
print("done")
"""
FAILING = """\
x = 10
y = x - 10
print(x / y)
"""

ERRORS: tuple[tuple[str, bytes], ...] = (
    ("notJson", b"not json\n"),
    ("notObject", b"[1, 2]\n"),
    ("wrongType", b'{"type":"event","event":"started","data":{}}\n'),
    ("unknown", b'{"type":"command","command":"flyAway","params":{}}\n'),
    ("missing", b'{"type":"command","command":"setBreakpoint","params":{}}\n'),
    ("wrongValue", b'{"type":"command","command":"setBreakpoint","params":{"file":"%b","line":"7"}}\n'),
    ("notUtf8", b'{"type":"command","command":"\xff\xfe","params":{}}\n'),
    ("early", b'{"type":"command","command":"stepInto","params":{}}\n'),
)


class Conformance:
    def __init__(self, argv: list[str], file: str, failing: str | None = None, patience: float = 5.0) -> None:
        self._argv = argv
        self._file = file
        self._failing = failing
        self._patience = patience
        self._sheet = Sheet()
        self.extensions: list[str] | None = None
        self._lines: list[int] = []
        """in the order in which steps came there"""
        self._functions: set[str] = set()
        self._source = file
        """where they are: of a compiled program, not the file that is debugged"""
        self._unasked = 0
        """stops that come before anybody asked for one: at some moment, so each check waits for them"""

    def run(self) -> list[Result]:
        for check in (self._quiet, self._stepping, self._breakpoints, self._errors, self._long, self._fails):
            self._try(check)
        for check in (self._pipelined, self._terminate, self._end_of_input, self._capabilities):
            self._try(check)
        if self._sheet.outcome("shapes") == UNKNOWN:
            self._sheet.judge("shapes", True)
        return list(self._sheet.results.values())

    def _try(self, check: Callable[[], None]) -> None:
        """What comes after something that never came is not checked."""
        try:
            check()
        except Silence as silence:
            self._sheet.nothing_came(str(silence))
        self._sheet.forget()

    @contextmanager
    def _debugger(self, file: str | None = None) -> Iterator[Driven]:
        path = file or self._file
        debugger = Driven([*self._argv, path], self._patience)
        try:
            yield debugger
        finally:
            debugger.close()
            for problem in debugger.problems[:1]:
                self._sheet.judge("shapes", False, problem)

    def _quiet(self) -> None:
        with self._debugger() as debugger:
            self._sheet.expect("initialize")
            debugger.send("initialize", file=self._file)
            *heard, _ = debugger.until("initialized", "error")
            with suppress(Silence):
                while True:
                    heard.append(debugger.next(patience=SILENT))
            self._sheet.judge("quiet", not heard, f"it sends {heard[0]['event']}" if heard else "")
            self._unasked = _stops(heard)

    # The document's flows.

    def _stepping(self) -> None:
        with self._debugger() as debugger:
            self._begin(debugger, workingDir=os.path.dirname(self._file))
            self._sheet.expect("start")
            debugger.send("start")
            debugger.next("started")
            self._sheet.judge("start", True)
            self._sheet.expect("entry")
            stop = debugger.next("stopped", "exited")
            self._sheet.judge("entry", _reason(stop) == "entry", f"the reason is {_reason(stop)}")
            try:
                if self._steps(debugger, stop):
                    debugger.send("continue")
                    debugger.next("exited")
            finally:
                self._judge_end_of_program(debugger)

    def _begin(self, debugger: Driven, file: str | None = None, **params: str) -> None:
        self._sheet.expect("initialize")
        debugger.send("initialize", file=file or self._file, **params)
        *before, answer = debugger.until("initialized", "error")
        is_right = answer["data"].get("file") == (file or self._file)
        self._sheet.judge("initialize", is_right, f"it sends {answer['event']}: {answer['data']}")
        self._pass_over_unasked(debugger, before)

    def _pass_over_unasked(self, debugger: Driven, heard: list[Event]) -> None:
        for _ in range(self._unasked - _stops(heard)):
            debugger.next("stopped")

    def _steps(self, debugger: Driven, stop: Event) -> bool:
        """Steps until a variable has changed and a function has been left; whether there is more to come."""
        before: dict[str, str] | None = None
        """the values that what is told of a stop is held against; it is told when the next comes, at the latest"""
        values = self._look(debugger)
        bottom = depth = self._depth(debugger, None)
        has_changed = False
        for number in range(STEPS):
            self._remember(stop)
            kind = "stepOver" if number == 1 else "stepOut" if depth > bottom else "stepInto"
            self._sheet.expect(kind)
            debugger.send(kind)
            try:
                stop = debugger.next("stopped", "exited")
            except Silence:
                if debugger.has_closed:
                    self._sheet.forget()
                    return False  # it has ended, without a word
                raise
            updates = debugger.taken("variableUpdate")
            has_changed |= bool(updates)
            if before is not None:
                self._judge_updates(before, updates)
            if stop["event"] == "exited":
                return False
            self._sheet.judge(kind, _reason(stop) == "step", f"the reason is {_reason(stop)}")
            last, values = values, self._look(debugger)
            left, depth = depth, self._depth(debugger, stop)
            before = last if left == depth else None  # else the names belong to another function
            self._evaluate(debugger, values)
            if has_changed and left > bottom >= depth:
                break
        self._sheet.judge("update", has_changed, "none came")
        return True

    def _remember(self, stop: Event) -> None:
        place = _place(stop)
        if not self._lines:
            self._source = str(place.get("file") or self._file)
        if place.get("file") == self._source and isinstance(place.get("line"), int):
            self._lines.append(place["line"])

    def _look(self, debugger: Driven) -> dict[str, str]:
        """The variables."""
        self._sheet.expect("variables")
        debugger.send("getVariables", frameIndex=0)
        answer = debugger.next("variables", "error")
        self._sheet.judge("variables", answer["event"] == "variables", f"it sends {answer['data']}")
        rows = _rows(answer, "variables")
        functions = [str(row.get("name")) for row in rows if str(row.get("type")).lower() == "function"]
        self._sheet.judge("functions", not functions, ", ".join(functions))
        self._functions.update(functions)
        return {str(row.get("name")): str(row.get("value")) for row in rows}

    def _judge_updates(self, before: dict[str, str], updates: list[Event]) -> None:
        told = [(event["data"].get("name"), event["data"].get("value")) for event in updates]
        same = [name for name, value in told if before.get(str(name)) == value]
        if told:
            self._sheet.judge("unchanged", not same, f"{', '.join(map(str, same))} had that value before")

    def _depth(self, debugger: Driven, stop: Event | None) -> int:
        """How many frames there are; of a stop, whether it is among them."""
        self._sheet.expect("stack")
        debugger.send("getStackTrace")
        frames = _rows(debugger.next("stackTrace", "error"), "frames")
        if stop is not None:
            place, first = _place(stop), frames[0] if frames else {}
            is_right = bool(frames) and all(first.get(name) == place.get(name) for name in ("file", "line"))
            said = f"the first frame is at line {first.get('line')}" if frames else "it has no frames"
            self._sheet.judge("stack", is_right, f"{said}, the stop at line {place.get('line')}")
        return len(frames)

    def _evaluate(self, debugger: Driven, values: dict[str, str]) -> None:
        name = next((name for name in values if name.isidentifier() and name not in self._functions), None)
        if name is None or self._sheet.outcome("evaluate") != UNKNOWN:
            return
        self._sheet.expect("evaluate")
        debugger.send("evaluate", expression=name, frameIndex=0)
        answer = debugger.next("evaluateResult", "error")
        said = answer["data"].get("result", answer["data"].get("message"))
        self._sheet.judge("evaluate", said == values[name], f"{name} is {values[name]}, it says: {said}")

    def _judge_end_of_program(self, debugger: Driven) -> None:
        end = debugger.last("exited")
        code = end["data"].get("exitCode") if end else None
        said = f"the exit code is {code}" if end else "it has ended without a word"
        self._sheet.judge("exited", code == 0, said)
        self._sheet.judge("output", debugger.last("output") is not None, "none came")
        self._sheet.judge(
            "clean", not debugger.strange, f"{debugger.strange[0]!r} is no event" if debugger.strange else ""
        )

    def _breakpoints(self) -> None:
        """At two lines that steps came to, one of which is cleared before it is reached."""
        lines = list(dict.fromkeys(self._lines[1:]))
        if len(lines) < 2:
            return
        with self._debugger() as debugger:
            self._begin(debugger)
            ids = [self._set(debugger, line) for line in lines[:2]]
            self._sheet.judge("ids", len(set(ids)) == len(ids), f"two of them have the id {ids[0]}")
            self._sheet.expect("runs")
            debugger.send("start")
            debugger.next("started")
            stop = debugger.next("stopped", "exited")
            self._sheet.judge("runs", _reason(stop) == "breakpoint", f"it stops with the reason {_reason(stop)}")
            self._sheet.expect("hit")
            if _reason(stop) not in ("breakpoint", None):
                debugger.send("continue")
                stop = debugger.next("stopped", "exited")
            is_right = _reason(stop) == "breakpoint" and stop["data"].get("breakpointId") in ids
            self._sheet.judge("hit", is_right, f"{stop['data']}")
            self._clear(debugger, lines[0] if _place(stop).get("line") == lines[1] else lines[1])

    def _set(self, debugger: Driven, line: int) -> object:
        self._sheet.expect("breakpointSet")
        debugger.send("setBreakpoint", file=self._source, line=line)
        answer = debugger.next("breakpointSet", "error")
        data = answer["data"]
        is_right = (data.get("file"), data.get("line")) == (self._source, line) and isinstance(data.get("id"), int)
        self._sheet.judge("breakpointSet", is_right, f"{data}")
        return data.get("id")

    def _clear(self, debugger: Driven, line: int) -> None:
        self._sheet.expect("cleared")
        debugger.send("clearBreakpoint", file=self._source, line=line)
        answer = debugger.next("breakpointCleared", "error")
        self._sheet.judge("cleared", answer["data"].get("line") == line, f"{answer['data']}")
        debugger.send("continue")
        try:
            stop = debugger.next("stopped", "exited")
        except Silence:  # it has ended without a word, which is judged elsewhere
            stop = {"event": "exited", "data": {}}
        self._sheet.judge("gone", _place(stop).get("line") != line, f"it stopped at line {line}")

    # Errors.

    def _errors(self) -> None:
        with self._debugger() as debugger:
            self._pass_over_unasked(debugger, [])
            for key, line in ERRORS:
                self._sheet.expect(key)
                debugger.write(line.replace(b"%b", os.fsencode(self._file)))
                answer = debugger.next()
                said = f"it sends {answer['event']}"
                is_right = answer["event"] == "error"
                if key == "early" and is_right:
                    command = answer["data"].get("command")
                    is_right, said = command == "stepInto", f"its command is {command or 'missing'}"
                self._sheet.judge(key, is_right, said)
            self._sheet.expect("after")
            debugger.send("initialize", file=self._file)
            answer = debugger.next("initialized", "error")
            self._sheet.judge("after", answer["event"] == "initialized", f"{answer['data']}")

    def _long(self) -> None:
        with self._debugger() as debugger:
            self._sheet.expect("long")
            debugger.write(b"x" * LONG + b"\n")
            answer = debugger.next("error", "initialized")
            debugger.send("initialize", file=self._file)
            debugger.next("initialized")
            self._sheet.judge("long", answer["event"] == "error", f"it sends {answer['event']}")

    def _fails(self) -> None:
        if self._failing is None:
            return
        with self._debugger(self._failing) as debugger:
            self._begin(debugger, self._failing)
            debugger.send("start")
            debugger.next("stopped", "exited")
            self._sheet.expect("runtime", "failed")
            debugger.send("continue")
            answer = debugger.next("error", "exited")
            is_right = answer["event"] == "error" and isinstance(answer["data"].get("location"), dict)
            self._sheet.judge("runtime", is_right, f"{answer['data']}")
            end = answer if answer["event"] == "exited" else debugger.next("exited")
            self._sheet.judge("failed", end["data"].get("exitCode") not in (0, None), f"{end['data']}")

    def _pipelined(self) -> None:
        with self._debugger() as debugger:
            self._sheet.expect("order")
            names = ["start", "stepInto", "stepInto", "getVariables", "terminate"]
            lines = [b'{"type":"command","command":"%b","params":{}}\n' % name.encode() for name in names]
            first = b'{"type":"command","command":"initialize","params":{"file":"%b"}}\n' % os.fsencode(self._file)
            debugger.write(first + b"".join(lines))
            found = [event["event"] for event in debugger.until("terminated")]
            said = [name for name in found if name not in ("variableUpdate", "output")]
            wanted = ["initialized", "started", "stopped", "stopped", "stopped", "variables", "terminated"]
            self._sheet.judge("order", said == wanted, f"{' '.join(said)}")

    # Ends.

    def _stopped(self, debugger: Driven) -> None:
        self._begin(debugger)
        debugger.send("start")
        debugger.next("stopped")

    def _terminate(self) -> None:
        with self._debugger() as debugger:
            self._stopped(debugger)
            self._sheet.expect("terminate")
            debugger.send("terminate")
            debugger.next("terminated")
            self._sheet.judge("terminate", True)
            self._judge_end("terminateEnds", debugger.exit_code())

    def _end_of_input(self) -> None:
        with self._debugger() as debugger:
            self._stopped(debugger)
            debugger.close_input()
            self._judge_end("eof", debugger.exit_code())

    def _judge_end(self, key: str, code: int | None) -> None:
        note = f"its exit code is {code}" if code is not None else f"it still runs after {self._patience:g} s"
        self._sheet.judge(key, code == 0, note)

    def _capabilities(self) -> None:
        """What it says it can do besides, which nobody has to."""
        debugger = Driven([*self._argv, self._file], self._patience)
        try:
            debugger.send("initialize", file=self._file, capabilities=list(CAPABILITIES))
            self.extensions = debugger.next("initialized")["data"].get("capabilities")
        finally:
            debugger.close()


def _place(stop: Event) -> dict[str, Any]:
    place = stop["data"].get("location")
    return place if isinstance(place, dict) else {}


def _stops(heard: list[Event]) -> int:
    return sum(event["event"] == "stopped" for event in heard)


def _rows(event: Event, name: str) -> list[dict[str, Any]]:
    rows = event["data"].get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _reason(stop: Event) -> str | None:
    reason = stop["data"].get("reason")
    return reason if isinstance(reason, str) else None
