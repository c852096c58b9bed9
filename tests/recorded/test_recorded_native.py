"""What REST answers about native programs under gdb and lldb, and EZ programs under a stand-in of their debugger."""

from __future__ import annotations

import pytest
from clients import RestSession, Stage
from native import Native, core_of
from operations import ask_each, needs_paused
from places import STAND_IN
from relays import line_of
from targets import Target

PLACE = "location,changes,return_value,breakpoints,output"


def started(session: RestSession, native: Native, at: str) -> None:
    session.break_at(native.source, native.line(at))
    session.launch(program=str(native.program), fields=PLACE)
    session.delete("/breakpoints/bp_1")


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_native(stage: Stage, adapter: str) -> None:
    """A tour of what every native debugger does."""
    tour = stage.build("tour")
    source = str(tour.source)
    with stage.session(adapter=adapter) as session:
        session.post("/launch", {"program": str(stage.folder / "absent")})
        session.post("/launch", {"program": str(tour.source)})
        session.post("/launch", {"program": str(stage.write("text.txt", "no program\n"))})
        session.post("/launch", {"program": str(tour.program), "just_my_code": True})
        session.post("/launch", {"program": str(tour.program), "stop_scope": "thread"})
        session.post("/launch", {"program": str(tour.program), "core": str(tour.source)})
        session.post("/launch", {"script": str(stage.write("plain.py", "x = 1\n"))})
        wanted = [
            {"file": source, "line": tour.line("add"), "condition": "b == 4"},
            {"file": source, "line": 1},
            {"file": source, "text": "return sum;"},
            {"function": "factorial"},
            {"function": "nobody"},
            {"file": source, "line": tour.line("loop"), "log_message": "i is {i}, {absent}", "hit_condition": ">4"},
        ]
        session.post("/breakpoints", {"breakpoints": wanted})
        session.patch("/breakpoints/bp_3", {"enabled": False})
        session.launch(program=str(tour.program), args=["7"], fields=PLACE)
        session.get("/breakpoints")
        session.post("/breakpoints", {"file": source, "line": 1, "strict": True})
        session.post("/breakpoints", {"file": source, "line": tour.line("add"), "condition": "b =="})
        session.post("/breakpoints", {"function": "nobody", "strict": True})
        session.get("/threads")
        session.get("/stacktrace")
        session.get("/stacktrace", thread_id=99)
        session.get("/frames/0/scopes")
        session.get("/frames/0/variables")
        session.get("/frames/99/variables")
        # One by one: in which of two ways lldb shows the union among them is chance.
        rows = {}
        for name in ("first", "squares", "big", "corner", "greeting", "text", "colour", "total"):
            for row in session.get("/frames/1/variables", name=name)["variables"]:
                rows[row["name"]] = row["variables_reference"]
        session.get(f"/variables/{rows['first']}")
        session.get(f"/variables/{rows['squares']}", start=2, count=2)
        session.get(f"/frames/1/variables/{rows['big']}/children", offset=998)
        session.get("/variables/424242")
        for expression in ("a + b", "absent", "a +", "counter", "factorial(3)"):
            session.post("/evaluate", {"expression": expression})
        session.post("/evaluate", {"expression": "corner", "frame_id": 1})
        session.post("/evaluate", {"expression": "> continue", "context": "repl"})
        session.get("/memory", address="factorial(3)")
        session.post(f"/variables/{rows['corner']}/set", {"name": "x", "value": "30", "frame_id": 1})
        session.post(f"/variables/{rows['corner']}/set", {"name": "absent", "value": "30", "frame_id": 1})
        session.post("/set-expression", {"expression": "counter", "value": "50"})
        session.post("/set-expression", {"expression": "absent", "value": "50"})
        session.post("/watch", {"expression": "counter"})
        session.post("/hover", {"expression": "a"})
        session.post("/hover", {"expression": "factorial(3)"})
        session.post("/completions", {"text": "cou"})
        session.get("/source", start_line=20, end_line=21)
        session.get("/modules", filter="tour")
        session.get("/exception")
        session.get("/tasks")
        session.get("/locks")
        session.get("/step-targets")
        session.step("into", target="add")
        session.post("/exception-breakpoints", {"filters": ["user_unhandled"]})
        session.post("/exception-breakpoints", {"filters": ["raised"], "condition": "x"})
        session.step(fields=PLACE + ",watches")
        session.step("out", fields=PLACE)
        session.step("into", fields=PLACE)
        session.step("until")
        session.post("/step-until", {"expression": "total > 5", "fields": PLACE})
        session.post("/run-to", {"line": tour.line("print"), "fields": PLACE})
        session.get("/report", fields="location,source,stack,watches")
        session.resume(fields=PLACE)
        session.delete("/breakpoints")
        session.post("/threads/99/continue")
        session.resume(fields=PLACE)
        session.get("/output")
        ask_each(session, needs_paused())
        session.post("/restart", {"wait": 60, "fields": PLACE})


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_machine(stage: Stage, adapter: str) -> None:
    account = stage.build("account")
    with stage.session(adapter=adapter) as session:
        started(session, account, "start")
        session.get("/memory", address="note", count=6)
        session.get("/memory", address="note", offset=1, count=2)
        session.get("/memory", address="0x10", count=4)
        session.get("/memory", address="absent")
        session.get("/memory", address="note", count=0)
        session.post("/memory", {"address": "note", "offset": 2, "bytes": "6e6b21"})
        session.post("/memory", {"address": "0x10", "bytes": "00"})
        session.post("/memory", {"address": "note", "bytes": "6x"})
        session.get("/disassembly", count=3)
        session.get("/disassembly", address="pay", count=2)
        session.get("/disassembly", address="0x10")
        session.step(granularity="instruction", fields="location")
        session.post("/data-breakpoints", {"expression": "balance"})
        session.post("/data-breakpoints", {"expression": "balance", "access": "readWrite", "condition": "balance <"})
        session.post("/data-breakpoints", {"expression": "1 + absent"})
        session.post("/data-breakpoints", {"expression": "1 + 1"})
        session.post("/data-breakpoints", {"expression": "balance", "access": "odd", "hit_condition": ""})
        session.get("/data-breakpoints")
        session.resume(fields=PLACE)
        session.get("/data-breakpoints")
        session.delete("/data-breakpoints/dbp_9")
        session.delete("/data-breakpoints/dbp_1")
        session.delete("/data-breakpoints")
        session.post("/step-back")
        session.post("/reverse-continue")
        session.post("/record", {"enabled": False})
        if adapter == "gdb":
            record(session)
        else:
            session.post("/record")


