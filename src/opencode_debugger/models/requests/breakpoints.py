"""Requests that set and change breakpoints, on exceptions too, and save them in named sets."""

import re
from collections.abc import Sequence
from keyword import iskeyword
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ..fields import Argument, Expression, LineNumber, PathText, ShortText, optional, preset, problem, without_nul
from .base import RequestModel, given_or_not
from .breakpoint_text import FORMS, LONGEST_SPELLED, breakpoint_fields

STRICT = "Refuse breakpoints that cannot be verified now, instead of keeping them pending."

# Tags are part of pydantic's error locations; the brackets tell them from field names.
ONE, MANY = "<one>", "<many>"


LOCALS = "<locals>"
OF_PYTHON = re.compile(r"<(locals|lambda)>")
"""No type of a native program, though it looks like one."""
NO_NAME = (
    "Not the name of a function: give func, module.func, Class.method, module.Class.method; of native programs "
    "Class::method, f(int), twice<int>, <shop::Sq as shop::Shape>::area, without what it returns; or an address: "
    "*0x401136")
ADDRESS = re.compile(r"\*0x[0-9a-fA-F]{1,16}")
OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|[-+*/%^&|~!=<>,]+|[\w:*&]+( ?[*&])*)")
GROUP = re.compile(r"\([^()<>\[\]{}]*\)|<[^()<>\[\]{}]*>|\[[^()<>\[\]{}]*\]|\{[^()<>\[\]{}]*\}")
"""Brackets with none inside of them."""
INSIDE = re.compile(r"[\w :,*&.;#'$+=/\0-]*")
PART = r"(~?[^\W\d][\w$/-]*\0*|\0+)"
NATIVE_NAME = re.compile(rf"(::)?{PART}((::|\.){PART})*( const| volatile| noexcept| &&?)*")
"""What is left when brackets and what is in them stand as one character."""


def line_text(value: str) -> str:
    if not value.strip() or "\n" in value or "\r" in value:
        raise problem("Must be text from one line of the file")
    return without_nul(value)


def function_name(value: str) -> str:
    """func, module.func, Class.method, module.Class.method, outer.<locals>.inner; or as native programs have them"""
    parts = value.split(".")
    named = [part for part in parts if part != LOCALS]
    is_python = LOCALS not in (parts[0], parts[-1]) and all(part.isidentifier() for part in named)
    if is_python and not any(iskeyword(part) for part in named):
        return value
    is_native = ADDRESS.fullmatch(value) or is_native_name(value)
    if is_python or OF_PYTHON.search(value) or not is_native:
        raise problem(NO_NAME)
    return value


def is_native_name(text: str) -> bool:
    """ns::Class::method, f(int) const, twice<int>, <Square as Shape>::area, main::{closure#0}: the brackets match, and
    blanks are only inside of them."""
    text = OPERATOR.sub("operator", text).replace("->", "")
    while group := GROUP.search(text):
        if not INSIDE.fullmatch(group[0][1:-1]):
            return False
        text = text[: group.start()] + "\0" + text[group.end() :]
    return NATIVE_NAME.fullmatch(text) is not None


FunctionName = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(function_name)]
LineText = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(line_text)]
Occurrence = Annotated[int, Field(ge=1, le=1_000_000)]


class SourceRequest(RequestModel):
    path: PathText = Field(description="Absolute path; relative to project_root if the session has one.")
    name: ShortText | None = optional("Ignored; editors send it.")


class BreakpointRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"source": {"path": "/home/dev/myproject/main.py"}, "line": 42}],
        "oneOf": [
            given_or_not(["source", "line"], ["file", "function", "text", "occurrence"]),
            given_or_not(["file", "line"], ["source", "function", "text", "occurrence"]),
            given_or_not(["source", "text"], ["file", "function", "line"]),
            given_or_not(["file", "text"], ["source", "function", "line"]),
            given_or_not(["function"], ["line", "file", "text", "occurrence"]),
            given_or_not(["function", "file"], ["line", "source", "text", "occurrence"]),
        ],
    })

    source: SourceRequest | None = optional("Source file by path.")
    file: PathText | None = optional("Source file; may be relative to project_root.")
    line: LineNumber | None = optional("Line number (1-indexed).")
    text: LineText | None = optional(
        "Instead of a line: text that the line contains, blanks at its ends aside. Lines with code are preferred. If "
        "several contain it, an occurrence is needed.")
    occurrence: Occurrence | None = optional("Which of the lines that contain the text (1-indexed).")
    function: FunctionName | None = optional(
        "Instead of a line: stop at the first line inside this function: func, module.func, Class.method, "
        "module.Class.method. Of native programs also ns::Class::method, f(int), twice<int>, <shop::Sq as "
        "shop::Shape>::area, and an address, *0x401136. With a file, only in that file.")
    condition: Argument | None = optional("Break only when this expression is truthy.")
    hit_condition: ShortText | None = optional("Break on hit count: 5, ==5, >5, >=5, <5, <=5, %5.")
    log_message: Argument | None = optional(
        "Log this instead of breaking; {expressions} are filled in as in f-strings, one that fails with its error. "
        "Cut at 10,000 characters.")
    enabled: bool = preset(True, "Whether the breakpoint is active.")

    @model_validator(mode="after")
    def one_place(self) -> Self:
        if self.source is not None and self.file is not None:
            raise problem("Give source.path or file, not both", "file")
        given = [name for name in ("line", "text", "function") if getattr(self, name) is not None]
        if len(given) > 1:
            raise problem(f"Give {given[0]} or {given[1]}, not both", given[1])
        if not given:
            raise problem("A line (or a text, or a function) is required", "line")
        if self.occurrence is not None and self.text is None:
            raise problem("An occurrence goes with text", "occurrence")
        if self.function is None and self.source is None and self.file is None:
            raise problem("A source.path (or file) is required", "source")
        return self

    def item(self) -> dict[str, object]:
        return {
            "path": self.source.path if self.source else self.file, "relative_ok": self.file is not None,
            **self.model_dump(include=set(ITEM_FIELDS)),
            **self.model_dump(include={"text", "occurrence"}, exclude_none=True),
        }


ITEM_FIELDS = ("line", "function", "condition", "hit_condition", "log_message", "enabled")


class SpelledOrObject:
    """Describes a breakpoint that may also be spelled as one text."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        examples = ["app.py:42", "app.py:42 if x > 3 hits >=2", 'app.py~"total = 0" log {x}', "Cart.add", "app.py:main"]
        text = {"type": "string", "maxLength": LONGEST_SPELLED, "description": FORMS, "examples": examples}
        return {"anyOf": [text, handler(core_schema)]}


def fields_of_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    fields = breakpoint_fields(value)
    try:
        function_name(fields.get("function", "main"))
    except PydanticCustomError:
        named = fields["function"][:100]
        raise problem(f"{named!r} is neither a place in a file nor the name of a function. {FORMS}") from None
    return fields


Breakpoint = Annotated[BreakpointRequest, BeforeValidator(fields_of_text), SpelledOrObject()]
"""a breakpoint as an object, or spelled"""


class SingleBreakpointRequest(BreakpointRequest):
    strict: bool = preset(False, STRICT)

    def params(self) -> dict[str, object]:
        return {"breakpoints": [self.item()], "strict": self.strict, "single": True}


class ChangeBreakpointRequest(RequestModel):
    """What is left out stays as it is; null takes a condition, hit condition or log message away."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"condition": "x > 10", "hit_condition": None}]})

    line: LineNumber = preset(1, "Move it to this line of its file; it counts its hits anew.")
    condition: Argument | None = optional("Break only when this expression is truthy; null: always.")
    hit_condition: ShortText | None = optional("Break on hit count: 5, ==5, >5, >=5, <5, <=5, %5; null: on each.")
    log_message: Argument | None = optional("Log this instead of breaking; null: break.")
    enabled: bool = preset(True, "Switch it off and on again. It stays listed and keeps its count.")
    strict: bool = preset(False, STRICT)

    @model_validator(mode="after")
    def something(self) -> Self:
        if not self.model_fields_set - {"strict"}:
            raise problem("Give at least one of line, condition, hit_condition, log_message and enabled")
        return self

    def params(self) -> dict[str, object]:
        changes = self.model_dump(include=self.model_fields_set - {"strict"})
        return {"changes": changes, "strict": self.strict}


class SetBreakpointsRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"breakpoints": [
        {"source": {"path": "/home/dev/myproject/main.py"}, "line": 42},
        {"file": "utils.py", "line": 15, "condition": "len(items) > 100"},
        "utils.py:21 if total > 100",
    ]}]})

    breakpoints: list[Breakpoint] = Field(
        min_length=1, max_length=1000, description="Breakpoints to add, or to replace at the same file and line; each "
        "an object, or spelled as one text.")
    strict: bool = preset(False, STRICT)

    refused: ClassVar[dict[str, str]] = {
        name: f"Beside breakpoints there is no {name}: give it in each of them" for name in ("source", "file", "line")
    }

    def params(self) -> dict[str, object]:
        items = [breakpoint.item() for breakpoint in self.breakpoints]
        return {"breakpoints": items, "strict": self.strict, "single": False}


def one_or_many(body: Any) -> str:
    many = "breakpoints" in body if isinstance(body, dict) else isinstance(body, SetBreakpointsRequest)
    return MANY if many else ONE


BreakpointsBody = Annotated[
    Annotated[SetBreakpointsRequest, Tag(MANY)] | Annotated[SingleBreakpointRequest, Tag(ONE)],
    Discriminator(one_or_many)]


