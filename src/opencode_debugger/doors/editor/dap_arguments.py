"""Arguments of DAP requests, as far as they are used here."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ...errors import RelayError

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class Arguments(msgspec.Struct, rename="camel"):
    """Those of a request of which none are used, and what the others have in common."""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class Initialize(Arguments):
    lines_start_at1: bool = msgspec.field(default=True, name="linesStartAt1")
    columns_start_at1: bool = msgspec.field(default=True, name="columnsStartAt1")
    path_format: str = "path"
    client_name: str = ""
    client_id: str = msgspec.field(default="", name="clientID")


class PathMapping(Arguments):
    local_root: str
    remote_root: str


class Attach(Arguments):
    path_mappings: list[PathMapping] = []


class Source(Arguments):
    path: str | None = None
    source_reference: int | None = None


class SourceBreakpoint(Arguments):
    line: Count
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None


class SetBreakpoints(Arguments):
    source: Source
    breakpoints: list[SourceBreakpoint] | None = None
    lines: list[Count] = []


class FunctionBreakpoint(Arguments):
    name: str
    condition: str | None = None
    hit_condition: str | None = None


class SetFunctionBreakpoints(Arguments):
    breakpoints: list[FunctionBreakpoint]


class FilterOption(Arguments):
    filter_id: str
    condition: str | None = None


class PathSegment(Arguments):
    names: list[str]
    negate: bool = False


class ExceptionOption(Arguments):
    break_mode: str
    path: list[PathSegment] = []


class SetExceptionBreakpoints(Arguments):
    filters: list[str] = []
    filter_options: list[FilterOption] = []
    exception_options: list[ExceptionOption] = []


class OfThread(Arguments):
    thread_id: int


class Resume(OfThread):
    single_thread: bool = False


class Step(OfThread):
    single_thread: bool = False
    granularity: str = "line"
    target_id: int | None = None


class StackTrace(OfThread):
    start_frame: Count = 0
    levels: Count = 0


class OfFrame(Arguments):
    frame_id: int


class Variables(Arguments):
    variables_reference: int
    filter: str | None = None
    start: Count = 0
    count: Count = 0


class Evaluate(Arguments):
    expression: str
    frame_id: int | None = None
    context: str = "repl"


class SetVariable(Arguments):
    variables_reference: int
    name: str
    value: str


class SetExpression(Arguments):
    expression: str
    value: str
    frame_id: int | None = None


class SourceRequest(Arguments):
    source_reference: int = 0
    source: Source | None = None


class Completions(Arguments):
    text: str
    column: Count
    line: Count | None = None
    frame_id: int | None = None


class Modules(Arguments):
    start_module: Count = 0
    module_count: Count = 0


class ReadMemory(Arguments):
    memory_reference: str
    count: Count
    offset: int = 0


class WriteMemory(Arguments):
    memory_reference: str
    data: str
    offset: int = 0


class Disassemble(Arguments):
    memory_reference: str
    instruction_count: Annotated[int, msgspec.Meta(ge=1)]
    offset: int = 0
    instruction_offset: int = 0


class DataBreakpointInfo(Arguments):
    name: str
    variables_reference: int = 0
    frame_id: int | None = None


class DataBreakpoint(Arguments):
    data_id: str
    access_type: Literal["read", "write", "readWrite"] | None = None
    condition: str | None = None
    hit_condition: str | None = None


class SetDataBreakpoints(Arguments):
    breakpoints: list[DataBreakpoint]


class Disconnect(Arguments):
    terminate_debuggee: bool = False


def read_arguments(arguments: dict[str, Any], kind: type[ArgumentsT]) -> ArgumentsT:
    try:
        return msgspec.convert(arguments, kind)
    except msgspec.ValidationError as error:
        raise RelayError("INVALID_REQUEST", f"Arguments that make no sense: {error}") from None
