"""Questions to a recorded run."""

from typing import Annotated, Literal

from pydantic import Field

from .. import fields as shared
from ..fields import PathText, optional, preset
from .base import RequestModel
from .queries import Limit, Offset, PlainText, QueryModel, Truth, Whole

CallNumber = Annotated[int, Field(ge=1, le=shared.MAX_INTEGER), Whole]
FunctionName = Annotated[PlainText, Field(min_length=1)]
Condition = Annotated[PlainText, Field(min_length=1, max_length=1000)]
FUNCTION = "Name of a function, or the end of it: total, Cart.total, cart.total, cart.py:Cart.total."
WHICH = "Which recording, as answers name it; the last one of the program if left out."
Milliseconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
TextBudget = Annotated[int, Field(ge=shared.MIN_BUDGET, le=shared.MAX_BUDGET), Whole]


class RecordingQuery(QueryModel):
    recording: PlainText | None = optional(WHICH, examples=["4711-1"])
    budget: TextBudget = preset(4000, "About how many characters the answer has as text; what is left out is told.")


class TraceQuery(RecordingQuery):
    call: CallNumber | None = optional("Only the call with this number, and what is below it.")
    function: FunctionName | None = optional(f"Only calls of this function, and what is below them. {FUNCTION}")
    thread: PlainText | None = optional("Only trees of threads and tasks with this in their name.")
    first: CallNumber | None = optional(
        "What a folded row stands for: the calls from this one to `last` that the same call has made, one by one as "
        "far as the budget goes; those of one function, if it is named.")
    last: CallNumber | None = optional("Number of the last of them; else `first` alone.")
    depth: Limit = preset(1000, "How many calls deep.")


class CallsQuery(RecordingQuery):
    function: FunctionName = Field(description=FUNCTION, examples=["Cart.total"])
    where: Condition | None = optional(
        "Only calls for which this is true, of their arguments, `result`, `error`, `duration_ms`, `thread` and `call`.",
        examples=["amount > 100 and result is None"])
    order: Literal["time", "outliers", "slowest"] = preset(
        "time", "time: as they began; outliers: exceptions and rare results first; slowest: the longest first.")
    offset: Offset = 0
    limit: Limit = preset(100, "How many to return at most.")


class ErrorsQuery(RecordingQuery):
    unhandled: Truth = preset(False, "Only exceptions that the program did not handle, as far as it was recorded.")


class OriginQuery(RecordingQuery):
    value: Annotated[PlainText, Field(min_length=1, max_length=500)] = Field(
        description="A value as Python writes it, such as 195.0 or 'abc'; or a name or attribute: amount, order.total, "
        ".total (of any object).", examples=["195.0"])


class ValuesQuery(RecordingQuery):
    name: Annotated[PlainText, Field(min_length=1, max_length=200)] = Field(
        description="A variable or attribute: amount, order.total, .total (of any object).", examples=["amount"])
    offset: Offset = 0
    limit: Limit = preset(100, "How many to return at most.")


class SpansQuery(QueryModel):
    recording: PlainText | None = optional(WHICH, examples=["4711-1"])
    start_ms: Milliseconds | None = optional("From when on; from the first call on if left out.")
    end_ms: Milliseconds | None = optional("Until when; to the end if left out.")
    parts: Annotated[int, Field(ge=1, le=4000), Whole] = preset(
        500, "How many parts of that time are told apart, such as the pixels of a chart.")
    depth: Limit = preset(100, "How many calls deep.")
    thread: PlainText | None = optional("Only threads and tasks with this in their name.")


class SlowQuery(RecordingQuery):
    limit: Limit = preset(15, "How many functions to return at most.")


class DiffQuery(RecordingQuery):
    other: Annotated[PlainText, Field(min_length=1)] = Field(
        description="With which to compare it: a session (its last recording), SESSION/RECORDING, another recording of "
        "the same session, or the absolute path of an exported one.", examples=["sess_0a1b2c3d"])


class RecordingExportQuery(QueryModel):
    recording: PlainText | None = optional(WHICH, examples=["4711-1"])
    format: Literal["recording", "chrome"] = preset(
        "recording", "recording: a file that `POST /recordings/open` takes; chrome: JSON in Chrome's trace event "
        "format, for chrome://tracing and Perfetto.")


class OpenRecordingRequest(RequestModel):
    path: PathText = Field(
        description="Absolute path of an exported recording on the relay's machine.", examples=["/home/dev/shop.ocrec"])
