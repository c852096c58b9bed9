"""What is particular to lldb: finding it, what it does not say by itself, and its end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest
from native import Builder, Native
from relays import RUN_ID, RUN_MARKER, Api, Relay, Session, free_port, meanwhile, refusal
from waiting import soon, wait_until

from opencode_debugger.debuggers.native.function_names import short_name
from opencode_debugger.debuggers.native.lldb import lldb_program
from opencode_debugger.debuggers.python.attach.debugpy_ports import Sockets
from opencode_debugger.errors import RelayError

OURS = {**os.environ, RUN_MARKER: RUN_ID}
LLDB = {"adapter": "lldb"}
BOTH = [{"adapter": "lldb"}, {"debugger": "lldb-server"}]


def launch(session: Session, native: Native, way: dict[str, str] = LLDB, **options: Any) -> Any:
    return session.launch(program=str(native.program), **way, **options)


def line(stop: dict[str, Any]) -> int:
    return int(stop["current_location"]["line"])


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_newest_lldb_on_path_is_used_unless_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = executable(tmp_path / "a/lldb-dap-9"), executable(tmp_path / "b/lldb-dap-19")
    executable(tmp_path / "a/lldb-dap-19x")
    server = executable(tmp_path / "a/lldb-server-18")
    monkeypatch.setenv("PATH", f"{tmp_path}/a:{tmp_path}/none:{tmp_path}/b")
    assert lldb_program.find(None) == str(new)
    assert lldb_program.find(str(old)) == str(old)
    assert lldb_program.find_server(None) == str(server)
    beside = executable(tmp_path / "b/lldb-server")
    assert lldb_program.find_server(None) == str(beside)
    plain = executable(tmp_path / "a/lldb-dap")
    assert lldb_program.find("") == str(plain)

    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    for setting in (None, str(tmp_path / "nothing")):
        with pytest.raises(RelayError) as missing:
            lldb_program.find(setting)
        assert "apt-get install lldb-19" in missing.value.details["suggestion"]


def test_without_lldb_a_launch_says_what_to_install(build: Builder, tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data", lldb_path="/no/such/lldb-dap").start()
    try:
        with Api(relay.base_url) as api, api.session() as session:
            error = refusal(500, "LAUNCH_FAILED", launch, session, build("tour"))
            assert "/no/such/lldb-dap" in error.message
            assert "OPENCODE_DEBUG_LLDB_PATH" in error.details["suggestion"]
            assert session.get("/status")["status"] == "created"
    finally:
        relay.stop()


def test_names_of_functions_are_without_their_parameters() -> None:
    assert short_name("main") == "main"
    assert short_name("::helper(const Parcel &)") == "helper"
    assert short_name("Square::area() const") == "Square::area"
    assert short_name("f(void (*)(int), std::vector<A, B<C>> const&)") == "f"
    assert short_name("ns::Made<A>::type ns::make<A, int&>(int&)") == "ns::make<A, int&>"
    assert short_name("(anonymous namespace)::f(int)") == "(anonymous namespace)::f"
    assert short_name("Call::operator()(int) const") == short_name("Call::operator()") == "Call::operator()"
    assert short_name("Bird::name[abi:cxx11]() const") == "Bird::name"
    assert short_name("shop::main::h6af98f0123456789") == "shop::main"


def test_calls_that_go_wrong_leave_the_program_where_it_was(session: Session, build: Builder) -> None:
    calls = build("calls")
    session.break_at(calls.source, "second", "twice")
    stop = launch(session, calls)

    assert line(stop) == calls.line("second")
    assert session.evaluate("twice(21)")["result"] == "42"
    assert "SIGSEGV" in session.evaluate("crashes(0)")["error"]
    assert "SIGABRT" in session.evaluate("aborts()")["error"]
    for slow in ("never_returns(1)", "sleeps()", "for (;;);"):
        refusal(504, "DEBUGPY_TIMEOUT", session.evaluate, slow, timeout=0.5)
    assert session.evaluate("(void)0")["result"] == ""
    assert session.evaluate("number = number + 1; number * 10")["result"] == "20"
    refused = refusal(400, "EVALUATE_ERROR", session.evaluate, "number + )")
    assert refused.details["offset"] == 10
    stop = session.resume()
    assert (stop["stop_reason"], line(stop)) == ("breakpoint", calls.line("twice"))
    assert session.evaluate("number")["result"] == "4"
    assert session.evaluate("> frame select 1\n", context="repl")["result"].startswith("frame #1")


def test_values_are_paged_set_and_refused_in_plain_words(session: Session, build: Builder) -> None:
    calls = build("calls")
    session.break_at(calls.source, "second")
    launch(session, calls, {"debugger": "lldb-server"})

    reference = session.evaluate("many")["variables_reference"]
    page = session.get(f"/variables/{reference}", start=499_998, count=5)  # would take minutes as a whole
    assert ([row["name"] for row in page["variables"]], page["total"]) == (["[499998]", "[499999]"], 500_000)
    assert session.post("/set-expression", {"expression": "size", "value": "4"})["value"] == "LARGE"
    refusal(400, "EVALUATE_ERROR", session.post, "/set-expression", {"expression": "size", "value": '"text"'})
    assert session.evaluate("*(int *)8")["error"] == "Cannot access the memory that it reads"
    ended = session.post("/terminate", {"force": True})  # after which lldb-dap may crash
    assert (ended["exit_code"], ended["signal"]) == (-9, "SIGKILL")


def test_a_function_in_one_line_is_stopped_in_with_its_parameters(session: Session, build: Builder) -> None:
    calls = build("calls")
    session.break_at(calls.source, "halves")
    (placed,) = session.break_at(calls.source, "half", condition="number == 42")
    launch(session, calls)
    stop = session.resume()
    assert (stop["hit_breakpoint_ids"], session.locals()["number"]) == ([placed["id"]], "42")
    session.step("out")
    changed = session.patch(f"/breakpoints/{placed['id']}", {"condition": "number == 43"})
    assert changed["verified"]
    stop = session.step("into")
    assert (stop["stop_reason"], stop["current_location"]["function"]) == ("step", "half")
    assert session.locals()["number"] == "42"
    session.step("out")
    end = session.step("out")  # of main: what called it is not the program's
    assert (end["status"], end["exit_code"]) == ("terminated", 42)


def test_of_breakpoints_at_one_place_those_are_told_whose_conditions_hold(session: Session, build: Builder) -> None:
    tour = build("tour")
    at, first = {"path": str(tour.source)}, tour.line("add") - 1
    asked = [{"source": at, "line": first, "condition": "b == 4"}, {"function": "add", "hit_condition": ">2"}]
    by_line, by_name = session.post("/breakpoints", {"breakpoints": asked})["breakpoints"]
    hits = []
    stop = launch(session, tour)
    while stop["status"] == "paused":
        hits.append((session.evaluate("b")["result"], stop["hit_breakpoint_ids"]))
        stop = session.resume()
    assert hits == [
        ("4", [by_line["id"], by_name["id"]]),
        *((b, [by_name["id"]]) for b in ("9", "16", "25")),
    ]
    counts = {bp["id"]: bp["hit_count"] for bp in session.get("/breakpoints")["breakpoints"]}
    assert counts == {by_line["id"]: 1, by_name["id"]: 6}


def test_a_step_goes_past_breakpoints_that_do_not_stop_and_is_over_when_another_does(
    session: Session, build: Builder
) -> None:
    calls = build("calls")
    stop = launch(session, calls, stop_on_entry=True)
    assert line(stop) == calls.line("first")
    session.break_at(calls.source, "twice", hit_condition="2")
    session.break_at(calls.source, "second", log_message="number is {number}")
    stop = session.step()
    assert (stop["stop_reason"], line(stop)) == ("step", calls.line("second"))
    stop = session.step()
    assert (stop["stop_reason"], line(stop)) == ("step", calls.line("second") + 1)
    stop = session.step()
    assert (stop["stop_reason"], line(stop)) == ("breakpoint", calls.line("twice"))
    end = session.resume()
    assert (end["status"], end["exit_code"]) == ("terminated", 42)
    assert session.output("console") == "number is 1\n"


def test_a_condition_without_end_stops_and_says_so(session: Session, build: Builder) -> None:
    trouble = build("trouble")
    launch(session, trouble, stop_on_entry=True)
    (bp,) = session.break_at(trouble.source, "call", condition="forever()")
    for i in ("1", "2"):
        stop = session.resume()
        assert (stop["stop_reason"], line(stop)) == ("breakpoint", trouble.line("call"))
        assert "timeout" in stop["note"]
        assert session.evaluate("i")["result"] == i
    session.patch(f"/breakpoints/{bp['id']}", {"condition": "fall()"})
    stop = session.resume()
    assert "SIGSEGV" in stop["note"]
    assert session.get("/breakpoints")["breakpoints"][0]["hit_count"] == 3
    session.patch(f"/breakpoints/{bp['id']}", {"condition": "++sum > 1000"})
    assert session.resume()["status"] == "terminated"
    assert session.output() == "sum 117, heard 1\n"


def test_a_condition_with_effects_is_evaluated_once(session: Session, build: Builder) -> None:
    trouble = build("trouble")
    session.break_at(trouble.source, "call", condition="(sum += 100) > 250")
    stop = launch(session, trouble)
    assert session.evaluate("sum")["result"] == "306"
    assert "note" not in stop


def test_lldb_does_not_evaluate_what_it_thinks_was_meant(session: Session, build: Builder) -> None:
    crash = build("crash")
    session.break_at(crash.source, "crash", condition="item.weight == 4")
    stop = session.launch(program=str(crash.program), adapter="lldb")
    assert stop["stop_reason"] == "breakpoint" and "is a pointer" in stop["note"]
    assert session.evaluate("item->weight")["result"] == "3"
    assert session.evaluate("item->weight == 3")["result"] == "true"
    for wrong in ("item.weight", "item.weight == 3", "item.weight = 3"):
        assert "did you mean to use '->'" in session.evaluate(wrong)["error"]


def test_conditions_that_cannot_be_read_are_refused(session: Session, build: Builder) -> None:
    trouble = build("trouble")
    place = {"source": {"path": str(trouble.source)}, "line": trouble.line("call")}
    session.post("/breakpoints", {**place, "condition": "i + )"})
    stop = launch(session, trouble)
    assert "expected expression" in stop["note"]
    for where in (place, {"function": "twice"}):
        wrong = {**where, "condition": "1 +"}
        error = refusal(400, "BREAKPOINT_INVALID_CONDITION", session.post, "/breakpoints", wrong)
        assert "expected expression" in error.message
    session.post("/breakpoints", {**place, "condition": "i == 4 && sum"})
    assert session.resume()["hit_breakpoint_ids"]
    assert session.evaluate("i")["result"] == "4"


@pytest.mark.parametrize("name", ["std::logic_error", "std.logic_error", "logic_error", "std::range_error"])
def test_exceptions_of_cpp_stop_by_the_name_of_a_base_class(session: Session, build: Builder, name: str) -> None:
    session.post("/exception-breakpoints", {"filters": ["raised"], "exceptions": [name]})
    stop = launch(session, build("shapes"))
    assert stop.get("exception", {}).get("type") == (None if "range" in name else "std::invalid_argument")


def test_lines_outside_of_functions_are_told_with_the_next_one_that_has_code(session: Session, build: Builder) -> None:
    trouble = build("trouble")
    launch(session, trouble, stop_on_entry=True)
    last = len(trouble.source.read_text().splitlines())
    above, behind = session.break_at(trouble.source, 2, last)
    assert not above["verified"]
    assert above["message"] == "No executable code at line 2"
    assert above["suggestion"]["line"] == trouble.line("twice")
    assert behind["verified"]
    wish = {"source": {"path": str(trouble.source)}, "line": 3, "strict": True}
    refused = refusal(400, "BREAKPOINT_INVALID_LINE", session.post, "/breakpoints", wish)
    assert str(trouble.line("twice")) in refused.details["suggestion"]


def test_a_debugger_that_is_busy_holds_up_neither_polls_nor_pauses(session: Session, build: Builder) -> None:
    trouble = build("trouble")
    launch(session, trouble, stop_on_entry=True)
    with meanwhile(session, lambda other: other.evaluate("forever()", timeout=1)) as evaluated:
        assert wait_until(lambda: busy(session))["status"] == "paused"
        refusal(504, "DEBUGPY_TIMEOUT", evaluated.result)
    session.break_at(trouble.source, "call", log_message="{forever()}" * 2)  # each takes its whole time
    session.resume(wait=False)
    assert wait_until(lambda: busy(session))["status"] == "running"
    with soon():
        answer = session.post("/pause", {"wait": 0.3})
    assert (answer["status"], answer["timed_out"]) == ("running", True)
    assert "busy" in answer["message"]
    assert session.get("/report", wait=60)["stop_reason"] == "pause"
    assert "timed out" in session.output("console")


def busy(session: Session) -> Any:
    with soon():
        status = session.get("/status")
    return status if status["all_threads"] is None else None


def test_paths_with_quotes_and_spaces(session: Session, build: Builder, tmp_path: Path) -> None:
    calls = build("calls")
    folder = tmp_path / 'it\'s "odd" `here` $HOME'
    folder.mkdir()
    source = Path(shutil.copy(calls.source, folder / "calls (1).c"))
    odd = Builder(folder)("calls", source=source)
    session.break_at(source, "second")
    stop = launch(session, odd, args=["it's"], cwd=str(folder))
    assert (stop["current_location"]["path"], line(stop)) == (str(source), calls.line("second"))
    stop = session.post("/run-to", {"source": {"path": str(source)}, "line": calls.line("print"), "wait": 20})
    assert (stop["stop_reason"], line(stop)) == ("run_to", calls.line("print"))
    session.resume()
    assert session.output() == "it's 44\n"


def test_a_stripped_program_says_so_and_stops_at_its_first_instruction(session: Session, build: Builder) -> None:
    stop = launch(session, build("calls", "-s"), stop_on_entry=True)
    assert stop["stop_reason"] == "entry"
    assert "stripped" in stop["warnings"][0]
    shown = session.get("/disassembly", count=2)["instructions"]
    assert [row["is_current"] for row in shown] == [True, False]
    assert session.resume()["exit_code"] == 42


def test_a_program_under_a_server_elsewhere_is_attached_to(session: Session, build: Builder) -> None:
    slow, port = build("slow"), free_port()
    refused = refusal(502, "ATTACH_REFUSED", session.post, "/attach", {"port": port, "debugger": "lldb-server"})
    assert "lldb-server gdbserver HOST:PORT -- PROGRAM" in refused.details["suggestion"]
    session.break_at(slow.source, "count")
    command = [lldb_program.find_server(None), "gdbserver", f"127.0.0.1:{port}", "--", str(slow.program)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=OURS)
    try:
        wait_until(lambda: Sockets().has_listener(port))
        wanted = {"port": port, "debugger": "lldb-server", "program": str(slow.program), "wait": 60}
        stop = session.post("/attach", wanted)
        assert stop.get("stop_reason") == "breakpoint", stop
        assert line(stop) == slow.line("count")
        assert session.post("/terminate")["signal"] == "SIGTERM"
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.wait()


def test_who_does_not_answer_as_a_server_does_is_given_up(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        wanted = {"port": silent.getsockname()[1], "debugger": "lldb-server", "connect_timeout": 1}
        refusal(504, "ATTACH_TIMEOUT", session.post, "/attach", wanted)
    assert session.get("/status")["status"] == "created"


@pytest.mark.parametrize("way", BOTH, ids=["lldb", "lldb-server"])
@pytest.mark.parametrize("victim", ["lldb-dap", "lldb-server"])
@pytest.mark.parametrize("is_paused", [True, False], ids=["paused", "running"])
def test_a_debugger_that_dies_is_told_at_once_and_nothing_is_left(
    relay: Relay, session: Session, build: Builder, way: dict[str, str], victim: str, is_paused: bool
) -> None:
    launch(session, build("slow"), way, stop_on_entry=is_paused, wait=20 if is_paused else False)
    family = relay.runner_of(session).children(recursive=True)
    next(process for process in family if process.name().startswith(victim)).kill()
    with soon():
        end = wait_until(lambda: ended(session))
    assert end["reason"].startswith("the debug")
    assert "ended unexpectedly" in end["reason"]
    psutil.wait_procs(family, timeout=20)
    assert [process for process in family if process.is_running()] == []


@pytest.mark.parametrize(
    "way", [LLDB, pytest.param({"debugger": "lldb-server"}, marks=pytest.mark.wide)], ids=["lldb", "lldb-server"]
)
def test_a_program_that_is_killed_while_it_is_paused_is_told_as_killed(
    session: Session, build: Builder, way: dict[str, str]
) -> None:
    launch(session, build("slow"), way, stop_on_entry=True)
    psutil.Process(session.get()["pid"]).kill()
    end = wait_until(lambda: ended(session))
    assert (end["exit_code"], end["signal"], end["reason"]) == (-9, "SIGKILL", "killed")


def ended(session: Session) -> Any:
    status = session.get("/status")
    return status if status["status"] == "terminated" else None


def test_the_crash_of_lldb_at_its_end_leaves_nothing(session: Session, build: Builder, relay: Relay) -> None:
    before = set(os.listdir("/"))
    assert launch(session, build("tour"))["exit_code"] == 3
    wait_until(lambda: not relay.runner_of(session).children(recursive=True))
    assert session.output("stderr") == ""
    assert session.output("console") == ""
    assert set(os.listdir("/")) == before
