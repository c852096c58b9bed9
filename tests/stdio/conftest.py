"""Debuggers that are copies of one process, which ends with the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from forked_debuggers import FORKS


@pytest.fixture(scope="session", autouse=True)
def forks_end_with_the_tests(nothing_is_left_running: None) -> Iterator[None]:
    yield
    FORKS.close()
