"""Base of the answer models: they describe answers in OpenAPI, they never check them at run time."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Described(BaseModel):
    model_config = ConfigDict(extra="allow", defer_build=True)


def doc(description: str, example: Any = None, default: Any = None) -> Any:
    """A described field; `...` as default makes it required."""
    examples = None if example is None else [example]
    if default is ...:
        return Field(description=description, examples=examples)
    return Field(default_factory=lambda: default, description=description, examples=examples)


class Paged(Described):
    """A list that is asked for with offset and limit."""

    total: int = doc("How many there are in all.", 3, ...)
    offset: int = doc("How many were skipped.", 0, ...)
    limit: int = doc("How many a page has at most.", 100, ...)
    has_more: bool = doc("Whether there is another page.", False, ...)
