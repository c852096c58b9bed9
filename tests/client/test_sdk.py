"""Programs are debugged from Python, with calls that block and on an event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, line_of
from spec_client import CLIENTS, SESSION_ID, WRITTEN_FOR, ids, run
from started_relays import kill_relay, relay_pid
from waiting import PATIENCE, runs

from opencode_debugger import client
from opencode_debugger.answers.sessions import WaitingForInput
from opencode_debugger.answers.stop_reports import ProgramRun, StopReport
from opencode_debugger.client import AsyncDebugSession, DebugClient, DebugError, Problem
from opencode_debugger.client.discovery import is_running

Debug = Callable[..., client.DebugSession]
APP = """
    import sys


    def total(items):
        result = 0
        for item in items:
            result += item  # @add
        return result  # @return


    if sys.argv[1:] == ["ask"]:
        print("hello", input("Name? "))
    print(total([1, 2, 3]))
    print("done", file=sys.stderr)
"""


@pytest.fixture
def debug(relay: Relay) -> Debug:
    return partial(client.debug, data_dir=relay.data_dir, wait=PATIENCE)


@pytest.fixture
def app(program: Callable[..., Path]) -> Path:
    return program(APP, "app.py")


def at(path: Path, marker: str) -> str:
    return f"{path}:{line_of(path, marker)}"


def test_a_program_is_driven_by_single_calls(debug: Debug, app: Path, api: Api) -> None:
    where = f"app.py:{line_of(app, 'add')} if item == 2"
    with debug("app.py", stop=[where], cwd=app.parent, args=["ask"]) as d:
        assert (d.status, d.report.waiting_for_input) == ("running", WaitingForInput(prompt="Name? "))
        sent = d.input("Ann")
        assert (d.report, d.stop_reason, d.exception, d.exit_code) == (sent, "breakpoint", None, None)
        assert d.location is not None
        assert (d.location.path, d.location.line, d.location.function) == (str(app), line_of(app, "add"), "total")
        assert (d.locals["item"].value, d.locals["items"].type) == ("2", "list")
        assert [frame.name for frame in d.stack] == ["total", "<module>"]
        assert "sys" in d.variables(frame_id=1)
        assert d.eval("result + item").result == "3"
        assert d.eval("nothing").error == "NameError: name 'nothing' is not defined"
        assert d.set("result", "item * 50").value == "100"
        assert d.step(count=2).steps == 2
        assert d.locals["item"].value == "3"
        assert d.to("return result").reached
        assert d.call("threads").threads[0].is_current
        assert d.step("out").stop_reason == "step"
        assert d.cont().exit_code == 0
        assert (d.status, d.exit_code, d.output) == ("terminated", 0, "Name? hello Ann\n105\ndone\n")
        assert d.read_output("stderr") == "done\n"
        assert d.session_id in ids(api)
    assert d.session_id not in ids(api)
    assert d.end() is None, "it has ended already"


def test_a_program_runs_to_a_line_until_something_is_true_and_again(debug: Debug, app: Path) -> None:
    with debug(app, stop=["total"]) as d:
        assert d.until("item == 3").condition_met
        assert (d.locals["item"].value, d.locals["result"].value) == ("3", "3")
        (removed,) = d.call("clear_breakpoints").removed
        assert removed.function == "total"
        assert d.to(at(app, "return")).reached
        (added,) = d.break_at(at(app, "add") + " hits 2")
        assert added.verified
        assert d.restart().stop_reason == "breakpoint"
        assert d.locals["item"].value == "2"


def test_a_program_that_does_not_stop_can_be_paused(debug: Debug) -> None:
    with debug(code="n = 0\nwhile True:\n    n += 1", wait=0) as d:
        assert (d.status, d.location) == ("running", None)
        assert d.wait(0.1).timed_out
        assert d.pause(wait=30).stop_reason == "pause"
        assert int(d.locals["n"].value or 0) > 0


def test_many_variables_and_much_output_come_in_full(debug: Debug, program: Callable[..., Path]) -> None:
    path = program("for n in range(2500):\n    print(n)\nprint('end')\n")
    with debug(path) as d:
        assert d.exit_code == 0
        assert d.output == "".join(f"{n}\n" for n in range(2500)) + "end\n"
    names = "\n".join(f"v{n} = {n}" for n in range(2100))
    path = program(f"{names}\nprint(1)  # @here", "names.py")
    with debug(path, stop=[at(path, "here")]) as d:
        assert d.locals["v2099"].value == "2099"


def test_an_exception_is_told_as_a_struct(debug: Debug) -> None:
    with debug(code="prices = {}\nprices['tea']") as d:
        assert d.stop_reason == "exception"
        assert d.exception is not None
        assert (d.exception.type, d.exception.message) == ("KeyError", "'tea'")


def test_breakpoints_that_wait_for_something_are_told(debug: Debug, app: Path) -> None:
    with debug(app, stop=["not_there_yet", at(app, "add")]) as d:
        assert isinstance(d.started, ProgramRun)
        (unverified,) = d.started.breakpoints or ()
        assert (unverified.function, unverified.verified) == ("not_there_yet", False)
        assert unverified.message
        assert d.stop_reason == "breakpoint"


def test_a_test_is_debugged_where_it_fails(debug: Debug, program: Callable[..., Path]) -> None:
    path = program("def test_sum():\n    got = 1 + 1\n    assert got == 3\n", "test_sums.py")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with debug(test="test_sums.py::test_sum", cwd=path.parent, python_path=sys.executable, env=alone) as d:
        assert d.stop_reason == "exception", (d.report, d.output)
        assert d.location is not None
        assert (d.location.line, d.locals["got"].value) == (3, "2")


def test_the_program_has_the_clients_environment(debug: Debug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "from the client")
    monkeypatch.setenv("OPENCODE_DEBUG_TOKEN", "")
    code = "import os; print(os.environ['MINE'], os.environ['MORE'], 'OPENCODE_DEBUG_TOKEN' in os.environ)"
    with debug(code=code, env={"MORE": "and this"}) as d:
        assert d.output == "from the client and this False\n"
        assert "from the client" not in str(d.call("info")), "no answer shows it"


def test_what_cannot_be_run_leaves_no_session(debug: Debug, api: Api, tmp_path: Path) -> None:
    before = ids(api)
    with pytest.raises(DebugError, match="LAUNCH_SCRIPT_NOT_FOUND") as refused:
        debug("nowhere.py", cwd=tmp_path)
    assert str(tmp_path / "nowhere.py") in refused.value.message and refused.value.suggestion
    with pytest.raises(DebugError, match="INVALID_REQUEST"):
        debug(code="1", no_such_option=1)
    with pytest.raises(DebugError, match="INVALID_PARAMETER: There is no operation"), debug(code="1") as d:
        d.call("explode")
    assert ids(api) == before


def test_a_running_program_is_attached_to_and_left_running(relay: Relay, program: Callable[..., Path]) -> None:
    path = program("""
        import debugpy
        print(debugpy.listen(0)[1], flush=True)
        turn = 0
        while turn >= 0:
            turn += 1  # @turn
    """)
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            with client.attach(port=port, stop=[f"{path}:{line_of(path, 'turn')}"], data_dir=relay.data_dir) as d:
                assert d.stop_reason == "breakpoint"
                assert runs(process.pid)
                d.set("turn", "-100")
            assert process.wait(timeout=60) == 0, "it went on, and came to its end"
        finally:
            process.kill()


# A relay that is started by itself.


def test_a_relay_that_crashed_is_started_again_and_the_session_is_found(folder: Path, app: Path) -> None:
    with client.debug(app, stop=[at(app, "add")]) as d:
        before = d.locals["item"].value
        first = kill_relay(folder)
        assert not is_running(folder), "its lock file is still there"
        assert d.locals["item"].value == before, "the program is where it was"
        assert relay_pid(folder) != first
        kill_relay(folder)
        d.cont()
        assert d.locals["item"].value == "2", "what was not asked yet is asked of the next one"


def test_the_program_of_a_client_that_gives_up_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = AsyncDebugSession.wait

    async def give_up() -> None:
        is_waiting = asyncio.Event()

        async def wait_noticeably(session: AsyncDebugSession, seconds: float) -> StopReport:
            is_waiting.set()
            return await wait(session, seconds)

        async def start() -> None:
            await client.debug_async(code="while True: pass", wait=600)

        monkeypatch.setattr(AsyncDebugSession, "wait", wait_noticeably)
        starting = asyncio.create_task(start())
        await is_waiting.wait()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(give_up())
    monkeypatch.setattr(AsyncDebugSession, "wait", wait)
    with client.debug(code="print(1)") as d:
        assert [item.session_id for item in d.call("list_sessions").items] == [d.session_id]


# On an event loop.


def test_several_programs_are_debugged_at_once(relay: Relay, app: Path) -> None:
    async def look_at(item: int) -> tuple[str | None, str]:
        where = at(app, "add") + f" if item == {item}"
        async with client.debug_async("app.py", stop=[where], cwd=app.parent, data_dir=relay.data_dir) as d:
            assert isinstance(d, AsyncDebugSession)
            found = (await d.locals)["result"].value
            assert [frame.name for frame in await d.stack] == ["total", "<module>"]
            assert (await d.eval("item")).result == str(item)
            assert (await d.step()).stop_reason == d.stop_reason == "step"
            assert (await d.cont()).exit_code == 0
            return str(found), await d.output

    async def look() -> list[Any]:
        return await asyncio.gather(*map(look_at, (1, 2, 3)))

    assert asyncio.run(look()) == [("0", "6\ndone\n"), ("1", "6\ndone\n"), ("3", "6\ndone\n")]


def test_a_session_is_started_without_a_block_too(relay: Relay, api: Api) -> None:
    async def start_and_end() -> str:
        d = await client.debug_async(code="print(6 * 7)", data_dir=relay.data_dir)
        assert await d.output == "42\n"
        ended = await d.end()
        assert ended is not None and ended.deleted
        return d.session_id

    assert asyncio.run(start_and_end()) not in ids(api)


# The client of the specification.


def test_the_example_of_the_specification_does_the_same_with_our_class(
    relay: Relay, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "spec").mkdir()
    printed = run("python_client.py", relay, tmp_path / "spec")
    _, found, usage = (CLIENTS / "python_client.py").read_text().partition("# Example usage\n")
    assert found
    ours = "import time\nfrom opencode_debugger.client import DebugClient\n" + usage
    ours = ours.replace(WRITTEN_FOR, str(printed.project))
    done = subprocess.run([sys.executable, "-c", ours], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert SESSION_ID.sub("ID", done.stdout) == SESSION_ID.sub("ID", printed.text)


def test_the_class_of_the_specification_has_the_rest_of_its_methods(relay: Relay, app: Path) -> None:
    api = DebugClient(relay.base_url)
    api.create_session()
    api.set_breakpoints([{"source": {"path": str(app)}, "line": line_of(app, "add")}])
    api.launch(str(app))
    assert api.wait_for_pause()["current_location"]["line"] == line_of(app, "add")
    assert [event["type"] for event in api.poll_events() if event["type"] == "stopped"] == ["stopped"]
    assert api.poll_events() == []
    for move in (api.step_over, api.step_into, api.step_out):
        assert move()["status"] == "paused"
    assert api.get_stacktrace(thread_id=1)[0]["line"] == api.get_session()["current_location"]["line"]
    with pytest.raises(DebugError, match="VARIABLE_NOT_FOUND"):
        api.get_variables(123456)
    api.delete_session()
    assert api.session_id is None


def test_a_client_is_told_at_once_that_there_is_no_such_relay() -> None:
    with pytest.raises(Problem, match="is not the address of a relay"):
        DebugClient("ftp://localhost")


def test_names_are_loaded_when_they_are_used() -> None:
    code = textwrap.dedent("""
        import sys, opencode_debugger.client as client
        assert not any(name.startswith("opencode_debugger.answers") for name in sys.modules)
        print([getattr(client, name).__name__ for name in client.__all__] == client.__all__)
        client.nothing
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, "has no attribute 'nothing'" in done.stderr) == ("True\n", True)
    assert (Path(client.__file__).parents[1] / "py.typed").exists()
