"""Finds models by the names under which operations refer to them."""

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter

from .. import answers
from ..answers.shape import Answer
from . import requests


@cache
def request_model(name: str) -> Any:
    """Return the model in requests/ that `module:Class` means: a class, or a union of several."""
    return _find_named(requests, name)


@cache
def answer_type(name: str) -> type[Answer]:
    """Return the struct in answers/ that `module:Class` means."""
    found: type[Answer] = _find_named(answers, name)
    return found


def _find_named(package: ModuleType, name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"{package.__name__}.{module}"), attribute)


@cache
def checker_of(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
