"""Adds a section to the report of each test that failed; sections travel with reports, from workers of xdist too."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

TITLE = "ocdb"


@dataclass(frozen=True)
class FailureSections:
    """What pytest calls while tests run."""

    budget: int
    base: str
    """folder from which paths are shown"""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Look at the report after all other plugins: they decide whether the test failed, and by which exception."""
        outcome = yield
        report = outcome.get_result()
        if report.failed and call.excinfo is not None:
            self._add_section(report, call.excinfo.value, str(item.path))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            error = call.excinfo.value
            is_wrapped = isinstance(error, collector.CollectError) and error.__cause__ is not None
            self._add_section(report, error.__cause__ if is_wrapped else error, str(getattr(collector, "path", "")))

    def _add_section(self, report: Any, error: BaseException, test_path: str) -> None:
        try:
            from .failure_texts import failure_text

            text = failure_text(error, test_path, report.nodeid, self.base, self.budget)
        except Exception as problem:  # a section that cannot be made must not take the failure's own report away
            text = f"no values: {type(problem).__name__}: {problem}"[: self.budget]
        if not text:
            return
        if hasattr(report.longrepr, "addsection"):  # is shown even with --show-capture=no
            report.longrepr.addsection(TITLE, text)
        else:
            report.sections.append((TITLE, text))
