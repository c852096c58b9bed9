"""What is checked of a debugger, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass
class Result:
    section: str
    what: str
    outcome: str = UNKNOWN
    note: str = ""


class Sheet:
    """The results by the keys of the rows. What deviates once deviates."""

    def __init__(self) -> None:
        self.results = {key: Result(*row) for key, row in ROWS.items()}
        self._awaited: set[str] = set()

    def outcome(self, key: str) -> str:
        return self.results[key].outcome

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
