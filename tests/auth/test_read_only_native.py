"""Whoever may only read runs nothing in gdb and lldb: no shell, no code of the program, no assignment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import breadth
import pytest
from native import Builder, Native
from relays import Api, ApiError, Relay, Session, refusal

from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.debuggers.c_expressions import pointed_at
from opencode_debugger.debuggers.native import readonly_expressions
from opencode_debugger.operations.scopes import ARTIFACTS, READ
from opencode_debugger.operations.table import OPERATIONS
from opencode_debugger.persistence.token_store import TokenStore

BOTH = pytest.mark.parametrize("adapter", ["gdb", "lldb"], scope="module")

RUNNING = [
    '$_shell("touch {trace}")',
    'p, $_shell("touch {trace}")',
    '$_as_string($_shell("touch {trace}"))',
    'system("touch {trace}")',
    '((int (*)(const char *)) system)("touch {trace}")',
    "touched()",
    "touched ()",
    "(touched)()",
    "(*touched)()",
    "(int) touched()",
    "sizeof(touched())[touched()]",
    "total + touched()",
    "items[touched()].value",
    "/* look */ touched()",
    "total // look\n+ touched()",
    "total\nshell touch {trace}",
    "total\rshell touch {trace}",
    "> shell touch {trace}",
    "`touched()`",
    "1) + (touched()",
    "[]{{ return touched(); }}()",
    "({{ touched(); }})",
    "touched() @ 2",
    "{{int}} (total = 9)",
    "total = 9",
    "total++",
    "--total",
    "total += 1",
    "(1, total = 9)",
    "RESET",
    "EVIL",
    "total + EVIL",
    "p->EVIL",
    "(short) total",
    "sizeof(short)",
    "SETS",
    "!touch {trace}",
    "$rip = 0",
    "new Loud",
    "loud[1]",
    "loud + 1",
    "loud == 1",
    "*loud",
    "&loud",
    "loud->n",
    "-loud",
    "!loud",
    "(long) loud",
    "items[loud].value",
]
"""Each would leave a trace or change `total`, if it were evaluated as the debuggers do."""

Ask = Callable[[Session, str], Any]
WITH_TEXT: dict[str, Ask] = {
    "read_memory": lambda session, text: session.get("/memory", address=text, count=4),
    "disassemble": lambda session, text: session.get("/disassembly", address=text, count=1),
    "hover": lambda session, text: session.post("/hover", {"expression": text}),
    "completions": lambda session, text: session.post("/completions", {"text": f"{text}."}),
    "source": lambda session, text: session.get(f"/source?{urlencode({'path': '/' + text})}"),
    "modules": lambda session, text: session.get("/modules", filter=text),
    "frame_variables": lambda session, text: session.get("/frames/0/variables", name=text),
    "files": lambda session, text: session.get("/files", query=text),
    "calls": lambda session, text: session.get("/recording/calls", function=text, where=text),
    "origin": lambda session, text: session.get("/recording/origin", value=text),
}
"""Operations that take a text of the caller."""
OF_DEBUGGER = {name: WITH_TEXT[name] for name in ("read_memory", "disassemble", "hover", "completions")}
"""Those of them whose text is an expression of the debugger."""
WITHOUT = {
    "info": "",
    "status": "/status",
    "summary": "/summary",
    "describe": "/describe",
    "export": "/export",
    "list_breakpoints": "/breakpoints",
    "list_exception_breakpoints": "/exception-breakpoints",
    "list_watches": "/watch",
    "list_data_breakpoints": "/data-breakpoints",
    "threads": "/threads",
    "stack_trace": "/stacktrace",
    "scopes": "/scopes",
    "variables": "/variables/1000",
    "children": "/frames/0/variables/1000/children",
    "exception": "/exception",
    "report": "/report",
    "output": "/output",
    "events": "/events",
    "timeline": "/timeline",
    "timeline_entry": "/timeline/1",
    "export_timeline": "/timeline/export?format=json",
    "recording": "/record",
}
ELSEWHERE = {
    "list_sessions", "list_profiles", "get_profile", "ping", "tasks", "locks", "step_targets",
    "follow_output", "follow_events", "follow_sessions", "logs", "trace", "life", "errors", "slow", "values", "spans",
    "diff", "export_recording", "locate_recording",
}  # fmt: skip
"""Asked of the relay, or the same as another, or nothing that a native debugger has."""


@pytest.fixture(scope="module")
def reader(relay: Relay) -> Iterator[Api]:
    token = new_token()
    TokenStore(relay.data_dir).add("reader", hash_of(token), ["sessions:read", "artifacts:read"], expires_at=None)
    with Api(relay.base_url, token) as api:
        yield api


@pytest.fixture(scope="module")
def loud(build: Builder) -> Native:
    return build("loud", "-g3", f'-DSHELL_TRACE="{build.folder}/ran"')


class Stage:
    """A program that stands still, for one who may do anything and one who may only read."""

    def __init__(self, session: Session, reader: Api, trace: Path, of_shell: Path) -> None:
        self.session = session
        self.reading = Session(reader, session.id)
        self.trace = trace
        self.of_shell = of_shell

    def check(self, what: object = None) -> None:
        assert not self.trace.exists(), (what, self.trace.read_text())
        assert not self.of_shell.exists(), what

    def written(self, text: str) -> str:
        return text.format(trace=self.trace)


@pytest.fixture(scope="module")
def shared(
    api: Api, reader: Api, loud: Native, tmp_path_factory: pytest.TempPathFactory, adapter: str
) -> Iterator[Stage]:
    """Who changes something there takes it back."""
    with set_up(api, reader, loud, tmp_path_factory.mktemp("stage") / "trace", adapter) as stage:
        yield stage


@pytest.fixture
def stage(shared: Stage) -> Stage:
    shared.trace.unlink(missing_ok=True)
    return shared


@contextlib.contextmanager
def set_up(api: Api, reader: Api, loud: Native, trace: Path, adapter: str) -> Iterator[Stage]:
    with api.session(adapter=adapter) as session:
        session.break_at(loud.source, "stop")
        launched = session.launch(program=str(loud.program), env={"TRACE": str(trace)})
        assert launched["current_location"]["line"] == loud.line("stop")
        yield Stage(session, reader, trace, loud.program.with_name("ran"))


def test_every_operation_that_reads_is_asked_here() -> None:
    declared = {name: operation.scopes for name, operation in OPERATIONS.items()}
    reads = {name for name, scopes in declared.items() if scopes and {READ, ARTIFACTS}.issuperset(scopes)}
    assert reads == WITH_TEXT.keys() | WITHOUT.keys() | ELSEWHERE


@BOTH
def test_no_text_of_a_reader_runs_anything(stage: Stage) -> None:
    registers = stage.session.evaluate("(long) $rip")["result"]
    for number, text in enumerate(map(stage.written, RUNNING)):
        asked = WITH_TEXT if breadth.ALL or number % 6 == 0 else OF_DEBUGGER
        for operation, ask in asked.items():
            try:
                ask(stage.reading, text)
            except ApiError as error:
                assert error.status < 500, (operation, text, error)
            stage.check((operation, text))
    assert stage.session.evaluate("total")["result"] == "5"
    assert stage.session.evaluate("(long) $rip")["result"] == registers
    assert "5" not in str(stage.session.evaluate("$ocdb_set").get("result"))
    assert stage.session.get("/status")["status"] == "paused"


@BOTH
def test_a_hover_and_an_address_are_looks_for_every_caller(stage: Stage) -> None:
    for text in map(stage.written, RUNNING[: RUNNING.index("RESET") : 1 if breadth.ALL else 4]):
        error = refusal(400, "EVALUATE_ERROR", stage.session.post, "/hover", {"expression": text})
        assert "POST /sessions/{id}/evaluate" in error.details["suggestion"]
        refusal(400, "INVALID_PARAMETER", stage.session.get, "/memory", address=text)
        refusal(400, "INVALID_PARAMETER", stage.session.get, "/disassembly", address=text)
    # These only the debugger knows to be more than a look.
    for text in ("loud + 1", "loud[1]", "loud == 1", "RESET", "EVIL", "SETS"):
        assert stage.session.post("/hover", {"expression": text})["error"]
    stage.check()
    assert stage.session.evaluate("total")["result"] == "5"
    assert stage.session.evaluate("touched()")["result"] == "1"
    assert stage.trace.read_text() == "touched\n"


@BOTH
def test_honest_looks_are_answered(stage: Stage, loud: Native) -> None:
    def hover(text: str) -> str:
        return str(stage.reading.post("/hover", {"expression": text})["value"])

    shown = {
        "total": "5",
        "p->next->value": "2",
        "items[2].value": "30",
        "items[index].next->value": "1",
        "(*p).value + 1": "2",
        "numbers[1]": "8",
        "numbers[index - 1]": "8",
        "own->value": "6",
        "inner::depth * 2": "6",
        "loud.n": "4",
        "sizeof(items)": "48",
        "total == 5": "true",
        "((Node *) p)->value": "1",
        "text": '"hello"',
    }
    assert {text: hover(text) for text in shown} == shown
    assert "value" in hover("*p") and hover("&total").startswith("0x")
    place = {"file": str(loud.source), "line": loud.line("stop"), "column": 31}
    assert stage.reading.post("/hover", place)["value"] == "5"
    assert stage.reading.get("/memory", address="total", count=4)["bytes"] == "05000000"
    assert stage.reading.get("/memory", address="&items[1]", count=4)["bytes"] == "14000000"
    assert stage.reading.get("/memory", address="p->next", count=4)["bytes"] == "02000000"
    address = stage.reading.get("/memory", address="items", count=4)["address"]
    assert stage.reading.get("/memory", address=f"{address}+16", count=4)["bytes"] == "14000000"
    here = stage.reading.get("/disassembly", count=1)
    assert stage.reading.get("/disassembly", address="$pc", count=1) == here
    assert stage.reading.get("/disassembly", address="touched", count=1)["instructions"][0]["line"] == loud.line(
        "touched"
    )
    stage.check()


@pytest.mark.parametrize("adapter", ["gdb"], scope="module")
def test_macros_that_only_look_are_looked_at(stage: Stage) -> None:
    for text, value in {"MORE": "6", "PLACE + 1": "31", "p->value + MORE": "7"}.items():
        assert stage.reading.post("/hover", {"expression": text})["value"] == value
    stage.session.evaluate("> macro define MINE (total + 2)")
    stage.session.evaluate("> macro define total 9")
    assert stage.reading.post("/hover", {"expression": "MINE"})["value"] == "11"
    assert stage.session.evaluate("MINE")["result"] == "11"
    assert stage.session.evaluate("total")["result"] == "9"
    stage.session.evaluate("> macro undef total")
    stage.session.evaluate("> macro undef MINE")


@BOTH
def test_watches_that_run_code_are_not_evaluated_for_readers(stage: Stage) -> None:
    watched = ["total", "p->next->value", "touched()", "loud + 1", "total = 7"]
    ids = [stage.session.post("/watch", {"expression": text})["watch_id"] for text in watched]
    stage.trace.unlink()
    stage.session.evaluate("total = 5")
    for rows in (stage.reading.get("/watch")["watches"], stage.reading.get("/report")["watches"]):
        assert [row.get("value") for row in rows] == ["5", "2", None, None, None]
        assert "may only read" in rows[2]["error"] and "may only read" in rows[4]["error"]
    for operation, path in WITHOUT.items():
        try:
            stage.reading.get(path)
        except ApiError as error:
            assert error.status < 500, (operation, error)
    stage.check()
    assert stage.session.evaluate("total")["result"] == "5"
    assert [row.get("value") for row in stage.session.get("/watch")["watches"]] == ["5", "2", "1", "5", "7"]
    for id in ids:
        stage.session.delete(f"/watch/{id}")
    stage.session.evaluate("total = 5")


@BOTH
def test_readers_are_told_an_exceptions_words_without_asking_it_again(
    api: Api, reader: Api, loud: Native, tmp_path: Path, adapter: str
) -> None:
    with set_up(api, reader, loud, tmp_path / "trace", adapter) as stage:
        stage.session.post("/exception-breakpoints", {"filters": ["raised"]})
        assert stage.session.resume()["stop_reason"] == "exception"
        stage.trace.unlink(missing_ok=True)
        assert stage.reading.get("/exception")["message"] == "shout"
        stage.check()


@BOTH
def test_completing_a_text_reads_no_other_file(stage: Stage, tmp_path: Path) -> None:
    """Each text ends in a word, since gdb takes its time to list all that there is."""
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    for text in ('#include "{}" tot', '%:include "{}" tot', '_Pragma("GCC dependency \\"{}\\""); total'):
        stage.reading.post("/completions", {"text": text.format(endless)})
    stage.reading.post("/completions", {"text": "a" * 99_990 + "!nothing"})
    for text in ("p->next->va", "total + items[1].va", "touched() + p->va", "one\nitems[index].va"):
        labels = [item["label"] for item in stage.reading.post("/completions", {"text": text})["items"]]
        assert labels == ["value"], text


@pytest.mark.parametrize("text", RUNNING[: RUNNING.index("RESET")])
def test_what_runs_code_is_not_in_the_grammar(text: str) -> None:
    assert not readonly_expressions.is_look(text)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (" a+b*c ", "a + b * c"),
        ("- -x", "-(-x)"),
        ("p->a . b[i+1]", "p->a.b[i + 1]"),
        ("(struct node*)p", "(struct node *) p"),
        ("(const char *)(x)", "(const char *) x"),
        ("!x && ~y|'\\n'", "!x && ~y | '\\n'"),
        ("::a::b<c", "::a::b < c"),
    ],
)
def test_an_expression_is_written_anew_from_what_was_understood(given: str, read: str) -> None:
    assert readonly_expressions.parse(given).text == read


@pytest.mark.parametrize(
    "text",
    [
        *["", "a b", "f<a>(b)", "(f)(x)", "(T)x", "$_x", "$1", "$$", '"text"', "a--b", "a/*b", "delete *p", "A::~A"],
        *["a ? b : c", "(" * 100 + "x" + ")" * 100, "*" * 100 + "p", "a+" * 1000 + "a"],
    ],
)
def test_what_could_be_read_in_two_ways_or_has_no_end_is_refused(text: str) -> None:
    assert not readonly_expressions.is_look(text)


def test_a_name_in_an_endless_line_is_found_at_once(tmp_path: Path) -> None:
    file = tmp_path / "long.c"
    file.write_text("a" * 400_000 + ".b;")
    name, place = pointed_at(str(file), 1, 400_002)
    assert name.endswith("b") and place["end_column"] == 400_003