def record(session: RestSession) -> None:
    session.post("/record")
    session.post("/record")
    session.step(fields=PLACE)
    session.step(fields=PLACE)
    session.post("/step-back", {"fields": PLACE})
    session.post("/reverse-continue", {"fields": PLACE, "wait": 60})
    session.post("/step-back", {"fields": PLACE, "thread_id": 99})
    session.post("/step-back", {"fields": PLACE})
    session.resume(fields=PLACE)
    # What gdb can record of the C library depends on the processor: it goes on without.
    session.post("/record", {"enabled": False})
    session.resume(fields=PLACE)


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_native_trouble(stage: Stage, adapter: str) -> None:
    """A crash, what it leaves, a program that runs, and one that was let go."""
    crash = stage.build("crash")
    with stage.session(adapter=adapter) as session:
        session.launch(program=str(crash.program), fields=PLACE + ",exception")
        session.get("/exception")
        session.get("/status")
        session.resume(fields=PLACE)
        session.get("/report")
    with stage.session(adapter=adapter) as session:
        session.launch(program=str(crash.program), core=str(core_of(crash)), fields=PLACE + ",exception")
        session.post("/continue")
        session.step()
        session.post("/evaluate", {"expression": "order->id", "frame_id": 1})
        session.post("/set-expression", {"expression": "rounds", "value": "3"})
    target = Target(["sleep", "1000"])
    try:
        with stage.session(adapter=adapter) as session:
            session.post("/attach", {"pid": 999_999_999})
            session.post("/attach", {"pid": target.pid, "connect_timeout": 60})
            session.post("/pause", {"wait": 60, "fields": "location"})
            session.post("/restart")
            session.post("/continue")
            session.post("/memory", {"address": "x", "bytes": "00"})
            session.post("/breakpoints", {"function": "main"})
            session.post("/evaluate", {"expression": "1"})
            session.post("/detach")
            ask_each(session, needs_paused()[:3])
    finally:
        target.end()


EZ = """
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
    println("done")  // @last
}
"""


@pytest.mark.parametrize("wishes", ["", "document"], ids=["as_it_is", "as_documented"])
def test_ez_program(stage: Stage, wishes: str) -> None:
    tour = stage.write("tour.ez", EZ)
    how = {"debugger_path": str(STAND_IN), "env": {"EZ_STAND_IN": wishes}}
    with stage.session() as session:
        session.post("/launch", {"script": str(tour)})
        session.post("/launch", {"script": str(tour), "debugger_path": "/nowhere/ez"})
        session.post("/launch", {"script": str(tour), **how, "module": "x"})
        session.post("/launch", {"script": str(tour), **how, "debug_subprocesses": True})
        session.post("/launch", {"script": str(tour), **how, "venv": "/nowhere"})
        session.post("/launch", {"script": str(tour), **how, "adapter": "gdb"})
        session.break_at(tour, "sum")
        session.post("/breakpoints", {"file": str(tour), "line": 3})
        session.post("/breakpoints", {"file": str(tour), "line": line_of(tour, "last"), "condition": "x > 1"})
        session.post("/breakpoints", {"function": "add"})
        session.launch(tour, **how, fields=PLACE)
        session.get("/breakpoints")
        session.get()
        session.get("/threads")
        session.get("/stacktrace")
        session.get("/frames/0/scopes")
        session.get("/frames/0/variables")
        session.get("/frames/99/variables")
        session.post("/evaluate", {"expression": "a + b"})
        session.post("/set-expression", {"expression": "a", "value": "3"})
        session.post("/completions", {"text": "a"})
        session.post("/hover", {"expression": "a"})
        session.get("/source", start_line=4, end_line=5)
        session.get("/modules")
        session.get("/exception")
        session.get("/tasks")
        session.get("/locks")
        session.get("/step-targets")
        session.get("/memory", address="a")
        session.post("/memory", {"address": "a", "bytes": "00"})
        session.get("/disassembly")
        session.post("/data-breakpoints", {"expression": "a"})
        session.post("/record")
        session.post("/step-back")
        session.step("over", granularity="instruction")
        session.step("into", target="add")
        session.step("over", single_thread=True)
        session.post("/stdin", {"input": "x\n"})
        session.post("/exception-breakpoints", {"filters": ["raised"]})
        session.post("/detach")
        session.step(fields=PLACE)
        session.step("out", fields=PLACE)
        session.post("/step-until", {"expression": "x > 1", "fields": PLACE})
        session.post("/run-to", {"line": line_of(tour, "last"), "fields": PLACE})
        session.resume(fields=PLACE)
        session.get("/output")
