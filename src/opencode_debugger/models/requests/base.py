"""Base classes of request bodies: strict, and many can wait for the stop that they lead to."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ..fields import Budget, FieldNames, Wait, optional

WAIT = (
    "Wait for the stop and answer with its report: true waits for the default timeout (30 seconds), a number waits "
    "that many seconds, false answers at once.")
FIELDS = (
    "Only these parts of the stop report, besides status and place (a list, or names separated by commas): location, "
    "source, locals, changes, watches, stack, exception, breakpoints, return_value, output. Everything if left out.")
BUDGET = "About how many characters the stop report may have; what is left out is named in it."


class RequestModel(BaseModel):
    # Built when first used: building all of them takes a quarter of the relay's start.
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def params(self) -> dict[str, object]:
        """Return the operation's parameters: everything that was given or has a default."""
        return self.model_dump(exclude_none=True)


WaitOption = Annotated[Wait, Field(description=WAIT)]
FieldsOption = Annotated[FieldNames, Field(description=FIELDS)]
BudgetOption = Annotated[Budget | None, Field(description=BUDGET)]


class WaitOptions(RequestModel):
    wait: WaitOption = None
    fields: FieldsOption = None
    budget: BudgetOption = None


class ReportOptions(WaitOptions):
    frame: Literal["own", "top"] | None = optional(
        "Of a stop in a library: the program's own frame (the default), or the top of the stack.")


def given_or_not(given: list[str], left_out: list[str]) -> dict[str, JsonValue]:
    """JSON schema of 'these are given and those are not'; null counts as not given."""
    here: dict[str, JsonValue] = {name: {"not": {"type": "null"}} for name in given}
    return {"required": [*given], "properties": here | {name: {"type": "null"} for name in left_out}}


def one_given(*names: str) -> list[JsonValue]:
    """JSON schemas of which one holds if exactly one of these is given."""
    return [given_or_not([name], [other for other in names if other != name]) for name in names]
