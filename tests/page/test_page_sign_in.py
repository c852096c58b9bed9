"""On a relay that asks for tokens the page signs in by the address that `serve` prints, or by a token, and out."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import root_of, serious_violations, visitor_of
from command import COMMAND
from playwright.sync_api import Browser, expect
from relays import Relay


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Relay]:
    relay = Relay(tmp_path / "data", require_token=True).start()
    yield relay
    assert relay.stop() == 0


def test_a_code_or_a_token_signs_in_and_nothing_is_seen_without(browser: Browser, strict: Relay) -> None:
    printed = re.search(r"http://127\.0\.0\.1:\d+(/\?code=\S+)", strict.log.read_text())
    assert printed is not None
    with visitor_of(browser, root_of(strict)) as visitor:
        page = visitor.open(printed[1])
        expect(page.get_by_role("heading", name="Nothing is being debugged")).to_be_visible()
        assert "code" not in page.url
        page.reload()
        expect(page.get_by_role("heading", name="Nothing is being debugged")).to_be_visible()
        assert page.evaluate("document.cookie") == ""
    with visitor_of(browser, root_of(strict)) as visitor:
        visitor.expect_fault("status of 401|status of 4")
        page = visitor.open(printed[1])
        expect(page.get_by_role("heading", name="This relay asks for a token")).to_be_visible()
        expect(page.get_by_role("alert")).to_be_visible()
        assert not serious_violations(page)
        page.get_by_label("Token").fill("ocdb_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
        options = ["--name", "page", "--scope", "sessions:read", "--data-dir", str(strict.data_dir)]
        made = subprocess.run([*COMMAND, "token", "create", *options], check=True, capture_output=True, text=True)
        page.get_by_label("Token").fill(made.stdout.strip())
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Nothing is being debugged")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="This relay asks for a token")).to_be_visible()
