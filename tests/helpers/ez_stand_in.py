#!/usr/bin/env python3
"""A stand-in of the Go debugger of the EZ language: `ez_stand_in.py debugserver FILE` runs a small part of it.

It does what recordings of that debugger show, deviations from the protocol's document included: `stopped` before any
command (the first line has run by then), the program's output raw between the JSON lines, no `output` and no `exited`,
stacks of call sites without the current place, nothing shown of main, functions among the variables, breakpoint id 1,
maps in another order each time, no evaluation, one stdin for commands and for the program's input, breakpoints that are
not seen in calls which are stepped over, a crash or a hang after `terminate`.

EZ_STAND_IN in its environment changes it, words with blanks between:
    document            as the document says, in all of the above
    terminate=HOW       clean, hang, ignore or crash (of itself: crash while paused, hang while running)
    slow=SECONDS        before each message
    busy=SECONDS        works that long before the second stop that nobody asked for
    silent, silent=COMMAND   says nothing at all, or does not answer one command
    dies=COMMAND        ends in the middle of the answer
    halves=SECONDS      writes each message in two parts, with a pause between them
    garbage             lines that look like messages and are none come with each message
    locks=NUMBER        locks up when it is told of more breakpoints than that while the program runs
    notes=FILE          writes there what it is asked to evaluate
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import json
import os
import queue
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

WISHES = dict(word.partition("=")[::2] for word in os.environ.get("EZ_STAND_IN", "").split())
DOCUMENT = "document" in WISHES


class BadProgram(Exception):
    """It cannot be read."""


class RuntimeProblem(Exception):
    """It went wrong while running."""


class Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class Char(str):
    pass


class Struct(dict[str, Any]):
    pass


# The language.


@dataclass
class Statement:
    kind: str
    line: int
    column: int
    name: str = ""
    value: ast.expr | None = None
    more: ast.expr | None = None
    body: list[Statement] = field(default_factory=list)
    otherwise: list[Statement] = field(default_factory=list)


@dataclass
class Function:
    name: str
    parameters: list[str]
    body: list[Statement]


FORMS: list[tuple[str, str]] = [
    ("skip", r"(?:import|using)\b.*"),
    ("type", r"const \w+ (?:struct|enum) *\{"),
    ("do", r"(?:private )?do (?P<name>\w+)\((?P<value>.*?)\)(?: *-> *\w+)? *\{"),
    ("let", r"(?:temp|const) (?P<name>\w+)(?: +[\w\[\]]+)? *= *(?P<value>.+)"),
    ("or", r"\} *or (?P<value>.+?) *\{"),
    ("otherwise", r"\} *otherwise *\{"),
    ("if", r"if (?P<value>.+?) *\{"),
    ("while", r"as_long_as (?P<value>.+?) *\{"),
    ("for", r"for (?P<name>\w+) in range\((?P<value>.+?), *(?P<more>.+)\) *\{"),
    ("return", r"return\b *(?P<value>.*)"),
    ("add", r"(?P<name>\w+) *\+= *(?P<value>.+)"),
    ("set", r"(?P<name>\w+) *= *(?P<value>[^=].*)"),
    ("call", r"(?P<value>\w+ *\(.*\))"),
    ("end", r"\}"),
]
ONE_LINE = re.compile(r"((?:private )?do .*?\{)(.*)(\})\s*")
"""A function that begins and ends on the same line."""
STRING = re.compile(r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')')
WORDS = [(r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "), (r"\btrue\b", "True"), (r"\bfalse\b", "False")]
WORDS += [(r"\bnil\b", "None")]


def expression(text: str) -> ast.expr:
    """As Python has it: the two are alike enough."""
    parts = STRING.split(text)
    for index in range(0, len(parts), 2):
        for word, meant in WORDS:
            parts[index] = re.sub(word, meant, parts[index])
    source = "".join(parts).strip()
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise BadProgram(text) from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and (ast.get_source_segment(source, node) or "").startswith("'"):
            node.value = Char(node.value)
    return tree


def uncommented(line: str) -> str:
    parts = STRING.split(line)
    for index in range(0, len(parts), 2):
        if "//" in parts[index]:
            return "".join(parts[:index]) + parts[index].partition("//")[0]
    return line


class Reader:
    def __init__(self, text: str) -> None:
        text = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)
        self._lines: list[tuple[int, str]] = []
        for number, line in enumerate(text.splitlines(), 1):
            whole = ONE_LINE.fullmatch(uncommented(line))
            self._lines += [(number, part) for part in (whole.groups() if whole else [line])]
        self.functions: dict[str, Function] = {}

    def block(self, is_outermost: bool = False) -> tuple[list[Statement], str, ast.expr | None]:
        """The statements up to a brace that closes, and what that line opens again."""
        found: list[Statement] = []
        while self._lines:
            number, line = self._lines.pop(0)
            text = uncommented(line).strip()
            if not text:
                continue
            kind, parts = self._form(text, number)
            value = expression(parts["value"]) if parts.get("value") and kind != "do" else None
            column = len(line) - len(line.lstrip()) + (text.index("(") if kind == "call" else 0) + 1
            made = Statement(kind, number, column, parts.get("name") or "", value)
            if kind in ("end", "or", "otherwise"):
                if is_outermost:
                    raise BadProgram(f"line {number}")
                return found, kind, value
            if kind == "do":
                parameters = [each.split()[0] for each in parts["value"].split(",") if each.strip()]
                self.functions[made.name] = Function(made.name, parameters, self.block()[0])
            elif kind == "type":
                while self._lines.pop(0)[1].strip() != "}":
                    pass
            elif kind == "if":
                self._choices(made)
                found.append(made)
            elif kind in ("while", "for"):
                made.more = expression(parts["more"]) if kind == "for" else None
                made.body = self.block()[0]
                found.append(made)
            elif kind != "skip":
                found.append(made)
        if not is_outermost:
            raise BadProgram("a block is not closed")
        return found, "end", None

    def _choices(self, made: Statement) -> None:
        made.body, then, value = self.block()
        if then == "or":
            other = Statement("if", made.line, made.column, value=value)
            self._choices(other)
            made.otherwise = [other]
        elif then == "otherwise":
            made.otherwise = self.block()[0]

    def _form(self, text: str, number: int) -> tuple[str, dict[str, str]]:
        for kind, form in FORMS:
            match = re.fullmatch(form, text)
            if match:
                return kind, match.groupdict()
        raise BadProgram(f"line {number}: {text}")


def type_name(value: Any) -> str:
    kinds = [(bool, "BOOLEAN"), (int, "INTEGER"), (float, "FLOAT"), (Char, "CHAR"), (str, "STRING"), (list, "ARRAY")]
    kinds += [(Struct, "STRUCT"), (dict, "MAP"), (Function, "FUNCTION")]
    return next((name for kind, name in kinds if isinstance(value, kind)), "NIL")


TURNS = itertools.count()


def shuffled(names: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """In another order each time, as Go has its maps."""
    if DOCUMENT or not names:
        return list(names.items())
    listed = list(names.items())
    turn = next(TURNS) % len(listed)
    return listed[turn:] + listed[:turn]


def shown(value: Any) -> str:
    match type_name(value):
        case "STRING":
            return json.dumps(value, ensure_ascii=False)
        case "BOOLEAN":
            return str(value).lower()
        case "ARRAY":
            return "{" + ", ".join(shown(each) for each in value) + "}"
        case "STRUCT":
            return "{" + ", ".join(f"{name}: {shown(each)}" for name, each in shuffled(value)) + "}"
        case "MAP":
            return "{" + ", ".join(f"{shown(name)}: {shown(each)}" for name, each in shuffled(value)) + "}"
        case "FUNCTION":
            return "function"
        case "NIL":
            return "nil"
    return str(value)


def printed(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


@dataclass
class Call:
    """A function at work: where it was called, and its variables."""

    function: Function
    site: Statement | None
    names: dict[str, Any]
    at: Statement | None = None


class Interpreter:
    def __init__(self, program: list[Statement], functions: dict[str, Function], debugger: Debugger) -> None:
        self._program = program
        self._debugger = debugger
        self.globals: dict[str, Any] = dict(functions)
        self.calls: list[Call] = []
        """the innermost last; the first is main"""

    def run(self) -> None:
        main = Call(self.globals["main"], None, {})
        self.calls.append(main)
        self._block(self._program, self.globals)
        self._body(main)

    def _body(self, call: Call) -> Any:
        try:
            self._block(call.function.body, call.names)
        except Return as left:
            return left.value
        return None

    def _block(self, block: list[Statement], names: dict[str, Any]) -> None:
        for statement in block:
            self.calls[-1].at = statement
            self._debugger.before(statement)
            self._execute(statement, names)

    def _execute(self, made: Statement, names: dict[str, Any]) -> None:
        value = self.value
        match made.kind:
            case "let" | "set":
                names[made.name] = value(made.value)
            case "add":
                names[made.name] += value(made.value)
            case "if":
                self._block(made.body if value(made.value) else made.otherwise, names)
            case "while":
                while value(made.value):
                    self._block(made.body, names)
            case "for":
                for number in range(value(made.value), value(made.more)):
                    names[made.name] = number
                    self._block(made.body, names)
            case "return":
                raise Return(value(made.value) if made.value else None)
            case "call":
                value(made.value)

    def names(self, call: Call) -> dict[str, Any]:
        return {**self.globals, **call.names}

    def value(self, node: Any, call: Call | None = None) -> Any:
        names = self.names(call or self.calls[-1])
        match node:
            case ast.Constant(value=str() as text) if not isinstance(text, Char):
                return re.sub(r"\$\{(\w+)\}", lambda found: printed(self._named(found[1], names)), text)
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._named(node.id, names)
            case ast.Set() | ast.List():
                return [self.value(each, call) for each in node.elts]
            case ast.Dict():
                pairs = zip(node.keys, node.values, strict=True)
                return {self.value(key, call): self.value(each, call) for key, each in pairs}
            case ast.BoolOp(op=ast.And()):
                return all(self.value(each, call) for each in node.values)
            case ast.BoolOp():
                return any(self.value(each, call) for each in node.values)
            case ast.UnaryOp(op=ast.Not()):
                return not self.value(node.operand, call)
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand, call)
            case ast.BinOp():
                return self._counted(node.op, self.value(node.left, call), self.value(node.right, call))
            case ast.Compare(ops=[op], comparators=[right]):
                return self._compared(op, self.value(node.left, call), self.value(right, call))
            case ast.Subscript():
                return self.value(node.value, call)[self.value(node.slice, call)]
            case ast.Attribute():
                return self.value(node.value, call)[node.attr]
            case ast.Call(func=ast.Name(id=name)):
                if node.keywords:
                    return Struct({each.arg or "": self.value(each.value, call) for each in node.keywords})
                return self._call(name, [self.value(each, call) for each in node.args])
        raise RuntimeProblem(f"cannot evaluate {ast.unparse(node)}")

    def _named(self, name: str, names: dict[str, Any]) -> Any:
        if name not in names:
            raise RuntimeProblem(f"identifier not found: {name}")
        return names[name]

    def _counted(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, (ast.Div, ast.Mod)) and right == 0:
            raise RuntimeProblem("division by zero")
        match op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left // right if isinstance(left, int) and isinstance(right, int) else left / right
            case ast.Mod():
                return left % right
        raise RuntimeProblem("unknown operator")

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        match op:
            case ast.Eq():
                return bool(left == right)
            case ast.NotEq():
                return bool(left != right)
            case ast.Lt():
                return bool(left < right)
            case ast.LtE():
                return bool(left <= right)
            case ast.Gt():
                return bool(left > right)
            case ast.GtE():
                return bool(left >= right)
        raise RuntimeProblem("unknown comparison")

    def _call(self, name: str, arguments: list[Any]) -> Any:
        out = self._debugger.program_prints
        match name:
            case "println":
                return out(" ".join(map(printed, arguments)).encode() + b"\n")
            case "print":
                return out(" ".join(map(printed, arguments)).encode())
            case "eprintln":
                return os.write(2, " ".join(map(printed, arguments)).encode() + b"\n") and None
            case "flood":
                return self._flood(arguments[0])
            case "input":
                return self._debugger.read_input()
            case "await_file":
                while not os.path.exists(arguments[0]):
                    time.sleep(0.002)
                return None
            case "exit":
                self._debugger.ended(arguments[0])
            case "sleep":
                return time.sleep(arguments[0])
            case "len":
                return len(arguments[0])
        function = self.globals.get(name)
        if not isinstance(function, Function):
            raise RuntimeProblem(f"function not found: {name}")
        call = Call(function, self.calls[-1].at, dict(zip(function.parameters, arguments, strict=True)))
        self.calls.append(call)
        try:
            return self._body(call)
        finally:
            self.calls.pop()

    def _flood(self, size: int) -> None:
        line = b"and the flood goes on " * 45 + b"and on\n"
        for _ in range(size // (len(line) * 100)):
            self._debugger.program_prints(line * 100)


# The debugger.

NEEDS_START = {"stepInto", "stepOver", "stepOut", "continue", "getVariables", "getStackTrace", "evaluate"}


class Debugger:
    def __init__(self, path: str) -> None:
        self._path = path
        self._mode = "stepInto"
        self._depth = 0
        self._breakpoints: dict[tuple[str, int], int] = {}
        self._go: queue.Queue[None] = queue.Queue(maxsize=1)
        """one go at a time is kept, the others are lost"""
        self._left = int(WISHES.get("locks", 0))
        self._is_locked = False
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._is_reading = False
        """the program waits for a line of its input"""
        self._writing = threading.Lock()
        self._is_paused = False
        self._is_initialized = self._is_started = False
        self._before: dict[int, dict[str, Any]] = {}
        """variables of each call at the last stop"""

    # What it says.

    def say(self, event: str, answered: str = "", /, **data: Any) -> None:
        line = json.dumps({"type": "event", "event": event, "data": data}, separators=(",", ":")).encode() + b"\n"
        if "silent" in WISHES and WISHES["silent"] in ("", answered):
            return
        time.sleep(float(WISHES.get("slow", 0)))
        with self._writing:
            if answered and WISHES.get("dies") == answered:
                self._write(line[: len(line) // 2])
                os._exit(3)
            if "garbage" in WISHES:
                self._write(b'{"type":"event","event":7}\n{"type":"event"\n\xff{"event":"stopped","data":[]}\n')
            if "halves" in WISHES:
                self._write(line[: len(line) // 2])
                time.sleep(float(WISHES["halves"] or 0.01))
                line = line[len(line) // 2 :]
            self._write(line)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def program_prints(self, data: bytes) -> None:
        if DOCUMENT:
            self.say("output", category="stdout", text=data.decode())
        else:
            with self._writing:
                self._write(data)

    # The program.

    def run(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        if DOCUMENT:
            self._go.get()
        else:
            self._go.put_nowait(None)
        try:
            interpreter.run()
        except RuntimeProblem as problem:
            if DOCUMENT:
                at = interpreter.calls[-1].at
                self.say("error", message=str(problem), location=self._place(at))
            else:
                os.write(2, f"Runtime error: {problem}\n".encode())
            self.ended(1)
        self.ended(0)

    def ended(self, code: int) -> None:
        if DOCUMENT:
            self.say("exited", exitCode=code)
        os._exit(code)

    def before(self, statement: Statement) -> None:
        if threading.current_thread() is threading.main_thread():
            return  # somebody evaluates a call
        if self._is_locked:
            threading.Event().wait()
        depth = len(self._interpreter.calls)
        if (self._mode == "stepOver" and depth > self._depth) or (self._mode == "stepOut" and depth >= self._depth):
            return
        id = self._breakpoints.get((self._path, statement.line))
        if self._mode == "entry":
            self._pause("entry", statement)
        elif id is not None:
            self._pause("breakpoint", statement, breakpointId=id)
        elif self._mode != "continue":
            self._pause("step", statement)

    def _pause(self, reason: str, statement: Statement, **more: Any) -> None:
        self._is_paused = True
        before = {id(call): dict(call.names) for call in self._interpreter.calls}
        if self._before:
            works_until = time.monotonic() + float(WISHES.pop("busy", 0))
            while time.monotonic() < works_until:
                pass
        self.say("stopped", reason=reason, location=self._place(statement), **more)
        if reason == "step":
            self._tell_changes()
        self._go.get()
        self._is_paused = False
        self._before = before

    def _tell_changes(self) -> None:
        calls = self._interpreter.calls
        if not DOCUMENT:
            names = self._interpreter.names(calls[-1]) if len(calls) > 1 else {}
        else:
            known = self._before.get(id(calls[-1]), {})
            names = {name: each for name, each in calls[-1].names.items() if name not in known or known[name] != each}
        for name, each in names.items():
            self.say("variableUpdate", name=name, value=shown(each), type=type_name(each), frameIndex=0)

    def _place(self, statement: Statement | None) -> dict[str, Any]:
        assert statement is not None
        return {"file": self._path, "line": statement.line, "column": statement.column}

    def read_input(self) -> str:
        """It has no input of its own: the next command is taken for it."""
        self._is_reading = True
        return self._lines.get().decode().rstrip("\n")

    # What it is told.

    def listen(self) -> None:
        while line := sys.stdin.buffer.readline():
            if self._is_reading:
                self._is_reading = False
                self._lines.put(line)
            elif self._told(line):
                break
        self._left_alone()

    def _told(self, line: bytes) -> bool:
        """Whether that was the last command."""
        try:
            message = json.loads(line)
        except ValueError as error:
            self.say("error", message=f"invalid JSON: {error}")
            return False
        kind = message.get("type", "") if isinstance(message, dict) else ""
        if kind != "command":
            self.say("error", message=f"unknown message type: {kind}")
            return False
        command, params = message.get("command", ""), message.get("params") or {}
        if not isinstance(params, dict):
            self.say("error", message="invalid command: json: cannot unmarshal array into Go struct field")
            return False
        handler = getattr(self, f"_do_{command}", None)
        if handler is None:
            self.say("error", command, message=f"unknown command: {command}", **self._about(command))
            return False
        if DOCUMENT and command in NEEDS_START and not self._is_started:
            self.say("error", command, message=f"Cannot {command}: program not started", command=command)
            return False
        return bool(handler(params))

    def _about(self, command: str) -> dict[str, Any]:
        return {"command": command} if DOCUMENT else {}

    def _do_initialize(self, params: dict[str, Any]) -> None:
        self._is_initialized = True
        self.say("initialized", "initialize", file=params.get("file", ""))

    def _do_start(self, params: dict[str, Any]) -> None:
        self.say("started", "start")
        if DOCUMENT and not self._is_started:
            self._mode = "continue" if self._breakpoints else "entry"
        self._is_started = True
        self._resume()

    def _resume(self) -> None:
        with contextlib.suppress(queue.Full):
            self._go.put_nowait(None)

    def _step(self, mode: str) -> None:
        if WISHES.get("dies") == mode:
            self.say("stopped", mode)
        if WISHES.get("silent") == mode:
            return
        self._mode, self._depth = mode, len(self._interpreter.calls)
        self._resume()

    def _do_continue(self, params: dict[str, Any]) -> None:
        self._step("continue")

    def _do_stepInto(self, params: dict[str, Any]) -> None:
        self._step("stepInto")

    def _do_stepOver(self, params: dict[str, Any]) -> None:
        self._step("stepOver")

    def _do_stepOut(self, params: dict[str, Any]) -> None:
        self._step("stepOut")

    def _do_setBreakpoint(self, params: dict[str, Any]) -> None:
        file, line = params.get("file", ""), params.get("line", 0)
        line = line if isinstance(line, int) else 0
        id = len(self._breakpoints) + 1 if DOCUMENT else 1
        if "locks" in WISHES and not self._is_paused:
            self._left -= 1
            self._is_locked = self._left < 0
        if self._is_locked:
            threading.Event().wait()
        self._breakpoints[file, line] = id
        self.say("breakpointSet", "setBreakpoint", file=file, line=line, id=id)

    def _do_clearBreakpoint(self, params: dict[str, Any]) -> None:
        file, line = params.get("file", ""), params.get("line", 0)
        self._breakpoints.pop((file, line), None)
        self.say("breakpointCleared", "clearBreakpoint", file=file, line=line)

    def _do_getVariables(self, params: dict[str, Any]) -> None:
        index = params.get("frameIndex", 0)
        calls = self._interpreter.calls if self._is_paused else []
        names: dict[str, Any] = {}
        if DOCUMENT and 0 <= index < len(calls):
            names = calls[-1 - index].names
        elif 0 <= index < len(calls) - 1:
            names = self._interpreter.names(calls[-1 - index])
        rows = [{"name": name, "value": shown(each), "type": type_name(each)} for name, each in shuffled(names)]
        self.say("variables", "getVariables", frameIndex=index, variables=rows)

    def _do_getStackTrace(self, params: dict[str, Any]) -> None:
        calls = self._interpreter.calls if self._is_paused else []
        if DOCUMENT:
            places = [(call.function.name, call.at) for call in reversed(calls)]
        else:
            places = [("<function>", call.site) for call in reversed(calls) if call.site is not None]
        frames = [
            {"index": index, "function": name, **self._place(at)} for index, (name, at) in enumerate(places) if at
        ]
        self.say("stackTrace", "getStackTrace", frames=frames)

    def _do_evaluate(self, params: dict[str, Any]) -> None:
        text = params.get("expression", "")
        if "notes" in WISHES:
            with open(WISHES["notes"], "a") as notes:
                notes.write(text + "\n")
        if not DOCUMENT:
            self.say("error", "evaluate", message="Expression evaluation not yet implemented")
            return
        try:
            call = self._interpreter.calls[-1 - params.get("frameIndex", 0)]
            at = self._interpreter.calls[-1].at
            value = self._interpreter.value(expression(text), call)
            self._interpreter.calls[-1].at = at
        except (BadProgram, RuntimeProblem, IndexError, KeyError, TypeError) as problem:
            self.say("error", "evaluate", message=f"cannot evaluate: {problem}", command="evaluate")
            return
        self.say("evaluateResult", "evaluate", expression=text, result=shown(value), type=type_name(value))

    def _do_terminate(self, params: dict[str, Any]) -> bool:
        if WISHES.get("terminate") == "ignore":
            return False
        self.say("terminated", "terminate")
        return True

    def _left_alone(self) -> None:
        """Nobody reads commands any more, and who waits for one waits in vain."""
        how = WISHES.get("terminate") or ("clean" if DOCUMENT else "crash" if self._is_paused else "hang")
        if how == "clean":
            os._exit(0)
        if how == "crash":
            os.write(2, b"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n")
            os._exit(2)


def main() -> None:
    _, _, path = sys.argv[:3]
    if "silent" in WISHES and not WISHES["silent"]:
        threading.Event().wait()
    try:
        with open(path, encoding="utf-8") as file:
            reader = Reader(file.read())
        program = reader.block(is_outermost=True)[0]
        if "main" not in reader.functions:
            raise BadProgram("there is no main")
    except OSError as error:
        sys.exit(f"Error reading file: open {path}: {(error.strerror or '').lower()}")
    except BadProgram as problem:
        if sys.argv[1] == "check":
            line = re.sub(r"line (\d+).*", r"\1", str(problem))
            print(f"\x1b[31merror[E2001]\x1b[0m: unexpected token\n  --> {path}:{line}:5\n")
            sys.exit(1)
        sys.exit("Parse errors in file")
    debugger = Debugger(path)
    interpreter = Interpreter(program, reader.functions, debugger)
    threading.Thread(target=debugger.run, args=(interpreter,), daemon=True).start()
    debugger.listen()
    threading.Event().wait()


if __name__ == "__main__":
    main()
