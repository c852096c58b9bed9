"""Editors at a session: a DAP client attaches through its tunnel while others drive the same program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from dap_client import Dap
from relays import Session, line_of

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
