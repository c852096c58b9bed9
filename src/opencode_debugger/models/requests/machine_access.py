"""Requests for memory, machine code, data breakpoints and going back."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

from ..fields import THREAD, Expression, Identifier, optional, preset, problem, without_nul
from .base import BudgetOption, FieldsOption, RequestModel, WaitOptions
from .program import RecordingOptions
from .queries import Integer, QueryModel, Whole

ADDRESS = (
    "Address in memory, such as 0x7ffe0010, or an expression: where a pointer or array points to, of anything else its "
    "own place in memory.")
OFFSET = "Bytes to add to the address."
FRAME = "Frame in which the expression is meant: 0 is the top frame."
BACK = "Thread to go back; the stopped thread if left out."

MOST_BYTES = 65536
Place = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(without_nul)]
Signed = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


def _whole_bytes(value: str) -> str:
    if not re.fullmatch("([0-9a-fA-F]{2})+", value):
        raise problem("Must be hexadecimal digits, two for each byte, such as 2a00")
    return value


HexBytes = Annotated[
    str, Field(max_length=2 * MOST_BYTES), AfterValidator(_whole_bytes),
    WithJsonSchema({"type": "string", "pattern": "^([0-9a-fA-F]{2})+$", "maxLength": 2 * MOST_BYTES})]


class MemoryQuery(QueryModel):
    address: Place = Field(examples=["buffer"], description=ADDRESS)
    offset: Annotated[Signed, Whole] = preset(0, OFFSET)
    count: Annotated[int, Field(ge=1, le=MOST_BYTES), Whole] = preset(256, "How many bytes.")
    frame_id: Integer = preset(0, FRAME)
    thread_id: Integer | None = optional(THREAD)


class WriteMemoryRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"address": "buffer", "bytes": "48656c6c6f00"}]})

    address: Expression = Field(description=ADDRESS)
    offset: Signed = preset(0, OFFSET)
    bytes: HexBytes = Field(description="What to write, two hexadecimal digits for each byte.")
    frame_id: Identifier = preset(0, FRAME)
    thread_id: Identifier | None = optional(THREAD)


class DisassemblyQuery(QueryModel):
    address: Place | None = optional(
        "Address, or an expression such as the name of a function; where the frame is if left out.")
    offset: Annotated[int, Field(ge=-1000, le=1000), Whole] = preset(
        0, "Instructions to begin after it; negative: before it.")
    count: Annotated[int, Field(ge=1, le=1000), Whole] = preset(20, "How many instructions.")
    frame_id: Integer = preset(0, FRAME)
    thread_id: Integer | None = optional(THREAD)


class DataBreakpointRequest(RequestModel, json_schema_extra={"examples": [{"expression": "account->balance"}]}):
    expression: Expression = Field(description="What to watch: a variable or a part of one, seen from the frame.")
    access: Literal["write", "read", "readWrite"] = preset(
        "write", "Stop when it changes (write), is read (read), or either.")
    condition: Expression | None = optional("Stop only if this is true.")
    hit_condition: Annotated[str, Field(min_length=1, max_length=100)] | None = optional(
        "Which hits stop: N, ==N, >N, >=N, <N, <=N or %N.")
    frame_id: Identifier = preset(0, FRAME)
    thread_id: Identifier | None = optional(THREAD)


class BackRequest(WaitOptions, json_schema_extra={"examples": [{"wait": 30}]}):
    thread_id: Identifier | None = optional(BACK)


class ReverseRequest(WaitOptions, json_schema_extra={"examples": [{"name": "amount"}]}):
    thread_id: Identifier | None = optional(BACK)
    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(without_nul)] | None = optional(
        "Of a recorded Python program: back to the last change of this variable or attribute, such as amount, "
        "self.total or .total (of any object).")


class ReportWish(RequestModel):
    fields: FieldsOption = None
    budget: BudgetOption = None


class NowRequest(ReportWish, json_schema_extra={"examples": [{}]}):
    pass


class GotoMomentRequest(ReportWish, json_schema_extra={"examples": [{"moment": "#12"}]}):
    moment: Annotated[str, Field(min_length=1, max_length=40), AfterValidator(without_nul)] = Field(description=(
        "#12 for call 12, or any moment with that number; #12:40 for the first time that call 12 comes to line 40; "
        "#12:end for its end."))
    recording: Annotated[str, Field(max_length=100), AfterValidator(without_nul)] | None = optional(
        "Which recording, as answers name it; the one in which the session stands, or the last, if left out.")


class RecordRequest(RecordingOptions, json_schema_extra={"examples": [{"enabled": True}]}):
    enabled: bool = preset(True, "Begin to record what the program does, or end it.")