# On exceptions.

Filter = Literal["raised", "uncaught", "user_unhandled", "userUnhandled", "test_failure"]
BreakMode = Literal["always", "unhandled", "user_unhandled", "userUnhandled"]
OF_MODE = {"always": "raised", "unhandled": "uncaught"}
OURS = {"userUnhandled": "user_unhandled"}
"""debugpy's spelling to our own"""


def class_name(value: str) -> str:
    if not all(part.isidentifier() or part == "<locals>" for part in value.replace("::", ".").split(".")):
        raise problem("Not the name of a class: give ValueError, package.module.MyError or std::logic_error")
    return value


ClassName = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(class_name)]


class ExceptionBreakpointRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [
        {"exceptions": ["ValueError", "mypkg.errors.MyError"], "condition": "exc.args"},
        {"filters": ["uncaught"]},
    ]})

    filters: list[Filter] | None = optional(
        "When to stop. raised: once for each exception, caught or not, where it first reaches the program's own code. "
        "uncaught: on those that nothing will catch. user_unhandled: on those that leave the program's own code for a "
        "library's. test_failure: on those by which a test of pytest or unittest fails. Left out: raised, if "
        "exceptions are given.",
        max_length=10)
    break_mode: BreakMode | None = optional("The same in other words: always is raised, unhandled is uncaught.")
    exceptions: list[ClassName] | None = optional(
        "Only exceptions of these classes and their subclasses, named by the end of their full name. They need not be "
        "loaded yet. All exceptions if left out.",
        max_length=100)
    exception_types: list[ClassName] | None = optional("The same as exceptions.", max_length=100)
    condition: Expression | None = optional(
        "Stop only if this is truthy in the frame; the exception is `exc`, or `exception`.")

    @model_validator(mode="after")
    def something(self) -> Self:
        if self.filters and self.break_mode:
            raise problem("Give filters or break_mode, not both", "break_mode")
        if self.exceptions and self.exception_types:
            raise problem("Give exceptions or exception_types, not both", "exception_types")
        if not (self.filters or self.break_mode or self.exceptions or self.exception_types):
            raise problem("Give filters, or exceptions", "filters")
        return self

    def params(self) -> dict[str, object]:
        asked: Sequence[str] = self.filters or [OF_MODE.get(self.break_mode or "always", self.break_mode or "")]
        return {
            "filters": list(dict.fromkeys(OURS.get(name, name) for name in asked)),
            "exceptions": list(dict.fromkeys(self.exceptions or self.exception_types or [])),
            "condition": self.condition,
        }


# Named sets of them.

NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


def by_line(value: BreakpointRequest) -> BreakpointRequest:
    if value.text is not None:
        raise problem("A profile keeps lines and functions: give a line", "text")
    return value


Kept = Annotated[Breakpoint, AfterValidator(by_line)]


class ReplaceProfileRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"session_id": "sess_a1b2c3d4"}],
        "oneOf": [
            given_or_not(["session_id"], ["breakpoints", "exception_breakpoints", "project_root"]),
            given_or_not(["breakpoints"], ["session_id"]),
        ],
    })

    session_id: ShortText | None = optional("Save what this session has.")
    breakpoints: list[Kept] | None = optional("Or save these.", max_length=1000)
    exception_breakpoints: list[ExceptionBreakpointRequest] | None = optional(
        "And these on exceptions.", max_length=100)
    project_root: PathText | None = optional("Of the breakpoints given: paths inside of it are kept relative to it.")

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if (self.session_id is None) == (self.breakpoints is None):
            raise problem("Give either session_id or breakpoints", "session_id")
        if self.session_id is not None and (self.exception_breakpoints is not None or self.project_root is not None):
            raise problem("With session_id, everything is taken from the session", "session_id")
        return self

    def params(self) -> dict[str, object]:
        wishes = {
            "session_id": self.session_id, "breakpoints": [each.item() for each in self.breakpoints or []],
            "exception_breakpoints": [each.params() for each in self.exception_breakpoints or []],
            "project_root": self.project_root,
        }
        return {"wishes": wishes, "replace": True}


class SaveProfileRequest(ReplaceProfileRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "checkout-bug", "session_id": "sess_a1b2c3d4"}]})

    name: str = Field(
        pattern=NAME_PATTERN, description="At most 64 letters, digits, `_`, `.` and `-`; a letter or digit first.")

    def params(self) -> dict[str, object]:
        return {**super().params(), "name": self.name, "replace": False}


class ApplyProfileRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"session_id": "sess_a1b2c3d4", "replace": True}]})

    session_id: ShortText = Field(description="Session in which its breakpoints are set.")
    replace: bool = preset(False, "Remove the session's other breakpoints.")
