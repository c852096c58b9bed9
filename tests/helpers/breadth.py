"""How much is tried of what can be combined: a sample in every run; all of it with `BREADTH=all`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest
from _pytest.mark import ParameterSet

ALL = os.environ.get("BREADTH") == "all"


def each_of(cases: Mapping[str, Any]) -> list[ParameterSet]:
    return [pytest.param(case, id=name) for name, case in cases.items()]


def first_of(cases: Mapping[str, Any]) -> list[ParameterSet]:
    """Parameters of which the first is tried, the others with all."""
    return _only(cases, next(iter(cases)))


def last_of(cases: Mapping[str, Any]) -> list[ParameterSet]:
    return _only(cases, list(cases)[-1])


def _only(cases: Mapping[str, Any], tried: str) -> list[ParameterSet]:
    return [
        pytest.param(case, id=name, marks=() if name == tried else pytest.mark.wide) for name, case in cases.items()
    ]
