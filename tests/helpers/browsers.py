"""A real browser that looks at the relay's page, and holds that the page does nothing that it must not."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from places import ROOT
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, expect, sync_playwright
from relays import Relay, Session
from waiting import PATIENCE

SCREENSHOTS = ROOT / "build" / "screenshots"
AXE = ROOT / ".venv" / "npm" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
"""The former has the same engine without the rest of a browser, and takes two thirds of the time."""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]
TOO_LATE = re.compile("status of (404|409)")
"""Browsers note every refusal; what was asked for just before the program ran on is refused, or its values are gone."""
MOST_TABS = 80
"""Between any two places of the page there are fewer."""
expect.set_options(timeout=PATIENCE * 1000)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's, without a window. Not for longer than a file: while it is there, asyncio cannot be run beside it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def root_of(relay: Relay) -> str:
    return relay.base_url.removesuffix("/api/v1")


@dataclass
class Visitor:
    """Somebody with a browser of his own. What the page did wrong is in `faults`."""

    context: BrowserContext
    root: str
    faults: list[str] = field(default_factory=list)
    expected: list[re.Pattern[str]] = field(default_factory=list)
    """faults that the test brings about, such as a relay that is gone"""
    agrees: bool = False
    """whether questions of the page are answered with yes; else one is a fault"""

    def open(self, address: str = "/") -> Page:
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: message.type in ("error", "warning") and self._note(message.text))
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("dialog", self._answer)
        page.goto(self.root + address)
        return page

    def open_session(self, session: Session) -> Page:
        page = self.open(f"/#/sessions/{session.id}")
        expect(page.get_by_role("main", name="Session")).to_be_visible()
        return page

    def _answer(self, dialog: Dialog) -> None:
        if self.agrees:
            dialog.accept()
        else:
            self._note(f"dialog: {dialog.message}")
            dialog.dismiss()

    def _note(self, text: str) -> None:
        self.faults.append(text)

    def expect_fault(self, pattern: str) -> None:
        self.expected.append(re.compile(pattern))

    def hold_that_all_was_well(self) -> None:
        allowed = [TOO_LATE, *self.expected]
        wrong = [fault for fault in self.faults if not any(each.search(fault) for each in allowed)]
        assert not wrong, wrong


@contextlib.contextmanager
def visitor_of(browser: Browser, root: str, **options: Any) -> Iterator[Visitor]:
    """Hold at the end that there was no error in the console, and no request to anywhere else."""
    with contextlib.closing(browser.new_context(**{"viewport": {"width": 1600, "height": 1000}, **options})) as context:
        visitor = Visitor(context, root)
        elsewhere: list[str] = []
        context.on("request", lambda request: request.url.startswith(root) or elsewhere.append(request.url))
        yield visitor
        assert not elsewhere, elsewhere
        visitor.hold_that_all_was_well()


def keep_screenshot(page: Page, name: str) -> Path:
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path)
    return path


def serious_violations(page: Page) -> list[str]:
    """What axe finds that would keep people from using the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def line(page: Page, number: int) -> Locator:
    """A line of the source that is shown."""
    return page.locator(f"#line-{number}")


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until it has the focus, as somebody without a mouse does."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_TABS):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {wanted}")


def expect_current_line(page: Page, number: int) -> None:
    expect(page.locator("[aria-current=location]")).to_have_id(f"line-{number}")


def panel(page: Page, title: str) -> Locator:
    """Bring a panel into sight, as tab or as section, and return it."""
    tab, section = page.get_by_role("tab", name=title), page.get_by_role("region", name=title)
    expect(tab.or_(section).first).to_be_visible()  # some are there only when the session is known
    if tab.count():
        tab.click()
        return page.get_by_role("tabpanel")
    return section
