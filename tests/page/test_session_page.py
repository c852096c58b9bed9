"""A person looks at a session in the page and drives it: source, values, stack, console, output, timeline."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import Visitor, expect_current_line, keep_screenshot, line, panel, serious_violations
from native import Builder
from playwright.sync_api import Page, expect
from relays import Api, Session, line_of
from waiting import wait_until

SHOP = '''
    """A shop."""
    import prices

    class Item:
        def __init__(self, name, price):
            self.name = name
            self.price = price

    def total(items, discount):  # @total
        # sums up
        result = 0
        for item in items:
            result += prices.reduced(item.price, discount)  # @add
        print("\\x1b[32mtotal\\x1b[0m", result)  # @print
        return result

    items = [Item("pen", 2), Item("ink", 10)]  # @items
    numbers = list(range(1_000_000))
    letters = "abc" * 100_000
    print(total(items, 0.5))  # @call
    name = input("Your name? ")  # @ask
    print("Hello", name)
    try:
        {}[name]
    except KeyError as error:
        error.add_note("looked for a customer")
        raise ValueError("no such customer") from error  # @raise
'''
PRICES = '''
    def reduced(price, discount):
        return price * (1 - discount)  # @reduced
'''


@pytest.fixture
def shop(program: Callable[..., Path]) -> Path:
    program(PRICES, "prices.py")
    return program(SHOP, "shop.py")


@pytest.fixture
def paused(api: Api, shop: Path) -> Iterator[Session]:
    """At the first sum."""
    with api.session(project_root=str(shop.parent), name="the shop") as session:
        session.break_at(shop, "add")
        session.launch(shop)
        yield session


def values(page: Page, title: str = "Variables") -> Any:
    return panel(page, title).get_by_role("tree").get_by_role("treeitem")


def test_a_stop_is_seen_with_its_source_its_stack_and_its_values_even_a_list_of_a_million(
    paused: Session, visitor: Visitor, shop: Path
) -> None:
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(shop, "add"))
    expect(line(page, line_of(shop, "add"))).to_contain_text("result = 0")
    expect(page.get_by_role("option", name="total")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".t-keyword", has_text="class")).to_be_visible()
    expect(values(page).filter(has_text="discount")).to_contain_text("0.5")
    page.get_by_role("option", name="<module>").click()
    expect(line(page, line_of(shop, "call"))).to_have_class(re.compile("frame"))
    expect(values(page).filter(has_text="numbers")).to_be_visible()
    keep_screenshot(page, "session")

    tree = panel(page, "Variables").get_by_role("tree")
    values(page).filter(has_text="numbers").click()
    expect(tree.get_by_role("treeitem", level=3).first).to_contain_text("0")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    expect(tree.get_by_role("treeitem", level=3).filter(has_text="999999")).to_be_visible()
    assert tree.get_by_role("treeitem").count() < 200
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("treeitem", level=3)).to_have_count(0)
    values(page).filter(has_text="letters").click()
    expect(tree.get_by_role("treeitem", level=3).first).to_contain_text("abcabc")


def test_values_are_beside_the_lines_of_the_function_that_has_them(
    paused: Session, visitor: Visitor, shop: Path
) -> None:
    page = visitor.open_session(paused)
    expect(line(page, line_of(shop, "total"))).to_contain_text("discount = 0.5")
    expect(line(page, line_of(shop, "items"))).not_to_contain_text("items = [<")
    page.get_by_role("option", name="<module>").click()
    expect(line(page, line_of(shop, "items"))).to_contain_text("items = [<")
    expect(line(page, line_of(shop, "total"))).not_to_contain_text("items = [<")


def test_the_keys_of_debuggers_step_continue_and_set_breakpoints(paused: Session, visitor: Visitor, shop: Path) -> None:
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(shop, "add"))
    page.keyboard.press("F11")
    expect_current_line(page, 2)
    expect(page.get_by_role("grid", name="Source of prices.py")).to_be_visible()
    page.keyboard.press("Shift+F11")
    expect_current_line(page, line_of(shop, "add"))
    expect(values(page).filter(has_text="result")).to_contain_text("0")
    page.keyboard.press("F10")
    expect_current_line(page, line_of(shop, "add") - 1)
    expect(values(page).filter(has_text="result")).to_have_class(re.compile("changed"))
    line(page, line_of(shop, "print")).locator(".code").click()
    page.keyboard.press("F9")
    expect(line(page, line_of(shop, "print")).locator("button.breakpoint")).to_be_visible()
    page.get_by_role("button", name=f"Line {line_of(shop, 'add')}: breakpoint").click()
    page.keyboard.press("F5")
    expect_current_line(page, line_of(shop, "print"))
    page.keyboard.press("Shift+F5")
    expect(page.get_by_text("Ended", exact=True)).to_be_visible()
    page.keyboard.press("F5")
    expect_current_line(page, line_of(shop, "print"))


def test_a_right_click_gives_a_breakpoint_a_condition_or_a_message(
    paused: Session, visitor: Visitor, shop: Path
) -> None:
    page = visitor.open_session(paused)
    line(page, line_of(shop, "print")).locator(".gutter").click(button="right")
    editor = page.get_by_role("dialog", name="Breakpoint at line")
    editor.get_by_label("Log instead of stopping").fill("the sum is {result}")
    editor.get_by_role("button", name="Set").click()
    expect(line(page, line_of(shop, "print")).locator("button.log")).to_be_visible()
    line(page, line_of(shop, "add")).locator(".gutter").click(button="right")
    editor.get_by_label("Only if").fill("item.name == 'ink'")
    editor.get_by_role("button", name="Save").click()
    expect(line(page, line_of(shop, "add")).locator("button.conditional")).to_be_visible()
    page.get_by_role("button", name="Line 10: set a breakpoint").click()
    expect(panel(page, "Breakpoints")).to_contain_text("shop.py:10")
    expect(line(page, 10).locator("button")).to_have_attribute("title", re.compile("not verified: .*"))
    page.keyboard.press("F5")
    expect(values(page).filter(has_text="result")).to_contain_text("1.0")
    page.keyboard.press("F5")
    expect(panel(page, "Output").get_by_role("log")).to_contain_text("the sum is 6.0")


def test_run_to_here_hover_search_any_line_or_file_then_coloured_output_input_and_an_exception_with_its_chain(
    paused: Session, visitor: Visitor, shop: Path
) -> None:
    page = visitor.open_session(paused)
    line(page, line_of(shop, "add")).get_by_text("discount", exact=True).hover()
    expect(page.get_by_role("tooltip")).to_contain_text("0.5")
    page.keyboard.press("Control+p")
    page.get_by_role("combobox", name="Name of a file").fill("pri")
    expect(page.get_by_role("listbox", name="Files")).to_contain_text("prices.py")
    page.keyboard.press("Enter")
    expect(page.get_by_role("grid", name="Source of prices.py")).to_be_visible()
    page.get_by_role("navigation", name="Open files").get_by_role("button", name="shop.py", exact=True).click()
    page.keyboard.press("Control+f")
    page.get_by_label("Find in this file").fill("price")
    expect(page.get_by_role("search").get_by_role("status")).to_contain_text("of 6")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+g")
    page.get_by_label("Go to line").fill("3")
    page.keyboard.press("Enter")
    expect(line(page, 3)).to_have_class(re.compile("cursor"))
    paused.delete("/breakpoints")
    line(page, line_of(shop, "print")).locator("button").click(modifiers=["Control"])
    expect_current_line(page, line_of(shop, "print"))

    output = panel(page, "Output")
    page.keyboard.press("F5")
    expect(output.locator(".ansi-fg-green")).to_have_text("total")
    expect(output.get_by_text("Waits for input")).to_be_visible()
    output.get_by_role("textbox", name="Waits for input Your name?").fill("Ada")
    page.keyboard.press("Enter")
    expect_current_line(page, line_of(shop, "raise"))
    expect(output.get_by_role("log")).to_contain_text("Hello Ada")
    exception = panel(page, "Exception")
    expect(exception).to_contain_text("ValueError no such customer")
    expect(exception).to_contain_text("KeyError 'Ada'")
    expect(exception).to_contain_text("looked for a customer")
    expect(values(page).filter(has_text="'Ada'")).to_be_visible()
    keep_screenshot(page, "exception")
    raised = panel(page, "Timeline").get_by_role("option").filter(has_text="exception")
    expect(raised).to_contain_text("ValueError: no such customer")


def test_values_are_set_watched_and_evaluated_in_the_console(paused: Session, visitor: Visitor) -> None:
    page = visitor.open_session(paused)
    values(page).filter(has_text="discount").dblclick()
    page.get_by_label("New value of discount").fill("0.25")
    page.keyboard.press("Enter")
    expect(values(page).filter(has_text="discount")).to_contain_text("0.25")
    watches = panel(page, "Watches")
    watches.get_by_label("Expression to watch").fill("result + item.price")
    page.keyboard.press("Enter")
    expect(values(page, "Watches")).to_contain_text("2")
    page.keyboard.press("F5")
    expect(values(page, "Watches")).to_contain_text("11.5")
    console = panel(page, "Console")
    field = console.get_by_role("combobox", name="Expression")
    field.fill("items[0].pr")
    field.press("Tab")
    expect(field).to_have_value("items[0].price")
    field.press("Enter")
    expect(console.get_by_role("log")).to_contain_text("2")
    field.press("ArrowUp")
    expect(field).to_have_value("items[0].price")
    field.fill("items[0]")
    field.press("Enter")
    console.get_by_role("treeitem").first.click()
    expect(console.get_by_role("treeitem").filter(has_text="name")).to_contain_text("'pen'")
    field.fill("nothing_such")
    field.press("Enter")
    expect(console.get_by_role("log")).to_contain_text("NameError")
    keep_screenshot(page, "console")


def test_the_timeline_has_every_command_and_shows_what_was_said_then(
    paused: Session, visitor: Visitor, shop: Path, tmp_path: Path
) -> None:
    page = visitor.open_session(paused)
    timeline = panel(page, "Timeline")
    page.keyboard.press("F10")
    expect(timeline.get_by_role("option").filter(has_text="step over")).to_contain_text("(page)")
    paused.evaluate("discount * 2")
    asked = timeline.get_by_role("option").filter(has_text="discount * 2")
    expect(asked).to_contain_text("1.0")
    expect(asked).to_contain_text(re.compile(r"\d ms"))
    timeline.get_by_role("option").filter(has_text="launch").click()
    expect(timeline.get_by_label("Report", exact=True)).to_contain_text("locals:")
    with page.expect_download() as download:
        timeline.get_by_role("link", name="Export as HTML").click()
    exported = tmp_path / "timeline.html"
    download.value.save_as(exported)
    assert visitor.context.browser
    alone = visitor.context.browser.new_page(offline=True)
    faults: list[str] = []
    asked_for: list[str] = []
    alone.on("console", lambda message: faults.append(message.text))
    alone.on("pageerror", lambda error: faults.append(str(error)))
    alone.on("request", lambda request: asked_for.append(request.url))
    alone.goto(exported.as_uri())
    alone.get_by_role("button", name="launch").click()
    expect(alone.get_by_label("What the report said then")).to_contain_text("locals:")
    assert asked_for == [exported.as_uri()] and not faults
    assert not serious_violations(alone)
    alone.close()


def test_a_c_program_has_values_registers_memory_and_instructions(
    api: Api, visitor: Visitor, build: Builder
) -> None:
    account = build("account")
    with api.session(project_root=str(account.source.parent), restore_breakpoints=False) as session:
        session.break_at(account.source, "pay")
        session.launch(program=str(account.program))
        page = visitor.open_session(session)
        expect_current_line(page, account.line("pay"))
        expect(values(page).filter(has_text="amount")).to_contain_text("10")
        values(page).filter(has_text="Registers").click()
        expect(values(page).filter(has_text="rip")).to_be_visible()
        page.keyboard.press("F10")
        expect_current_line(page, account.line("pay") + 1)
        memory = panel(page, "Memory")
        memory.get_by_label("Address").fill("note")
        memory.get_by_role("button", name="Read").click()
        expect(memory.get_by_role("region", name="Memory")).to_contain_text("70 61 69 64 00")
        memory.get_by_label("Write", exact=True).fill("50")
        memory.get_by_role("button", name="Write").click()
        expect(memory.get_by_role("region", name="Memory")).to_contain_text("50 61 69 64 00")
        keep_screenshot(page, "memory")
        disassembly = panel(page, "Disassembly")
        current = disassembly.locator("[aria-current=step]")
        expect(current).to_contain_text("account.c")
        before = current.text_content() or ""
        step = disassembly.get_by_role("button", name="Step over instruction")
        step.click()
        expect(current).not_to_have_text(before)
        expect(step).to_be_focused()
        keep_screenshot(page, "disassembly")
        page.keyboard.press("F10")
        expect_current_line(page, account.line("add"))
        assert not serious_violations(page)


def test_threads_tasks_and_children_are_seen_in_the_stack(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    script = program("""
        import asyncio, subprocess, sys, threading

        def work(done):
            done.wait()

        async def fetch():
            await asyncio.sleep(60)

        async def main():
            done = threading.Event()
            threading.Thread(target=work, args=[done], name="worker").start()
            task = asyncio.create_task(fetch(), name="fetching")
            await asyncio.sleep(0)
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            here = True  # @here
            done.set()
            child.communicate()
            task.cancel()

        asyncio.run(main())
    """)
    with api.session() as session:
        session.break_at(script, "here")
        session.launch(script, debug_subprocesses=True)
        page = visitor.open_session(session)
        stack = panel(page, "Call stack")
        stack.get_by_role("button", name="worker").click()
        expect(stack.get_by_role("option", name="work", exact=False).first).to_be_visible()
        stack.get_by_role("list", name="Asyncio tasks").get_by_role("button", name="fetching").click()
        expect(stack.get_by_role("option", name="fetch", exact=False).first).to_be_visible()
        stack.get_by_role("list", name="Child processes").get_by_role("link").click()
        expect(page).to_have_url(re.compile("#/sessions/(?!" + session.id + ")"))
        expect(page.get_by_role("main", name="Session")).to_be_visible()


def test_it_can_be_used_at_every_width_light_and_dark(paused: Session, visitor: Visitor, shop: Path) -> None:
    page = visitor.open_session(paused)
    for title in ("Output", "Console", "Timeline"):
        panel(page, title)
        assert not serious_violations(page), title
    schemes: list[Any] = ["light", "dark"]
    for scheme, width in itertools.product(schemes, (400, 1200, 4000)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        if width == 400:
            expect(page.get_by_role("tab", name="Source")).to_be_visible()
            panel(page, "Variables")
            expect(page.get_by_role("treeitem").filter(has_text="discount")).to_be_visible()
            assert not serious_violations(page), f"variables, {scheme}"
            panel(page, "Source")
        else:
            expect(page.get_by_role("tab", name="Source")).to_have_count(0)
        expect_current_line(page, line_of(shop, "add"))
        if (scheme, width) in (("light", 400), ("dark", 1200), ("light", 4000)):
            assert not serious_violations(page), f"{width}, {scheme}"
        wait_until(lambda: not page.evaluate("document.documentElement.scrollWidth > innerWidth"))
        keep_screenshot(page, f"session-{width}-{scheme}")
