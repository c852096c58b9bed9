"""Breakpoints as they are sent and as they are answered."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from .documented import Described, doc
from .fields import Argument, LineNumber, PathText, ShortText, problem, without_nul
from .requests import RequestModel, choice

STRICT = "Refuse breakpoints that cannot be verified now, instead of keeping them pending."

# Tags are part of pydantic's error locations; the brackets tell them from field names.
ONE, MANY = "<one>", "<many>"


LOCALS = "<locals>"
OF_PYTHON = re.compile(r"<(locals|lambda)>")
"""No type of a native program, though it looks like one."""
NO_NAME = (
    "Not the name of a function: give func, module.func, Class.method, module.Class.method; of native programs "
    "Class::method, f(int), twice<int>, <shop::Sq as shop::Shape>::area, without what it returns; or an address: "
    "*0x401136"
)
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
    name: ShortText | None = Field(None, description="Ignored; editors send it.")


class BreakpointRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"source": {"path": "/home/dev/myproject/main.py"}, "line": 42}],
            "oneOf": [
                choice(["source", "line"], ["file", "function", "text", "occurrence"]),
                choice(["file", "line"], ["source", "function", "text", "occurrence"]),
                choice(["source", "text"], ["file", "function", "line"]),
                choice(["file", "text"], ["source", "function", "line"]),
                choice(["function"], ["line", "file", "text", "occurrence"]),
                choice(["function", "file"], ["line", "source", "text", "occurrence"]),
            ],
        }
    )

    source: SourceRequest | None = Field(None, description="Source file by path.")
    file: PathText | None = Field(None, description="Source file; may be relative to project_root.")
    line: LineNumber | None = Field(None, description="Line number (1-indexed).")
    text: LineText | None = Field(
        None,
        description="Instead of a line: text that the line contains, blanks at its ends aside. Lines with code are "
        "preferred. If several contain it, an occurrence is needed.",
    )
    occurrence: Occurrence | None = Field(None, description="Which of the lines that contain the text (1-indexed).")
    function: FunctionName | None = Field(
        None,
        description="Instead of a line: stop at the first line inside this function: func, module.func, Class.method, "
        "module.Class.method. Of native programs also ns::Class::method, f(int), twice<int>, "
        "<shop::Sq as shop::Shape>::area, and an address, *0x401136. With a file, only in that file.",
    )
    condition: Argument | None = Field(None, description="Break only when this expression is truthy.")
    hit_condition: ShortText | None = Field(None, description="Break on hit count: 5, ==5, >5, >=5, <5, <=5, %5.")
    log_message: Argument | None = Field(
        None,
        description="Log this instead of breaking; {expressions} are filled in as in f-strings, one that fails with "
        "its error. Cut at 10,000 characters.",
    )
    enabled: bool = Field(True, description="Whether the breakpoint is active.")

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

    def item(self) -> dict[str, Any]:
        return {
            "path": self.source.path if self.source else self.file,
            "relative_ok": self.file is not None,
            **self.model_dump(include=set(ITEM_FIELDS)),
            **self.model_dump(include={"text", "occurrence"}, exclude_none=True),
        }


ITEM_FIELDS = ("line", "function", "condition", "hit_condition", "log_message", "enabled")


class SingleBreakpointRequest(BreakpointRequest):
    strict: bool = Field(False, description=STRICT)

    def params(self) -> dict[str, Any]:
        return {"breakpoints": [self.item()], "strict": self.strict, "single": True}


class ChangeBreakpointRequest(RequestModel):
    """What is left out stays as it is; null takes a condition, hit condition or log message away."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"condition": "x > 10", "hit_condition": None}]})

    line: LineNumber = Field(1, description="Move it to this line of its file; it counts its hits anew.")
    condition: Argument | None = Field(None, description="Break only when this expression is truthy; null: always.")
    hit_condition: ShortText | None = Field(
        None, description="Break on hit count: 5, ==5, >5, >=5, <5, <=5, %5; null: on each."
    )
    log_message: Argument | None = Field(None, description="Log this instead of breaking; null: break.")
    enabled: bool = Field(True, description="Switch it off and on again. It stays listed and keeps its count.")
    strict: bool = Field(False, description=STRICT)

    @model_validator(mode="after")
    def something(self) -> Self:
        if not self.model_fields_set - {"strict"}:
            raise problem("Give at least one of line, condition, hit_condition, log_message and enabled")
        return self

    def params(self) -> dict[str, Any]:
        changes = self.model_dump(include=self.model_fields_set - {"strict"})
        return {"changes": changes, "strict": self.strict}


class SetBreakpointsRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "breakpoints": [
                        {"source": {"path": "/home/dev/myproject/main.py"}, "line": 42},
                        {"file": "utils.py", "line": 15, "condition": "len(items) > 100"},
                    ]
                }
            ]
        }
    )

    breakpoints: list[BreakpointRequest] = Field(
        min_length=1, max_length=1000, description="Breakpoints to add, or to replace at the same file and line."
    )
    strict: bool = Field(False, description=STRICT)

    refused: ClassVar[dict[str, str]] = {
        name: f"Beside breakpoints there is no {name}: give it in each of them" for name in ("source", "file", "line")
    }

    def params(self) -> dict[str, Any]:
        items = [breakpoint.item() for breakpoint in self.breakpoints]
        return {"breakpoints": items, "strict": self.strict, "single": False}


def one_or_many(body: Any) -> str:
    many = "breakpoints" in body if isinstance(body, dict) else isinstance(body, SetBreakpointsRequest)
    return MANY if many else ONE


BreakpointsBody = Annotated[
    Annotated[SetBreakpointsRequest, Tag(MANY)] | Annotated[SingleBreakpointRequest, Tag(ONE)],
    Discriminator(one_or_many),
]


class SourcePath(Described):
    path: str | None = doc("Absolute path of the source file.", "/home/dev/myproject/main.py")


class Breakpoint(Described):
    id: str = doc("Identifier, stable for the session's life.", "bp_1", ...)
    verified: bool = doc("Whether the program will stop there.", True, ...)
    source: SourcePath | None = doc("Source file.")
    line: int | None = doc("Line that was asked for, or the first line inside the function.", 42)
    function: str | None = doc("Of a function breakpoint: the name that was asked for.", "Cart.add")
    file: str | None = doc("Of a function breakpoint: the only file in which it counts.")
    locations: list[dict[str, Any]] | None = doc(
        "Of a function breakpoint: every place where it stops, at most 20.", [{"path": "/home/dev/cart.py", "line": 12}]
    )
    text: str | None = doc("What is written on the line, if it was found by its text.", "total += price")
    condition: str | None = doc("Break only when this is truthy.", "x > 10")
    hit_condition: str | None = doc("Hit count condition.", ">=5")
    log_message: str | None = doc("Text of a logpoint.", "x is {x}")
    enabled: bool = doc("Whether it is active.", True)
    hit_count: int = doc("How often it was reached, and its condition, if any, was true, in this run.", 3)
    restored: bool | None = doc("True when an earlier session of the project set it, and nobody in this one.", True)
    moved_from: int | None = doc(
        "The line that it was on before, if it was moved: by a request, or with its text in a file that was edited.", 41
    )
    source_changed: bool | None = doc("True when its file changed after the program had loaded it.", True)
    message: str | None = doc("Why it is not verified, or more about its line.", "No executable code at line 15")
    suggestion: dict[str, Any] | None = doc(
        "A line nearby that has code, and its text; for a file that is not there, the path of one that is.",
        {"line": 16, "text": "return total"},
    )


NOT_SAVED = doc(
    "Only if it could not be saved for the project, as on a full disk: why. It holds for this session.",
    "This holds for the session, but was not saved for its project ...",
)


class BreakpointsSet(Described):
    breakpoints: list[Breakpoint] = doc("The breakpoints of this request, in its order.", None, ...)
    breakpoint_id: str | None = doc("Its id, when one bare breakpoint was sent.", "bp_1")
    verified: bool | None = doc("Whether it is verified, when one bare breakpoint was sent.", True)
    warning: str | None = NOT_SAVED


class BreakpointChanged(Breakpoint):
    warning: str | None = NOT_SAVED


class BreakpointList(Described):
    breakpoints: list[Breakpoint] = doc("Every breakpoint of the session that matches.", None, ...)
    total: int = doc("How many there are.", 5, ...)


class BreakpointGone(Described):
    id: str = doc("Identifier it had.", "bp_1", ...)
    line: int | None = doc("Line it was on; null if it was on a function.", 42)


class BreakpointsRemoved(Described):
    deleted: bool = doc("Always true.", True, ...)
    removed: list[BreakpointGone] = doc("Those that were removed.", None, ...)
    warning: str | None = NOT_SAVED


class BreakpointRemoved(Described):
    id: str = doc("Identifier of the removed breakpoint.", "bp_1", ...)
    deleted: bool = doc("Always true.", True, ...)
    warning: str | None = NOT_SAVED
