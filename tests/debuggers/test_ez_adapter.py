"""EZ programs through REST, under a stand-in of the Go debugger that deviates and misbehaves as debuggers do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from native import Builder
from places import STAND_IN
from relays import Api, Relay, Session, line_of, meanwhile, refusal
from spec_client import check_basic, run
from waiting import soon, wait_until

from opencode_debugger.debuggers.ez.ez_output import OutputSplitter

Write = Callable[..., Path]


@pytest.fixture
def tour(program: Write) -> Path:
    return program(
        """
        import @std
        using std

        do add(a int, b int) -> int {
            temp s int = a + b  // @sum
            return s  // @added
        }

        do main() {
            temp x int = 10  // @first
            temp y int = 20  // @second
            temp r int = add(x, y)  // @call
            println("Result: ${r}")  // @result
            for i in range(0, 5) {
                add(i, r)  // @loop
            }
            println("done")  // @last
        }
        """,
        "tour.ez",
    )


@pytest.fixture
def values(program: Write) -> Path:
    return program(
        """
        const LIMIT int = 3

        do show(n int) {
            temp name string = "Alice"
            temp c char = 'q'
            temp b bool = true
            temp f float = 1.5
            temp items [int] = {1, 2, 3}
            temp p Person = Person(name="Bob", age=3)
            temp m map = {"a": 1, "b": 2}
            println(name)  // @shown
        }

        do fact(n int) -> int {
            if n < 2 {
                return 1  // @one
            }
            return n * fact(n - 1)  // @more
        }

        do main() {
            temp i int = 1
            show(7)  // @show
            println("r=", fact(3))  // @fact
        }
        """,
        "values.ez",
    )


def launch(session: Session, program: Path, wishes: str = "", **options: Any) -> Any:
    return session.launch(program, debugger_path=str(STAND_IN), env={"EZ_STAND_IN": wishes}, **options)


def here(stop: dict[str, Any]) -> tuple[str, int]:
    return stop["current_location"]["function"], stop["current_location"]["line"]


def stack(session: Session) -> list[tuple[str, int]]:
    return [(frame["name"], frame["line"]) for frame in session.get("/stacktrace")["frames"]]


@pytest.fixture(params=["", "document"])
def wishes(request: pytest.FixtureRequest) -> str:
    """As debuggers in the field are, and as the document wants them."""
    return str(request.param)


# The usual course of things.


def test_a_session_from_launch_to_end(session: Session, tour: Path, wishes: str) -> None:
    (bp,) = session.break_at(tour, "added")
    assert (bp["verified"], bp["message"]) == (
        False,
        "The line is checked when the program is loaded. Breakpoint pending.",
    )
    stop = launch(session, tour, wishes)

    assert (stop["status"], stop["stop_reason"], stop["hit_breakpoint_ids"]) == ("paused", "breakpoint", [bp["id"]])
    assert here(stop) == ("add", line_of(tour, "added"))
    assert {row["name"]: row["value"] for row in stop["locals"]} == {"a": "10", "b": "20", "s": "30"}
    assert stack(session) == [("add", line_of(tour, "added")), ("main", line_of(tour, "call"))]
    scopes = session.get("/scopes", frame_id=0)["scopes"]
    rows = session.get("/variables", variables_reference=scopes[0]["variables_reference"])["variables"]
    assert {row["name"] for row in rows} == {"a", "b", "s"}
    assert session.evaluate("a + b == s")["result"] == "true"
    assert session.get("/breakpoints")["breakpoints"][0]["hit_count"] == 1
    about = session.get()
    assert (about["debugger"]["adapter"], about["program"]["script"]) == ("ez", str(tour))

    session.delete(f"/breakpoints/{bp['id']}")
    assert here(session.step("out")) == ("main", line_of(tour, "result"))
    stop = session.step("over")
    assert stop["stop_reason"] == "step"
    assert stop["output"] == [{"category": "stdout", "output": "Result: 30\n"}]
    end = session.resume()
    assert (end["status"], end["exit_code"], end["reason"]) == ("terminated", 0, "exited")
    assert session.output() == "Result: 30\ndone\n"
    kinds = [event["type"] for event in session.events("stopped", "continued", "terminated")]
    assert kinds == ["stopped", "continued", "stopped", "continued", "stopped", "continued", "terminated"]


def test_the_first_line_is_where_the_debugger_is_and_what_it_has_run_is_told(
    session: Session, tour: Path, wishes: str
) -> None:
    stop = launch(session, tour, wishes, stop_on_entry=True)

    assert stop["stop_reason"] == "entry"
    if wishes == "document":
        assert here(stop) == ("main", line_of(tour, "first"))
        assert "warnings" not in stop
    else:
        assert here(stop) == ("main", line_of(tour, "second"))
        assert f"run line {line_of(tour, 'first')} before" in stop["warnings"][0]
    assert here(session.step("into"))[1] in (line_of(tour, "second"), line_of(tour, "call"))
    session.break_at(tour, "last")
    assert here(session.resume()) == ("main", line_of(tour, "last"))


def test_a_debugger_that_has_not_come_to_its_last_stop_yet_is_waited_for(session: Session, tour: Path) -> None:
    """It stops before it is asked to, and then once more: on a busy machine that may take a while."""
    session.break_at(tour, "second")
    assert here(launch(session, tour, "busy=0.4")) == ("main", line_of(tour, "second"))


def test_breakpoints_with_conditions_hits_and_messages(session: Session, tour: Path, wishes: str) -> None:
    (condition,) = session.break_at(tour, "sum", condition="a == 2 && b > 3")
    (hit,) = session.break_at(tour, "added", hit_condition="5")
    (log,) = session.break_at(tour, "loop", log_message="round")
    stop = launch(session, tour, wishes)

    assert (stop["hit_breakpoint_ids"], here(stop)) == ([condition["id"]], ("add", line_of(tour, "sum")))
    assert session.locals()["a"] == "2"
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], session.locals()["a"]) == ([hit["id"]], "3")
    counts = {bp["id"]: bp["hit_count"] for bp in session.get("/breakpoints")["breakpoints"]}
    assert counts == {condition["id"]: 1, hit["id"]: 5, log["id"]: 4}
    assert session.resume()["status"] == "terminated"
    assert session.output("console") == "round\n" * 5


def test_messages_have_values_and_a_condition_that_cannot_be_judged_stops(session: Session, tour: Path) -> None:
    session.break_at(tour, "added", log_message="{a} + {b:04} is {s!r}, {nothing}")
    (bp,) = session.break_at(tour, "result", condition="x > 5")
    stop = launch(session, tour)

    assert stop["hit_breakpoint_ids"] == [bp["id"]]
    assert "'x' is not among the variables that the debugger shows here" in stop["note"]
    said = session.output("console")
    assert said == "10 + 0020 is 30, <'nothing' is not among the variables that the debugger shows here>\n"


def test_breakpoints_on_functions_and_lines_to_run_to(session: Session, tour: Path) -> None:
    bp = session.post("/breakpoints", {"function": "add"})
    stop = launch(session, tour)

    assert (here(stop), stop["hit_breakpoint_ids"]) == (("add", line_of(tour, "sum")), [bp["breakpoint_id"]])
    (listed,) = session.get("/breakpoints")["breakpoints"]
    assert (listed["verified"], listed["line"]) == (True, line_of(tour, "sum"))
    session.delete(f"/breakpoints/{bp['breakpoint_id']}")
    stop = session.post("/run-to", {"line": line_of(tour, "last")})
    assert (stop["stop_reason"], stop["reached"], here(stop)) == ("run_to", True, ("main", line_of(tour, "last")))
    assert session.resume()["status"] == "terminated"


def test_many_steps_and_steps_until_something_is_so(session: Session, tour: Path) -> None:
    session.break_at(tour, "call")
    launch(session, tour)

    stop = session.step("into", count=3)
    assert (stop["steps"], here(stop)) == (3, ("main", line_of(tour, "result")))
    stop = session.post("/step-until", {"expression": "a == 2", "kind": "into", "max_steps": 50})
    assert (stop["condition_met"], here(stop)) == (True, ("add", line_of(tour, "sum")))


def test_a_step_goes_past_breakpoints_that_do_not_want_to_stop(session: Session, tour: Path) -> None:
    """By a debugger that sees breakpoints in what it steps over."""
    session.break_at(tour, "call")
    launch(session, tour, "document")
    session.break_at(tour, "sum", condition="a > 1000")
    session.break_at(tour, "added", hit_condition="100")

    stop = session.step("over")
    assert (stop["stop_reason"], here(stop)) == ("step", ("main", line_of(tour, "result")))


def test_values_of_all_kinds_and_frames_of_a_recursion(session: Session, values: Path) -> None:
    session.break_at(values, "shown", "one")
    launch(session, values)

    rows = {row["name"]: row for row in session.get("/frames/0/variables")["variables"]}
    assert {name: (row["value"], row["type"]) for name, row in rows.items()} == {
        "LIMIT": ("3", "INTEGER"),
        "n": ("7", "INTEGER"),
        "name": ('"Alice"', "STRING"),
        "c": ("q", "CHAR"),
        "b": ("true", "BOOLEAN"),
        "f": ("1.5", "FLOAT"),
        "items": ("{1, 2, 3}", "ARRAY"),
        "p": ('{age: 3, name: "Bob"}', "STRUCT"),
        "m": ('{"a": 1, "b": 2}', "MAP"),
    }
    for name, inside in {
        "items": {"[0]": "1", "[1]": "2", "[2]": "3"},
        "p": {"age": "3", "name": '"Bob"'},
        "m": {'"a"': "1", '"b"': "2"},
    }.items():
        listed = session.get(f"/variables/{rows[name]['variables_reference']}")["variables"]
        assert {row["name"]: row["value"] for row in listed} == inside
    functions = session.get("/scopes")["scopes"][1]
    assert functions["name"] == "Functions"
    listed = session.get(f"/variables/{functions['variables_reference']}")["variables"]
    assert {row["name"] for row in listed} == {"show", "fact", "main"}
    assert session.evaluate('p.age + items[1] * 2 == 7 && name == "Alice" && !(m["a"] > 1)')["result"] == "true"
    assert session.evaluate("p.name")["result"] == '"Bob"'
    assert "is not among the variables" in session.evaluate("nobody")["error"]
    refusal(400, "NOT_SUPPORTED", session.evaluate, "fact(5)")
    refusal(400, "EVALUATE_ERROR", session.evaluate, "n +")
    watch = session.post("/watch", {"expression": "n * 2"})
    assert watch["value"] == "14"
    items = session.post("/completions", {"text": "na"})
    assert [item["label"] for item in items["items"]] == ["name"]

    stop = session.resume()
    assert [row["value"] for row in stop["watches"]] == ["2"]
    more = line_of(values, "more")
    assert stack(session) == [
        ("fact", line_of(values, "one")),
        ("fact", more),
        ("fact", more),
        ("main", line_of(values, "fact")),
    ]
    assert [session.locals(frame).get("n") for frame in range(4)] == ["1", "2", "3", None]


def test_what_comes_in_another_order_each_time_is_shown_in_one(session: Session, program: Write) -> None:
    path = program(
        """
        do show(m map, p Person) {
            temp a int = 1  // @first
            a = 2
            a = 3  // @last
        }
        do main() {
            temp i int = 0
            show({"b": 1, "a": 2, "c": {10: 1, 9: 2}}, Person(name="Bob", age=3, cars=Cars(new=1, old=2)))
        }
        """,
        "order.ez",
    )
    session.break_at(path, "first")
    launch(session, path)
    shown = {"m": '{"a": 2, "b": 1, "c": {9: 2, 10: 1}}', "p": '{age: 3, cars: {new: 1, old: 2}, name: "Bob"}'}
    for _ in range(3):
        rows = session.get("/frames/0/variables")["variables"]
        assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
        assert {row["name"]: row["value"] for row in rows if row["name"] in shown} == shown
    session.step("over")
    stop = session.step("over")
    assert [row["name"] for row in stop["changes"]] == ["a"]
    assert session.evaluate('m["c"]')["result"] == "{9: 2, 10: 1}"


def test_the_debugger_evaluates_where_it_can(session: Session, values: Path) -> None:
    session.break_at(values, "one")
    launch(session, values, "document")

    assert session.evaluate("fact(5) + n")["result"] == "121"
    assert session.evaluate("n", frame_id=2)["result"] == "3"
    assert "identifier not found: nobody" in session.evaluate("nobody")["error"]
    assert session.locals(3) == {"i": "1"}


# What the program prints and how it ends.


def test_output_is_what_the_program_wrote_byte_by_byte(session: Session, program: Write) -> None:
    lines = [
        'println("plain")',
        'print("no newline, then a stop ")',
        "temp x int = 1  // @stop",
        'println(\'{"type":"event","event":"nonsense","data":{}}\')',
        'println(\'{"type":"event","event":"stopped","data":{"location":7}}\')',
        'println(\'{"type":"event","event":"exited","data":{"exitCode":0}}\')',
        'println(\'{"type":"event","event":"terminated","data":{}}\')',
        'println(\'{"type":"event"\')',
        'println("grüße")',
        'eprintln("to stderr")',
        "print('{\"type\":')",
        "exit(7)",
    ]
    path = program("do main() {\n" + "".join(f"    {line}\n" for line in ["temp a int = 1", *lines]) + "}\n", "out.ez")
    session.break_at(path, "stop")
    stop = launch(session, path)
    assert here(stop)[1] == line_of(path, "stop")
    assert session.output() == "plain\nno newline, then a stop "

    end = session.resume()
    expected = (
        'plain\nno newline, then a stop {"type":"event","event":"nonsense","data":{}}\n'
        '{"type":"event","event":"stopped","data":{"location":7}}\n{"type":"event","event":"exited","data":{"exitCode":0}}\n'
        '{"type":"event","event":"terminated","data":{}}\n{"type":"event"\ngrüße\n{"type":'
    )
    assert session.output() == expected
    assert session.output("stderr") == "to stderr\n"
    assert (end["status"], end["exit_code"]) == ("terminated", 7)


def test_a_runtime_error_is_told_with_the_exit_code(session: Session, program: Write, wishes: str) -> None:
    path = program("do main() {\n    temp a int = 0\n    println(1)\n    temp b int = 1 / a  // @fails\n}\n", "err.ez")
    end = launch(session, path, wishes)

    assert (end["status"], end["exit_code"]) == ("terminated", 1)
    said = session.output("console" if wishes else "stderr")
    assert said.startswith("Runtime error: division by zero")
    assert (f"{path}:{line_of(path, 'fails')}" in said) is bool(wishes)


def test_hundred_megabytes_of_output_do_not_hold_up_the_session(session: Session, program: Write) -> None:
    path = program("do main() {\n    temp a int = 0\n    flood(100000000)\n    println(a)  // @after\n}\n", "flood.ez")
    session.break_at(path, "after")
    stop = launch(session, path, wait=60)

    assert (stop["stop_reason"], here(stop)) == ("breakpoint", ("main", line_of(path, "after")))
    page = session.get("/output", limit=1)
    assert page["dropped"] > 40_000
    assert page["entries"][0]["output"] == "and the flood goes on " * 45 + "and on\n"
    assert session.resume()["exit_code"] == 0


def test_messages_are_found_however_they_are_cut_into_pieces() -> None:
    stopped = (
        b'{"type":"event","event":"stopped","data":{"reason":"step","location":{"file":"a.ez","line":3,"column":1}}}'
    )
    pieces = [b"text\n", stopped + b"\n", b"no end ", stopped + b"\r\n", b'{"type":"event"}\n{"data":1} ']
    pieces += [b'{ "type" : "event" , "event" : "started" }\n', b'\xff{"type":"event","event":"exit', b"\nlast"]
    whole = b"".join(pieces)
    for size in range(1, 60):
        events: list[str] = []
        printed = bytearray()
        hearing = OutputSplitter(lambda name, data, events=events: events.append(name), printed.extend)
        for at in range(0, len(whole), size):
            hearing.feed(whole[at : at + size])
        hearing.end()
        assert events == ["stopped", "stopped", "started"]
        assert bytes(printed) == pieces[0] + pieces[2] + pieces[4] + pieces[6] + pieces[7]


# Stopping it.


def test_a_running_program_is_paused_by_a_debugger_that_knows_no_pause(
    session: Session, program: Write, wishes: str
) -> None:
    path = program(
        """
        do main() {
            temp i int = 0
            as_long_as true {
                i += 1
                sleep(0.01)
            }
        }
        """,
        "loop.ez",
    )
    assert launch(session, path, wishes, wait=0.3)["status"] == "running"
    stop = session.post("/pause", {"wait": 10})
    assert (stop["status"], stop["stop_reason"], here(stop)[0]) == ("paused", "pause", "main")
    assert session.get("/breakpoints")["total"] == 0
    assert here(session.step("over"))[0] == "main"
    assert session.resume(wait=0.2)["status"] == "running"
    (bp,) = session.break_at(path, 5)
    stop = session.get("/report", wait=10)
    assert (stop["hit_breakpoint_ids"], here(stop)[1]) == ([bp["id"]], 5)
    session.delete(f"/breakpoints/{bp['id']}")
    assert session.resume(wait=0.2)["status"] == "running"


def test_a_pause_takes_few_breakpoints_and_says_when_they_lock_the_debugger_up(
    session: Session, program: Write
) -> None:
    """Each that is set while the program runs may be the one too many."""
    text = "do many(a int) {\n" + "    a += 1\n" * 300 + "}\n"
    text += "do main() {\n    temp i int = 0\n    as_long_as true {\n"
    text += "        i += 1  // @loop\n        sleep(0.001)\n    }\n}\n"
    path = program(text, "long.ez")
    assert launch(session, path, "locks=1", wait=0.1)["status"] == "running"
    stop = session.post("/pause", {"wait": 10})
    assert (stop["stop_reason"], here(stop)) == ("pause", ("main", line_of(path, "loop")))

    assert session.resume(wait=0.1)["status"] == "running"
    error = refusal(502, "DEBUGPY_ERROR", session.post, "/pause", {"wait": 10})
    assert "The debugger is locked up" in error.message
    assert "restart" in error.details["suggestion"]
    for again in (lambda: session.post("/pause"), lambda: session.break_at(path, "loop")):
        assert "The debugger is locked up" in refusal(502, "DEBUGPY_ERROR", again).message
    assert "The debugger is locked up" in session.output("console")
    assert session.post("/terminate")["status"] == "terminated"


@pytest.mark.parametrize("how", ["crash", "hang", "ignore", "clean"])
def test_the_program_ends_however_its_debugger_takes_it(session: Session, tour: Path, how: str) -> None:
    session.break_at(tour, "added")
    pid = launch(session, tour, f"terminate={how}")["pid"]
    with soon():
        end = session.post("/terminate")

        assert (end["status"], end["reason"]) == ("terminated", "terminated")
    assert not psutil.pid_exists(pid)
    assert session.output("stderr") == ""
    if how == "crash":
        stop = session.post("/restart", {"wait": 30})
        assert (stop["restarted"], here(stop)) == (True, ("add", line_of(tour, "added")))
        assert stop["previous"]["reason"] == "terminated"


# What it cannot do, and what is wrong before it runs.


def test_what_the_debugger_cannot_do_is_refused_with_what_to_do_instead(session: Session, tour: Path) -> None:
    session.break_at(tour, "added")
    launch(session, tour)

    scope = session.get("/scopes")["scopes"][0]["variables_reference"]
    refusal(400, "NOT_SUPPORTED", session.post, f"/variables/{scope}/set", {"name": "a", "value": "1"})
    refusal(400, "NOT_SUPPORTED", session.post, "/stdin", {"input": "Zoe\n"})
    refusal(400, "NOT_SUPPORTED", session.post, "/detach")
    refusal(400, "NOT_SUPPORTED", session.post, "/data-breakpoints", {"expression": "a"})
    refusal(400, "NOT_SUPPORTED", session.post, "/exception-breakpoints", {"filters": ["raised"]})
    refusal(400, "NOT_SUPPORTED", session.post, "/step-back")
    refusal(400, "NOT_SUPPORTED", session.get, "/tasks")
    refusal(400, "NOT_SUPPORTED", session.post, "/step-into", {"target": "add"})
    refusal(400, "NOT_SUPPORTED", session.get, "/memory", address="a")
    assert session.get()["status"] == "paused"
    assert session.get()["debugger"]["capabilities"] == ["completions", "step_until"]
    assert session.get("/threads")["threads"][0]["name"] == "main"


def test_launches_that_cannot_be(session: Session, program: Write, tour: Path) -> None:
    broken = program("do main() {\n    this is no statement\n}\n", "broken.ez")
    error = refusal(400, "LAUNCH_SYNTAX_ERROR", launch, session, broken)
    assert error.message == f"Parse errors in file: unexpected token ({broken}:2:5)"
    assert (error.details["file"], error.details["line"], error.details["offset"]) == (str(broken), 2, 5)
    refusal(400, "LAUNCH_FAILED", session.launch, tour, debugger_path="/nowhere/ez")
    refusal(400, "LAUNCH_FAILED", session.launch, tour, debugger_path=str(tour))
    refusal(400, "LAUNCH_SCRIPT_NOT_FOUND", launch, session, tour.with_name("missing.ez"))
    refusal(400, "NOT_SUPPORTED", launch, session, tour, stdin_inputs=["Zoe"])
    refusal(400, "NOT_SUPPORTED", launch, session, tour, debug_subprocesses=True)
    refusal(400, "NOT_SUPPORTED", launch, session, tour, tunnel_only=True)
    refusal(400, "NOT_SUPPORTED", session.post, "/attach", {"pid": 1, "adapter": "ez"})
    refusal(400, "INVALID_PARAMETER", session.launch, program("pass"), debugger_path=str(STAND_IN))
    assert session.get()["status"] == "created"
    assert launch(session, tour)["exit_code"] == 0


def test_lines_without_code_have_no_breakpoints(session: Session, tour: Path) -> None:
    for line in (3, line_of(tour, "sum") - 1, line_of(tour, "added") + 1):
        (bp,) = session.break_at(tour, line)
        assert (bp["verified"], bp["message"]) == (False, f"No executable code at line {line}")
        assert bp["suggestion"]["line"] in (line_of(tour, "sum"), line_of(tour, "first"))
    refusal(400, "BREAKPOINT_INVALID_LINE", session.break_at, tour, 400)


def test_one_line_functions_stop_and_bodies_of_types_have_no_breakpoints(session: Session, program: Write) -> None:
    path = program(
        """
        const Person struct {  // @struct
            name string  // @field
        }
        const Color enum {
            RED  // @member
        }
        do one() -> int { return 1 }  // @one
        do none() {}  // @none
        private do next(a int) -> int {  // @private
            return a + 1  // @next
        }
        do main() {
            temp a int = 0
            temp m map = {"//": 1, "{": 2}
            /* a */ a += one()  // @commented
            none()
            next(a)  // @last
        }
        """,
        "lines.ez",
    )
    for mark in ("struct", "field", "member", "none", "private"):
        (bp,) = session.break_at(path, mark)
        assert bp["message"].startswith("No executable code"), mark
    session.delete("/breakpoints")
    session.break_at(path, "commented", "last")
    one = session.post("/breakpoints", {"function": "one"})
    session.post("/breakpoints", {"function": "none"})
    assert here(launch(session, path)) == ("main", line_of(path, "commented"))
    stop = session.resume()
    assert (here(stop), stop["hit_breakpoint_ids"]) == (("one", line_of(path, "one")), [one["breakpoint_id"]])
    assert here(session.resume()) == ("main", line_of(path, "last"))
    session.post("/breakpoints", {"function": "next"})
    assert here(session.resume()) == ("next", line_of(path, "next"))


# Debuggers that misbehave.


@pytest.mark.parametrize("wishes", ["slow=0.05", "halves=0.01", "garbage"])
def test_slow_debuggers_half_lines_and_garbage_change_nothing(session: Session, tour: Path, wishes: str) -> None:
    session.break_at(tour, "added", "last")
    stop = launch(session, tour, wishes)

    assert here(stop) == ("add", line_of(tour, "added"))
    assert session.locals()["s"] == "30"
    assert here(session.step("over")) == ("main", line_of(tour, "result"))
    for bp in session.get("/breakpoints")["breakpoints"][:1]:
        session.delete(f"/breakpoints/{bp['id']}")
    assert here(session.resume()) == ("main", line_of(tour, "last"))
    assert session.resume()["exit_code"] == 0
    if "garbage" not in wishes:
        assert session.output() == "Result: 30\ndone\n"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A relay that does not wait long, and has its EZ debugger from the settings."""
    folder = tmp_path_factory.mktemp("hasty") / "data"
    relay = Relay(folder, ez_path=STAND_IN, dap_timeout_seconds=2, dap_launch_timeout_seconds=5).start()
    with Api(relay.base_url) as api:
        yield api
    assert relay.stop() == 0


