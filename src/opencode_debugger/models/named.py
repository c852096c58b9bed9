"""Finds models by the names under which operations refer to them."""

from functools import cache
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter


@cache
def request_model(name: str) -> Any:
    """Return the model in requests/ that `module:Class` means: a class, or a union of several."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"{__package__}.requests.{module}"), attribute)


@cache
def checker_of(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
