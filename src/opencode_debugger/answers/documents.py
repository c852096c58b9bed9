"""A session as a document that another relay can import."""

from __future__ import annotations

from typing import Annotated, Any, Required, TypedDict

from .shape import Answer, said

DOCUMENT_FORMAT = "opencode-debugger/session"
DOCUMENT_VERSION = 1
"""Kind and version of an exported session."""


class ExportedConfig(Answer):
    project_root: Annotated[str | None, said("Root directory of the project.", "/home/dev/myproject")]
    python_path: Annotated[str | None, said("Interpreter.", "/usr/bin/python3")]
    venv: Annotated[str | None, said("Environment that is activated for the program.", ".venv")]
    pythonpath: Annotated[list[str], said("Folders to import from, in front of PYTHONPATH.", ["lib"])]
    timeout_minutes: Annotated[int | None, said("Minutes without activity after which the session expires.", 60)]
    stop_on_entry: Annotated[bool, said("Whether the program pauses at its first line.", False)]
    stop_scope: Annotated[str, said("What a stop halts: all or thread.", "all")]
    adapter: Annotated[str | None, said("Debugger that was asked for; null for any.", "gdb")]


class SavedBreakpoint(TypedDict, total=False):
    """A breakpoint as it is set, without what a session knows of it: saved, exported, or in a profile."""

    source: Annotated[dict[str, str | None] | None, said("Source file.", {"path": "/home/dev/myproject/main.py"})]
    file: Annotated[str, said("Of a function: the only file in which it counts.", "/home/dev/myproject/main.py")]
    line: Annotated[int | None, said("Line.", 42)]
    function: Annotated[str | None, said("Function, in the place of a line.", "Cart.add")]
    condition: Annotated[str | None, said("Break only when this is truthy.", "x > 10")]
    hit_condition: Annotated[str | None, said("Hit count condition.", ">=5")]
    log_message: Annotated[str | None, said("Text of a logpoint.", "x is {x}")]
    enabled: Annotated[bool, said("Whether it is active.", True)]
    content: Annotated[dict[str, Any] | None, said("The text of its line, and of those around it.")]


class SavedExceptionBreakpoint(TypedDict, total=False):
    """A breakpoint on exceptions as it is asked for, saved or exported."""

    filters: Required[Annotated[list[str], said("When it stops.", ["raised"])]]
    exceptions: Annotated[list[str] | None, said("Classes on which it stops, subclasses included.", ["ValueError"])]
    condition: Annotated[str | None, said("Stops only if this is truthy.", "exc.errno == 2")]


class ExportedSession(Answer):
    name: Annotated[str, said("Name of the session.", "debug-my-script")]
    config: Annotated[ExportedConfig, said("Settings of the session; paths inside of project_root without it.")]
    launch: Annotated[dict[str, Any] | None, said("What was launched last; values of env only with include_env.")]
    breakpoints: Annotated[list[SavedBreakpoint], said("Breakpoints as they are set.")]
    watches: Annotated[list[dict[str, Any]], said("Watched expressions.")]
    exception_breakpoints: Annotated[list[SavedExceptionBreakpoint], said("Which exceptions stop the program.")]


class SessionDocument(ExportedSession):
    format: Annotated[str, said("Says what the document is.", DOCUMENT_FORMAT)]
    version: Annotated[int, said("Version of the format.", DOCUMENT_VERSION)]
    exported_at: Annotated[str, said("When it was exported.", "2026-01-13T10:30:00.000Z")]
