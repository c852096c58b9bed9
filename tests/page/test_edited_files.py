"""A file that is edited while it is debugged: the page says that the program runs another text, as long as it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browsers import Visitor, expect_current_line, keep_screenshot, line, panel, serious_violations
from native import build_copy
from playwright.sync_api import Locator, Page, expect
from relays import Api, Session, line_of

LONG_TEXT = "long " * 100
COUNTING = f"""
    total = 0
    for number in range(1000):
        total += number  # @add
        text = "{LONG_TEXT}"  # @text
    {"".join("# far away" + chr(10) + "    " for _ in range(60))}
    print("the end")
"""


@pytest.fixture
def counting(program: Callable[..., Path]) -> Path:
    return program(COUNTING, "counting.py")


def note(page: Page) -> Locator:
    return page.get_by_text("This file was edited. The program runs what it has loaded")


def come_back(page: Page) -> None:
    """Do as a browser does whose window is chosen again."""
    page.evaluate("window.dispatchEvent(new Event('focus'))")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_file_that_was_edited_before_the_page_was_opened_says_so_until_the_program_runs_it(
    paused: Session, visitor: Visitor, counting: Path
) -> None:
    edit(counting, "the end", "all of it")
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(counting, "add"))
    expect(note(page)).to_be_visible()
    assert not serious_violations(page)
    keep_screenshot(page, "edited-file")
    with page.expect_response("**/source?*"):
        page.get_by_role("button", name="Read the file again").click()
    expect(line(page, line_of(counting, "add"))).to_be_visible()
    expect(note(page)).to_be_visible()
    page.get_by_role("toolbar").get_by_role("button", name="Restart", exact=True).click()
    expect(note(page)).to_have_count(0)
    expect_current_line(page, line_of(counting, "add"))
    edit(counting, "all of it", "everything")
    page.keyboard.press("F10")
    expect(note(page)).to_be_visible()
    page.keyboard.press("Shift+F5")
    expect(page.get_by_text("Ended", exact=True)).to_be_visible()
    expect(note(page)).to_have_count(0)


def test_a_file_that_is_edited_far_from_the_current_line_says_so_until_it_is_as_it_was(
    paused: Session, visitor: Visitor, counting: Path
) -> None:
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(counting, "add"))
    page.keyboard.press("F10")  # beside a line that is cut in the report of a stop
    expect_current_line(page, line_of(counting, "text"))
    expect(note(page)).to_have_count(0)
    edit(counting, "the end", "all of it")
    page.keyboard.press("F10")
    expect(note(page)).to_be_visible()
    edit(counting, "all of it", "the end")
    come_back(page)
    expect(note(page)).to_have_count(0)


def test_a_file_that_the_program_has_loaded_is_told_apart_from_one_that_it_will_load(
    api: Api, visitor: Visitor, program: Callable[..., Path]
) -> None:
    loaded, later = program("one = 1\n", "loaded.py"), program("two = 2\n", "later.py")
    path = program("import loaded\nnow = 1  # @here\nimport later\n", "main.py")
    with api.session(project_root=str(path.parent)) as session:
        session.break_at(path, "here")
        session.launch(path)
        page = visitor.open_session(session)
        expect_current_line(page, line_of(path, "here"))
        for file, name in ((loaded, "loaded"), (later, "later")):
            page.keyboard.press("Control+p")
            page.get_by_role("combobox", name="Name of a file").fill(name)
            expect(page.get_by_role("listbox", name="Files")).to_contain_text(file.name)
            page.keyboard.press("Enter")
            expect(page.get_by_role("grid", name=f"Source of {file.name}")).to_be_visible()
            file.write_text(f"{file.read_text()}edited = True\n")
            come_back(page)
            expect(line(page, 2)).to_contain_text("edited = True")
            expect(note(page)).to_have_count(1 if file == loaded else 0)


def test_a_file_that_is_gone_stays_as_it_was_and_says_so(paused: Session, visitor: Visitor, counting: Path) -> None:
    text = counting.read_text()
    page = visitor.open_session(paused)
    expect_current_line(page, line_of(counting, "add"))
    counting.rename(counting.with_suffix(".old"))
    visitor.expect_fault("status of 404")
    come_back(page)
    expect(page.get_by_text("This file cannot be read any more")).to_be_visible()
    expect(line(page, 3)).to_contain_text("total += number")
    counting.write_text(text)
    come_back(page)
    expect(page.get_by_text("This file cannot be read any more")).to_have_count(0)


def test_the_source_of_a_native_program_that_was_edited_says_so(api: Api, visitor: Visitor, tmp_path: Path) -> None:
    account = build_copy("account", tmp_path)
    with api.session(project_root=str(tmp_path), restore_breakpoints=False) as session:
        session.break_at(account.source, account.line("pay"))
        session.launch(program=str(account.program))
        page = visitor.open_session(session)
        expect_current_line(page, account.line("pay"))
        expect(panel(page, "Variables").get_by_role("treeitem").filter(has_text="amount")).to_be_visible()
        expect(note(page)).to_have_count(0)
        account.source.write_text(f"{account.source.read_text()}// the end\n")
        come_back(page)
        expect(note(page)).to_be_visible()
