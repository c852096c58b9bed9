"""Editors at a session: a DAP client attaches through its tunnel while others drive the same program."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from dap_client import Dap, Failed
from native import Builder
from relays import Api, Session, busy_until, line_of
from waiting import wait_until

PROGRAM = """
    import sys

    def add(total, number):
        result = total + number  # @add
        return result  # @return

    def main():
        total = 0
        numbers = [1, 2, 3]
        for number in numbers:  # @loop
            total = add(total, number)  # @call
            print("total", total)  # @print
        sys.exit(total)  # @exit

    main()
"""


@pytest.fixture
def script(program: Callable[..., Path]) -> Path:
    return program(PROGRAM)


def test_an_editor_attaches_to_a_paused_program_and_sees_where_it_is(session: Session, script: Path) -> None:
    session.break_at(script, "add")
    session.launch(script)
    with Dap.of(session) as dap:
        capabilities = dap.attach()
        assert capabilities["supportsConditionalBreakpoints"]
        assert dap.event("process")["systemProcessId"] == session.get()["pid"]
        dap.ready()
        stopped = dap.event("stopped")
        assert (stopped["reason"], stopped["hitBreakpointIds"]) == ("breakpoint", [1])
        (thread,) = dap.request("threads")["threads"]
        frames = dap.stack(thread["id"])
        assert [frame["name"] for frame in frames] == ["add", "main", "<module>"]
        assert (frames[0]["line"], frames[0]["source"]["path"]) == (line_of(script, "add"), str(script))
        assert {name: row["value"] for name, row in dap.locals(frames[0]["id"]).items()} == {
            "total": "0",
            "number": "1",
        }
        numbers = dap.locals(frames[1]["id"])["numbers"]
        items = dap.request("variables", variablesReference=numbers["variablesReference"])["variables"]
        assert [item["value"] for item in items[:3]] == ["1", "2", "3"]
        assert items[0]["evaluateName"] == "numbers[0]"
        assert dap.request("evaluate", expression="total + 41", frameId=frames[0]["id"])["result"] == "41"
        assert dap.request("source", source={"path": str(script)})["content"] == script.read_text()


def at(dap: Dap, path: Path, marker: str, **wanted: object) -> dict[str, object]:
    """The next stop, which must be there."""
    stopped = dap.event("stopped", **wanted)
    frame = dap.stack(stopped["threadId"])[0]
    assert frame["line"] == line_of(path, marker), frame
    return stopped


def test_steps_of_the_editor_and_of_others_are_seen_by_both(session: Session, script: Path) -> None:
    session.break_at(script, "call")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        thread = at(dap, script, "call")["threadId"]
        dap.request("stepIn", threadId=thread)
        at(dap, script, "add", reason="step")
        assert session.get("/status")["location"]["function"] == "add"
        assert session.step()["current_location"]["line"] == line_of(script, "return")
        assert dap.event("continued")["threadId"] == thread
        at(dap, script, "return", reason="step")
        dap.request("stepOut", threadId=thread)
        at(dap, script, "call", reason="step")
        dap.request("next", threadId=thread)
        at(dap, script, "print", reason="step")
        assert session.resume()["stop_reason"] == "breakpoint"
        assert dap.event("continued")["allThreadsContinued"]
        at(dap, script, "call", reason="breakpoint")
        assert [e for e in dap.events if e["event"] == "continued"] == [], "its own are not told to the editor"


def test_what_the_editor_does_leaves_the_reports_of_others_complete(session: Session, script: Path) -> None:
    session.break_at(script, "call", "exit")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        thread = dap.event("stopped")["threadId"]
        dap.request("continue", threadId=thread)
        dap.event("stopped")
        dap.request("next", threadId=thread)
        dap.event("stopped")
    report = session.resume()
    assert "total 1" in "".join(entry["output"] for entry in report["output"])


def test_an_editor_sets_and_takes_away_its_own_breakpoints_only(session: Session, script: Path) -> None:
    (ours,) = session.break_at(script, "print", condition="total == 3")
    session.launch(script, stop_on_entry=True)

    def there() -> set[int]:
        return {bp["line"] for bp in session.get("/breakpoints")["breakpoints"]}

    def put(*breakpoints: dict[str, object]) -> list[dict[str, object]]:
        return dap.request("setBreakpoints", source={"path": str(script)}, breakpoints=breakpoints)["breakpoints"]

    add, call, prints, exits = (line_of(script, name) for name in ("add", "call", "print", "exit"))
    with Dap.of(session) as dap:
        dap.attach()
        first = put({"line": add, "condition": "number == 2"}, {"line": prints}, {"line": 2})
        assert [bp["verified"] for bp in first] == [True, True, False]
        assert first[1]["id"] == int(ours["id"].removeprefix("bp_"))
        assert "stays as it is" in first[1]["message"]
        assert "No executable code" in first[2]["message"]
        assert session.get("/breakpoints")["breakpoints"][0]["condition"] == "total == 3"
        second = put({"line": call, "condition": "1 +"}, {"line": exits}, {"line": 5000})
        assert [bp["verified"] for bp in second] == [False, True, False]
        assert "Condition" in second[0]["message"] and "line" in second[2]["message"]
        assert there() == {prints, exits}
        session.break_at(script, "exit", condition="total > 5")  # now it is theirs
        put({"line": call})
        assert there() == {prints, exits, call}

    def gone() -> set[int]:
        told = [
            event["body"] for event in session.get("/events", limit=1000)["events"] if event["type"] == "breakpoint"
        ]
        return {body["breakpoint"]["line"] for body in told if body["reason"] == "removed"}

    wait_until(lambda: call in gone(), lambda: "with the editor its own go, which is told when the debugger knows it")
    assert there() == {prints, exits}
    assert session.resume()["current_location"]["line"] == prints


def test_breakpoints_of_others_are_told_to_the_editor(session: Session, script: Path) -> None:
    session.launch(script, stop_on_entry=True)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        session.break_at(script, "add")
        told = dap.event("breakpoint")
        assert (told["reason"], told["breakpoint"]["line"]) == ("new", line_of(script, "add"))
        dap.request("setBreakpoints", source={"path": str(script)}, breakpoints=[{"line": line_of(script, "exit")}])
        session.delete("/breakpoints/bp_1")
        assert dap.event("breakpoint")["reason"] == "removed"
        session.delete("/breakpoints/bp_2")
        assert dap.event("breakpoint", reason="removed")["breakpoint"]["id"] == 2


def test_a_breakpoint_in_a_file_that_is_not_there_is_told_with_the_one_that_is(api: Api, script: Path) -> None:
    with api.session(project_root=str(script.parent), restore_breakpoints=False) as session:
        session.launch(script, stop_on_entry=True)
        with Dap.of(session) as dap:
            dap.attach()
            dap.ready()
            session.post("/breakpoints", {"file": f"/nowhere/{script.name}", "line": 1})
            assert str(script) in dap.event("breakpoint")["breakpoint"]["message"]


def test_functions_and_exceptions_stop_for_the_editor(session: Session, program: Callable[..., Path]) -> None:
    script = program("""
        def divide(a, b):
            return a / b  # @divide

        try:
            divide(1, 0)
        except ZeroDivisionError as error:
            raise ValueError("no") from error  # @raise
    """)
    session.launch(script, stop_on_entry=True, stop_on_exception=False)
    with Dap.of(session) as dap:
        dap.attach()
        (bp,) = dap.request("setFunctionBreakpoints", breakpoints=[{"name": "divide"}])["breakpoints"]
        assert bp["id"] == 1
        options = [{"filterId": "raised", "condition": ""}]
        told = dap.request("setExceptionBreakpoints", filters=["uncaught"], filterOptions=options)["breakpoints"]
        assert told == [{"verified": True}, {"verified": True}]
        dap.ready()
        thread = dap.event("stopped", reason="entry")["threadId"]
        dap.request("continue", threadId=thread)
        at(dap, script, "divide", reason="breakpoint")
        dap.request("continue", threadId=thread)
        assert dap.event("stopped", reason="exception")["text"] == "ZeroDivisionError: division by zero"
        dap.request("continue", threadId=thread)
        at(dap, script, "raise", reason="exception")
        info = dap.request("exceptionInfo", threadId=thread)
        assert (info["exceptionId"], info["description"]) == ("builtins.ValueError", "no")
        assert info["details"]["innerException"][0]["typeName"] == "ZeroDivisionError"
        with pytest.raises(Failed, match="Unknown exception filter 'nothing'"):
            dap.request("setExceptionBreakpoints", filters=["nothing"])
        dap.request("disconnect")
    assert session.get("/exception-breakpoints")["total"] == 0


def test_output_comes_from_the_beginning_and_the_end_is_told(session: Session, script: Path) -> None:
    session.break_at(script, "exit")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        assert dap.output("total 6\n") == "total 1\ntotal 3\ntotal 6\n"
        session.resume()
        assert dap.event("exited") == {"exitCode": 6}
        dap.event("terminated")
        assert dap.ended() == b""
    debugger = session.get()["debugger"]
    assert (debugger["state"], debugger["uri"], debugger.get("token")) == ("closed", None, None)


def test_who_joins_late_is_soon_up_to_date(session: Session, program: Callable[..., Path]) -> None:
    script = program("""
        import sys
        for number in range(20_000):
            print("line", number)
        print("over", file=sys.stderr)
        print("and out")  # @out
    """)
    session.break_at(script, "out")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        assert dap.output("over\n") == "".join(f"line {number}\n" for number in range(20_000)) + "over\n"
        told = [event["body"]["category"] for event in dap.events if event["event"] == "output"]
        assert len(told) < 100
        assert told[-1] == "stderr"


def test_only_what_somebody_asked_for_opens_a_window_when_it_fails(session: Session, script: Path) -> None:
    """Expressions that are watched are evaluated at each stop, wherever that is."""
    session.break_at(script, "add")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        frame = dap.stack(1)[0]["id"]
        for request, arguments in (
            ("evaluate", {"expression": "numbers", "frameId": frame, "context": "watch"}),
            ("variables", {"variablesReference": 12345}),
            ("gotoTargets", {"source": {"path": str(script)}, "line": 1}),
        ):
            with pytest.raises(Failed) as failed:
                dap.request(request, **arguments)
            assert not failed.value.is_shown, request
        with pytest.raises(Failed, match="is not running") as failed:
            dap.request("pause", threadId=1)
        assert failed.value.is_shown


def test_several_editors_share_the_program_and_a_breakpoint(session: Session, script: Path) -> None:
    session.launch(script, stop_on_entry=True)
    line = line_of(script, "add")
    with Dap.of(session) as one, Dap.of(session) as two:
        for dap in (one, two):
            dap.attach()
            put = dap.request("setBreakpoints", source={"path": str(script)}, breakpoints=[{"line": line}])
            assert put["breakpoints"][0]["id"] == 1
            dap.ready()
            dap.event("stopped", reason="entry")
        one.request("disconnect")
        assert [bp["line"] for bp in session.get("/breakpoints")["breakpoints"]] == [line]
        (thread,) = two.request("threads")["threads"]
        two.request("continue", threadId=thread["id"])
        at(two, script, "add", reason="breakpoint")
        assert session.get()["debugger"]["state"] == "connected"


def test_editors_that_want_different_conditions_on_a_line_take_turns(session: Session, script: Path) -> None:
    session.launch(script, stop_on_entry=True)

    def put(dap: Dap, *conditions: str) -> list[dict[str, object]]:
        lines = [{"line": line_of(script, "add"), "condition": condition} for condition in conditions]
        return dap.request("setBreakpoints", source={"path": str(script)}, breakpoints=lines)["breakpoints"]

    def there() -> list[str]:
        return [bp["condition"] for bp in session.get("/breakpoints")["breakpoints"]]

    with Dap.of(session) as one, Dap.of(session) as two, Dap.of(session) as three:
        for dap in (one, two, three):
            dap.attach()
            dap.ready()
            dap.event("stopped", reason="entry")
        put(one, "number == 1")
        (waiting,) = put(two, "number == 2")
        assert (waiting["verified"], waiting["id"]) == (False, 1)
        assert "yours is set as soon as that one is cleared" in waiting["message"]
        (refused,) = put(three, "number ==")
        assert "Condition" in refused["message"]
        put(three, "number == 3")
        assert there() == ["number == 1"]

        put(one, "number == 10")
        assert not two.event("breakpoint", reason="changed")["breakpoint"]["verified"], "it still waits"
        put(one)
        told = two.event("breakpoint", reason="changed")["breakpoint"]
        assert (told["id"], told["verified"]) == (1, True)
        assert there() == ["number == 2"]

        assert put(one, "number == 2")[0]["verified"], "the same belongs to both"
        two.request("disconnect")
        assert two.ended() == b""
        assert there() == ["number == 2"]
        for _ in range(2):
            three.event("breakpoint", reason="changed")
        put(one, "number == 3")
        assert three.event("breakpoint", reason="changed")["breakpoint"]["verified"], "just what it waited for"
        one.request("disconnect")
        assert one.ended() == b""
        assert there() == ["number == 3"]
        session.resume()
        at(three, script, "add", reason="breakpoint")
        put(three)
        assert there() == []


def test_values_are_set_and_names_completed(session: Session, script: Path) -> None:
    session.break_at(script, "call")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        thread = dap.event("stopped")["threadId"]
        frame = dap.stack(thread)[0]["id"]
        (scope, *_) = dap.request("scopes", frameId=frame)["scopes"]
        reference = scope["variablesReference"]
        assert dap.request("setVariable", variablesReference=reference, name="total", value="10")["value"] == "10"
        assert dap.request("setExpression", expression="numbers[0]", value="5", frameId=frame)["value"] == "5"
        assert session.evaluate("total + numbers[0]")["result"] == "15"
        (target, *_) = dap.request("completions", text="numb", column=5, frameId=frame)["targets"]
        assert (target["start"], target["length"]) == (1, 4)
        modules = dap.request("modules")["modules"]
        assert "__main__" in {module["name"] for module in modules}
        with pytest.raises(Failed, match="NameError"):
            dap.request("evaluate", expression="nothing", frameId=frame)
        dap.request("next", threadId=thread)
        dap.event("stopped", reason="step")
        for command, arguments in (("scopes", {"frameId": frame}), ("variables", {"variablesReference": reference})):
            with pytest.raises(Failed, match="has moved on"):
                dap.request(command, **arguments)


def test_a_restart_keeps_the_editor(session: Session, script: Path) -> None:
    session.break_at(script, "add")
    session.launch(script)
    before = session.get()
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        dap.event("stopped")
        dap.request("restart")
        process = dap.event("process", startMethod="launch")
        assert process["systemProcessId"] == before["pid"]
        process = dap.event("process", startMethod="launch")
        assert process["systemProcessId"] == session.get()["pid"] != before["pid"]
        at(dap, script, "add", reason="breakpoint")
        assert session.get()["debugger"]["uri"] == before["debugger"]["uri"]


@pytest.mark.parametrize(("how", "left"), [({}, "paused"), ({"terminateDebuggee": True}, "terminated")])
def test_a_program_outlives_the_editor_unless_it_is_told_otherwise(
    session: Session, script: Path, how: dict[str, bool], left: str
) -> None:
    session.launch(script, stop_on_entry=True)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        dap.request("disconnect", **how)
        assert dap.ended() == b""
    assert session.get()["status"] == left


def test_a_program_that_runs_is_paused_and_ended_by_the_editor(session: Session, program: Callable[..., Path]) -> None:
    script = program("""
        import time
        while True:
            time.sleep(0.01)
    """)
    session.launch(script, wait=0)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        (thread,) = dap.request("threads")["threads"]
        with pytest.raises(Failed, match="session is not paused"):
            dap.request("continue", threadId=thread["id"])
        dap.request("pause", threadId=thread["id"])
        dap.event("stopped", reason="pause")
        dap.request("terminate")
        dap.event("terminated")
    assert session.get()["status"] == "terminated"


def test_what_is_no_sense_gets_an_error_and_harms_nothing(session: Session, script: Path) -> None:
    session.launch(script, stop_on_entry=True)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        with pytest.raises(Failed, match="use the request `attach`"):
            dap.request("launch", program="x")
        with pytest.raises(Failed, match="no request 'readTheManual'"):
            dap.request("readTheManual")
        with pytest.raises(Failed, match=r"Expected `int`, got `str` - at `\$.threadId`"):
            dap.request("next", threadId="one")
        with pytest.raises(Failed, match="Frame 4711 is gone"):
            dap.request("scopes", frameId=4711)
        for path in ("relative.py", "/a\0b"):
            with pytest.raises(Failed):
                dap.request("setBreakpoints", source={"path": path}, breakpoints=[{"line": 1}])
        for body in (b"{", b"[]", b"null", b'{"seq": 7, "type": "request"}', b"[" * 100_000):
            dap.send_body(body)
            with pytest.raises(Failed, match="Not a DAP message"):
                dap.answer(7 if b"7" in body else 0)
        flood = [dap.send("threads") for _ in range(2000)]
        for seq in flood:
            assert dap.answer(seq)["threads"]
        dap.sock.sendall(b"Content-Length: 99999999999\r\n\r\n")
        with pytest.raises(Failed, match="over the limit"):
            dap.answer(0)
        assert dap.ended() == b""
    assert session.step()["status"] == "paused"


def test_a_debugger_that_wants_a_debug_server_is_told_what_this_is(session: Session, script: Path) -> None:
    session.launch(script, stop_on_entry=True)
    with Dap.of(session) as dap:
        dap.sock.sendall(b"+$qSupported:multiprocess+#c6")
        answer = dap.ended()
        assert answer.startswith(b"+$E.This tunnel speaks DAP")
        assert int(answer[-2:], 16) == sum(answer[2:-3]) % 256


def test_an_expression_that_takes_long_holds_up_nobody(session: Session, script: Path) -> None:
    session.launch(script, stop_on_entry=True)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        dap.event("stopped")
        go = script.with_name("go")
        slow = dap.send("evaluate", expression=busy_until(go), context="repl")
        dap.output("begun")
        assert dap.request("threads")["threads"]
        assert slow not in dap.answers
        go.touch()
        assert dap.answer(slow)["result"] == "(None, 'done')"


def test_lines_and_folders_are_those_of_the_editor(session: Session, script: Path) -> None:
    session.break_at(script, "add")
    session.launch(script)
    with Dap.of(session) as dap:
        dap.request("initialize", linesStartAt1=False, columnsStartAt1=False)
        dap.request("attach", pathMappings=[{"localRoot": "C:\\work", "remoteRoot": str(script.parent)}])
        theirs = "C:\\work\\" + script.name
        line = line_of(script, "exit") - 1
        (bp,) = dap.request("setBreakpoints", source={"path": theirs}, breakpoints=[{"line": line}])["breakpoints"]
        assert (bp["verified"], bp["line"], bp["source"]["path"]) == (True, line, theirs)
        dap.ready()
        frame = dap.stack(dap.event("stopped")["threadId"])[0]
        assert (frame["line"], frame["column"]) == (line_of(script, "add") - 1, 0)
        assert frame["source"]["path"] == theirs


def test_code_that_is_in_no_file_can_be_read(session: Session) -> None:
    session.launch(code="x = 1\ny = x + 1\n", stop_on_entry=True)
    with Dap.of(session) as dap:
        dap.attach()
        dap.ready()
        source = dap.stack(dap.event("stopped")["threadId"])[0]["source"]
        assert dap.request("source", **source)["content"] == "x = 1\ny = x + 1\n"


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_an_editor_attaches_to_a_native_program(session: Session, build: Builder, adapter: str) -> None:
    built = build("tour")
    session.break_at(built.source, "add")
    session.launch(program=str(built.program), adapter=adapter)
    with Dap.of(session) as dap:
        dap.attach()
        lines = [{"line": built.line("print")}]
        (bp,) = dap.request("setBreakpoints", source={"path": str(built.source)}, breakpoints=lines)["breakpoints"]
        assert (bp["verified"], bp["line"]) == (True, built.line("print"))
        dap.ready()
        thread = dap.event("stopped", reason="breakpoint")["threadId"]
        frames = dap.stack(thread)
        assert [frame["name"] for frame in frames[:2]] == ["add", "main"]
        assert dap.locals(frames[0]["id"])["sum"]["value"] == "0"
        corner = dap.locals(frames[1]["id"])["corner"]
        inside = dap.request("variables", variablesReference=corner["variablesReference"])["variables"]
        assert [(row["name"], row["value"]) for row in inside] == [("x", "3"), ("y", "2.5")]
        assert dap.request("evaluate", expression="counter + 1", frameId=frames[0]["id"])["result"] == "41"
        dap.request("next", threadId=thread)
        dap.event("stopped", reason="step")
        session.delete("/breakpoints/bp_1")
        dap.request("continue", threadId=thread)
        stopped = dap.event("stopped", reason="breakpoint")
        assert dap.stack(stopped["threadId"])[0]["line"] == built.line("print")
        dap.request("continue", threadId=thread)
        assert "total 55" in dap.output("line one")
        assert dap.event("exited") == {"exitCode": 3}
        dap.event("terminated")


def test_an_editor_looks_below_the_source_and_goes_back(session: Session, build: Builder) -> None:
    built = build("tour")
    session.break_at(built.source, "loop")
    session.launch(program=str(built.program), adapter="gdb")
    session.post("/record")
    with Dap.of(session) as dap:
        capabilities = dap.attach()
        assert capabilities["supportsStepBack"] and capabilities["supportsDataBreakpoints"]
        dap.ready()
        thread = dap.event("stopped", reason="breakpoint")["threadId"]
        frame = dap.stack(thread)[0]
        address = frame["instructionPointerReference"]
        code = dap.request("disassemble", memoryReference=address, instructionCount=3)["instructions"]
        assert int(code[0]["address"], 16) == int(address, 16) and len(code) == 3
        squares = dap.request("evaluate", expression="(long)&squares[3]", frameId=frame["id"])["result"]
        memory = dap.request("readMemory", memoryReference=hex(int(squares)), count=4)
        assert base64.b64decode(memory["data"]) == b"\x09\0\0\0"
        dap.request("writeMemory", memoryReference=hex(int(squares)), data=base64.b64encode(b"\x07").decode())
        assert dap.request("evaluate", expression="squares[3]", frameId=frame["id"])["result"] == "7"
        info = dap.request("dataBreakpointInfo", name="total", frameId=frame["id"])
        watched = dap.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])["breakpoints"]
        assert watched == [{"verified": True}]
        dap.request("setDataBreakpoints", breakpoints=[])
        assert session.get("/data-breakpoints")["total"] == 0
        dap.request("stepIn", threadId=thread)
        dap.event("stopped", reason="step")
        assert dap.stack(thread)[0]["name"] == "add"
        dap.request("stepBack", threadId=thread)
        dap.event("stopped", reason="breakpoint")
        assert dap.stack(thread)[0]["name"] == "main"
