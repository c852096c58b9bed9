"""Every command of the command line once: its words, its arguments, and the agent call that they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from . import command_arguments as made
from .mcp_clients import CLIENTS


class Argument(NamedTuple):
    flags: tuple[str, ...]
    options: dict[str, Any]
    """as argparse takes them"""

    @property
    def is_option(self) -> bool:
        return self.flags[0].startswith("-")

    @property
    def has_value(self) -> bool:
        return self.options.get("action") in (None, "append")


def arg(*flags: str, **options: Any) -> Argument:
    return Argument(flags, options)


class Command(msgspec.Struct, frozen=True):
    name: str
    summary: str
    arguments: tuple[Argument, ...] = ()
    aliases: tuple[str, ...] = ()
    call: str = ""
    """the agent call that carries it out"""
    fixed: dict[str, Any] = {}
    """arguments of the call that the command stands for"""
    become: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """makes arguments of the call from those of the command, where the names are not enough"""
    does: str = ""
    """module:function of this package, if it is no agent call"""
    moves: bool = False
    """the exit code says what the program does afterwards"""
    starts: bool = False
    """takes a program with its own arguments"""
    asks_relay: bool = True
    """takes the options of every command that asks a relay"""
    is_serving: bool = False
    """part of the relay's own command line, which is loaded for it alone"""
    examples: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)


COMMON = (
    arg("--session", metavar="ID", help="session (default: the current one of this folder)"),
    arg("--wait", type=float, metavar="SECONDS", help="how long to wait for the program (default 30)"),
    arg("--json", action="store_true", help="print the answer as JSON"),
    arg("--reveal", action="store_true", help="show values of names that look like secrets"),
    arg("--server", metavar="URL", help="relay to ask (default: the one of the data folder, started if none runs)"),
    arg("--token-file", metavar="FILE", help="file with the token for it"),
    arg("--cafile", metavar="FILE", help="certificates to trust, in PEM format"),
    arg("--data-dir", metavar="FOLDER", help="data folder of the relay here (default ~/.opencode-debugger)"),
)
"""Options of every command that asks a relay."""

PLACE = "FILE:LINE, FILE~TEXT or FUNCTION; then ' if CONDITION', ' hits RULE', ' log MESSAGE'"
STOP_ON = ("entry", "uncaught", "raised", "user_unhandled", "test_failure", "nothing")
BREAK = arg("-b", "--break", dest="breakpoints", action="append", metavar="PLACE", help=PLACE)
FRAME = (
    arg("--frame", type=int, metavar="N", help="frame; 0 is the top"),
    arg("--thread", type=int, metavar="ID", help="thread"),
    arg("--task", type=int, metavar="ID", help="asyncio task"),
)
THREAD = arg("--thread", type=int, metavar="ID", help="only this thread")
COUNT = arg("count", nargs="?", type=int, metavar="COUNT", help="how many steps")
FURTHER = arg("--option", dest="options", action="append", metavar="KEY=VALUE", help="further fields of the request")
LAUNCH = (
    BREAK,
    arg("-w", "--watch", dest="watches", action="append", metavar="EXPR", help="expression to show at each stop"),
    arg("--stop-on", choices=STOP_ON, metavar="WHEN", help=", ".join(STOP_ON)),
    arg("--cwd", metavar="FOLDER", help="folder to run it in"),
    arg("--env", action="append", metavar="NAME=VALUE", help="environment variable of the program"),
    arg("--python", metavar="PATH", help="interpreter (default: the project's)"),
    arg("--stdin", metavar="TEXT", help="input for the program, then its end"),
    FURTHER,
)
PROGRAM = (
    arg("-m", dest="module", metavar="MODULE", help="run a module, as python -m"),
    arg("-c", dest="code", metavar="CODE", help="run this Python code"),
    arg("command", nargs="*", metavar="PROGRAM [ARGS]", help="as after python, or in a shell"),
)
UNITTEST = arg("--unittest", action="store_true", help="it is the name of a unittest, not of pytest")
SESSION = arg("named", nargs="?", metavar="SESSION", help="session (default: the current one)")