def test_a_debugger_that_says_nothing_is_given_up(hasty: Api, tour: Path) -> None:
    with hasty.session() as session:
        error = refusal(504, "DEBUGPY_TIMEOUT", session.launch, tour, env={"EZ_STAND_IN": "silent"})
        assert error.details["operation"] == "initialize"
        assert session.get()["status"] == "created"

        session.break_at(tour, "added")
        wishes = {"EZ_STAND_IN": "silent=getVariables"}
        stop = session.launch(tour, env=wishes)
        assert here(stop) == ("add", line_of(tour, "added"))
        assert "did not answer getVariables in time" in stop["omitted"][0]["what"]
        with soon(5):
            for _ in range(3):
                refusal(504, "DEBUGPY_TIMEOUT", session.get, "/frames/0/variables")
        assert stack(session)[1] == ("main", line_of(tour, "call"))


def test_a_stack_that_does_not_come_leaves_the_place(hasty: Api, tour: Path) -> None:
    with hasty.session() as session:
        session.break_at(tour, "added")
        stop = session.launch(tour, env={"EZ_STAND_IN": "silent=getStackTrace"})
        assert (stop["stop_reason"], here(stop)) == ("breakpoint", ("add", line_of(tour, "added")))


@pytest.mark.parametrize("command", ["stepOver", "getVariables"])
def test_a_debugger_that_dies_in_the_middle_of_a_line(session: Session, tour: Path, command: str) -> None:
    session.break_at(tour, "added")
    launch(session, tour, f"dies={command}", fields=["location"])

    if command == "stepOver":
        end = session.step("over")
        assert end["status"] == "terminated"
    else:
        refusal(502, "DEBUGPY_ERROR", session.get, "/frames/0/variables")
    about = session.get()
    assert (about["status"], about["exit_code"]) == ("terminated", None)
    assert about["reason"] == "the debugger (ez) ended unexpectedly, with exit code 3"


