"""Requests that evaluate expressions, watch them, set variables; source, modules, completions and hovers."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from .. import fields as shared
from ..fields import (
    FOCUS,
    TASK,
    THREAD,
    Expression,
    Identifier,
    LineNumber,
    PathText,
    ShortText,
    optional,
    preset,
    problem,
)
from .base import RequestModel, given_or_not
from .queries import Integer, Limit, PlainText, QueryModel, TasksQuery, Whole

WatchExpression = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(shared.without_nul)]


class AssignRequest(RequestModel):
    value: Expression = Field(description="Expression whose value it gets, evaluated in the frame.")
    frame_id: Identifier | None = optional(f"Frame in whose scope value is evaluated: 0 is the top; {FOCUS}.")
    thread_id: Identifier | None = optional(THREAD)
    timeout: float | None = optional("Seconds it may take.", ge=0.1, le=300)


class SetVariableRequest(AssignRequest, json_schema_extra={"examples": [{"name": "total", "value": "0"}]}):
    name: Expression = Field(description="A name as the reference lists it: a variable, attribute, key or index.")


class SetExpressionRequest(AssignRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "order.items[3].name", "value": "'x'"}]})

    expression: Expression = Field(description="What to assign to: a name, attribute or item.")


class EvaluateRequest(RequestModel, json_schema_extra={"examples": [{"expression": "len(items) * 2", "frame_id": 0}]}):
    expression: Expression = Field(description="Expression to evaluate.")
    frame_id: Identifier | None = optional(f"Frame in whose scope it is evaluated: 0 is the top; {FOCUS}.")
    thread_id: Identifier | None = optional(THREAD)
    task_id: Identifier | None = optional(TASK)
    context: Literal["watch", "repl", "hover", "clipboard"] = preset(
        "repl", "repl takes statements too, the others only expressions. The answers of watch and hover say "
        "whether the expression may have side effects.")
    timeout: float | None = optional("Seconds it may take; 504 DEBUGPY_TIMEOUT after that.", ge=0.1, le=300)


class WatchRequest(RequestModel, json_schema_extra={"examples": [{"expression": "len(items)", "name": "how many"}]}):
    expression: WatchExpression = Field(description="Expression to evaluate at each stop, in the top frame.")
    name: ShortText | None = optional("What to call it; the expression itself if left out.")


# Source code.

Line = Annotated[int, Field(ge=1, le=shared.MAX_INTEGER), Whole]


class FrameSourceQuery(QueryModel):
    thread_id: Integer | None = optional(THREAD)
    start_line: Line | None = optional("First line to return.")
    end_line: Line | None = optional("Last line to return; at most 1000 lines are.")


class SourceQuery(FrameSourceQuery):
    path: PlainText | None = optional("A file of the session, instead of a frame's.", min_length=1)
    frame_id: Integer | None = optional(f"Frame whose source is returned: 0 is the top; {FOCUS}.")


class FilesQuery(QueryModel):
    query: Annotated[str, Field(max_length=200), AfterValidator(shared.without_nul)] = preset(
        "", "Characters that the path has in this order, in any case; all files if left out.")
    limit: Limit = preset(50, "How many to return at most.")


class ModulesQuery(TasksQuery):
    filter: PlainText | None = optional("Only those with this in their name or path.")


class FrameRequest(RequestModel):
    frame_id: Identifier | None = optional(f"Frame: 0 is the top; {FOCUS}.")
    thread_id: Identifier | None = optional(THREAD)


class CompletionsRequest(FrameRequest, json_schema_extra={"examples": [{"text": "order.it"}]}):
    text: str = Field(max_length=100_000, description="What has been typed so far.")
    column: LineNumber | None = optional(
        "Where in text the cursor is, 1 before its first character; its end if left out.")


PLACE = ("file", "line", "column")


class HoverRequest(FrameRequest):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"expression": "order.total"}, {"file": "/home/dev/shop.py", "line": 12, "column": 9}],
        "oneOf": [given_or_not(["expression"], [*PLACE]), given_or_not([*PLACE], ["expression"])],
    })

    expression: Expression | None = optional("Names, attributes, items, arithmetic: nothing is run.")
    file: PathText | None = optional("A file of the session: what is written there at a place.")
    line: LineNumber | None = optional("Line of the place.")
    column: LineNumber | None = optional("Column of the place, in characters.")
    timeout: float | None = optional("Seconds it may take.", ge=0.1, le=300)

    @model_validator(mode="after")
    def one_target(self) -> Self:
        given = [getattr(self, name) is not None for name in PLACE]
        if self.expression is None and not all(given):
            raise problem("Provide expression, or file, line and column")
        if self.expression is not None and any(given):
            raise problem("Provide either expression, or file, line and column")
        return self
