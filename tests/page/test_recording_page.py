"""A person looks at a recorded run in the page: call tree, flame chart, values, two runs compared, the past."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import Visitor, expect_current_line, keep_screenshot, panel, serious_violations
from playwright.sync_api import Locator, Page, expect
from relays import Api, Session, line_of

SHOP = '''
    """A shop whose gifts have no price."""
    import sys
    import threading

    class Item:
        def __init__(self, name, price):
            self.name = name
            self.price = price

    def price_of(item):  # @price
        if item.name == "gift":
            return None
        return item.price

    def total(items):
        amount = 0  # @begin
        for item in items:
            amount += price_of(item)  # @add
        return amount

    print("shopping", flush=True)
    items = [Item("pen", 1.5), Item("ink", 3.0)] * 20
    worker = threading.Thread(target=total, args=(items[:3],), name="worker")
    worker.start()
    worker.join()
    total(items)
    items.append(Item(sys.argv[1], 2.5))
    total(items)  # @again
'''
RECORD = {"lines": ["total"]}


@pytest.fixture
def shop(program: Callable[..., Path]) -> Path:
    return program(SHOP, "shop.py")


def run(session: Session, shop: Path, last_item: str) -> None:
    session.launch(shop, args=[last_item], record=RECORD, stop_on_exception=False)


@pytest.fixture
def crashed(api: Api, shop: Path) -> Iterator[Session]:
    """A run that has ended with an exception."""
    with api.session(project_root=str(shop.parent), name="gift shop") as session:
        run(session, shop, "gift")
        yield session


@pytest.fixture
def crashed_after_input(api: Api, shop: Path) -> Iterator[Session]:
    """The same, but what it wrote first has surely come before it went on: it waits for an answer."""
    shop.write_text(shop.read_text().replace('print("shopping", flush=True)', 'input("shopping? ")'))
    with api.session(project_root=str(shop.parent), name="gift shop") as session:
        run(session, shop, "gift")
        session.post("/stdin", {"input": "yes\n", "wait": 60})
        yield session


def recording(page: Page, view: str) -> Locator:
    found = panel(page, "Recording")
    found.locator("label", has_text=re.compile(f"^{view}$")).click()
    return found


def values(page: Page) -> Any:
    return panel(page, "Variables").get_by_role("treeitem")


def test_a_click_in_the_call_tree_goes_to_the_past_steps_go_both_ways_and_now_returns(
    crashed_after_input: Session, visitor: Visitor, shop: Path
) -> None:
    page = visitor.open_session(crashed_after_input)
    tree = recording(page, "Call tree").get_by_role("tree", name="Calls")
    calls = tree.get_by_role("treeitem")
    failed = calls.filter(has_text="✗ TypeError").filter(has_text="total(")
    expect(failed).to_contain_text("unsupported operand")
    failed.locator(".twisty").click()
    fold = calls.filter(has_text="39 × price_of")
    expect(fold).to_contain_text("→ 1.5")
    fold.click()
    expect(fold).to_have_count(0)
    expect(calls.filter(has_text="name='pen'").nth(5)).to_be_visible()
    keep_screenshot(page, "recording-tree")
    tree.focus()
    page.keyboard.press("End")
    expect(calls.last).to_have_attribute("aria-selected", "true")

    gift = calls.filter(has_text="price_of(item=Item(name='gift'")
    gift.click()
    past = page.get_by_role("group", name="The past")
    expect(past).to_contain_text("In the past: #")
    expect(page.locator(".status-words")).to_contain_text("In the past")
    expect_current_line(page, line_of(shop, "price"))
    expect(gift).to_have_class(re.compile("here"))
    expect(values(page).filter(has_text="item")).to_contain_text("Item(name='gift', price=2.5)")
    expect(page.get_by_role("option", name="total")).to_be_visible()
    page.get_by_role("option", name="total").click()
    expect(values(page).filter(has_text="amount")).to_contain_text("90.0")
    expect(panel(page, "Output").get_by_role("log")).to_contain_text("shopping")
    page.keyboard.press("Shift+F11")
    expect(past).to_contain_text("return at line")
    page.keyboard.press("F10")
    expect(past).to_contain_text("exception at line")
    expect(panel(page, "Exception")).to_contain_text("TypeError")
    page.keyboard.press("Control+Shift+F10")
    expect_current_line(page, line_of(shop, "add"))
    expect(past).to_contain_text("before line")
    keep_screenshot(page, "recording-past")
    assert not serious_violations(page)
    page.get_by_role("button", name=f"Line {line_of(shop, 'begin')}: set a breakpoint").click()
    expect(page.get_by_role("button", name=f"Line {line_of(shop, 'begin')}: breakpoint")).to_be_visible()
    past.get_by_role("button", name="Continue backwards").click()
    expect_current_line(page, line_of(shop, "begin"))
    past.get_by_role("button", name="Back to now").click()
    expect(page.get_by_text("Ended", exact=True)).to_be_visible()
    expect(past).to_have_count(0)
    expect(page.get_by_text("There is no program to look at.")).to_be_visible()


def test_a_paused_program_is_seen_in_the_past_to_which_another_client_went_and_is_back_now(
    api: Api, visitor: Visitor, shop: Path
) -> None:
    with api.session(project_root=str(shop.parent)) as session:
        session.break_at(shop, "again")
        run(session, shop, "cup")
        page = visitor.open_session(session)
        expect_current_line(page, line_of(shop, "again"))
        session.post("/reverse-continue", {"name": "amount"})
        past = page.get_by_role("group", name="The past")
        expect(past).to_contain_text("This line sets amount to 90.0.")
        expect_current_line(page, line_of(shop, "add"))
        expect(values(page).filter(has_text="amount")).to_contain_text("87.0")
        page.reload()
        expect(values(page).filter(has_text="amount")).to_contain_text("87.0")
        past.get_by_role("button", name="Back to now").click()
        expect_current_line(page, line_of(shop, "again"))
        expect(page.get_by_text("Paused", exact=True)).to_be_visible()
        expect(values(page).filter(has_text="worker")).to_be_visible()
        page.keyboard.press("F11")
        expect_current_line(page, line_of(shop, "begin"))


def test_calls_and_values_are_seen_over_time_by_mouse_and_keyboard(
    crashed: Session, visitor: Visitor, shop: Path
) -> None:
    page = visitor.open_session(crashed)
    chart = recording(page, "Flame chart")
    canvas = chart.get_by_role("application", name="Flame chart")
    times, chosen = chart.locator(".flame-times"), chart.get_by_role("status")
    expect(canvas).to_have_attribute("aria-busy", "false")
    canvas.focus()
    page.keyboard.press("ArrowDown")
    expect(chosen).to_contain_text("#1 <module>")
    keep_screenshot(page, "recording-flame")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(chosen).to_contain_text("Item.__init__")
    whole = times.inner_text()
    with page.expect_response(re.compile("recording/spans")):
        page.keyboard.press("+")
    expect(times).not_to_have_text(whole)
    closer = times.inner_text()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    page.mouse.down()
    with page.expect_response(re.compile("recording/spans")):  # in which the chosen call is no more
        page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 30, steps=4)
        page.mouse.up()
    expect(times).not_to_have_text(closer)
    expect(chosen).to_contain_text("Item.__init__")
    page.keyboard.down("Control")
    page.mouse.wheel(0, 300)
    page.mouse.wheel(0, 300)
    page.keyboard.up("Control")
    expect(times).to_have_text(whole)
    expect(chosen).to_contain_text("Item.__init__")
    canvas.click(position={"x": box["width"] / 2, "y": 30})
    expect(chosen).to_contain_text("#1 <module>")
    page.keyboard.press("Enter")
    past = page.get_by_role("group", name="The past")
    expect(past).to_contain_text("#1 of call #1")
    assert not serious_violations(page)

    history = recording(page, "Values over time")
    name = history.get_by_label("Name, attribute or value")
    name.fill("amount")
    name.press("Enter")
    rows = history.get_by_role("region", name="Values").get_by_role("row")
    last = rows.filter(has_text="90.0").last
    expect(last).to_contain_text("local of")
    expect(history.locator(".value-curve")).to_be_visible()
    keep_screenshot(page, "recording-values")
    rows.filter(has_text="87.0").last.get_by_role("button").click()
    expect(values(page).filter(has_text="amount")).to_contain_text("87.0")
    life = recording(page, "One call").get_by_role("region", name="The call")
    expect(life).to_contain_text("more rounds the same way")
    expect(life.get_by_role("row", name="amount += price_of(item)").last).to_contain_text("name='gift'")
    keep_screenshot(page, "recording-life")
    recording(page, "Values over time")
    name.fill("87.0")
    name.press("Enter")
    expect(rows.filter(has_text="set in")).to_contain_text("amount")
    expect(recording(page, "Exceptions").get_by_role("region")).to_contain_text("nothing recorded handled it")
    slow = recording(page, "Time").get_by_role("region")
    expect(slow).to_contain_text("price_of")
    slow.get_by_role("row", name="price_of").get_by_role("button", name="#").click()
    expect_current_line(page, line_of(shop, "price"))
    keep_screenshot(page, "recording-time")
    assert not serious_violations(page)


def test_two_runs_are_compared_and_what_differs_is_gone_to(
    api: Api, crashed: Session, visitor: Visitor, shop: Path
) -> None:
    with api.session(project_root=str(shop.parent), name="cup shop") as other:
        run(other, shop, "cup")
        page = visitor.open_session(crashed)
        comparison = recording(page, "Compare")
        other_run = comparison.get_by_label("This run is A. B is")
        visitor.expect_fault("status of 4")
        other_run.fill("sess_00000000")
        other_run.press("Enter")
        expect(comparison.get_by_role("alert")).to_contain_text("sess_00000000")
        other_run.fill(other.id)
        other_run.press("Enter")
        first = comparison.get_by_role("region", name="First difference")
        expect(first).to_contain_text("Item.__init__")
        expect(first.get_by_role("row", name="name 'gift' 'cup'")).to_be_visible()
        outcome = comparison.get_by_role("region", name="another outcome").filter(has_text="price_of")
        expect(outcome).to_contain_text("→ None")
        expect(outcome).to_contain_text("→ 2.5")
        schemes: list[tuple[Any, int]] = [("light", 1600), ("dark", 400)]
        for scheme, width in schemes:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 1000})
            for view in ("Compare", "Flame chart", "Call tree"):
                recording(page, view)
                keep_screenshot(page, f"recording-{view.split()[0].lower()}-{width}-{scheme}")
            assert not serious_violations(page), f"{width}, {scheme}"
        page.set_viewport_size({"width": 1600, "height": 1000})
        recording(page, "Compare")
        outcome.get_by_role("button").click()
        expect_current_line(page, line_of(shop, "price"))
        expect(values(page).filter(has_text="item")).to_contain_text("gift")
        outcome.get_by_role("link").click()
        expect(page.get_by_role("heading", name="cup shop")).to_be_visible()


HOSTILE = r'''
    import threading

    MARKUP = "<img src=x onerror='window.hacked=1'>\x1b[2J\u202egnp.exe"

    def plain(text):
        raise type("<u>Error</u>", (Exception,), {})(text)

    code = plain.__code__.replace(co_name="<b onmouseover=window.hacked=1>evil</b>\u202e", co_varnames=("<i>text</i>",))
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=code.co_name)
    plain.__code__ = code

    def work():
        kept = MARKUP
        try:
            plain(MARKUP)
        except Exception:
            return kept

    ready = True  # @ready
    worker = threading.Thread(target=work, name=MARKUP)
    worker.start()
    worker.join()
'''
INJECTED = "img:not([src^='/page/']), u, i, b:not(.timeline-words b), [onerror], [onmouseover]"
"""What the markup would be in a document that takes it for its own."""


def test_a_hostile_program_is_recorded_exported_and_opened_and_changes_nothing(
    api: Api, visitor: Visitor, program: Callable[..., Path], tmp_path: Path
) -> None:
    script = program(HOSTILE, "<img src=x onerror=window.hacked=1>\u202e.py")
    with api.session(project_root=str(tmp_path)) as session:
        session.break_at(script, "ready")
        session.launch(script)
        page = visitor.open_session(session)
        recorded = panel(page, "Recording")
        expect(recorded).to_contain_text("Nothing is recorded yet.")
        recorded.get_by_role("button", name="Record").click()
        expect(recorded.get_by_role("button", name="Stop recording")).to_be_visible()
        page.keyboard.press("F5")
        calls = recorded.get_by_role("tree", name="Calls").get_by_role("treeitem")
        evil = calls.filter(has_text="evil</b>")
        expect(evil).to_contain_text("✗ <u>Error</u>: <img src=x")
        evil.click()
        expect(page.get_by_role("group", name="The past")).to_contain_text("thread <img src=x")
        chart = recording(page, "Flame chart").get_by_role("application", name="Flame chart")
        expect(chart).to_have_attribute("aria-busy", "false")
        chart.press("ArrowDown")
        expect(recorded.get_by_role("status")).to_contain_text("#")
        history = recording(page, "Values over time")
        history.get_by_label("Name, attribute or value").fill("'nothing of that kind'")
        page.keyboard.press("Enter")
        expect(history).to_contain_text("is not in the recording")
        expect(recording(page, "Exceptions").get_by_role("region")).to_contain_text("<u>Error</u>")
        with page.expect_download() as download:
            recorded.get_by_role("link", name="Export").click()
        file = tmp_path / "evil.ocrec"
        download.value.save_as(file)
        with page.expect_download() as download:
            recorded.get_by_role("link", name="Chrome trace").click()
        assert "traceEvents" in Path(download.value.path()).read_text(encoding="utf-8")
        opened = api.post("/recordings/open", {"path": str(file)})["session_id"]
        alone = visitor.open(f"/#/sessions/{opened}")
        expect(alone.get_by_role("tab", name="Recording")).to_be_visible()
        calls = recording(alone, "Call tree").get_by_role("treeitem")
        calls.filter(has_text="evil</b>").click()
        expect(alone.get_by_role("tabpanel")).to_contain_text("record with")
        for each in (page, alone):
            assert each.evaluate("window.hacked") is None
            assert each.evaluate(f"document.querySelectorAll({INJECTED!r}).length") == 0
            assert "\u202e" not in each.inner_text("body")
        api.delete(f"/sessions/{opened}")