def test_a_debugger_that_is_killed(session: Session, tour: Path) -> None:
    session.break_at(tour, "added")
    psutil.Process(launch(session, tour)["pid"]).kill()

    end = session.get("/events", timeout=10)
    wait_until(lambda: session.get()["status"] == "terminated")
    assert (session.get()["status"], session.get()["signal"]) == ("terminated", "SIGKILL"), end


def test_the_debugger_of_the_settings_is_shown_and_used(hasty: Api, api: Api, tour: Path) -> None:
    shown = hasty.get("/info")["debuggers"]["ez"]
    assert (shown["available"], shown["path"]) == (True, str(STAND_IN))
    assert api.get("/info")["debuggers"]["ez"].get("suggestion", "installed")
    with hasty.session(adapter="ez") as session:
        assert session.launch(tour)["exit_code"] == 0


def test_a_program_waits_for_input_that_cannot_come_until_it_is_ended(session: Session, program: Write) -> None:
    path = program(
        """
        do main() {
            temp a int = 1
            print("name? ")
            temp n string = input()
            println("hello ", n)  // @hello
        }
        """,
        "inp.ez",
    )
    assert launch(session, path, wait=0.1)["status"] == "running"
    session.wait_for_output("name? ")
    error = refusal(400, "NOT_SUPPORTED", session.post, "/pause", {"wait": 10})
    assert "it may be reading its standard input" in error.message
    (bp,) = session.break_at(path, "hello")
    assert (bp["verified"], "told when the program stops next" in bp["message"]) == (False, True)
    with meanwhile(session, lambda other: other.get("/report", wait=20)) as report:
        session.post("/terminate")
        assert report.result(20)["status"] == "terminated"
    assert session.output() == "name? ", "nothing that we sent was read by the program"


