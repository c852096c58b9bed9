"""Breakpoints as they are sent and as they are answered."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from .documented import Described, doc
from .fields import Argument, LineNumber, PathText, ShortText, problem
from .requests import RequestModel, choice

STRICT = "Refuse breakpoints that cannot be verified now, instead of keeping them pending."

# Tags are part of pydantic's error locations; the brackets tell them from field names.
ONE, MANY = "<one>", "<many>"


class SourceRequest(RequestModel):
    path: PathText = Field(description="Absolute path; relative to project_root if the session has one.")
    name: ShortText | None = Field(None, description="Ignored; editors send it.")


class BreakpointRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"source": {"path": "/home/dev/myproject/main.py"}, "line": 42}],
            "oneOf": [
                choice(["source", "line"], ["file", "function"]),
                choice(["file", "line"], ["source", "function"]),
                choice(["function"], ["line", "file"]),
                choice(["function", "file"], ["line", "source"]),
            ],
        }
    )

    source: SourceRequest | None = Field(None, description="Source file by path.")
    file: PathText | None = Field(None, description="Source file; may be relative to project_root.")
    line: LineNumber | None = Field(None, description="Line number (1-indexed).")
    function: ShortText | None = Field(None, description="Not available in this version: give a line.")
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
        if self.function is not None and self.line is not None:
            raise problem("Give line or function, not both", "function")
        if self.function is None and self.line is None:
            raise problem("A line (or a function) is required", "line")
        if self.line is not None and self.source is None and self.file is None:
            raise problem("A source.path (or file) is required", "source")
        return self

    def item(self) -> dict[str, Any]:
        return {
            "path": self.source.path if self.source else self.file,
            "relative_ok": self.file is not None,
            **self.model_dump(include=set(ITEM_FIELDS)),
        }


ITEM_FIELDS = ("line", "function", "condition", "hit_condition", "log_message", "enabled")


class SingleBreakpointRequest(BreakpointRequest):
    strict: bool = Field(False, description=STRICT)

    def params(self) -> dict[str, Any]:
        return {"breakpoints": [self.item()], "strict": self.strict, "single": True}


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
    line: int | None = doc("Line that was asked for.", 42)
    condition: str | None = doc("Break only when this is truthy.", "x > 10")
    hit_condition: str | None = doc("Hit count condition.", ">=5")
    log_message: str | None = doc("Text of a logpoint.", "x is {x}")
    enabled: bool = doc("Whether it is active.", True)
    hit_count: int = doc("How often it was reached, and its condition, if any, was true.", 3)
    message: str | None = doc("Why it is not verified, or more about its line.", "No executable code at line 15")
    suggestion: dict[str, Any] | None = doc(
        "A line nearby that has code, and its text.", {"line": 16, "text": "return total"}
    )


class BreakpointsSet(Described):
    breakpoints: list[Breakpoint] = doc("The breakpoints of this request, in its order.", None, ...)
    breakpoint_id: str | None = doc("Its id, when one bare breakpoint was sent.", "bp_1")
    verified: bool | None = doc("Whether it is verified, when one bare breakpoint was sent.", True)


class BreakpointList(Described):
    breakpoints: list[Breakpoint] = doc("Every breakpoint of the session that matches.", None, ...)
    total: int = doc("How many there are.", 5, ...)


class BreakpointRemoved(Described):
    id: str = doc("Identifier of the removed breakpoint.", "bp_1", ...)
    deleted: bool = doc("Always true.", True, ...)
