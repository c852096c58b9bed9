"""Breakpoints on exceptions as they are sent and as they are answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from .documented import Described, doc
from .fields import Expression, problem
from .requests import RequestModel

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
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"exceptions": ["ValueError", "mypkg.errors.MyError"], "condition": "exc.args"},
                {"filters": ["uncaught"]},
            ]
        }
    )

    filters: list[Filter] | None = Field(
        None,
        max_length=10,
        description="When to stop. raised: once for each exception, caught or not, where it first reaches the "
        "program's own code. uncaught: on those that nothing will catch. user_unhandled: on those that "
        "leave the program's own code for a library's. test_failure: on those by which a test of pytest or "
        "unittest fails. Left out: raised, if exceptions are given.",
    )
    break_mode: BreakMode | None = Field(
        None, description="The same in other words: always is raised, unhandled is uncaught."
    )
    exceptions: list[ClassName] | None = Field(
        None,
        max_length=100,
        description="Only exceptions of these classes and their subclasses, named by the end of their full name. They "
        "need not be loaded yet. All exceptions if left out.",
    )
    exception_types: list[ClassName] | None = Field(None, max_length=100, description="The same as exceptions.")
    condition: Expression | None = Field(
        None, description="Stop only if this is truthy in the frame; the exception is `exc`, or `exception`."
    )

    @model_validator(mode="after")
    def something(self) -> Self:
        if self.filters and self.break_mode:
            raise problem("Give filters or break_mode, not both", "break_mode")
        if self.exceptions and self.exception_types:
            raise problem("Give exceptions or exception_types, not both", "exception_types")
        if not (self.filters or self.break_mode or self.exceptions or self.exception_types):
            raise problem("Give filters, or exceptions", "filters")
        return self

    def params(self) -> dict[str, Any]:
        asked: Sequence[str] = self.filters or [OF_MODE.get(self.break_mode or "always", self.break_mode or "")]
        return {
            "filters": list(dict.fromkeys(OURS.get(name, name) for name in asked)),
            "exceptions": list(dict.fromkeys(self.exceptions or self.exception_types or [])),
            "condition": self.condition,
        }


class ExceptionBreakpoint(Described):
    id: str = doc("Identifier, stable for the session's life.", "ex_1", ...)
    filters: list[str] = doc("When it stops: raised, uncaught, user_unhandled, test_failure.", ["raised"], ...)
    exceptions: list[str] = doc("Classes on which it stops, subclasses included; none: all.", ["ValueError"], ...)
    condition: str | None = doc("Stops only if this is truthy.", "exc.errno == 2")
    from_launch: bool = doc("Whether it is the launch option stop_on_exception.", False)
    hit_count: int = doc("How often the program stopped for it in this run.", 1)


class ExceptionBreakpointSet(Described):
    exception_breakpoint_id: str = doc("Its id.", "ex_1", ...)
    exception_breakpoints: list[ExceptionBreakpoint] = doc("The one that was set.", None, ...)
    filters: list[str] = doc("Every filter that is in use now.", ["raised", "uncaught"], ...)


class ExceptionBreakpointList(Described):
    exception_breakpoints: list[ExceptionBreakpoint] = doc("All of them.", None, ...)
    filters: list[str] = doc("Every filter that is in use.", ["raised", "uncaught"], ...)
    total: int = doc("How many there are.", 2, ...)


class ExceptionBreakpointsRemoved(Described):
    deleted: bool = doc("Always true.", True, ...)
    removed: list[str] = doc("Ids of those that were removed.", ["ex_1"], ...)