def test_breakpoints_of_a_program_that_may_read_are_told_to_its_debugger_at_the_next_stop(
    session: Session, program: Write, tmp_path: Path
) -> None:
    (tmp_path / "lib.ez").write_text("do ask() -> string {\n    return input()\n}\n")
    path = program(
        f"""
        import "./lib"
        do main() {{
            temp a int = 1
            await_file("{tmp_path}/go")
            a = 2  // @gone
            a = 3  // @stop
            a = 4
            a = 5  // @new
        }}
        """,
        "may.ez",
    )
    (gone, _) = session.break_at(path, "gone", "stop")
    assert launch(session, path, wait=0.1)["status"] == "running"
    session.delete(f"/breakpoints/{gone['id']}")
    (new,) = session.break_at(path, "new")
    assert not new["verified"]
    (tmp_path / "go").touch()
    assert here(session.get("/report", wait=20)) == ("main", line_of(path, "stop"))
    assert all(bp["verified"] for bp in session.get("/breakpoints")["breakpoints"])
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], here(stop)[1]) == ([new["id"]], line_of(path, "new"))


def test_a_program_that_reads_in_its_first_line_is_refused_before_it_reads_what_we_say(
    session: Session, program: Write
) -> None:
    path = program("do main() {\n    temp n string = input()\n    println(n)\n}\n", "first.ez")
    assert "Line 2 is the first" in refusal(400, "NOT_SUPPORTED", launch, session, path).message
    assert session.output() == ""


