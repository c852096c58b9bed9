"""Checks that a debugger speaks the protocol as its document has it: the flows and error cases, as a table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .driving import DrivenDebugger, Silence
from .lines import encode_line
from .messages import EventMessage, command_message
from .protocol import CAPABILITIES

CONFORMS, DEVIATES, UNKNOWN = "conforms", "deviates", "not checked"

ROWS: dict[str, tuple[str, str]] = {
    "quiet": ("Communication Model", "nothing is sent that was not asked for"),
    "initialize": ("Initialize", "`initialize` is answered by `initialized` with the file"),
    "start": ("Start Execution", "`start` is answered by `started`"),
    "entry": ("Simple Stepping Session", "without a breakpoint it then stops, with the reason `entry`"),
    "variables": ("Get Variables", "`getVariables` is answered by `variables` of that frame"),
    "functions": ("Get Variables", "functions are not listed as variables"),
    "stepInto": ("Step Into", "`stepInto` is answered by `stopped` with the reason `step`"),
    "stepOver": ("Step Over", "`stepOver` is answered by `stopped` with the reason `step`"),
    "stepOut": ("Step Out", "`stepOut` from a function is answered by `stopped` with the reason `step`"),
    "update": ("Variable Update", "`variableUpdate` comes after steps that change a variable"),
    "unchanged": ("Variable Update", "it comes for no variable that has not changed"),
    "stack": ("Get Stack Trace", "`getStackTrace` has the place of the stop as its first frame"),
    "evaluate": ("Evaluate Expression", "`evaluate` of a variable gives its value"),
    "output": ("Output", "what the program prints comes as `output`"),
    "clean": ("Communication Model", "nothing but events is on stdout"),
    "exited": ("Exited", "the end of the program is told by `exited` with its exit code"),
    "breakpointSet": ("Set Breakpoint", "`setBreakpoint` is answered by `breakpointSet` with file, line and id"),
    "ids": ("Set Breakpoint", "each breakpoint has an id of its own"),
    "runs": ("Breakpoint Session", "with a breakpoint `start` runs until there"),
    "hit": ("Stopped", "the stop has the reason `breakpoint` and the breakpoint's id"),
    "cleared": ("Clear Breakpoint", "`clearBreakpoint` is answered by `breakpointCleared`"),
    "gone": ("Clear Breakpoint", "a breakpoint that was cleared stops no more"),
    "notJson": ("Error Handling", "a line that is no JSON is answered by `error`"),
    "notObject": ("Error Handling", "JSON that is no object is answered by `error`"),
    "wrongType": ("Error Handling", "a message that is no command is answered by `error`"),
    "unknown": ("Error Handling", "an unknown command is answered by `error`"),
    "missing": ("Error Handling", "a command without a parameter that it needs is answered by `error`"),
    "wrongValue": ("Error Handling", "a parameter of the wrong type is answered by `error`"),
    "notUtf8": ("Error Handling", "a line that is not UTF-8 is answered by `error`"),
    "early": ("Command Errors", "a step before the start is answered by `error` with its `command`"),
    "after": ("Error Handling", "after errors it goes on as before"),
    "long": ("Error Handling", "a line of 8 MiB that is no command is answered by `error`"),
    "runtime": ("Runtime Errors", "an error of the program is told by `error` with its location"),
    "failed": ("Exited", "a program that fails has an exit code other than 0"),
    "order": ("Concurrency", "commands sent at once are carried out one after the other"),
    "terminate": ("Terminate", "`terminate` is answered by `terminated`"),
    "terminateEnds": ("Terminate", "after that the debugger ends, with exit code 0"),
    "eof": ("Communication Model", "at the end of input the debugger ends, with exit code 0"),
    "shapes": ("Event Messages", "events have the fields of the document, and no others of ours"),
}
"""What is checked: the section of the document, and what it asks for."""

ENDS = ("stopped", "exited")
"""Events that end a step."""

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

ERRORS = {
    "notJson": b"not json\n",
    "notObject": b"[1, 2]\n",
    "wrongType": b'{"type":"event","event":"started","data":{}}\n',
    "unknown": b'{"type":"command","command":"flyAway","params":{}}\n',
    "missing": b'{"type":"command","command":"setBreakpoint","params":{}}\n',
    "wrongValue": b'{"type":"command","command":"setBreakpoint","params":{"file":"%b","line":"7"}}\n',
    "notUtf8": b'{"type":"command","command":"\xff\xfe","params":{}}\n',
    "early": b'{"type":"command","command":"stepInto","params":{}}\n',
}


@dataclass
class Result:
    section: str
    what: str
    outcome: str = UNKNOWN
    note: str = ""


class ResultSheet:
    """The results by the keys of the rows. What deviates once deviates."""

    def __init__(self) -> None:
        self.results = {key: Result(*row) for key, row in ROWS.items()}
        self._awaited: set[str] = set()

    def judge(self, key: str, is_right: bool, note: str = "") -> None:
        self._awaited.discard(key)
        result = self.results[key]
        if result.outcome != DEVIATES:
            result.outcome, result.note = (CONFORMS, "") if is_right else (DEVIATES, note)

    def expect(self, *keys: str) -> None:
        """From now on: if nothing comes, that is what deviates."""
        self._awaited.update(keys)

    def nothing_came(self, note: str) -> None:
        for key in list(self._awaited):
            self.judge(key, False, note)

    def forget(self) -> None:
        self._awaited.clear()


@dataclass(eq=False)
class Conformance:
    argv: list[str]
    file: str
    failing: str | None = None
    patience: float = 5.0
    extensions: list[str] | None = None
    _sheet: ResultSheet = field(default_factory=ResultSheet)
    _lines: list[int] = field(default_factory=list)
    """in the order in which steps came there"""
    _functions: set[str] = field(default_factory=set)
    _source: str = ""
    """where they are: of a compiled program, not the file that is debugged"""
    _unasked: int = 0
    """stops that come before anybody asked for one: at some moment, so each check waits for them"""

    def run_checks(self) -> list[Result]:
        inspecting = (self._check_silence, self._check_stepping, self._check_breakpoints)
        failing = (self._check_errors, self._check_long_lines, self._check_failure, self._check_pipelining)
        ending = (partial(self._check_end, True), partial(self._check_end, False))
        for check in (*inspecting, *failing, *ending, self._check_capabilities):
            try:
                check()
            except Silence as silence:  # what comes after something that never came is not checked
                self._sheet.nothing_came(str(silence))
            self._sheet.forget()
        if self._sheet.results["shapes"].outcome == UNKNOWN:
            self._sheet.judge("shapes", True)
        return list(self._sheet.results.values())

    @contextmanager
    def _start_debugger(self, file: str | None = None) -> Iterator[DrivenDebugger]:
        debugger = DrivenDebugger([*self.argv, file or self.file], self.patience)
        try:
            yield debugger
        finally:
            debugger.close()
            for problem in debugger.problems[:1]:
                self._sheet.judge("shapes", False, problem)

    def _ask(self, debugger: DrivenDebugger, key: str, command: str, *answers: str, **params: Any) -> EventMessage:
        """Send a command and return its answer; if none comes, that is what deviates."""
        self._sheet.expect(key)
        debugger.send(command, **params)
        return debugger.next(*answers)

    def _check_silence(self) -> None:
        with self._start_debugger() as debugger:
            self._sheet.expect("initialize")
            debugger.send("initialize", file=self.file)
            *heard, _ = debugger.until("initialized", "error")
            with suppress(Silence):
                while True:
                    heard.append(debugger.next(patience=1.0))
            self._sheet.judge("quiet", not heard, f"it sends {heard[0]['event']}" if heard else "")
            self._unasked = sum(event["event"] == "stopped" for event in heard)

    def _check_stepping(self) -> None:
        with self._start_debugger() as debugger:
            self._begin_program(debugger, workingDir=os.path.dirname(self.file))
            self._ask(debugger, "start", "start", "started")
            self._sheet.judge("start", True)
            self._sheet.expect("entry")
            stop = debugger.next(*ENDS)
            self._sheet.judge("entry", _stop_reason(stop) == "entry", f"the reason is {_stop_reason(stop)}")
            try:
                if self._make_steps(debugger, stop):
                    debugger.send("continue")
                    debugger.next("exited")
            finally:
                end = debugger.last("exited")
                code = end["data"].get("exitCode") if end else None
                said = f"the exit code is {code}" if end else "it has ended without a word"
                self._sheet.judge("exited", code == 0, said)
                self._sheet.judge("output", debugger.last("output") is not None, "none came")
                strange = [f"{line!r} is no event" for line in debugger.strange]
                self._sheet.judge("clean", not strange, "".join(strange[:1]))

    def _begin_program(self, debugger: DrivenDebugger, file: str | None = None, **params: str) -> None:
        self._sheet.expect("initialize")
        debugger.send("initialize", file=file or self.file, **params)
        *before, answer = debugger.until("initialized", "error")
        is_right = answer["data"].get("file") == (file or self.file)
        self._sheet.judge("initialize", is_right, f"it sends {answer['event']}: {answer['data']}")
        self._pass_over_unasked(debugger, before)

    def _pass_over_unasked(self, debugger: DrivenDebugger, heard: list[EventMessage]) -> None:
        for _ in range(self._unasked - sum(event["event"] == "stopped" for event in heard)):
            debugger.next("stopped")

    def _make_steps(self, debugger: DrivenDebugger, stop: EventMessage) -> bool:
        """Step until a variable has changed and a function has been left; say whether there is more to come."""
        before: dict[str, str] | None = None
        """the values that what is told of a stop is held against; it is told when the next comes, at the latest"""
        values = self._check_variables(debugger)
        bottom = depth = self._check_stack(debugger, None)
        has_changed = False
        for number in range(12):
            self._remember_place(stop)
            kind = "stepOver" if number == 1 else "stepOut" if depth > bottom else "stepInto"
            try:
                stop = self._ask(debugger, kind, kind, *ENDS)
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
            self._sheet.judge(kind, _stop_reason(stop) == "step", f"the reason is {_stop_reason(stop)}")
            last, values = values, self._check_variables(debugger)
            left, depth = depth, self._check_stack(debugger, stop)
            before = last if left == depth else None  # else the names belong to another function
            self._check_evaluation(debugger, values)
            if has_changed and left > bottom >= depth:
                break
        self._sheet.judge("update", has_changed, "none came")
        return True

    def _remember_place(self, stop: EventMessage) -> None:
        file, line = _place_of(stop)
        if not self._lines:
            self._source = str(file or self.file)
        if file == self._source and isinstance(line, int):
            self._lines.append(line)

    def _check_variables(self, debugger: DrivenDebugger) -> dict[str, str]:
        answer = self._ask(debugger, "variables", "getVariables", "variables", "error", frameIndex=0)
        self._sheet.judge("variables", answer["event"] == "variables", f"it sends {answer['data']}")
        rows = _value_rows(answer, "variables")
        functions = [str(row.get("name")) for row in rows if str(row.get("type")).lower() == "function"]
        self._sheet.judge("functions", not functions, ", ".join(functions))
        self._functions.update(functions)
        return {str(row.get("name")): str(row.get("value")) for row in rows}

    def _judge_updates(self, before: dict[str, str], updates: list[EventMessage]) -> None:
        told = [(str(event["data"].get("name")), event["data"].get("value")) for event in updates]
        same = [name for name, value in told if before.get(name) == value]
        if told:
            self._sheet.judge("unchanged", not same, f"{', '.join(same)} had that value before")

    def _check_stack(self, debugger: DrivenDebugger, stop: EventMessage | None) -> int:
        """Return how many frames there are; judge whether a stop is among them."""
        frames = _value_rows(self._ask(debugger, "stack", "getStackTrace", "stackTrace", "error"), "frames")
        if stop is not None:
            place, first = _place_of(stop), frames[0] if frames else {}
            is_right = bool(frames) and (first.get("file"), first.get("line")) == place
            said = f"the first frame is at line {first.get('line')}" if frames else "it has no frames"
            self._sheet.judge("stack", is_right, f"{said}, the stop at line {place[1]}")
        return len(frames)

    def _check_evaluation(self, debugger: DrivenDebugger, values: dict[str, str]) -> None:
        name = next((name for name in values if name.isidentifier() and name not in self._functions), None)
        if name is None or self._sheet.results["evaluate"].outcome != UNKNOWN:
            return
        wish = {"expression": name, "frameIndex": 0}
        data = self._ask(debugger, "evaluate", "evaluate", "evaluateResult", "error", **wish)["data"]
        said = data.get("result", data.get("message"))
        self._sheet.judge("evaluate", said == values[name], f"{name} is {values[name]}, it says: {said}")

    def _check_breakpoints(self) -> None:
        """At two lines that steps came to, one of which is cleared before it is reached."""
        lines = list(dict.fromkeys(self._lines[1:]))
        if len(lines) < 2:
            return
        with self._start_debugger() as debugger:
            self._begin_program(debugger)
            ids = [self._set_breakpoint(debugger, line) for line in lines[:2]]
            self._sheet.judge("ids", len(set(ids)) == len(ids), f"two of them have the id {ids[0]}")
            self._ask(debugger, "runs", "start", "started")
            reason = _stop_reason(stop := debugger.next(*ENDS))
            self._sheet.judge("runs", reason == "breakpoint", f"it stops with the reason {reason}")
            self._sheet.expect("hit")
            if reason not in ("breakpoint", None):
                stop = self._ask(debugger, "hit", "continue", *ENDS)
            is_right = _stop_reason(stop) == "breakpoint" and stop["data"].get("breakpointId") in ids
            self._sheet.judge("hit", is_right, f"{stop['data']}")
            self._clear_breakpoint(debugger, lines[0] if _place_of(stop)[1] == lines[1] else lines[1])

    def _set_breakpoint(self, debugger: DrivenDebugger, line: int) -> object:
        place = {"file": self._source, "line": line}
        data = self._ask(debugger, "breakpointSet", "setBreakpoint", "breakpointSet", "error", **place)["data"]
        is_right = {name: data.get(name) for name in place} == place and isinstance(data.get("id"), int)
        self._sheet.judge("breakpointSet", is_right, f"{data}")
        return data.get("id")

    def _clear_breakpoint(self, debugger: DrivenDebugger, line: int) -> None:
        place = {"file": self._source, "line": line}
        data = self._ask(debugger, "cleared", "clearBreakpoint", "breakpointCleared", "error", **place)["data"]
        self._sheet.judge("cleared", data.get("line") == line, f"{data}")
        debugger.send("continue")
        is_there = False
        with suppress(Silence):  # it has ended without a word, which is judged elsewhere
            is_there = _place_of(debugger.next(*ENDS))[1] == line
        self._sheet.judge("gone", not is_there, f"it stopped at line {line}")

    def _check_errors(self) -> None:
        with self._start_debugger() as debugger:
            self._pass_over_unasked(debugger, [])
            for key, line in ERRORS.items():
                self._sheet.expect(key)
                debugger.write(line.replace(b"%b", os.fsencode(self.file)))
                answer = debugger.next()
                is_right, said = answer["event"] == "error", f"it sends {answer['event']}"
                if key == "early" and is_right:
                    command = answer["data"].get("command")
                    is_right, said = command == "stepInto", f"its command is {command or 'missing'}"
                self._sheet.judge(key, is_right, said)
            answer = self._ask(debugger, "after", "initialize", "initialized", "error", file=self.file)
            self._sheet.judge("after", answer["event"] == "initialized", f"{answer['data']}")

    def _check_long_lines(self) -> None:
        with self._start_debugger() as debugger:
            self._sheet.expect("long")
            debugger.write(b"x" * 8 * 1024 * 1024 + b"\n")
            answer = debugger.next("error", "initialized")
            debugger.send("initialize", file=self.file)
            debugger.next("initialized")
            self._sheet.judge("long", answer["event"] == "error", f"it sends {answer['event']}")

    def _check_failure(self) -> None:
        if self.failing is None:
            return
        with self._start_debugger(self.failing) as debugger:
            self._begin_program(debugger, self.failing)
            debugger.send("start")
            debugger.next(*ENDS)
            self._sheet.expect("runtime", "failed")
            debugger.send("continue")
            answer = debugger.next("error", "exited")
            is_right = answer["event"] == "error" and isinstance(answer["data"].get("location"), dict)
            self._sheet.judge("runtime", is_right, f"{answer['data']}")
            end = answer if answer["event"] == "exited" else debugger.next("exited")
            self._sheet.judge("failed", end["data"].get("exitCode") not in (0, None), f"{end['data']}")

    def _check_pipelining(self) -> None:
        with self._start_debugger() as debugger:
            self._sheet.expect("order")
            names = ("start", "stepInto", "stepInto", "getVariables", "terminate")
            messages = [command_message("initialize", file=self.file), *map(command_message, names)]
            debugger.write(b"".join(map(encode_line, messages)))
            found = [event["event"] for event in debugger.until("terminated")]
            said = " ".join(name for name in found if name not in ("variableUpdate", "output"))
            self._sheet.judge("order", said == "initialized started stopped stopped stopped variables terminated", said)

    def _check_end(self, is_told: bool) -> None:
        """Check that the debugger ends where it is told to, or where its input ends."""
        with self._start_debugger() as debugger:
            self._begin_program(debugger)
            debugger.send("start")
            debugger.next("stopped")
            if is_told:
                self._ask(debugger, "terminate", "terminate", "terminated")
                self._sheet.judge("terminate", True)
            else:
                debugger.close_input()
            code = debugger.exit_code()
            note = f"its exit code is {code}" if code is not None else f"it still runs after {self.patience:g} s"
            self._sheet.judge("terminateEnds" if is_told else "eof", code == 0, note)

    def _check_capabilities(self) -> None:
        """Check the further things that the debugger says it can do; it need not do any."""
        with closing(DrivenDebugger([*self.argv, self.file], self.patience)) as debugger:
            debugger.send("initialize", file=self.file, capabilities=list(CAPABILITIES))
            self.extensions = debugger.next("initialized")["data"].get("capabilities")


def _place_of(stop: EventMessage) -> tuple[object, object]:
    """Return the file and the line that a debugger tells, right or wrong."""
    place = stop["data"].get("location")
    return (place.get("file"), place.get("line")) if isinstance(place, dict) else (None, None)


def _value_rows(event: EventMessage, name: str) -> list[dict[str, object]]:
    rows = event["data"].get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _stop_reason(stop: EventMessage) -> str | None:
    reason = stop["data"].get("reason")
    return reason if isinstance(reason, str) else None
