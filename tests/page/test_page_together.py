"""Several clients at one session: an agent is watched, the wheel is taken, and nothing that goes wrong is lost."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import breadth
import pytest
from browsers import (
    Visitor,
    expect_current_line,
    keep_screenshot,
    line,
    panel,
    root_of,
    serious_violations,
    tab_to,
    visitor_of,
)
from dap_client import Dap
from mcp_clients import over_http
from playwright.sync_api import Browser, Route, expect
from relays import Api, Relay, Session, line_of
from targets import running

TABS = 10 if breadth.ALL else 2
LINES = 100_000 if breadth.ALL else 20_000
COUNTING = """
    total = 0
    for number in range(1000):
        total += number  # @add
        print("sum", total)  # @print
    print("done")
"""


class ScriptedAgent:
    """An agent that speaks MCP on a thread of its own, one call after the other as the test asks for them."""

    def __init__(self, relay: Relay, thread: ThreadPoolExecutor) -> None:
        self._relay = relay
        self._thread = thread

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of an answer, or of a refusal."""
        return self._thread.submit(asyncio.run, self._call(tool, arguments)).result(60)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        async with over_http(self._relay, client="claude-code") as agent:
            result = await agent.ask(tool, **arguments)
            return "\n".join(content.text for content in result.content)  # type: ignore[union-attr]


@pytest.fixture
def agent(relay: Relay) -> Iterator[ScriptedAgent]:
    with ThreadPoolExecutor(1) as thread:
        yield ScriptedAgent(relay, thread)


@pytest.fixture
def counting(program: Callable[..., Path]) -> Path:
    return program(COUNTING, "counting.py")


def test_an_agent_is_watched_held_off_while_a_person_drives_and_goes_on(
    paused: Session, agent: ScriptedAgent, visitor: Visitor, counting: Path
) -> None:
    page = visitor.open_session(paused)
    timeline = panel(page, "Timeline")
    entries = timeline.get_by_role("option")
    expect_current_line(page, line_of(counting, "add"))
    agent.call("debug_step", session=paused.id)
    expect_current_line(page, line_of(counting, "print"))
    expect(entries.filter(has_text="step over")).to_contain_text("claude-code")
    agent.call("debug_eval", session=paused.id, expression="total + 40")
    expect(entries.filter(has_text="total + 40")).to_contain_text("40")

    page.get_by_role("button", name="Take the wheel").click()
    expect(page.get_by_text("You have the wheel.")).to_be_visible()
    refused = agent.call("debug_step", session=paused.id)
    assert "the person at the page has the wheel" in refused
    expect(entries.filter(has_text="the person at the page has the wheel").first).to_be_visible()
    keep_screenshot(page, "wheel")
    page.keyboard.press("F10")
    expect_current_line(page, 2)
    assert "for number" in agent.call("debug_source", session=paused.id)
    page.get_by_role("button", name="Give the wheel back").click()
    expect(page.get_by_role("button", name="Take the wheel")).to_be_visible()

    agent.call("debug_continue", session=paused.id)
    expect_current_line(page, line_of(counting, "add"))
    expect(page.get_by_role("group", name="Who drives")).to_contain_text("claude-code")


def test_what_an_editor_does_is_seen_and_it_sees_what_the_page_does(
    paused: Session, visitor: Visitor, counting: Path
) -> None:
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(counting, "add"))
    with Dap.of(paused) as editor:
        editor.request("initialize", clientID="vscode", clientName="Visual Studio Code")
        editor.request("attach")
        editor.ready()
        (thread,) = editor.request("threads")["threads"]
        editor.request("next", threadId=thread["id"])
        expect_current_line(page, line_of(counting, "print"))
        expect(page.get_by_role("group", name="Who drives")).to_contain_text("Visual Studio Code (editor)")
        editor.event("stopped", reason="step")
        page.keyboard.press("F10")
        expect_current_line(page, 2)
        editor.event("stopped", reason="step")
        (frame, *_) = editor.request("stackTrace", threadId=thread["id"])["stackFrames"]
        assert frame["line"] == 2


