"""Several clients at one session: what each did is in the timeline, one can hold the others off, all see the list."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from command import Ocdb
from dap_client import Dap, Failed
from mcp_clients import over_http
from relays import Api, Relay, Session, line_of, refusal
from text_answers import in_text
from waiting import wait_until

from opencode_debugger.errors import RelayError
from opencode_debugger.operations.asking_client import AskingClient, asking_client
from opencode_debugger.operations.table import OPERATIONS
from opencode_debugger.session.log.event_log import EventLog
from opencode_debugger.session.shared_control.wheel import Wheel

PRICES = """\
def average(prices, password='hun' 'ter2'):
    total = 0
    for price in prices:
        total = price  # @loop
    return total / len(prices)


print("average:", average([10, 20, 60]))
"""
ABSENT = """\
import threading

try:
    {}["pen"]  # @raises
except KeyError:
    threading.Event().wait()
"""


@pytest.fixture
def prices(api: Api, program: Callable[..., Path]) -> Iterator[Session]:
    path = program(PRICES, "prices.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "loop")
        session.break_at(path, 5, log_message="total is {total}")
        session.launch(path)
        yield session


@contextmanager
def client(session: Session, door: str, name: str, wheel: str | None = None) -> Iterator[Session]:
    """The session as another client sees it."""
    with Api(session.api.base_url) as api:
        api.http.headers |= {"X-Debug-Door": door, "X-Debug-Client": name} | ({"X-Debug-Wheel": wheel} if wheel else {})
        yield Session(api, session.id)


def rows(session: Session, kind: str | None = None) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = session.get("/timeline")["entries"]
    return [entry for entry in entries if kind in (None, entry["kind"])]


def test_the_timeline_tells_who_asked_for_what_and_what_came_of_it(prices: Session) -> None:
    with client(prices, "mcp", "claude-code <b>") as agent, client(prices, "page", "Ann") as page:
        agent.step()
        agent.evaluate("total + 1")
        refusal(400, "EVALUATE_ERROR", agent.evaluate, "nope(")
        agent.get("/ping"), agent.get("/events"), agent.get("/status")
        page.get("/report"), page.get("/frames/0/variables"), page.get("/stacktrace")
        page.delete("/breakpoints/bp_1")
        page.resume()
    entries = rows(prices)
    assert [entry["id"] for entry in entries] == list(range(1, len(entries) + 1))
    told = [(entry["kind"], entry["operation"], entry["client"]) for entry in entries[-8:]]
    assert told == [
        ("stop", None, None), ("command", "step_over", "claude-code b"), ("command", "evaluate", "claude-code b"),
        ("command", "evaluate", "claude-code b"), ("command", "remove_breakpoint", "Ann"), ("log", None, None),
        ("end", None, None), ("command", "continue", "Ann"),
    ]
    stop, step, seen, refused, _, logged, end, _ = entries[-8:]
    assert (step["door"], step["status"], step["location"]) == ("mcp", "paused", "prices.py:3")
    assert step["outcome"] == "paused: step at prices.py:3 in average"
    assert (seen["arguments"], seen["outcome"], seen["failed"]) == ("expression=total + 1", "11", False)
    assert refused["failed"] and refused["outcome"].startswith("error EVALUATE_ERROR")
    assert (logged["outcome"], end["outcome"]) == ("total is 60", "exited with code 0")
    told_stop = prices.get(f"/timeline/{stop['id']}")
    assert told_stop["report_of"] == step["id"]
    assert told_stop["report"] == prices.get(f"/timeline/{step['id']}")["report"]
    assert told_stop["report"].endswith("\n>3 for price in prices:\nchanged: total: 0 → 10")
    assert "hunter2" not in json.dumps([prices.get(f"/timeline/{entry['id']}") for entry in entries])
    refusal(404, "ENTRY_NOT_FOUND", prices.get, f"/timeline/{len(entries) + 1}")
    refusal(404, "ENTRY_NOT_FOUND", prices.get, "/timeline/0")


def test_the_timeline_has_exceptions_and_how_long_each_command_took(api: Api, program: Callable[..., Path]) -> None:
    path = program(ABSENT, "absent.py")
    with api.session(project_root=str(path.parent)) as session:
        session.launch(path, stop_on_exception="raised")
        session.resume(wait=0.3)
        raised, launch, resume = rows(session)
        place = f"absent.py:{line_of(path, 'raises')}"
        assert (raised["kind"], raised["status"], raised["location"]) == ("exception", "paused", place)
        assert raised["outcome"] == f"KeyError: 'pen' at {place} in <module>"
        assert session.get(f"/timeline/{raised['id']}")["report_of"] == launch["id"]
        assert raised["duration_ms"] is None and launch["duration_ms"] >= 0 and resume["duration_ms"] >= 300


def test_the_timeline_shows_the_report_of_a_stop_and_not_what_else_was_asked_there(
    api: Api, program: Callable[..., Path]
) -> None:
    with api.session() as session:
        session.launch(program("print(len('abc'))"), stop_on_entry=True, wait=False)
        wait_until(lambda: session.get("/status")["status"] == "paused")
        assert session.get("/step-targets")["targets"]
        session.get("/report")
        ids = {row["operation"] or row["kind"]: row["id"] for row in rows(session)}
        assert ids["step_targets"] < ids["report"]
        # The launch tells of the stop if that came before its answer.
        assert session.get(f"/timeline/{ids['stop']}")["report_of"] in (ids["launch"], ids["report"])


def test_pages_of_the_timeline_neither_lose_nor_repeat_anything(prices: Session) -> None:
    whole = rows(prices)
    first = prices.get("/timeline", limit=2)
    assert first["has_more"] and not first["dropped"]
    rest = prices.get("/timeline", cursor=first["next_cursor"])
    assert [*first["entries"], *rest["entries"]] == whole and not rest["has_more"]
    refusal(400, "INVALID_PARAMETER", prices.get, "/timeline", cursor=prices.get("/output")["next_cursor"])


def test_the_timeline_is_among_the_events_of_a_stream_that_asks_for_it(prices: Session) -> None:
    url = f"{prices.api.base_url}/sessions/{prices.id}/events/stream"
    seen: list[tuple[str, Any]] = []
    with httpx2.stream("GET", url, params={"timeline": "true"}, timeout=60) as answer:
        for event, data in frames(answer.iter_lines()):
            if event == "stopped" and not any(name == "stopped" for name, _ in seen):
                prices.step()
            seen.append((event, data.get("payload")))
            if event == "timeline" and data["payload"]["operation"] == "step_over":
                break
    kinds = [name if name != "timeline" else row["operation"] or row["kind"] for name, row in seen]
    about = [kind for kind in kinds if kind in ("stopped", "stop", "launch", "step_over", "set_breakpoints")]
    assert about == ["set_breakpoints", "set_breakpoints", "stopped", "stop", "launch", "stopped", "stop", "step_over"]


def frames(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    event = ""
    for line in lines:
        if line.startswith("event: "):
            event = line[7:]
        elif line.startswith("data: "):
            yield event, json.loads(line[6:])


def page_of(relay: Relay, session_id: str) -> str:
    return f"{relay.base_url.removesuffix('/api/v1')}/#/sessions/{session_id}"


def test_a_report_ends_with_a_link_to_its_session_on_the_page_if_one_is_asked_for(
    relay: Relay, prices: Session
) -> None:
    link = page_of(relay, prices.id)
    assert in_text(prices, "GET", "/report", link="true").endswith(f"\npage: {link}")
    assert prices.get("/report", link="true")["link"] == link
    assert link not in in_text(prices, "GET", "/report") and "link" not in prices.get("/report")


def test_a_relay_that_is_set_to_give_links_ends_the_reports_of_the_command_and_of_agents_with_one(
    tmp_path: Path, program: Callable[..., Path]
) -> None:
    program(PRICES, "prices.py")
    relay = Relay(tmp_path / "data", page_links=True).start()

    async def step(session_id: str) -> str:
        async with over_http(relay) as agent:
            return await agent.call("debug_step", session=session_id)

    try:
        started = Ocdb(relay.data_dir, tmp_path, {})("run", "prices.py", "-b", "prices.py:4").rstrip("\n")
        session_id = started.rpartition("/")[2]
        link = page_of(relay, session_id)
        assert started.endswith(f"\npage: {link}")
        assert asyncio.run(step(session_id)).endswith(f"\npage: {link}")
    finally:
        relay.stop()


def test_what_the_page_has_seen_is_still_news_to_the_agent(prices: Session) -> None:
    prices.post("/watch", {"expression": "total"})
    prices.get("/report")
    with client(prices, "page", "Ann") as page:
        page.step(), page.step(), page.step(), page.get("/report")
    report = prices.get("/report")
    assert {"name": "total", "old": "0", "new": "20"} in report["changes"]
    assert (report["watches"][0]["changed"], report["watches"][0]["old"]) == (True, "0")


def test_whoever_has_the_wheel_drives_alone(prices: Session) -> None:
    taken = prices.post("/wheel", {"action": "take", "as": "Ann"})
    assert prices.get()["wheel"] == taken["wheel"] and taken["wheel"]["holder"] == "Ann"
    secret = taken["wheel_id"]
    assert secret not in json.dumps([prices.get(), prices.get("/timeline"), prices.events()])
    with client(prices, "mcp", "Ann") as agent, client(prices, "page", "Ann", secret) as page:
        error = refusal(423, "WHEEL_TAKEN", agent.step)
        assert error.message.startswith("Cannot step-over: Ann has the wheel of this session since ")
        assert "debug_continue action=wait wait=60" in error.details["suggestion"]
        for path, body in (
            ("/evaluate", {"expression": "total"}), ("/breakpoints", {"breakpoints": ["prices.py:3"]}),
            ("/restart", None), ("/terminate", None), ("/set-expression", {"expression": "total", "value": "1"}),
            ("/wheel", {"action": "take"}), ("/wheel", {"action": "give_back", "force": True}),
        ):
            refusal(423, "WHEEL_TAKEN", agent.post, path, body)
        refusal(423, "WHEEL_TAKEN", agent.delete)
        refusal(423, "WHEEL_TAKEN", agent.patch, "", {"name": "mine"})
        with client(prices, "rest", "Ann", secret[:-1] + "!") as guessing:
            refusal(423, "WHEEL_TAKEN", guessing.step)
        assert agent.get("/report")["status"] == "paused" and agent.get("/frames/0/variables")["variables"]
        assert page.step()["status"] == "paused"
        assert agent.get()["driver"]["client"] == "Ann"
        page.post("/wheel", {"action": "give_back"})
        assert agent.get()["wheel"] is None and agent.step()["status"] == "paused"
    told = [(row["kind"], row["outcome"]) for row in rows(prices) if row["kind"] == "wheel"]
    assert told == [("wheel", "Ann has taken the wheel"), ("wheel", "Ann no longer has the wheel: it was given back")]
    assert sum("WHEEL_TAKEN" in row["outcome"] for row in rows(prices)) >= 7


def test_an_editor_is_noted_by_its_name_and_held_off_in_its_own_words(prices: Session) -> None:
    with Dap.of(prices) as editor:
        editor.request("initialize", clientID="vscode", clientName="Visual Studio Code")
        editor.request("attach")
        editor.ready()
        (thread,) = editor.request("threads")["threads"]
        editor.request("next", threadId=thread["id"])
        (noted,) = [row for row in rows(prices) if row["door"] == "editor"]
        assert (noted["operation"], noted["client"]) == ("step_over", "Visual Studio Code")
        prices.post("/wheel", {"action": "take", "as": "Ann"})
        with pytest.raises(Failed, match="Ann has the wheel of this session"):
            editor.request("next", threadId=thread["id"])


def test_a_wheel_is_free_again_by_force_or_after_silence(api: Api) -> None:
    api.patch("/config", {"wheel_idle_seconds": 1})
    try:
        with api.session() as session:
            session.post("/wheel", {"action": "take", "as": "Ann"})
            refusal(423, "WHEEL_TAKEN", session.post, "/wheel", {"action": "give_back"})
            assert session.post("/wheel", {"action": "take", "as": "Bob", "force": True})["wheel"]["holder"] == "Bob"
            assert session.post("/wheel", {"action": "give_back", "force": True})["wheel"] is None
            session.post("/wheel", {"action": "take", "as": "Cleo"})
            wait_until(lambda: session.get()["wheel"] is None)
            why = [event["body"].get("why") for event in session.events("wheel")]
            assert why == [None, "it was taken over", None, "it was taken over", None, "there was no sign of life"]
    finally:
        api.patch("/config", {"wheel_idle_seconds": 120})


def test_the_wheel_of_a_program_holds_for_the_processes_that_it_starts() -> None:
    async def drive() -> None:
        log = EventLog(100, 1000)
        program = Wheel("sess_1", log, 60, None)
        child = Wheel("sess_2", log, 60, program)
        secret = program.turn("take", "Ann").wheel_id
        assert child.describe_holder() == program.describe_holder() is not None
        for force in (False, True):
            with pytest.raises(RelayError, match="Ann has the wheel"):
                child.turn("take", "Bob", force)
        with pytest.raises(RelayError, match="Cannot step-over: Ann has the wheel"):
            child.require_free(OPERATIONS["step_over"])
        asking_client.set(AskingClient("page", "Ann", secret or ""))
        child.require_free(OPERATIONS["step_over"])
        program.turn("give_back")
        assert child.describe_holder() is None

    asyncio.run(drive())


def test_the_list_of_sessions_comes_live(relay: Relay, api: Api, prices: Session) -> None:
    with httpx2.stream("GET", f"{relay.base_url}/sessions/stream", timeout=60) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        events = frames(answer.iter_lines())
        name, first = next(events)
        (item,) = [each for each in first["items"] if each["session_id"] == prices.id]
        assert name == "sessions" and item == next(i for i in api.get("/sessions")["items"] if i == item)
        assert (item["status"], item["location"], item["driver"]["operation"]) == ("paused", "prices.py:4", "launch")
        with client(prices, "cli", "ocdb") as other:
            other.step()
        changed = next(data for event, data in events if event == "session_changed" and data["session_id"] == prices.id
                       and data["driver"]["client"] == "ocdb" and data["location"] == "prices.py:3")
        assert changed["driver"]["operation"] == "step_over"
        with api.session(name="second") as second:
            assert any(event == "session_changed" and data["name"] == "second" for event, data in events)
        gone = next(data for event, data in events if event == "session_deleted")
        assert gone == {"session_id": second.id}


def test_the_exported_timeline_is_one_file_whose_data_is_never_markup(api: Api, program: Callable[..., Path]) -> None:
    evil = '"</script><img src=x onerror=alert(1)>&amp;" + chr(0x2028)'
    path = program(f"evil = {evil}\nprint(evil)  # @stops\ninput('Password: ')\n", "hostile.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "stops")
        session.launch(path)
        assert session.resume()["waiting_for_input"]["prompt"] == "Password: "
        session.post("/stdin", {"input": "hunter2\n", "wait": 30})
        session.post("/restart", {"wait": 30})
        session.evaluate("evil + '</script>'")
        url = f"/sessions/{session.id}/timeline/export"
        answer = api.http.get(url, headers={"Accept": "*/*"})
        assert answer.headers["content-disposition"] == f'attachment; filename="timeline-{session.id}.html"'
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        (held,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', answer.text, re.DOTALL)
        assert not re.search("[<>&\u2028]", held)
        document = json.loads(held)
        assert document["entries"] == api.get(url, format="json")["entries"]
        assert "</script>" in document["entries"][-1]["report"] and "hunter2" not in answer.text
        assert answer.text.count("<script") == 2 and "{{" not in answer.text.replace(held, "")
        (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
        hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{hashed}';" in answer.text


def test_files_are_found_by_parts_of_their_path_and_never_outside(api: Api, program: Callable[..., Path]) -> None:
    path = program("import json\nprint(json.dumps([1]))  # @stops\n", "shop/cart.py")
    for name in ("shop/cart_test.py", "web/chart.py", ".env", ".git/config", "node_modules/cart.js", "v/pyvenv.cfg",
                 "v/cart.py", "shop/cart.pyc", "secret/cart.txt"):
        program("x = 1\n", name)
    root = path.parent.parent
    (root / "linked").symlink_to("/etc")
    (root / "cart_link.py").symlink_to("/etc/passwd")
    with api.session(project_root=str(root)) as session:
        session.break_at(path, "stops")
        session.launch(path)

        def found(query: str) -> list[str]:
            return [file["name"] for file in session.get("/files", query=query)["files"]]

        assert found("cart")[:3] == ["shop/cart.py", "secret/cart.txt", "shop/cart_test.py"]
        assert found("sp/crt") == ["shop/cart.py", "shop/cart_test.py"]
        everything = found("")
        assert everything[0] == "shop/cart.py" and "web/chart.py" in everything
        assert not [name for name in everything if re.search(r"^\.|passwd|linked|node_modules|^v/|\.pyc", name)]
        for file in session.get("/files", query="cart")["files"]:
            assert session.get(f"/source?{urlencode({'path': file['path']})}")["lines"]
        assert session.get("/files", query="zzzz") == {"files": [], "total": 0, "is_complete": True}
        assert session.get("/files", query="a", limit=1)["total"] > 1
    with api.session(project_root="/", restore_breakpoints=False) as session:
        assert session.get("/files")["files"] == []
