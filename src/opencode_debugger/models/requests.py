"""What all request bodies share: they are strict, and many can wait for the stop that they lead to."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .fields import Budget, FieldNames, Wait

WAIT = (
    "Wait for the stop and answer with its report: true waits for the default timeout (30 seconds), a number waits "
    "that many seconds, false answers at once."
)
FIELDS = (
    "Only these parts of the stop report, besides status and place (a list, or names separated by commas): location, "
    "source, locals, changes, watches, stack, exception, breakpoints, return_value, output. Everything if left out."
)
BUDGET = "About how many characters the stop report may have; what is left out is named in it."


class RequestModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def params(self) -> dict[str, Any]:
        """What the relay is asked: everything that was given or has a default."""
        return self.model_dump(exclude_none=True)


class WaitOptions(RequestModel):
    wait: Wait = Field(None, description=WAIT)
    fields: FieldNames = Field(None, description=FIELDS)
    budget: Budget | None = Field(None, description=BUDGET)


class ReportOptions(WaitOptions):
    frame: Literal["own", "top"] | None = Field(
        None, description="Of a stop in a library: the program's own frame (the default), or the top of the stack."
    )


def exactly_one_of(*names: str) -> dict[str, Any]:
    """JSON schema of 'exactly one of these is given'."""
    return {"oneOf": [choice([name], [other for other in names if other != name]) for name in names]}


def at_most_one_of(*names: str) -> dict[str, Any]:
    """JSON schema of 'one of these is given, or none'."""
    return {"oneOf": [*exactly_one_of(*names)["oneOf"], choice([], list(names))]}


def choice(given: list[str], left_out: list[str]) -> dict[str, Any]:
    """JSON schema of 'these are given and those are not'; null counts as not given."""
    here: dict[str, Any] = {name: {"not": {"type": "null"}} for name in given}
    return {"required": given, "properties": here | {name: {"type": "null"} for name in left_out}}
