"""The import of a session from a document that a relay exported."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from ...answers.documents import DOCUMENT_FORMAT, DOCUMENT_VERSION
from ..fields import Argument, PathText, ShortText, optional, preset, problem
from . import program as shared
from .base import RequestModel
from .breakpoints import Breakpoint, BreakpointRequest, ExceptionBreakpointRequest
from .expressions import WatchRequest

HOW_TO_RUN = ("wait", "fields", "budget")
"""Fields of a launch that say how to wait for it, not what it is."""


class ConfigDocument(RequestModel):
    project_root: PathText | None = optional("Root of the project where the document was made.")
    python_path: PathText | None = optional("Interpreter; relative to the root, or a name on PATH.")
    venv: PathText | None = optional("Virtual environment, relative to the root if inside of it.")
    pythonpath: shared.ImportPaths = preset([], "Folders to import from.")
    timeout_minutes: int | None = optional("Minutes without activity until it expires.", ge=1, le=1440)
    stop_on_entry: bool = preset(False, "Pause at the program's first line.")
    stop_scope: shared.StopScope = preset("all", shared.STOP_SCOPE)
    adapter: shared.Adapter | None = optional(shared.ADAPTER)

    _one_interpreter = model_validator(mode="after")(shared.check_one_interpreter)


class LaunchDocument(shared.LaunchRequest):
    env: dict[shared.EnvironmentName, Argument | None] = preset(  # type: ignore[assignment]
        {}, "Environment variables; null for one whose value was not exported.", max_length=1000)

    @model_validator(mode="after")
    def names_a_program(self) -> Self:
        if not self.named():
            raise problem(shared.ONE_OF)
        return self


class ImportSessionRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{
        "format": DOCUMENT_FORMAT,
        "version": DOCUMENT_VERSION,
        "name": "debug-my-script",
        "config": {"project_root": "/home/dev/myproject"},
        "launch": {"script": "main.py", "args": ["--verbose"]},
        "breakpoints": [{"source": {"path": "main.py"}, "line": 42, "condition": "x > 10"}],
        "project_root": "/srv/myproject",
    }]})

    format: Literal["opencode-debugger/session"] = Field(description="Says what the document is.")
    version: Annotated[int, WithJsonSchema({"type": "integer", "const": DOCUMENT_VERSION})] = Field(
        description="Version of the format.")
    exported_at: ShortText | None = optional("When it was exported; has no effect.")
    name: ShortText | None = optional("Name of the new session; made up if left out.")
    config: ConfigDocument = Field(default_factory=ConfigDocument, description="Settings of the session.")
    launch: LaunchDocument | None = optional("What a launch without a program starts.")
    breakpoints: list[Breakpoint] = preset([], "Breakpoints.", max_length=10_000)
    watches: list[WatchRequest] = preset([], "Watched expressions.", max_length=50)
    exception_breakpoints: list[ExceptionBreakpointRequest] = preset(
        [], "Which exceptions stop the program.", max_length=1000)
    project_root: PathText | None = optional(
        "Root of the project here, in place of config.project_root. Not part of an export.")
    path_map: dict[PathText, PathText] = preset(
        {}, "Folders outside of the root: where each is here. Absolute paths. Not part of an export.", max_length=100)

    @model_validator(mode="before")
    @classmethod
    def is_ours(cls, body: object) -> object:
        """Said first: nothing else makes sense in another kind of document."""
        if not isinstance(body, dict):
            return body
        if body.get("format") != DOCUMENT_FORMAT:
            if isinstance(body.get("data"), dict) and body["data"].get("format") == DOCUMENT_FORMAT:
                raise problem("This is the whole answer of export: send what is in its data", "format")
            raise problem(f"This is not an exported session: its format is not '{DOCUMENT_FORMAT}'", "format")
        version = body.get("version")
        if type(version) is not int or version < 1:
            raise problem("The version of the document is missing or not a positive number", "version")
        if version > DOCUMENT_VERSION:
            raise problem(f"A newer relay wrote this (version {version}): this one reads {DOCUMENT_VERSION}", "version")
        return body

    @model_validator(mode="after")
    def absolute_map(self) -> Self:
        if not all(path.startswith("/") for pair in self.path_map.items() for path in pair):
            raise problem("Paths must be absolute", "path_map")
        return self

    def params(self) -> dict[str, object]:
        launch = self.launch.model_dump(exclude=set(HOW_TO_RUN)) if self.launch else None
        parts: dict[str, object] = {
            "breakpoints": [breakpoint_definition(bp) for bp in self.breakpoints],
            "watches": [watch.params() for watch in self.watches],
            "exception_breakpoints": [each.params() for each in self.exception_breakpoints],
        }
        given = launch and {name: value for name, value in launch.items() if value is not None}
        config = self.config.model_dump(exclude_none=True)
        places = {"project_root": self.project_root, "path_map": self.path_map}
        return {"name": self.name, "config": config, "launch": given, "parts": parts, **places}


def breakpoint_definition(breakpoint: BreakpointRequest) -> dict[str, object]:
    """In the one form in which breakpoints are kept."""
    given = breakpoint.model_dump(exclude={"file"})
    return {**given, "source": {"path": breakpoint.file}} if breakpoint.file is not None else given