# Our own debugger as the other side.

OWN = str(Path(sys.executable).with_name("opencode-debugger"))


def test_the_specifications_basic_client_debugs_through_another_debugger(
    relay: Relay, api: Api, tmp_path: Path
) -> None:
    """8.1 of the specification, on a session whose debugger is our own, spoken to by the EZ protocol."""
    changed = (
        ('"name": "csv-processor-debug",', '"name": "csv-processor-debug", "adapter": "ez",'),
        ('"args": ["--input", "data.csv"],', f'"debugger_path": "{OWN}", "args": ["--input", "data.csv"],'),
    )
    check_basic(run("basic_session.sh", relay, tmp_path, changed), api)


def test_all_that_a_debugger_announces_is_used(session: Session, program: Write) -> None:
    path = program(
        """
        import sys

        def add(a, b):
            s = a + b
            return s  # @added

        def main():
            total = 0
            for i in range(6):
                total = add(total, i)  # @loop
            name = input("name? ")
            print(name, total, sys.argv[1:])
            raise ValueError("enough")  # @raised

        main()
        """
    )
    (condition,) = session.break_at(path, "added", condition="b == 2")
    (bad,) = session.break_at(path, "loop", condition="i > 3 and nothing")
    stop = session.launch(path, adapter="ez", debugger_path=OWN, args=["-v"])

    assert (stop["hit_breakpoint_ids"], session.locals()["s"]) == ([condition["id"]], "3")
    scope = session.get("/scopes")["scopes"][0]["variables_reference"]
    assert session.post(f"/variables/{scope}/set", {"name": "s", "value": "1000"})["value"] == "1000"
    assert [thread["name"] for thread in session.get("/threads")["threads"]] == ["MainThread"]
    refusal(400, "EVALUATE_ERROR", session.evaluate, "s +")
    assert session.evaluate("nobody")["error"] == "NameError: name 'nobody' is not defined"

    stop = session.resume()
    assert stop["hit_breakpoint_ids"] == [bad["id"]]
    assert "name 'nothing' is not defined" in stop["note"]
    for bp in (condition, bad):
        session.delete(f"/breakpoints/{bp['id']}")
    function = session.post("/breakpoints", {"function": "add"})["breakpoint_id"]
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], stop["current_location"]["function"]) == ([function], "add")
    session.delete(f"/breakpoints/{function}")

    assert session.resume()["waiting_for_input"] == {"prompt": "name? "}
    stop = session.post("/stdin", {"input": "Zoe\n", "wait": 20})
    assert (stop["stop_reason"], stop["exception"]["type"], here(stop)[1]) == (
        "exception",
        "ValueError",
        line_of(path, "raised"),
    )
    assert stop["exception"]["message"] == "enough"
    assert session.output() == "name? Zoe 1012 ['-v']\n"
    end = session.resume()
    assert (end["status"], end["exit_code"]) == ("terminated", 1)
    assert session.output("stderr").endswith("ValueError: enough\n")


