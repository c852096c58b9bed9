"""The page in Firefox: what is tested in Chromium in detail is there and works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browsers import SCREENSHOTS, root_of
from firefox import firefox_page
from relays import Relay, Session, line_of

PROGRAM = """
    def double(number):
        return 2 * number

    total = 0
    for number in range(5):
        total += double(number)  # @add
        print("total", total)  # @print
"""
CURRENT = "document.querySelector('[aria-current=location]')?.id"


@pytest.mark.wide
def test_a_session_is_seen_stepped_and_evaluated_in_firefox(
    relay: Relay, session: Session, program: Callable[..., Path], tmp_path: Path
) -> None:
    script = program(PROGRAM)
    add, print_ = line_of(script, "add"), line_of(script, "print")
    session.break_at(script, "add")
    session.launch(script)
    with firefox_page(tmp_path) as page:
        page.open(f"{root_of(relay)}/#/sessions/{session.id}")
        page.wait_for(f"{CURRENT} === 'line-{add}'")
        page.press("\ue03a")  # F10
        page.wait_for(f"{CURRENT} === 'line-{print_}'")
        page.click(f"#line-{print_} .gutter button")
        page.wait_for(f"document.querySelector('#line-{print_} [aria-label*=set]') === null")
        assert {each["line"] for each in session.get("/breakpoints")["breakpoints"]} == {add, print_}
        page.press("\ue035")  # F5
        page.wait_for(f"{CURRENT} === 'line-{add}'")
        page.wait_for("document.body.innerText.includes('total 0') && document.body.innerText.includes('1 line')")
        page.wait_for("/number\\s*=\\s*1\\s*int/.test(document.querySelector('[role=tree]').innerText)")
        page.keep_screenshot(SCREENSHOTS / "firefox.png")
        assert not page.faults
        assert all(url.startswith(root_of(relay)) for url in page.requests if url.startswith("http"))