STARTING = (
    Command("run", "start a program and wait for its first stop", (*LAUNCH, *PROGRAM), call="debug_run",
        become=made.run_arguments, moves=True, starts=True,
        examples=("run app.py -b app.py:42 -b 'app.py:57 if x > 3' -- --verbose", "run -m package.module arg",
            "run pytest tests/test_x.py", "run -b main ./a.out 3")),
    Command("test", "run a test and stop where it goes wrong",
        (*LAUNCH, UNITTEST, arg("command", nargs="*", metavar="TEST [ARGS]", help="pytest node, file, or name")),
        call="debug_run", become=made.test_arguments, moves=True, starts=True,
        examples=("test tests/test_x.py::test_y", "test tests/test_x.py -- -k name",
            "test --unittest tests.test_x.Case.test_y")),
    Command("attach", "attach to a process, or to a debugger that listens",
        (arg("target", metavar="PID|HOST:PORT", help="process id, or address of debugpy or a debug server"), BREAK,
            arg("--pause", action="store_true", default=None, help="stop it now"), FURTHER),
        call="debug_attach", become=made.attach_arguments, moves=True,
        examples=("attach 4711 --pause", "attach 4711 -b worker.py:30", "attach localhost:5678")),
    Command("capture", "run to the end, record each stop, write one report",
        (*LAUNCH, *PROGRAM, UNITTEST,
            arg("--test", metavar="TEST", help="run a test instead of a program"),
            arg("-e", "--expr", dest="expressions", action="append", metavar="EXPR", help="expression to record"),
            arg("--format", choices=("text", "json", "markdown"), metavar="FORMAT", help="text, json or markdown"),
            arg("-o", "--output", metavar="FILE", help="file for the report (default: stdout)"),
            arg("--hits", type=int, metavar="N", help="stops to record at most (default 20)"),
            arg("--time", type=float, metavar="SECONDS", help="after which it ends (default 60)"),
            arg("--size", type=int, metavar="BYTES", help="of the report at most (default 100000)")),
        does="capturing:capture_program", starts=True,
        examples=("capture -b app.py:42 -e 'len(items)' app.py", "capture --test tests/test_x.py --format markdown",
            "capture -b 'app.py:9 if n > 3' --hits 5 -o report.md --format markdown app.py")),
    Command("processes", "list processes that can be attached to",
        (arg("filter", nargs="?", metavar="TEXT", help="only those with this in their command"),), call="debug_attach",
        examples=("processes", "processes gunicorn")),
)
MOVING = (
    Command("continue", "run to the next stop", (THREAD,), ("c",), "debug_continue", moves=True),
    Command("next", "step over", (COUNT, THREAD), ("n",), "debug_step", {"kind": "over"}, moves=True,
        examples=("next", "next 3")),
    Command("step", "step into",
        (COUNT, arg("--target", metavar="CALL", help="which call of the line"), THREAD), ("s",), "debug_step",
        {"kind": "into"}, moves=True, examples=("step", "step --target parse")),
    Command("out", "run until the function returns", (COUNT, THREAD), (), "debug_step", {"kind": "out"}, moves=True),
    Command("until", "step until an expression is true",
        (arg("until", nargs="+", metavar="EXPR", help="expression"),
            arg("--into", dest="kind", action="store_const", const="into", help="step into calls, too"),
            arg("--max", dest="count", type=int, metavar="N", help="steps at most"), THREAD),
        call="debug_step", become=made.join_words("until"), moves=True, examples=("until 'total > 100'",)),
    Command("to", "run to a line, once",
        (arg("to", metavar="PLACE", help="LINE, FILE:LINE, FILE~TEXT or ~TEXT"), THREAD), call="debug_step", moves=True,
        examples=("to 57", "to app.py:57", "to '~return total'")),
    Command("pause", "stop the running program", (THREAD,), call="debug_continue", fixed={"action": "pause"},
        moves=True),
    Command("wait", "wait for the next stop, without resuming",
        (arg("seconds", nargs="?", type=float, metavar="SECONDS", help="how long (default 30)"),),
        call="debug_continue", fixed={"action": "wait"}, become=made.wait_arguments, moves=True),
    Command("restart", "run the program again", call="debug_continue", fixed={"action": "restart"}, moves=True),
    Command("input", "send a line to the program's stdin",
        (arg("input", nargs="*", metavar="TEXT", help="the line"),
            arg("--eof", action="store_true", help="end the input")),
        call="debug_continue", become=made.input_arguments, moves=True, examples=("input yes", "input --eof")),
    Command("end", "end a session and its program",
        (SESSION, arg("--detach", action="store_true", help="let the program run on"),
            arg("--force", action="store_true", help="kill it at once")),
        call="debug_end", become=made.named_session, examples=("end", "end --detach")),
)
LOOKING = (
    Command("print", "evaluate an expression, or run a statement",
        (arg("expression", nargs="+", metavar="EXPR", help="expression or statement"), *FRAME,
            arg("--timeout", type=float, metavar="SECONDS", help="for the evaluation")),
        ("p",), "debug_eval", become=made.join_words("expression"),
        examples=("print 'len(items)'", "print x --frame 1", "p -- -x")),
    Command("look", "look into a value, or at all locals",
        (arg("expression", nargs="*", metavar="EXPR", help="value (default: all locals)"), *FRAME,
            arg("--start", type=int, metavar="N", help="first item"),
            arg("--count", type=int, metavar="N", help="items at most"),
            arg("--filter", metavar="TEXT", help="only names with this")),
        call="debug_look", become=made.join_words("expression"),
        examples=("look", "look self.items --start 100", "look --frame 1")),
    Command("stack", "show the call stack, threads, tasks or locks",
        (arg("--threads", dest="of", action="store_const", const="threads", help="all threads"),
            arg("--tasks", dest="of", action="store_const", const="tasks", help="asyncio tasks"),
            arg("--locks", dest="of", action="store_const", const="locks", help="who waits for which lock"),
            *FRAME[1:], arg("--start", type=int, metavar="N", help="first frame"),
            arg("--count", type=int, metavar="N", help="frames at most")),
        ("bt",), "debug_stack", examples=("stack", "bt --locks")),
    Command("tasks", "list asyncio tasks", call="debug_stack", fixed={"of": "tasks"}),
    Command("source", "show source",
        (arg("place", nargs="?", metavar="FILE[:LINE]|LINE", help="default: around the current line"),
            arg("--frame", type=int, metavar="N", help="frame; 0 is the top"),
            arg("--around", type=int, metavar="N", help="lines before and after (default 10)")),
        call="debug_source", become=made.source_arguments, examples=("source", "source app.py:120 --around 30")),
    Command("output", "show what the program wrote",
        (arg("-f", "--follow", action="store_true", help="and what it writes, until it ends"),
            arg("-n", "--last", type=int, metavar="N", help="entries (default 50)"),
            arg("--stream", choices=("stdout", "stderr", "console"), metavar="NAME", help="stdout, stderr or console")),
        call="debug_output", does="following:show_output", examples=("output", "output -f")),
)
BUDGET = arg("--budget", type=int, metavar="N", help="characters of the answer, about (default 4000)")
RECORDED = (
    Command("trace", "run a program recorded and show its calls as a tree; or those of the session",
        (arg("--test", metavar="TEST", help="run a test instead of a program"),
            arg("--lines", action="append", metavar="FUNCTION", help="record it line by line"),
            arg("--of", metavar="FUNCTION|CALL", help="only what is below it"),
            arg("--cwd", metavar="FOLDER", help="folder to run it in"),
            arg("command", nargs="*", metavar="PROGRAM [ARGS]", help="as after python, or in a shell")),
        call="debug_trace", become=made.trace_arguments, starts=True,
        examples=("trace -- pytest tests/test_x.py::test_y", "trace --lines Cart.total app.py", "trace --of 41")),
    Command("calls", "list recorded calls of a function",
        (arg("function", metavar="FUNCTION", help="its name, or the end of it"),
            arg("where", nargs="*", metavar="CONDITION", help="where: on arguments, result, error, duration_ms"),
            arg("--order", choices=("time", "outliers", "slowest"), metavar="ORDER", help="time, outliers or slowest"),
            arg("--offset", type=int, metavar="N", help="how many to skip"), BUDGET),
        call="debug_call", fixed={"operation": "calls"}, become=made.calls_arguments,
        examples=("calls Cart.total", "calls price_of where 'result is None'", "calls parse --order outliers")),
    Command("life", "show the lines that a recorded call took",
        (arg("call_id", metavar="CALL", help="its number"), BUDGET), call="debug_call", fixed={"operation": "life"},
        become=made.question_arguments, examples=("life 41",)),
    Command("origin", "tell where a recorded value comes from, or who changed a name",
        (arg("value", metavar="VALUE|NAME|.ATTRIBUTE", help="195.0, 'abc', amount, order.total, .total"), BUDGET),
        call="debug_call", fixed={"operation": "origin"}, become=made.question_arguments,
        examples=("origin 195.0", "origin .discount")),
    Command("errors", "list recorded exceptions, also those that were handled", (BUDGET,), call="debug_call",
        fixed={"operation": "errors"}, become=made.question_arguments),
    Command("slow", "tell where the time of a recorded run went", (BUDGET,), call="debug_call",
        fixed={"operation": "slow"}, become=made.question_arguments),
    Command("back", "step back in a recorded run", (THREAD,), (), "debug_step", {"kind": "back"}, moves=True),
    Command("reverse", "go back to the last hit of a breakpoint, or change of a name",
        (arg("name", nargs="?", metavar="NAME", help="variable or attribute: amount, self.total, .total"),),
        call="debug_call", fixed={"operation": "reverse_continue"}, become=made.question_arguments, moves=True,
        examples=("reverse", "reverse amount")),
    Command("goto", "stand in the past, at a moment of a recorded run",
        (arg("moment", metavar="MOMENT", help="#12 (a call), #12:40 (a line of it), #12:end"),),
        call="debug_call", fixed={"operation": "goto_moment"}, become=made.question_arguments, moves=True,
        examples=("goto '#12'", "goto '#12:end'")),
    Command("now", "return from the past to the present", call="debug_call", fixed={"operation": "return_to_now"},
        become=made.question_arguments, moves=True),
    Command("diff", "compare two recorded runs: where they part first",
        (arg("runs", nargs="+", metavar="A B",
            help="sessions, SESSION/RECORDING, or recordings of the current session, which is A if only B is given"),
            BUDGET),
        does="comparing:compare_runs",
        examples=("diff sess_a1b2c3d4 sess_e5f6a7b8", "diff sess_a1b2c3d4", "diff good.ocrec bad.ocrec")),
    Command("export", "write the recording of a session to one file, which opens anywhere",
        (arg("file", metavar="FILE", help="to write; one that ends in .json is in Chrome's trace format"),
            arg("--format", choices=("recording", "chrome"), metavar="FORMAT", help="recording or chrome"),
            arg("--recording", metavar="RECORDING", help="which one (default: the last)")),
        does="exporting:export_recording", examples=("export shop.ocrec", "export shop.json")),
)
CHANGING = (
    Command("break", "add, list, remove or switch breakpoints",
        (arg("add", nargs="*", metavar="PLACE", help=PLACE),
            arg("--remove", nargs="+", metavar="ID", help="ids, or all"),
            arg("--disable", nargs="+", metavar="ID", help="ids"), arg("--enable", nargs="+", metavar="ID", help="ids"),
            arg("--on", dest="exceptions", nargs="+", metavar="WHAT",
                help="stop on raised, uncaught or these exception classes only; nothing: on none")),
        ("b",), "debug_breakpoints", become=made.breakpoint_arguments,
        examples=("break", "break app.py:42 'app.py:57 if x > 3'", "break --remove bp_1", "break --on ValueError")),
    Command("watch", "show an expression at each stop; list or remove those",
        (arg("expression", nargs="*", metavar="EXPR", help="expression (default: list them)"),
            arg("--remove", metavar="ID", help="id, or all")),
        call="debug_call", become=made.watch_arguments, examples=("watch 'len(items)'", "watch --remove all")),
    Command("set", "assign to a variable, attribute or item",
        (arg("name", metavar="NAME", help="what to assign to"), arg("value", metavar="VALUE", help="expression"),
            arg("--frame", type=int, metavar="N", help="frame; 0 is the top")),
        call="debug_call", become=made.set_arguments, examples=("set total 0", "set 'order.items[3]' \"'x'\"")),
    Command("call", "ask for any operation of the API; without one list them",
        (arg("operation", nargs="?", metavar="OPERATION", help="its name"),
            arg("fields", nargs="*", metavar="KEY=VALUE", help="its parameters; KEY:=JSON for any JSON value")),
        call="debug_call", become=made.call_arguments, examples=("call", "call modules limit=5", "call health")),
)
MANAGING = (
    Command("sessions", "list the sessions, or show one", (SESSION,), ("ls",), "debug_sessions",
        become=made.named_session),
    Command("use", "make a session the current one of this folder", (arg("named", metavar="SESSION", help="its id"),),
        does="using:use_session", examples=("use sess_a1b2c3d4",)),
    Command("open", "open the page that shows the sessions, or a file that `export` wrote, to ask it",
        (arg("named", nargs="?", metavar="SESSION|FILE", help="session (default: the current one), or exported file"),
            arg("--print", dest="only_print", action="store_true", help="print the address, open nothing")),
        does="opening:open_page", examples=("open", "open --print sess_a1b2c3d4", "open shop.ocrec")),
    Command("doctor", "say what works here and what to install", does="doctor:examine"),
    Command("mcp install", "register the MCP server with a client",
        (arg("client", choices=tuple(CLIENTS), metavar="CLIENT", help=", ".join(CLIENTS)),
            arg("--print", dest="only_print", action="store_true", help="print it, write nothing")),
        does="mcp_install:install", asks_relay=False,
        examples=("mcp install claude-code", "mcp install codex --print")),
    Command("completion", "print a completion script",
        (arg("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"),),
        does="completion:print_script", asks_relay=False,
        examples=("completion bash >> ~/.bashrc", "completion fish | source")),
)
SERVING = tuple(Command(name, summary, is_serving=True) for name, summary in (
    ("serve", "start the relay in the foreground"),
    ("mcp", "serve MCP on stdin and stdout"),
    ("token", "make, list and revoke tokens"),
    ("tunnel", "connect a debugger to a session"),
    ("debugserver", "debug a program by the EZ protocol, for IDEs"),
    ("stdio", "the same, for the program that the client names"),
    ("ez-conformance", "test a debugger that speaks the EZ protocol"),
    ("version", "show the version"),
))
GROUPS = {
    "Start": STARTING, "Run and stop": MOVING, "Look": LOOKING, "Recorded runs": RECORDED, "Change": CHANGING,
    "Manage": MANAGING, "Serve": SERVING,
}
COMMANDS = {name: command for group in GROUPS.values() for command in group for name in command.names}
