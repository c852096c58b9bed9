"""One browser for the tests of a file, and somebody new at it for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsers import Visitor, chromium, root_of, visitor_of
from playwright.sync_api import Browser
from relays import Api, Relay, Session


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def visitor(browser: Browser, relay: Relay) -> Iterator[Visitor]:
    with visitor_of(browser, root_of(relay)) as visitor:
        yield visitor


@pytest.fixture
def paused(api: Api, counting: Path) -> Iterator[Session]:
    """A session whose program, `counting` of the tests' own file, stands where it adds."""
    with api.session(project_root=str(counting.parent), name="counting") as session:
        session.break_at(counting, "add")
        session.launch(counting)
        yield session
