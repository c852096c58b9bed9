"""`pytest --ocdb`: shows under each failure where the test went wrong, with source and values.

pytest loads this module in every project that has the package installed, so it imports next to nothing and does nothing
unless the option is given.
"""

from __future__ import annotations

import pytest

DEFAULT_BUDGET = 1200
LEAST_BUDGET = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ocdb", "values at failures (opencode-debugger)")
    group.addoption(
        "--ocdb", action="store_true", help="show under each failure where the test went wrong: source, values, stack"
    )
    group.addoption(
        "--ocdb-budget", type=int, default=DEFAULT_BUDGET, metavar="CHARACTERS",
        help=f"how much --ocdb shows of a failure (default {DEFAULT_BUDGET}); more room shows more of its frames",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("ocdb"):
        return
    budget = config.getoption("ocdb_budget")
    if budget < LEAST_BUDGET:
        raise pytest.UsageError(f"--ocdb-budget is {budget}: give it at least {LEAST_BUDGET}")
    from .failure_sections import FailureSections

    config.pluginmanager.register(FailureSections(budget, str(config.invocation_params.dir)), "ocdb-sections")
