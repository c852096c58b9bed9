"""What a person moves and changes by buttons, keys, fields and tables, and what the page then says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsers import Visitor, expect_current_line, line, panel
from native import Builder
from playwright.sync_api import APIResponse, Route, expect
from relays import Api, Session, line_of, refusal
from waiting import wait_until

TURNS = """
    import time

    def double(number):
        return 2 * number  # @double

    total = double(1)  # @first
    total = double(total)  # @second
    total += 1  # @third
    for number in range(5):
        total += number  # @add
    print("sum", total)  # @print
    while total:
        time.sleep(0.01)
"""
FAMILY = """
    import os, subprocess, sys

    print(sys.argv[1:], os.environ["GREETING"])
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child.wait()  # @wait
"""
TALKATIVE = """
    for number in range(100):
        last = number  # @log
    print("done")  # @done
"""
DECODING = """
    import json

    def hook(pairs):
        return dict(pairs)  # @hook

    try:
        int("seven")
    except ValueError:
        print("no number")
    print(json.loads('{"a": 1}', object_pairs_hook=hook))
"""
SHORT_TIMELINE = 10_000
"""Bytes, the fewest that can be set."""
ENTRY_BYTES = 600
"""What an entry takes at least."""


@pytest.fixture
def turns(program: Callable[..., Path]) -> Path:
    return program(TURNS, "turns.py")


@pytest.fixture
def paused(api: Api, turns: Path) -> Iterator[Session]:
    with api.session(project_root=str(turns.parent), name="turns") as session:
        session.break_at(turns, "first")
        session.launch(turns)
        yield session


@pytest.fixture
def short_timelines(api: Api) -> Iterator[None]:
    before = api.get("/config")["settings"]["timeline_max_bytes"]["value"]
    api.patch("/config", {"timeline_max_bytes": SHORT_TIMELINE})
    yield
    api.patch("/config", {"timeline_max_bytes": before})


def test_a_breakpoint_that_is_being_switched_off_stays_so_whatever_is_told_meanwhile(
    paused: Session, visitor: Visitor, turns: Path
) -> None:
    paused.break_at(turns, "add", "print")
    add, printed = (row["id"] for row in paused.get("/breakpoints")["breakpoints"][-2:])
    page = visitor.open_session(paused)
    held: list[Route] = []
    page.route(re.compile(f"/breakpoints/{add}$"), lambda route: held.append(route))
    table = panel(page, "Breakpoints")
    active = table.get_by_role("checkbox", name=f"Active: turns.py:{line_of(turns, 'add')}")
    active.uncheck()
    paused.patch(f"/breakpoints/{printed}", {"condition": "total > 5"})
    other = table.get_by_role("listitem").filter(has_text=f"turns.py:{line_of(turns, 'print')}")
    expect(other).to_contain_text("total > 5")
    expect(active).not_to_be_checked()
    held[0].continue_()
    wait_until(lambda: {row["id"]: row["enabled"] for row in paused.get("/breakpoints")["breakpoints"]}[add] is False)
    expect(active).not_to_be_checked()


def test_a_value_that_is_gone_while_it_is_edited_is_not_edited_any_more(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    """Whatever stands in its place afterwards keeps its value."""
    path = program(
        """
        def first():
            mine = 1
            return mine  # @first

        def second():
            other = 2
            return other  # @second

        first()
        second()
        """
    )
    with api.session() as session:
        session.break_at(path, "first", "second")
        session.launch(path)
        page = visitor.open_session(session)
        tree = page.get_by_role("tree", name="Variables")
        tree.get_by_role("treeitem").filter(has_text="mine").dblclick()
        page.get_by_label("New value of mine").fill("7")
        session.resume()
        expect_current_line(page, line_of(path, "second"))
        expect(tree.get_by_role("treeitem").filter(has_text="other")).to_contain_text("2")
        expect(tree.locator("input")).to_have_count(0)
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        expect(tree.get_by_role("treeitem").first).to_have_attribute("aria-expanded", "false")
        assert session.evaluate("other")["result"] == "2"


def test_buttons_and_keys_run_to_a_line_step_continue_pause_restart_and_stop(
    paused: Session, visitor: Visitor, turns: Path
) -> None:
    page = visitor.open_session(paused)
    buttons = page.get_by_role("toolbar", name="Run and step")

    def click(name: str) -> None:
        buttons.get_by_role("button", name=name, exact=True).click()

    expect_current_line(page, line_of(turns, "first"))
    line(page, line_of(turns, "second")).locator(".code").click()
    page.keyboard.press("Control+F10")
    expect_current_line(page, line_of(turns, "second"))
    click("Step into")
    expect_current_line(page, line_of(turns, "double"))
    click("Step out")
    expect_current_line(page, line_of(turns, "second"))
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/step-over", lambda route: held.append((route, route.fetch())))
    click("Step over")
    expect_current_line(page, line_of(turns, "third"))
    line(page, line_of(turns, "print")).locator(".code").click()
    page.keyboard.press("Control+F10")  # is done when the answer to the step has come
    step, answer = held.pop()
    step.fulfill(response=answer)
    expect_current_line(page, line_of(turns, "print"))
    click("Continue")
    expect(page.get_by_text("Running", exact=True)).to_be_visible()
    click("Pause")
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    click("Restart")
    expect_current_line(page, line_of(turns, "first"))
    page.keyboard.press("F5")
    expect(page.get_by_text("Running", exact=True)).to_be_visible()
    page.keyboard.press("F6")
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    page.keyboard.press("Control+Shift+F5")
    expect_current_line(page, line_of(turns, "first"))
    click("Stop the program")
    expect(page.get_by_text("Ended", exact=True)).to_be_visible()
    expect(page.get_by_text("stopped on request")).to_be_visible()


def test_a_breakpoint_stops_at_the_hit_that_is_asked_for_until_the_table_switches_it_off_or_removes_it(
    paused: Session, visitor: Visitor, turns: Path
) -> None:
    page = visitor.open_session(paused)
    add, printed = line_of(turns, "add"), line_of(turns, "print")
    line(page, add).locator(".gutter").click(button="right")
    editor = page.get_by_role("dialog", name=f"Breakpoint at line {add}")
    editor.get_by_label("On hits").fill("3")
    editor.get_by_role("button", name="Set").click()
    table = panel(page, "Breakpoints")
    expect(table.get_by_role("listitem").filter(has_text=f"turns.py:{add}")).to_contain_text("hits 3")
    page.get_by_role("button", name=f"Line {printed}: set a breakpoint").click()
    expect(line(page, printed).locator("button.breakpoint")).to_be_visible()
    page.keyboard.press("F5")
    expect_current_line(page, add)
    expect(line(page, add)).to_contain_text("number = 2")
    page.keyboard.press("F5")
    expect_current_line(page, printed)

    table.get_by_role("checkbox", name=f"Active: turns.py:{add}").uncheck()
    expect(line(page, add).locator("button.off")).to_be_visible()
    table.get_by_role("button", name=f"Remove turns.py:{printed}").click()
    expect(line(page, printed).locator("button.breakpoint")).to_have_count(0)
    page.keyboard.press("Control+Shift+F5")
    expect_current_line(page, line_of(turns, "first"))
    page.keyboard.press("F5")
    expect(panel(page, "Output").get_by_role("log")).to_contain_text("sum 15")
    assert [each["enabled"] for each in paused.get("/breakpoints")["breakpoints"]] == [True, False]


def test_breakpoints_are_written_as_text_and_set_on_functions_and_exceptions(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    path = program(DECODING, "decoding.py")
    with api.session(project_root=str(path.parent)) as session:
        session.launch(path, stop_on_entry=True)
        page = visitor.open_session(session)
        table = panel(page, "Breakpoints")
        written = table.get_by_label("New breakpoint")
        for text in ("hook", f"decoding.py:{line_of(path, 'hook')} if not pairs"):
            written.fill(text)
            written.press("Enter")
            expect(written).to_have_value("")
        rows = table.get_by_role("listitem")
        expect(rows.filter(has_text="if not pairs")).to_contain_text("decoding.py")
        written.fill("nowhere.py:1 if (")
        written.press("Enter")
        expect(page.get_by_role("status", name="Messages")).to_contain_text("(")
        visitor.expect_fault("status of 400")
        every = table.get_by_role("checkbox", name="Every exception that is raised")
        with page.expect_response("**/exception-breakpoints"):
            every.check()
        page.keyboard.press("F5")
        expect(panel(page, "Exception")).to_contain_text("invalid literal for int()")
        with page.expect_response("**/exception-breakpoints/*"):
            every.uncheck()
        page.get_by_role("toolbar").get_by_role("button", name="Continue").click()
        expect_current_line(page, line_of(path, "hook"))
        left = session.get("/exception-breakpoints")["exception_breakpoints"]
        assert not [each for each in left if "raised" in each["filters"]]
        page.get_by_role("option", name="decode", exact=False).first.click()
        expect(page.get_by_role("grid", name="Source of decoder.py")).to_be_visible()
        expect(page.locator(".in-frame")).to_be_visible()
        table.get_by_role("button", name="Remove all breakpoints").click()
        expect(rows).to_have_count(0)


def test_a_native_program_is_started_from_the_dialog_and_let_go_by_the_menu(
    api: Api, visitor: Visitor, build: Builder
) -> None:
    account = build("account")
    page = visitor.open()
    page.get_by_role("button", name="New session…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("group", name="What to run").get_by_text("Program").click()
    dialog.get_by_label("Program", exact=True).last.fill(str(account.program))
    dialog.get_by_label("Breakpoints, one a line").fill(f"{account.source}:{account.line('pay')}")
    dialog.get_by_role("button", name="Start").click()
    expect_current_line(page, account.line("pay"))
    expect(page.get_by_text(f"Paused at account.c line {account.line('pay')}, breakpoint.")).to_have_attribute(
        "aria-live", "polite"
    )
    with Session(api, page.url.rpartition("/")[2]):
        page.get_by_role("button", name="More for this session").click()
        page.get_by_role("menuitem", name="Detach: let the program run on").click()
        expect(page.get_by_text("Ended", exact=True)).to_be_visible()


def test_a_module_is_started_with_arguments_and_a_variable_and_its_child_is_below_it_in_the_list(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    path = program(FAMILY, "family.py")
    page = visitor.open()
    page.get_by_role("button", name="New session…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("group", name="What to run").get_by_text("Module").click()
    dialog.get_by_label("Module", exact=True).last.fill("family")
    dialog.get_by_label("Arguments").fill("--size='two words' last")
    dialog.get_by_label("Working directory").fill(str(path.parent))
    dialog.get_by_label("Breakpoints, one a line").fill(f"{path}:{line_of(path, 'wait')}")
    dialog.get_by_label("Environment, one a line").fill("GREETING=a=b")
    dialog.get_by_label("Debug child processes").check()
    dialog.get_by_role("button", name="Start").click()
    expect_current_line(page, line_of(path, "wait"))
    expect(panel(page, "Output").get_by_role("log")).to_contain_text("['--size=two words', 'last'] a=b")
    assert "GREETING" not in page.evaluate("JSON.stringify(localStorage)"), "it might be a secret"

    with Session(api, page.url.rpartition("/")[2]) as session:
        page.get_by_role("link", name="All sessions").click()
        row = page.get_by_role("row").filter(has=page.locator(f"[href='#/sessions/{session.id}']"))
        expect(row.get_by_role("cell").nth(3)).to_contain_text("(page)")
        expect(row.get_by_role("cell").nth(4)).to_have_text(re.compile(r"^\d+ (s|min)$"))
        (child,) = wait_until(lambda: session.get()["children"])
        below = row.locator("xpath=following-sibling::tr[1]")
        expect(below).to_contain_text(f"pid {child['pid']}")
        expect(below.locator(".depth-1")).to_be_visible()
        expect(below.get_by_role("button", name=re.compile("^Delete"))).to_be_visible()
        expect(below.get_by_role("button", name=re.compile("^Restart"))).to_have_count(0)


@pytest.mark.usefixtures("short_timelines")
def test_a_timeline_that_is_full_says_how_many_older_entries_are_gone(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    path = program(TALKATIVE, "talkative.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "log", log_message="at {number}")
        session.break_at(path, "done")
        session.launch(path)
        told = session.get("/timeline")
        assert len(told["entries"]) * ENTRY_BYTES <= SHORT_TIMELINE
        assert told["dropped"] > 80 and told["entries"][0]["id"] == told["dropped"] + 1
        refusal(404, "ENTRY_NOT_FOUND", session.get, "/timeline/1")
        page = visitor.open_session(session)
        timeline = panel(page, "Timeline")
        expect(timeline).to_contain_text(f"{told['dropped']} older entries are gone")
        expect(timeline.get_by_role("option").filter(has_text="at 99")).to_be_visible()