def test_a_native_program_through_another_debugger(session: Session, build: Builder) -> None:
    tour = build("tour")
    session.break_at(tour.source, "loop")
    stop = session.launch(program=str(tour.program), adapter="ez", debugger_path=OWN, wait=60)

    assert (stop["stop_reason"], here(stop)) == ("breakpoint", ("main", tour.line("loop")))
    assert {"data_breakpoints", "reverse"} <= set(session.get()["debugger"]["capabilities"])
    assert session.evaluate("total + 1")["result"] == "1"
    watched = session.post("/data-breakpoints", {"expression": "total"})
    session.delete(f"/breakpoints/{session.get('/breakpoints')['breakpoints'][0]['id']}")
    stop = session.resume()
    while stop["stop_reason"] == "breakpoint":
        stop = session.resume()
    assert (stop["stop_reason"], stop["hit_breakpoint_ids"]) == ("data_breakpoint", [watched["id"]])
    assert "total changed from 0 to 1" in stop["note"]
    session.delete("/data-breakpoints")
    assert session.resume()["status"] == "terminated"


def test_a_debugger_that_asks_for_itself_is_refused(session: Session, tour: Path) -> None:
    def through(debugger: str) -> Any:
        return session.launch(tour, debugger_path=OWN, env={"OPENCODE_DEBUG_EZ_PATH": debugger})

    assert "does not debug" in refusal(400, "LAUNCH_FAILED", through, OWN).message
    assert through(str(STAND_IN))["exit_code"] == 0
