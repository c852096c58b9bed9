"""The files of the page: what browsers may do with them, and that nothing else is served in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from stub_relay import Door, served

from opencode_debugger.doors.page.static_files import STATIC

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with served() as door:
        yield door


def test_a_browser_gets_the_page_which_loads_its_own_files_only(door: Door) -> None:
    page = door.client.get("/", headers={"Accept": BROWSER})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'") and "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cross-origin-opener-policy"] == "same-origin"
    assert page.headers["x-content-type-options"] == "nosniff"
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    for address in loaded:
        assert re.match(r"/(page/|docs)", address), address
        assert door.client.get(address).status_code == 200, address
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page.text)


def test_files_are_kept_by_browsers_and_asked_for_again(door: Door) -> None:
    answer = door.client.get("/page/index.html")
    assert answer.headers["cache-control"] == "no-cache"
    again = door.client.get("/page/index.html", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = door.client.get("/page/index.html", headers={"If-None-Match": '"of before"'})
    assert (other.status_code, other.content) == (200, (STATIC / "index.html").read_bytes())


@pytest.mark.parametrize("path", [
    "static_files.py", "../static_files.py", "%2e%2e/static_files.py", "..%2f__init__.py", "%2fetc/passwd", "app",
    "", "index.html%00", "x" * 5000 + ".js",
])
def test_nothing_else_is_served(door: Door, path: str) -> None:
    answer = door.client.get(f"/page/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ROUTE_NOT_FOUND")
