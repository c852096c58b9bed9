"""Named sets of breakpoints as they are sent and as they are answered."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from .breakpoints import BreakpointRequest, BreakpointsSet
from .documented import Described, doc
from .exception_breakpoints import ExceptionBreakpointRequest
from .fields import PathText, ShortText, problem
from .requests import RequestModel, choice

NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


def by_line(value: BreakpointRequest) -> BreakpointRequest:
    if value.text is not None:
        raise problem("A profile keeps lines and functions: give a line", "text")
    return value


Kept = Annotated[BreakpointRequest, AfterValidator(by_line)]


class ReplaceProfileRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"session_id": "sess_a1b2c3d4"}],
            "oneOf": [
                choice(["session_id"], ["breakpoints", "exception_breakpoints", "project_root"]),
                choice(["breakpoints"], ["session_id"]),
            ],
        }
    )

    session_id: ShortText | None = Field(None, description="Save what this session has.")
    breakpoints: list[Kept] | None = Field(None, max_length=1000, description="Or save these.")
    exception_breakpoints: list[ExceptionBreakpointRequest] | None = Field(
        None, max_length=100, description="And these on exceptions."
    )
    project_root: PathText | None = Field(
        None, description="Of the breakpoints given: paths inside of it are kept relative to it."
    )

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if (self.session_id is None) == (self.breakpoints is None):
            raise problem("Give either session_id or breakpoints", "session_id")
        if self.session_id is not None and (self.exception_breakpoints is not None or self.project_root is not None):
            raise problem("With session_id, everything is taken from the session", "session_id")
        return self

    def wishes(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "breakpoints": [each.item() for each in self.breakpoints or []],
            "exception_breakpoints": [each.params() for each in self.exception_breakpoints or []],
            "project_root": self.project_root,
        }


class SaveProfileRequest(ReplaceProfileRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "checkout-bug", "session_id": "sess_a1b2c3d4"}]})

    name: str = Field(
        pattern=NAME_PATTERN, description="At most 64 letters, digits, `_`, `.` and `-`; a letter or digit first."
    )


class ApplyProfileRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"session_id": "sess_a1b2c3d4", "replace": True}]})

    session_id: ShortText = Field(description="Session in which its breakpoints are set.")
    replace: bool = Field(False, description="Remove the session's other breakpoints.")


class ProfileSummary(Described):
    name: str = doc("Name of the profile.", "checkout-bug", ...)
    saved_at: str | None = doc("When it was saved.", "2026-01-13T10:30:00.000Z")
    project_root: str | None = doc("Root of the project it was saved from.", "/home/dev/shop")
    breakpoint_count: int | None = doc("How many breakpoints it has.", 3)
    exception_breakpoint_count: int | None = doc("How many exception breakpoints it has.", 1)
    error: dict[str, Any] | None = doc("Why it cannot be read: code and message.")


class ProfileList(Described):
    profiles: list[ProfileSummary] = doc("All profiles, by name.", None, ...)
    total: int = doc("How many there are.", 2, ...)


class Profile(Described):
    name: str = doc("Name of the profile.", "checkout-bug", ...)
    breakpoints: list[dict[str, Any]] = doc("Its breakpoints; paths inside of the project are relative.", None, ...)
    exception_breakpoints: list[dict[str, Any]] = doc("On which exceptions it stops.", None, ...)
    project_root: str | None = doc("Root of the project it was saved from.", "/home/dev/shop")
    saved_at: str | None = doc("When it was saved.", "2026-01-13T10:30:00.000Z")


class ProfileApplied(BreakpointsSet):
    profile: str = doc("Name of the profile.", "checkout-bug", ...)
    session_id: str = doc("Session in which it was set.", "sess_a1b2c3d4", ...)
    exception_breakpoints: list[dict[str, Any]] = doc("The exception breakpoints that were set.", None, ...)
    removed: list[dict[str, Any]] = doc("Breakpoints that were removed.", None, ...)


class ProfileDeleted(Described):
    name: str = doc("Name of the profile.", "checkout-bug", ...)
    deleted: bool = doc("Always true.", True, ...)
