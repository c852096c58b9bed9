"""The manifest is complete: every promise, route, error code, event and tool has tests, which exist."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from manifest import PAGE, ROOT, TITLES, measured, page, promises
from places import TESTS

from opencode_debugger.agents.table import AGENT_CALLS
from opencode_debugger.errors import CATALOGUE
from opencode_debugger.operations.event_kinds import EventKind

ACCEPTANCE = {"SM": 5, "PL": 6, "BP": 8, "EC": 6, "SI": 7, "MF": 4, "OH": 4, "EH": 5, "PE": 4, "SE": 4}
FLOWS = [f"3.{number}" for number in range(1, 10)]
EDGE_CASES = [f"4.{number}" for number in range(1, 9)]
MORE_EDGE_CASES = 10

EVERYTHING = [
    pytest.param(entry, id=f"{section} {name}")
    for section, entries in promises().items()
    for name, entry in entries.items()
    if "bench" not in entry
]


@cache
def text_of(file: str) -> str:
    (found,) = TESTS.rglob(file)
    return found.read_text(encoding="utf-8")


@cache
def functions_in(file: str) -> frozenset[str]:
    tree = ast.parse(text_of(file))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("entry", EVERYTHING)
def test_a_promise_names_tests_that_exist(entry: dict[str, list[str]]) -> None:
    assert entry["by"]
    for test in entry["by"]:
        file, _, name = test.partition("::")
        assert name.startswith("test_") and name in functions_in(file), test


def test_every_acceptance_criterion_flow_and_edge_case_is_there() -> None:
    listed = promises()
    assert list(listed) == list(TITLES)
    assert list(listed["acceptance"]) == [
        f"AC-{area}-{n}" for area, last in ACCEPTANCE.items() for n in range(1, last + 1)
    ]
    assert list(listed["flows"]) == FLOWS
    assert [name for name in listed["edge_cases"] if " " not in name] == EDGE_CASES
    assert sum(name.startswith("4.9 ") for name in listed["edge_cases"]) == MORE_EDGE_CASES


def test_every_error_code_is_there() -> None:
    assert sorted(promises()["errors"]) == sorted(CATALOGUE)


def test_every_route_is_there() -> None:
    table = re.findall(r"^\| ([A-Z]+) \| `(/api/v1/[^`]*)` \|", (ROOT / "docs/rest.md").read_text(), flags=re.MULTILINE)
    assert sorted(promises()["routes"]) == sorted(f"{method} {path}" for method, path in table)


def test_a_test_of_a_route_mentions_it() -> None:
    for route, entry in promises()["routes"].items():
        words = [part for part in route.rpartition("/api/v1/")[2].split("/") if not part.startswith("{")]
        for test in entry["by"] if words != ["sessions"] else ():
            assert words[-1].rpartition("-")[2] in text_of(test.partition("::")[0]), (route, test)


def test_every_tool_is_there() -> None:
    assert list(promises()["tools"]) == list(AGENT_CALLS)


def test_every_event_type_is_there() -> None:
    assert sorted(promises()["events"]) == sorted(EventKind)


def test_the_figures_are_met() -> None:
    for name, entry in promises()["kpis"].items():
        if "bench" in entry:
            assert measured(entry["bench"])["p95"] < entry["below_ms"], name


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make coverage"
