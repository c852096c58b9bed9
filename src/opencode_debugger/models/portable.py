"""A session as a document: exported from one relay, imported into the same or another."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from .breakpoints import BreakpointRequest
from .documented import Described, doc
from .exception_breakpoints import ExceptionBreakpointRequest
from .fields import Argument, PathText, ShortText, problem
from .program import (
    ADAPTER,
    ONE_OF,
    STOP_SCOPE,
    Adapter,
    EnvironmentName,
    ImportPaths,
    LaunchRequest,
    StopScope,
    check_one_interpreter,
)
from .requests import RequestModel
from .watches import WatchRequest

FORMAT = "opencode-debugger/session"
VERSION = 1
HOW_TO_RUN = ("wait", "fields", "budget")
"""Fields of a launch that say how to wait for it, not what it is."""


class ConfigDocument(RequestModel):
    project_root: PathText | None = Field(None, description="Root of the project where the document was made.")
    python_path: PathText | None = Field(None, description="Interpreter; relative to the root, or a name on PATH.")
    venv: PathText | None = Field(None, description="Virtual environment, relative to the root if inside of it.")
    pythonpath: ImportPaths = Field(default=[], description="Folders to import from.")
    timeout_minutes: int | None = Field(None, ge=1, le=1440, description="Minutes without activity until it expires.")
    stop_on_entry: bool = Field(False, description="Pause at the program's first line.")
    stop_scope: StopScope = Field("all", description=STOP_SCOPE)
    adapter: Adapter | None = Field(None, description=ADAPTER)

    @model_validator(mode="after")
    def one_interpreter(self) -> Self:
        return check_one_interpreter(self)


class LaunchDocument(LaunchRequest):
    env: dict[EnvironmentName, Argument | None] = Field(  # type: ignore[assignment]
        default={}, max_length=1000, description="Environment variables; null for one whose value was not exported."
    )

    @model_validator(mode="after")
    def names_a_program(self) -> Self:
        if not self.named():
            raise problem(ONE_OF)
        return self


class ImportSessionRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "format": FORMAT,
                    "version": VERSION,
                    "name": "debug-my-script",
                    "config": {"project_root": "/home/dev/myproject"},
                    "launch": {"script": "main.py", "args": ["--verbose"]},
                    "breakpoints": [{"source": {"path": "main.py"}, "line": 42, "condition": "x > 10"}],
                    "project_root": "/srv/myproject",
                }
            ]
        }
    )

    format: Literal["opencode-debugger/session"] = Field(description="Says what the document is.")
    version: Annotated[int, WithJsonSchema({"type": "integer", "const": VERSION})] = Field(
        description="Version of the format."
    )
    exported_at: ShortText | None = Field(None, description="When it was exported; has no effect.")
    name: ShortText | None = Field(None, description="Name of the new session; made up if left out.")
    config: ConfigDocument = Field(default_factory=ConfigDocument, description="Settings of the session.")
    launch: LaunchDocument | None = Field(None, description="What a launch without a program starts.")
    breakpoints: list[BreakpointRequest] = Field(default=[], max_length=10_000, description="Breakpoints.")
    watches: list[WatchRequest] = Field(default=[], max_length=50, description="Watched expressions.")
    exception_breakpoints: list[ExceptionBreakpointRequest] = Field(
        default=[], max_length=1000, description="Which exceptions stop the program."
    )
    project_root: PathText | None = Field(
        None, description="Root of the project here, in place of config.project_root. Not part of an export."
    )
    path_map: dict[PathText, PathText] = Field(
        default={},
        max_length=100,
        description="Folders outside of the root: where each is here. Absolute paths. Not part of an export.",
    )

    @model_validator(mode="before")
    @classmethod
    def is_ours(cls, body: Any) -> Any:
        """Said first: nothing else makes sense in another kind of document."""
        if not isinstance(body, dict):
            return body
        if body.get("format") != FORMAT:
            if isinstance(body.get("data"), dict) and body["data"].get("format") == FORMAT:
                raise problem("This is the whole answer of export: send what is in its data", "format")
            raise problem(f"This is not an exported session: its format is not '{FORMAT}'", "format")
        version = body.get("version")
        if type(version) is not int or version < 1:
            raise problem("The version of the document is missing or not a positive number", "version")
        if version > VERSION:
            raise problem(f"A newer relay wrote this (version {version}): this one reads {VERSION}", "version")
        return body

    @model_validator(mode="after")
    def absolute_map(self) -> Self:
        if not all(path.startswith("/") for pair in self.path_map.items() for path in pair):
            raise problem("Paths must be absolute", "path_map")
        return self

    def params(self) -> dict[str, Any]:
        launch = self.launch.model_dump(exclude=set(HOW_TO_RUN)) if self.launch else None
        parts: dict[str, Any] = {
            "breakpoints": [definition(bp) for bp in self.breakpoints],
            "watches": [watch.params() for watch in self.watches],
            "exception_breakpoints": [each.params() for each in self.exception_breakpoints],
        }
        return {
            "name": self.name,
            "config": self.config.model_dump(exclude_none=True),
            "launch": launch and {name: value for name, value in launch.items() if value is not None},
            "parts": parts,
            "project_root": self.project_root,
            "path_map": self.path_map,
        }


def definition(breakpoint: BreakpointRequest) -> dict[str, Any]:
    """In the one form in which breakpoints are kept."""
    given = breakpoint.model_dump(exclude={"file"})
    return {**given, "source": {"path": breakpoint.file}} if breakpoint.file is not None else given


class SessionDocument(Described):
    format: str = doc("Says what the document is.", FORMAT, ...)
    version: int = doc("Version of the format.", VERSION, ...)
    exported_at: str = doc("When it was exported.", "2026-01-13T10:30:00.000Z", ...)
    name: str = doc("Name of the session.", "debug-my-script", ...)
    config: dict[str, Any] = doc("Settings of the session; paths inside of project_root without it.", None, ...)
    launch: dict[str, Any] | None = doc("What was launched last; values of env only with include_env.")
    breakpoints: list[dict[str, Any]] = doc("Breakpoints as they are set.", None, ...)
    watches: list[dict[str, Any]] = doc("Watched expressions.", None, ...)
    exception_breakpoints: list[dict[str, Any]] = doc("Which exceptions stop the program.", None, ...)
