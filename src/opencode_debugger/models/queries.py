"""Query parameters, grouped as the routes take them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema, model_validator

from .fields import (
    FOCUS,
    MAX_BUDGET,
    MAX_INTEGER,
    MAX_WAIT_SECONDS,
    MIN_BUDGET,
    MIN_PAGE_BUDGET,
    boolean_text,
    field_names,
    integer_text,
    problem,
    wait_text,
    without_nul,
)
from .requests import BUDGET, FIELDS, WAIT


def _checked_names(value: str | None) -> str | None:
    field_names(value)
    return value


Whole = BeforeValidator(integer_text)
Integer = Annotated[int, Field(ge=0, le=MAX_INTEGER), Whole]
Truth = Annotated[bool, BeforeValidator(boolean_text)]
Limit = Annotated[int, Field(ge=1, le=1000), Whole]
Size = Annotated[int, Field(ge=1, le=65536), Whole]
PlainText = Annotated[str, Field(max_length=4096), AfterValidator(without_nul)]
Names = Annotated[
    str | None,
    AfterValidator(_checked_names),
    WithJsonSchema({"type": "string", "pattern": "^[a-z][a-z0-9_.]{0,63}( *, *[a-z][a-z0-9_.]{0,63}){0,63}$"}),
]
WaitText = Annotated[
    bool | float | None,
    BeforeValidator(wait_text),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS}]}),
]


class QueryModel(BaseModel):
    def params(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class ReportQuery(QueryModel):
    fields: Names = Field(None, description=FIELDS, examples=["source,locals"])
    budget: Annotated[int, Field(ge=MIN_BUDGET, le=MAX_BUDGET), Whole] | None = Field(None, description=BUDGET)

    def params(self) -> dict[str, Any]:
        given = super().params()
        return given | {"fields": field_names(self.fields)} if self.fields else given


class WaitQuery(ReportQuery):
    wait: WaitText = Field(None, description=WAIT + " The body's value wins.", examples=["true"])


class StopReportQuery(WaitQuery):
    frame: Literal["own", "top"] | None = Field(
        None,
        description="Of a stop in a library: own (the default) is the top frame of the program's own code, top is "
        "where it stopped.",
    )


class PageQuery(QueryModel):
    status: Literal["created", "launching", "running", "paused", "terminated", "failed"] | None = Field(
        None, description="Only sessions in this state."
    )
    parent_session_id: PlainText | None = Field(None, description="Only the children of this session.")
    offset: Integer = Field(0, description="How many to skip.")
    limit: Limit = Field(100, description="How many to return at most.")


class ProcessQuery(QueryModel):
    filter: PlainText | None = Field(None, description="Only processes with this text in their command, in any case.")
    kind: Literal["python", "native", "all"] = Field("python", description="Python programs, the others, or all.")
    offset: Integer = Field(0, description="How many to skip.")
    limit: Limit = Field(100, description="How many to return at most.")


class BreakpointQuery(QueryModel):
    file: PlainText | None = Field(None, description="Only breakpoints of this file.")
    verified: Truth | None = Field(None, description="Only verified ones (true), only the others (false).")


TASK = "An asyncio task, by its id in the list of tasks, instead of a thread."


class StackQuery(QueryModel):
    start_frame: Integer = Field(0, description="First frame to return: 0 is the top.")
    levels: Limit = Field(20, description="How many frames to return at most.")


class ThreadStackQuery(StackQuery):
    thread_id: Integer | None = Field(None, description="Thread; the stopped thread if left out.")
    task_id: Integer | None = Field(None, description=TASK)


class TasksQuery(QueryModel):
    offset: Integer = Field(0, description="How many to skip.")
    limit: Limit = Field(100, description="How many to return at most.")


class FrameThreadQuery(QueryModel):
    thread_id: Integer | None = Field(None, description="Thread of the frame; the stopped thread if left out.")


class ScopesQuery(FrameThreadQuery):
    frame_id: Integer | None = Field(None, description=f"Frame id from the stack trace: 0 is the top; {FOCUS}.")


class SliceQuery(QueryModel):
    start: Integer | None = Field(None, description="First variable to return; of bytes, the first byte.")
    count: Size | None = Field(
        None,
        description="How many to return at most: 100 if left out, never more than 1000. Of bytes: 3000 if left out.",
    )
    name: PlainText | None = Field(
        None, description="Only variables, attributes and string keys whose name contains this, in any case."
    )
    summary: Truth | None = Field(
        None, description="Only names, types and sizes, no values; no code of the program runs."
    )
    budget: Annotated[int, Field(ge=MIN_PAGE_BUDGET, le=MAX_BUDGET), Whole] | None = Field(
        None,
        description="How many characters `data` of the answer may have as JSON text: never exceeded, rows that do not "
        "fit are left to the next page. If left out, the values have at most 100,000 characters together.",
    )


class FrameVariablesQuery(SliceQuery):
    thread_id: Integer | None = Field(None, description="Thread of the frame; the stopped thread if left out.")
    task_id: Integer | None = Field(None, description=TASK)


class ChildrenQuery(SliceQuery):
    filter: Literal["indexed", "named"] | None = Field(None, description="Only indexed or only named children.")


class OffsetQuery(ChildrenQuery):
    """The same in the words of offset and limit."""

    offset: Integer | None = Field(None, description="The same as start.")
    limit: Size | None = Field(None, description="The same as count.")
    thread_id: Integer | None = Field(None, description="Thread of the frame; the stopped thread if left out.")

    @model_validator(mode="after")
    def one_spelling(self) -> Self:
        for ours, theirs in (("start", "offset"), ("count", "limit")):
            if getattr(self, ours) is not None and getattr(self, theirs) is not None:
                raise problem(f"Give {ours} or {theirs}, not both", theirs)
        return self

    def params(self) -> dict[str, Any]:
        given = super().params()
        for ours, theirs in (("start", "offset"), ("count", "limit")):
            if theirs in given:
                given[ours] = given.pop(theirs)
        return given


class VariablesQuery(ChildrenQuery):
    variables_reference: Integer = Field(description="Reference from a scope or a variable.")


class CursorQuery(QueryModel):
    cursor: PlainText | None = Field(None, description="next_cursor of the page before; the start if left out.")
    limit: Limit = Field(
        100, description="How many entries to return at most; fewer where they have about 1 MB of text together."
    )


Category = Literal["stdout", "stderr", "console"]


class OutputQuery(CursorQuery):
    category: Category | None = Field(None, description="Only this kind of output.")
    timeout: Annotated[int, Whole] = Field(
        0, ge=0, le=300, description="Seconds to wait for output if there is none; not after the program's end."
    )
    tail: Limit | None = Field(None, description="Only the last so many entries, instead of cursor and limit.")

    @model_validator(mode="after")
    def one_place(self) -> Self:
        if self.tail is not None and self.cursor is not None:
            raise problem("A tail goes without cursor", "tail")
        return self


class EventsQuery(CursorQuery):
    timeout: Annotated[int, Whole] = Field(
        0, ge=0, le=300, description="Seconds to wait for an event if there is none."
    )


class DeleteQuery(QueryModel):
    force: Truth = Field(False, description="Kill the program at once instead of asking it to end first.")


class ExportQuery(QueryModel):
    include_env: Truth = Field(False, description="Export the values of env too; only its names if left out.")
