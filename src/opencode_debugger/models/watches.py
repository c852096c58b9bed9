"""Watches: what a client may send, and the answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from .documented import Described, doc
from .fields import ShortText, without_nul
from .requests import RequestModel

WatchExpression = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(without_nul)]


class WatchRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "len(items)", "name": "how many"}]})

    expression: WatchExpression = Field(description="Expression to evaluate at each stop, in the top frame.")
    name: ShortText | None = Field(None, description="What to call it; the expression itself if left out.")


class Watch(Described):
    watch_id: str = doc("Identifier of the watch.", "w_1", ...)
    expression: str = doc("The expression.", "len(items)", ...)
    name: str = doc("What it is called.", "how many", ...)
    has_side_effects: bool | None = doc("Whether evaluating it may change the program, as its text tells.", False)


class WatchValue(Watch):
    value: str | None = doc("Its value as text, if the program is paused and it did not raise.", "3")
    type: str | None = doc("Type of the value.", "int")
    variables_reference: int | None = doc("Ask variables with it to see inside; 0 means nothing inside.", 0)
    error: str | None = doc("What it raised, or that it timed out.", "NameError: name 'items' is not defined")
    changed: bool | None = doc("In stop reports: true if it differs from the stop reported before.", True)
    old: str | None = doc("What it was there.", "2")


class WatchList(Described):
    watches: list[WatchValue] = doc("The watches, with values if the program is paused.", None, ...)
    total: int = doc("How many there are.", 1, ...)
    session_status: str | None = doc("State of the session.", "paused")


class WatchesRemoved(Described):
    removed: list[Watch] = doc("The watches that were removed.", None, ...)
    total: int = doc("How many are left.", 0, ...)
