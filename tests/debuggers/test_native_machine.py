"""Below the source: memory, machine code, breakpoints on data, and going back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from native import SOURCES, Builder, Native
from relays import Api, ApiError, Session, refusal

Start = Callable[..., Session]
BOTH = pytest.mark.parametrize("adapter", ["gdb", "lldb"])


@pytest.fixture
def account(build: Builder) -> Native:
    return build("account")


@pytest.fixture
def started(api: Api, account: Native) -> Start:
    """Paused at a line of the program, with its breakpoint gone."""

    def start(adapter: str, at: str = "start") -> Session:
        session = api.session(adapter=adapter)
        (bp,) = session.break_at(account.source, account.line(at))
        assert session.launch(program=str(account.program))["current_location"]["line"] == account.line(at)
        session.delete(f"/breakpoints/{bp['id']}")
        return session

    return start


@BOTH
def test_machine_code_is_shown_and_stepped_and_memory_is_read_and_written(
    started: Start, account: Native, adapter: str
) -> None:
    with started(adapter) as session:
        shown = session.get("/disassembly", count=4)["instructions"]
        assert [each["is_current"] for each in shown] == [True, False, False, False]
        assert shown[0]["line"] == account.line("start") and shown[0]["path"] == str(account.source)
        assert all(each["instruction"] and bytes.fromhex(each["bytes"]) for each in shown)
        later = session.get("/disassembly", offset=2, count=2)["instructions"]
        assert [each["address"] for each in later] == [each["address"] for each in shown[2:]]
        pay = session.get("/disassembly", address="pay", count=2)["instructions"]
        assert pay[0]["address"] != shown[0]["address"]
        assert [each["symbol"] for each in pay] == ["pay", "pay"]
        assert not pay[0]["instruction"].startswith("pay")
        assert {(each["path"], each["line"]) for each in pay} == {(str(account.source), account.line("pay") - 1)}
        stop = session.step(granularity="instruction")
        assert stop["stop_reason"] == "step"
        again = session.get("/disassembly", count=1)["instructions"][0]
        assert again["address"] == shown[1]["address"] and again["is_current"]

        found = session.get("/memory", address="note", count=6)
        assert (found["bytes"], found["text"], found["count"], found["unreadable"]) == ("706169640000", "paid..", 6, 0)
        assert session.get("/memory", address=found["address"], offset=1, count=2)["text"] == "ai"
        assert session.get("/memory", address="balance", count=4)["bytes"] == "64000000"
        whole = session.get("/memory", address="note", count=5000)
        assert whole["text"].startswith("paid..") and whole["count"] + whole["unreadable"] == 5000
        written = session.post("/memory", {"address": "note", "offset": 2, "bytes": "6e6b21"})
        assert written == {"address": hex(int(found["address"], 16) + 2), "written": 3}
        assert session.get("/memory", address="note", count=6)["text"] == "pank!."
        refusal(400, "INVALID_PARAMETER", session.get, "/memory", address="0x10", count=4)
        refusal(400, "EVALUATE_ERROR", session.get, "/memory", address="nothing_like_this")
        refusal(400, "INVALID_REQUEST", session.post, "/memory", {"address": "note", "bytes": "6x"})
        session.resume()
        assert session.output().endswith(" pank!\n")
        refusal(409, "INVALID_SESSION_STATE", session.get, "/memory", address="note")


@BOTH
def test_a_change_of_data_stops_the_program(started: Start, account: Native, adapter: str) -> None:
    with started(adapter) as session:
        refusal(
            400, "BREAKPOINT_INVALID_CONDITION", session.post, "/data-breakpoints", {"expression": "1 + nothing_here"}
        )
        made = session.post("/data-breakpoints", {"expression": "balance"})
        assert (made["id"], made["expression"], made["access"], made["hit_count"]) == ("dbp_1", "balance", "write", 0)
        for old, new in ((100, 90), (90, 70)):
            stop = session.resume()
            assert stop["stop_reason"] == "data_breakpoint" and stop["hit_breakpoint_ids"] == ["dbp_1"], stop
            assert stop["current_location"]["function"] == "pay"
            assert f"from {old} to {new}" in stop["note"]
        listed = session.get("/data-breakpoints")
        assert listed["total"] == 1 and listed["data_breakpoints"][0]["hit_count"] == 2
        assert session.delete("/data-breakpoints/dbp_1")["total"] == 0
        refusal(404, "BREAKPOINT_NOT_FOUND", session.delete, "/data-breakpoints/dbp_1")
        session.post("/data-breakpoints", {"expression": "balance", "condition": "balance < 20"})
        stop = session.resume()
        assert stop["stop_reason"] == "data_breakpoint" and "to 0" in stop["note"]
        assert len(session.delete("/data-breakpoints")["removed"]) == 1
        session.post("/data-breakpoints", {"expression": "balance", "access": "readWrite"})
        assert session.resume()["note"] == "balance was read, or written without a change: 0"
        session.delete("/data-breakpoints")
        assert session.resume()["exit_code"] == 0
        events = session.get("/events", limit=1000)["events"]
        kinds = [event["body"]["reason"] for event in events if event["type"] == "data_breakpoint"]
        assert kinds == ["new", "removed"] * 3


@BOTH
def test_more_values_than_the_processor_can_watch_are_refused_when_they_are_set(started: Start, adapter: str) -> None:
    with started(adapter) as session:
        made = 0
        while made < 16:  # no processor has that many
            wish = {"expression": f"note[{made}]", "condition": "balance < 0"}
            try:
                made += bool(session.post("/data-breakpoints", wish))
            except ApiError as error:
                assert (error.status, error.code) == (400, "BREAKPOINT_INVALID_CONDITION")
                assert "remove another data breakpoint" in error.details["suggestion"]
                break
        assert 0 < made < 16
        assert session.get("/data-breakpoints")["total"] == made
        session.delete(f"/data-breakpoints/dbp_{made}")
        session.post("/data-breakpoints", {"expression": "balance"})
        assert "from 100 to 90" in session.resume()["note"]


def test_a_program_that_gdb_refuses_to_let_go_is_where_it_was(started: Start, account: Native) -> None:
    with started("gdb") as session:
        session.evaluate("> break *0x10", context="repl")
        error = refusal(409, "INVALID_SESSION_STATE", session.resume)
        assert "Cannot access memory at address 0x10" in error.message
        assert session.get("/status")["status"] == "paused"
        stop = session.step("over")
        assert stop["current_location"]["line"] == account.line("start")
        assert "Cannot access memory at address 0x10" in stop["note"]
        assert session.evaluate("balance")["result"] == "100"
        session.evaluate("> delete", context="repl")
        assert session.step("over")["current_location"]["line"] == account.line("start") + 1
        assert session.resume()["exit_code"] == 0


def test_a_watched_variable_is_given_up_when_its_function_returns(started: Start, account: Native) -> None:
    with started("gdb") as session:
        session.break_at(account.source, "pay")
        session.resume()
        session.post("/data-breakpoints", {"expression": "amount"})
        assert session.resume()["stop_reason"] == "breakpoint"  # the next call
        assert session.get("/data-breakpoints")["total"] == 0
        session.post("/data-breakpoints", {"expression": "amount"})
        stop = session.step("over", count=2)
        assert (stop["stop_reason"], stop["current_location"]["function"]) == ("step", "main")
        assert "has returned" in stop["note"]
        session.resume()
        session.post("/data-breakpoints", {"expression": "amount"})
        assert session.step("out")["stop_reason"] == "step"
        assert session.get("/data-breakpoints")["total"] == 0


@BOTH
def test_machine_code_names_its_function_and_file_and_ends_where_memory_does(
    api: Api, build: Builder, adapter: str
) -> None:
    source = SOURCES / "account.c"
    program = build.folder / "account-relative"
    subprocess.run(["gcc", "-g", "-o", program, source.name], cwd=SOURCES, check=True)
    with api.session(adapter=adapter) as session:
        session.launch(program=str(program), stop_on_entry=True)
        shown = session.get("/disassembly", address="pay", count=4)["instructions"]
        assert {(each["symbol"], each["path"]) for each in shown} == {("pay", str(source))}
        refusal(400, "INVALID_PARAMETER", session.get, "/disassembly", address="0x10")
        refusal(400, "INVALID_PARAMETER", session.get, "/disassembly", address="0x10", offset=-3)
        refusal(400, "INVALID_PARAMETER", session.get, "/disassembly", address="0xffffffffffffffff")
        (code,) = session.get("/disassembly", address="puts", count=1)["instructions"]  # of a library
        assert code["symbol"].endswith("puts")


def test_a_recorded_program_goes_back(started: Start, account: Native) -> None:
    with started("gdb") as session:
        refusal(409, "INVALID_SESSION_STATE", session.post, "/step-back")
        assert session.post("/record")["recording"] is True
        session.step("over")
        stop = session.step("over")
        assert stop["current_location"]["line"] == account.line("add")
        assert session.evaluate("balance")["result"] == "90"
        stop = session.post("/step-back")
        assert stop["stop_reason"] == "step" and stop["current_location"]["line"] == account.line("add") - 1
        assert session.evaluate("balance")["result"] == "100"
        session.step("over")
        assert session.evaluate("balance")["result"] == "90"
        for _ in range(3):
            stop = session.post("/reverse-continue")
            assert stop["current_location"]["line"] == account.line("start") and "recording began" in stop["note"]
        assert "recording began" in session.post("/step-back")["note"]
        assert session.step("over")["current_location"]["line"] == account.line("start") + 1
        assert "recording ends" in session.resume()["note"]
        assert session.post("/record", {"enabled": False})["recording"] is False
        assert session.resume()["exit_code"] == 0


def test_what_a_debugger_does_not_have_is_refused_with_what_to_do(
    started: Start, session: Session, program: Callable[..., object]
) -> None:
    session.launch(program("x = 1\nprint(x)\n"), stop_on_entry=True)  # type: ignore[arg-type]
    refusal(400, "NOT_SUPPORTED", session.get, "/memory", address="x")
    refusal(400, "NOT_SUPPORTED", session.get, "/disassembly")
    refusal(400, "NOT_SUPPORTED", session.post, "/data-breakpoints", {"expression": "x"})
    refusal(400, "NOT_SUPPORTED", session.post, "/step-back")
    refusal(400, "NOT_SUPPORTED", session.step, granularity="instruction")
    with started("lldb") as native:
        refusal(400, "NOT_SUPPORTED", native.post, "/step-back")
        refusal(400, "NOT_SUPPORTED", native.get, "/tasks")
        assert "reverse" not in native.get()["debugger"]["capabilities"]


def test_what_gdb_cannot_record_is_told_and_passed_without_recording(session: Session, build: Builder) -> None:
    native = build("recorded")
    session.break_at(native.source, "start")
    given = {"GLIBC_TUNABLES": "glibc.malloc.check=0:glibc.cpu.hwcaps=-RTM"}
    options = {"adapter": "gdb", "recordable": True, "args": ["unknown"], "env": given}
    session.launch(program=str(native.program), **options)
    tunables = session.evaluate('(char *) getenv("GLIBC_TUNABLES")')["result"]
    assert "glibc.malloc.check=0:glibc.cpu.hwcaps=-RTM,-AVX512F," in tunables
    session.post("/record")
    assert session.step()["current_location"]["line"] == native.line("start") + 1
    assert session.step()["current_location"]["line"] == native.line("formatted")  # through the C library
    stop = session.resume()
    assert (stop["stop_reason"], stop["current_location"]["function"]) == ("pause", "encrypted")
    assert "gdb cannot record what comes next" in stop["note"]
    error = refusal(409, "INVALID_SESSION_STATE", session.resume)
    assert "/record" in error.details["suggestion"]
    assert session.get("/status")["status"] == "paused"
    assert session.post("/set-expression", {"expression": "count", "value": "7", "frame_id": 1})["value"] == "7"
    assert session.post("/record", {"enabled": False})["recording"] is False
    assert session.resume()["exit_code"] == 8


def test_a_recorded_program_stands_still_before_its_end(session: Session, build: Builder) -> None:
    native = build("recorded")
    session.break_at(native.source, "end")
    session.launch(program=str(native.program), adapter="gdb", recordable=True)
    session.post("/record")
    assert "the end of the program" in session.resume()["note"]
    session.post("/record", {"enabled": False})
    assert session.resume()["status"] == "terminated"


def test_recordable_is_refused_where_nothing_records(session: Session, build: Builder) -> None:
    launch = {"program": str(build("recorded").program), "adapter": "lldb", "recordable": True}
    refusal(400, "NOT_SUPPORTED", session.launch, **launch)
    refusal(400, "NOT_SUPPORTED", session.launch, code="1", recordable=True)