def test_the_keyboard_alone_opens_breaks_steps_looks_evaluates_and_takes_the_wheel(
    paused: Session, visitor: Visitor, counting: Path
) -> None:
    page = visitor.open()
    tab_to(page, page.get_by_role("row", name="counting").get_by_role("link"))
    page.keyboard.press("Enter")
    expect_current_line(page, line_of(counting, "add"))
    tab_to(page, page.get_by_role("grid", name="Source of counting.py"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("F9")
    expect(line(page, line_of(counting, "print")).locator("button.breakpoint")).to_be_visible()
    page.keyboard.press("F5")
    expect_current_line(page, line_of(counting, "print"))
    page.keyboard.press("F10")
    expect_current_line(page, 2)
    tree = page.get_by_role("tree", name="Variables")
    tab_to(page, tree)
    page.keyboard.press("Home")
    chosen = tree.get_by_role("treeitem", selected=True)
    for _ in range(tree.get_by_role("treeitem").count()):
        if "total" in chosen.inner_text():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("F2")
    expect(page.get_by_label("New value of total")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    expect(tree.get_by_role("treeitem").filter(has_text="total")).to_contain_text("7")
    tab_to(page, page.get_by_role("tab", selected=True))
    console = page.get_by_role("tab", name="Console")
    for _ in range(page.get_by_role("tab").count()):
        if console.get_attribute("aria-selected") == "true":
            break
        page.keyboard.press("ArrowRight")
    tab_to(page, page.get_by_role("combobox", name="Expression"))
    page.keyboard.type("total + 40")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel").get_by_role("log")).to_contain_text("47")
    tab_to(page, page.get_by_role("button", name="Take the wheel"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("You have the wheel.")).to_be_visible()
    expect(page.get_by_role("button", name="Give the wheel back")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Take the wheel")).to_be_focused()


def test_a_program_that_runs_already_is_attached_to_from_the_list(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    script = program("""
        import time
        print("ready")
        is_wanted = True
        while is_wanted:
            time.sleep(0.01)
        print("done")
    """, "served.py")
    with running(script) as target:
        page = visitor.open()
        page.get_by_role("button", name="Attach…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Find").fill(str(script))
        dialog.get_by_role("radiogroup", name="Processes").get_by_role("radio").check()
        assert not serious_violations(page)
        dialog.get_by_role("button", name="Attach", exact=True).click()
        expect(page.get_by_text("Paused", exact=True)).to_be_visible()
        expect(page.get_by_role("grid", name="Source of served.py")).to_be_visible()
        panel(page, "Console").get_by_role("combobox", name="Expression").fill("is_wanted = False")
        page.keyboard.press("Enter")
        expect(page.get_by_role("treeitem").filter(has_text="is_wanted")).to_contain_text("False")
        page.keyboard.press("F5")
        expect(page.get_by_text("Ended", exact=True)).to_be_visible()
        assert target.finish() == (0, "done\n", "")
        api.delete(f"/sessions/{page.url.rpartition('/')[2]}", force="true")


def test_the_list_shows_sessions_as_they_come_move_and_go(
    api: Api, visitor: Visitor, counting: Path, agent: ScriptedAgent
) -> None:
    page = visitor.open()
    assert not serious_violations(page)
    with api.session(project_root=str(counting.parent), name="watched") as session:
        row = page.get_by_role("row", name="watched")
        expect(row).to_contain_text("created")
        session.break_at(counting, "add")
        session.launch(counting)
        expect(row).to_contain_text("paused")
        expect(row).to_contain_text(f"counting.py:{line_of(counting, 'add')}")
        agent.call("debug_step", session=session.id)
        expect(row).to_contain_text(f"counting.py:{line_of(counting, 'print')}")
        expect(row).to_contain_text("claude-code (mcp)")
        expect(row.get_by_role("cell").nth(4)).to_have_text(re.compile(r"^\d+ (s|min)$"))
        keep_screenshot(page, "sessions")
        assert not serious_violations(page)
        row.get_by_role("button", name="Restart watched").click()
        expect(row).to_contain_text(f"counting.py:{line_of(counting, 'add')}")
        expect(row).to_contain_text("(page)")
        visitor.agrees = True
        row.get_by_role("button", name="Delete watched").click()
        expect(row).to_have_count(0)


def test_a_session_is_made_cloned_and_exported_from_the_list(
    api: Api, visitor: Visitor, counting: Path
) -> None:
    page = visitor.open()
    page.get_by_role("button", name="New session…").click()
    dialog = page.get_by_role("dialog")
    assert not serious_violations(page)
    dialog.get_by_label("Script", exact=True).last.fill("/no/such/file.py")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_contain_text("/no/such/file.py")
    visitor.expect_fault("status of 4")
    dialog.get_by_label("Script", exact=True).last.fill(str(counting))
    dialog.get_by_label("Breakpoints, one a line").fill(f"counting.py:{line_of(counting, 'print')} if number == 3")
    dialog.get_by_label("Name of the session").fill("made here")
    keep_screenshot(page, "new-session")
    dialog.get_by_role("button", name="Start").click()
    expect_current_line(page, line_of(counting, "print"))
    expect(line(page, line_of(counting, "print"))).to_contain_text("total = 6")
    page.get_by_role("button", name="More for this session").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export as JSON").click()
    assert json.loads(Path(download.value.path()).read_text())["name"] == "made here"
    page.get_by_role("button", name="More for this session").click()
    page.get_by_role("menuitem", name="Clone").click()
    expect(page.get_by_text("Not started")).to_be_visible()
    page.keyboard.press("F5")
    expect_current_line(page, line_of(counting, "print"))
    for item in api.get("/sessions")["items"]:
        if "made here" in item["name"]:
            api.delete(f"/sessions/{item['session_id']}", force="true")


def test_several_tabs_show_the_same_session_live_and_say_when_it_is_gone(
    paused: Session, visitor: Visitor, counting: Path
) -> None:
    pages = [visitor.open_session(paused) for _ in range(TABS)]
    for page in pages:
        expect_current_line(page, line_of(counting, "add"))
    pages[1].keyboard.press("F10")
    for page in pages:
        expect_current_line(page, line_of(counting, "print"))
    visitor.expect_fault("status of 404|status of 410")
    paused.delete(force="true")
    for page in pages:
        expect(page.get_by_role("alert")).to_contain_text("This session is gone")
    expect(line(pages[0], line_of(counting, "add"))).to_be_visible()
    assert not serious_violations(pages[0])


def test_a_relay_that_was_killed_and_started_again_is_found_by_the_page(
    browser: Browser, tmp_path: Path, counting: Path
) -> None:
    relay = Relay(tmp_path / "data").start()
    try:
        with visitor_of(browser, root_of(relay)) as visitor, Api(relay.base_url) as api:
            visitor.expect_fault("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY|Failed to load|net::")
            with api.session(project_root=str(counting.parent)) as session:
                session.break_at(counting, "add", "print")
                session.launch(counting)
                page = visitor.open_session(session)
                expect_current_line(page, line_of(counting, "add"))
                relay.kill()
                expect(page.get_by_role("alert")).to_contain_text("The relay does not answer")
                relay.start()
                with Api(relay.base_url) as again:
                    Session(again, session.id).resume()
                    expect(page.get_by_role("alert")).to_have_count(0)
                    expect_current_line(page, line_of(counting, "print"))
                    page.keyboard.press("F10")
                    expect_current_line(page, 2)
    finally:
        relay.stop()


@pytest.mark.parametrize("is_upgraded_once", [True, False], ids=["once", "always"])
def test_a_relay_that_is_upgraded_between_the_two_files_of_the_page_has_it_begin_anew_once(
    paused: Session, visitor: Visitor, counting: Path, is_upgraded_once: bool
) -> None:
    asked = 0

    def answer(route: Route) -> None:
        nonlocal asked
        asked += 1
        body = route.fetch().text()
        assert "edition_" in body
        route.fulfill(
            body=body if is_upgraded_once and asked > 1 else body.replace("edition_", "edition_of_another_"),
            content_type="text/javascript",
        )

    visitor.context.route("**/session_parts.js", answer)
    if is_upgraded_once:
        page = visitor.open_session(paused)
        expect(panel(page, "Variables").get_by_role("treeitem").filter(has_text="total")).to_be_visible()
    else:
        visitor.expect_fault("edition_of_another_")
        with visitor.context.expect_event("weberror"):
            page = visitor.open_session(paused)
        expect_current_line(page, line_of(counting, "add"))
    assert asked == 2


def test_a_session_that_expires_while_looked_at_says_so(browser: Browser, tmp_path: Path) -> None:
    relay = Relay(tmp_path / "data", session_timeout_seconds=2).start()
    try:
        with visitor_of(browser, root_of(relay)) as visitor, Api(relay.base_url) as api:
            visitor.expect_fault("status of 404|status of 410")
            page = visitor.open_session(api.session())
            expect(page.get_by_role("alert")).to_contain_text("This session has expired")
    finally:
        relay.stop()


def test_files_that_changed_are_gone_are_binary_or_long_are_shown_for_what_they_are(
    paused: Session, visitor: Visitor, counting: Path
) -> None:
    folder = counting.parent
    (folder / "long.py").write_text("".join(f"value_{number} = {number}\n" for number in range(1, 10_001)))
    (folder / "binary.dat").write_bytes(bytes(range(256)) * 100)
    (folder / "huge.py").write_bytes(b"x = 1  # of 50 MB\n" * 3_000_000)
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(counting, "add"))

    def go_to(name: str) -> None:
        page.keyboard.press("Control+p")
        page.get_by_role("combobox", name="Name of a file").fill(name)
        first = page.get_by_role("listbox", name="Files").get_by_role("option").first
        expect(first).to_contain_text(name.split(":")[0])
        page.keyboard.press("Enter")

    go_to("long.py:9999")
    expect(page.locator("#line-9999")).to_contain_text("value_9999 = 9999")
    assert page.get_by_role("row").count() < 300
    page.keyboard.press("Control+f")
    page.get_by_label("Find in this file").fill("value_5000 ")
    expect(page.locator("#line-5000")).to_be_visible()
    page.keyboard.press("Escape")
    go_to("binary.dat")
    expect(page.get_by_role("heading", name=re.compile("binary"))).to_be_visible()
    visitor.expect_fault("status of 4")
    go_to("huge.py")
    expect(page.locator(".source-message")).to_contain_text("larger than 32 MB")
    counting.write_text(counting.read_text().replace("sum", "the sum"))
    page.keyboard.press("F10")
    expect(page.get_by_text("This file was edited. The program runs what it has loaded")).to_be_visible()
    expect(line(page, line_of(counting, "print"))).to_contain_text("the sum")
    counting.write_text(counting.read_text().replace("the sum", "all of it"))
    page.get_by_role("button", name="Read the file again").click()
    expect(line(page, line_of(counting, "print"))).to_contain_text("all of it")
    (folder / "long.py").unlink()
    page.get_by_role("navigation", name="Open files").get_by_role("button", name="long.py", exact=True).click()
    page.get_by_role("button", name="Read the file again").click()
    expect(page.locator(".source-message")).to_be_visible()


def test_very_many_lines_of_output_are_scrolled_and_filtered(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    script = program(f"""
        for number in range({LINES}):
            print("line", number)
        input("more? ")  # @ask
    """)
    with api.session() as session:
        page = visitor.open_session(session)
        output = panel(page, "Output")
        session.launch(script)
        expect(output.get_by_role("log")).to_contain_text(f"line {LINES - 1}")
        expect(output).to_contain_text("Waits for input")
        assert output.locator(".output-line").count() < 200
        output.get_by_label("Show lines that contain").fill("line 1432")
        expect(output).to_contain_text("11 lines")
        expect(output.get_by_role("log")).to_contain_text("line 14321")
        output.get_by_label("Show lines that contain").fill("")
        output.get_by_role("log").focus()
        page.keyboard.press("Home")
        expect(output.get_by_role("log")).to_contain_text("line 3")
        keep_screenshot(page, "output")


HOSTILE = r'''
    """<script>window.hacked = 1</script>"""
    import sys

    CONTROLS = "\x1b]0;title\x07\x1b[2J\u202egnp.exe\x00"
    MARKUP = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>" + CONTROLS

    class Evil:
        def __repr__(self):
            return MARKUP

    Evil.__name__ = Evil.__qualname__ = "<b onmouseover=window.hacked=1>Evil</b>"
    evil = Evil()
    table = {MARKUP: evil, "</pre><script>window.hacked=1</script>": [MARKUP]}
    globals()["</span><script>window.hacked=1</script>"] = MARKUP
    print(MARKUP)
    print(MARKUP, file=sys.stderr)
    sys.stdout.flush()
    input(MARKUP)
    raise type("<u>Error</u>", (Exception,), {})(MARKUP)  # @raise
'''


INJECTED = "img:not([src^='/page/']), u, b:not(.timeline-words b), [onerror], [onmouseover]"
"""What the markup would be in a document that takes it for its own."""


def test_a_hostile_program_changes_nothing_in_the_page(
    api: Api, visitor: Visitor, program: Callable[..., Path], tmp_path: Path
) -> None:
    script = program(HOSTILE, "<img src=x onerror=window.hacked=1>\u202e.py")
    visitor.expect_fault("status of 4")
    with api.session(name="<script>window.hacked=1</script>\u202e", project_root=str(tmp_path)) as session:
        session.launch(script, wait=False)
        page = visitor.open_session(session)
        output = panel(page, "Output")
        expect(output.get_by_text("Waits for input")).to_be_visible()
        expect(output.get_by_role("log")).to_contain_text("<img src=x onerror='window.hacked=1'>")
        output.get_by_role("textbox", name="Waits for input").fill("<script>window.hacked=1</script>")
        page.keyboard.press("Enter")
        expect_current_line(page, line_of(script, "raise"))
        expect(panel(page, "Exception")).to_contain_text("<u>Error</u>")
        tree = panel(page, "Variables").get_by_role("tree")
        tree.get_by_role("treeitem").filter(has_text="table").click()
        expect(tree.get_by_role("treeitem", level=3).first).to_contain_text("<img src=x")
        panel(page, "Watches").get_by_label("Expression to watch").fill("evil")
        page.keyboard.press("Enter")
        expect(panel(page, "Watches").get_by_role("treeitem")).to_contain_text("<script>")
        console = panel(page, "Console")
        console.get_by_role("combobox", name="Expression").fill("table")
        page.keyboard.press("Enter")
        expect(console.get_by_role("treeitem").first).to_contain_text("<script>")
        timeline = panel(page, "Timeline")
        timeline.get_by_role("option").filter(has_text="evaluate").click()
        expect(timeline.get_by_label("Report", exact=True)).to_contain_text("<script>")
        keep_screenshot(page, "hostile")
        with page.expect_download() as download:
            timeline.get_by_role("link", name="Export as HTML").click()
        exported = visitor.context.new_page()
        exported.set_content(Path(download.value.path()).read_text(encoding="utf-8"))
        exported.get_by_role("button", name="evaluate").click()
        listing = visitor.open()
        expect(listing.get_by_role("link", name="<script>")).to_be_visible()
        for each in (page, exported, listing):
            assert each.evaluate("window.hacked") is None
            assert each.evaluate(f"document.querySelectorAll({INJECTED!r}).length") == 0
            assert "\u202e" not in each.inner_text("body")
