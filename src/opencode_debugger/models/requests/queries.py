"""Query parameters, grouped as the routes and streams take them."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from .. import fields as shared
from ..fields import FOCUS, TASK, THREAD, optional, preset, problem, without_nul
from .base import BUDGET, FIELDS, WAIT


def _checked_names(value: str | None) -> str | None:
    shared.field_names(value)
    return value


Whole = BeforeValidator(shared.integer_text)
Integer = Annotated[int, Field(ge=0, le=shared.MAX_INTEGER), Whole]
Truth = Annotated[bool, BeforeValidator(shared.boolean_text)]
Limit = Annotated[int, Field(ge=1, le=1000), Whole]
Offset = Annotated[Integer, Field(description="How many to skip.")]
PageLimit = Annotated[Limit, Field(description="How many to return at most.")]
Size = Annotated[int, Field(ge=1, le=65536), Whole]
PlainText = Annotated[str, Field(max_length=4096), AfterValidator(without_nul)]
ChildFilter = Annotated[Literal["indexed", "named"] | None, Field(description="Only indexed or only named children.")]
Names = Annotated[
    str | None, AfterValidator(_checked_names),
    WithJsonSchema({"type": "string", "pattern": "^[a-z][a-z0-9_.]{0,63}( *, *[a-z][a-z0-9_.]{0,63}){0,63}$"})]
WaitText = Annotated[
    bool | float | None, BeforeValidator(shared.wait_text), WithJsonSchema({"anyOf": shared.WAIT_CHOICES}),
    Field(description=WAIT + " The body's value wins.", examples=["true"])]


class QueryModel(BaseModel):
    model_config = ConfigDict(defer_build=True)

    def params(self) -> dict[str, object]:
        return self.model_dump(exclude_none=True)


class AnswerFormQuery(QueryModel):
    """The form of the answer, for every route."""

    format: Literal["json", "text"] | None = optional(
        "text answers in short plain text, as does `Accept: text/plain`; json in the envelope.")
    lean: Truth = preset(
        False, "Leaves out of data in JSON what is zero, empty or repeated; source becomes one text.")
    reveal: Truth = preset(False, "Shows values of names that look like secrets, which text masks; JSON never does.")
    link: Truth = preset(False, "A stop report has a link to the session on the relay's page.")


class ReportQuery(QueryModel):
    fields: Names = optional(FIELDS, examples=["source,locals"])
    budget: Annotated[int, Field(ge=shared.MIN_BUDGET, le=shared.MAX_BUDGET), Whole] | None = optional(BUDGET)

    def params(self) -> dict[str, object]:
        given = super().params()
        return given | {"fields": shared.field_names(self.fields)} if self.fields else given


class WaitQuery(ReportQuery):
    wait: WaitText = None


class StopReportQuery(ReportQuery):
    wait: WaitText = None
    frame: Literal["own", "top"] | None = optional(
        "Of a stop in a library: own (the default) is the top frame of the program's own code, top is where it "
        "stopped.")


class PageQuery(QueryModel):
    status: Literal["created", "launching", "running", "paused", "terminated", "failed"] | None = optional(
        "Only sessions in this state.")
    parent_session_id: PlainText | None = optional("Only the children of this session.")
    offset: Offset = 0
    limit: PageLimit = 100


class ProcessQuery(QueryModel):
    filter: PlainText | None = optional("Only processes with this text in their command, in any case.")
    kind: Literal["python", "native", "all"] = preset("python", "Python programs, the others, or all.")
    offset: Offset = 0
    limit: PageLimit = 100


class BreakpointQuery(QueryModel):
    file: PlainText | None = optional("Only breakpoints of this file.")
    verified: Truth | None = optional("Only verified ones (true), only the others (false).")


class StackQuery(QueryModel):
    start_frame: Integer = preset(0, "First frame to return: 0 is the top.")
    levels: Limit = preset(20, "How many frames to return at most.")


class ThreadStackQuery(StackQuery):
    thread_id: Integer | None = optional("Thread; the stopped thread if left out.")
    task_id: Integer | None = optional(TASK)


class TasksQuery(QueryModel):
    offset: Offset = 0
    limit: PageLimit = 100


class FrameThreadQuery(QueryModel):
    thread_id: Integer | None = optional(THREAD)


class ScopesQuery(FrameThreadQuery):
    frame_id: Integer | None = optional(f"Frame id from the stack trace: 0 is the top; {FOCUS}.")


class SliceQuery(QueryModel):
    start: Integer | None = optional("First variable to return; of bytes, the first byte.")
    count: Size | None = optional(
        "How many to return at most: 100 if left out, never more than 1000. Of bytes: 3000 if left out.")
    name: PlainText | None = optional(
        "Only variables, attributes and string keys whose name contains this, in any case.")
    summary: Truth | None = optional("Only names, types and sizes, no values; no code of the program runs.")
    budget: Annotated[int, Field(ge=shared.MIN_PAGE_BUDGET, le=shared.MAX_BUDGET), Whole] | None = optional(
        "How many characters `data` of the answer may have as JSON text: never exceeded, rows that do not fit are "
        "left to the next page. If left out, the values have at most 100,000 characters together.")


class FrameVariablesQuery(SliceQuery):
    thread_id: Integer | None = optional(THREAD)
    task_id: Integer | None = optional(TASK)


class ChildrenQuery(SliceQuery):
    filter: ChildFilter = None


class OffsetQuery(SliceQuery):
    """The same in the words of offset and limit."""

    filter: ChildFilter = None
    offset: Integer | None = optional("The same as start.")
    limit: Size | None = optional("The same as count.")
    thread_id: Integer | None = optional(THREAD)

    @model_validator(mode="after")
    def one_spelling(self) -> Self:
        for ours, theirs in (("start", "offset"), ("count", "limit")):
            if getattr(self, ours) is not None and getattr(self, theirs) is not None:
                raise problem(f"Give {ours} or {theirs}, not both", theirs)
        return self

    def params(self) -> dict[str, object]:
        given = super().params()
        for ours, theirs in (("start", "offset"), ("count", "limit")):
            if theirs in given:
                given[ours] = given.pop(theirs)
        return given


class VariablesQuery(SliceQuery):
    filter: ChildFilter = None
    variables_reference: Integer = Field(description="Reference from a scope or a variable.")


class CursorQuery(QueryModel):
    cursor: PlainText | None = optional("next_cursor of the page before; the start if left out.")
    limit: Limit = preset(100, "How many entries to return at most; fewer where they have about 1 MB of text together.")


Category = Literal["stdout", "stderr", "console"]


class OutputQuery(CursorQuery):
    category: Category | None = optional("Only this kind of output.")
    timeout: Annotated[int, Whole] = preset(
        0, "Seconds to wait for output if there is none; not after the program's end.", ge=0, le=300)
    tail: Limit | None = optional("Only the last so many entries, instead of cursor and limit.")

    @model_validator(mode="after")
    def one_place(self) -> Self:
        if self.tail is not None and self.cursor is not None:
            raise problem("A tail goes without cursor", "tail")
        return self


class EventsQuery(CursorQuery):
    timeout: Annotated[int, Whole] = preset(0, "Seconds to wait for an event if there is none.", ge=0, le=300)


class TimelineQuery(CursorQuery):
    """The timeline from a cursor on."""


class DeleteQuery(QueryModel):
    force: Truth = preset(False, "Kill the program at once instead of asking it to end first.")


class ExportQuery(QueryModel):
    include_env: Truth = preset(False, "Export the values of env too; only its names if left out.")


# Streams.

def kind_names(value: str) -> str:
    names = value.split(",")
    if len(names) > 50 or not all(name.strip().isidentifier() for name in names):
        raise problem("Must be types of events separated by commas, such as stopped,terminated")
    return value


Kinds = Annotated[
    str, AfterValidator(kind_names),
    WithJsonSchema({"type": "string", "pattern": "^ *[a-z_]+ *( *, *[a-z_]+ *){0,49}$"})]
SINCE = "Go on after this cursor; from the start if left out."


class OutputStreamQuery(QueryModel):
    cursor: PlainText | None = optional(SINCE + " The header Last-Event-ID wins.")
    category: Category | None = optional("Only this kind of output.")


class OnlyKinds(QueryModel):
    kinds: Kinds | None = optional("Only events of these types, separated by commas.")
    replay: Truth = preset(True, "false: without a cursor only what happens from now on.")

    def params(self) -> dict[str, object]:
        given = super().params()
        return given | {"kinds": [name.strip() for name in self.kinds.split(",")]} if self.kinds else given


class EventStreamQuery(OnlyKinds):
    cursor: PlainText | None = optional(SINCE + " The header Last-Event-ID wins.")
    timeline: Truth = preset(False, "Entries of the timeline come too, as events of the type timeline.")


class DebugQuery(OnlyKinds):
    since: PlainText | None = optional(SINCE)
    cursors: Truth = preset(False, "Each event comes with the cursor behind it.")


class LogsQuery(QueryModel):
    since: PlainText | None = optional(SINCE)
    cursors: Truth = preset(False, "Each message comes with the cursor behind it.")
    stream: Category | None = optional("Only this kind of output.")
    keep_open: Truth = preset(False, "Stay open when the program has ended: it may be restarted.")
