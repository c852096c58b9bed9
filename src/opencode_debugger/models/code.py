"""Source, modules, completions, hovers and exceptions: what a client may ask, and the answers."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from .documented import Described, Paged, doc
from .fields import FOCUS, MAX_INTEGER, Expression, Identifier, LineNumber, PathText, problem
from .queries import Integer, Limit, PlainText, QueryModel, Whole
from .requests import RequestModel, choice
from .sessions import Location
from .stops import SourceLine

Line = Annotated[int, Field(ge=1, le=MAX_INTEGER), Whole]


class FrameSourceQuery(QueryModel):
    thread_id: Integer | None = Field(None, description="Thread of the frame; the stopped thread if left out.")
    start_line: Line | None = Field(None, description="First line to return.")
    end_line: Line | None = Field(None, description="Last line to return; at most 1000 lines are.")


class SourceQuery(FrameSourceQuery):
    path: PlainText | None = Field(None, min_length=1, description="A file of the session, instead of a frame's.")
    frame_id: Integer | None = Field(None, description=f"Frame whose source is returned: 0 is the top; {FOCUS}.")


class ModulesQuery(QueryModel):
    offset: Integer = Field(0, description="How many to skip.")
    limit: Limit = Field(100, description="How many to return at most.")
    filter: PlainText | None = Field(None, description="Only those with this in their name or path.")


class FrameRequest(RequestModel):
    frame_id: Identifier | None = Field(None, description=f"Frame: 0 is the top; {FOCUS}.")
    thread_id: Identifier | None = Field(None, description="Thread of the frame; the stopped thread if left out.")


class CompletionsRequest(FrameRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "order.it"}]})

    text: str = Field(max_length=100_000, description="What has been typed so far.")
    column: LineNumber | None = Field(
        None, description="Where in text the cursor is, 1 before its first character; its end if left out."
    )


PLACE = ("file", "line", "column")


class HoverRequest(FrameRequest):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"expression": "order.total"}, {"file": "/home/dev/shop.py", "line": 12, "column": 9}],
            "oneOf": [choice(["expression"], [*PLACE]), choice([*PLACE], ["expression"])],
        }
    )

    expression: Expression | None = Field(None, description="Names, attributes, items, arithmetic: nothing is run.")
    file: PathText | None = Field(None, description="A file of the session: what is written there at a place.")
    line: LineNumber | None = Field(None, description="Line of the place.")
    column: LineNumber | None = Field(None, description="Column of the place, in characters.")
    timeout: float | None = Field(None, ge=0.1, le=300, description="Seconds it may take.")

    @model_validator(mode="after")
    def one_target(self) -> Self:
        given = [getattr(self, name) is not None for name in PLACE]
        if self.expression is None and not all(given):
            raise problem("Provide expression, or file, line and column")
        if self.expression is not None and any(given):
            raise problem("Provide either expression, or file, line and column")
        return self


class Source(Described):
    path: str | None = doc("The file, or the name that the code has instead.", "/home/dev/myproject/main.py")
    origin: str = doc(
        "file; program (only the program has it: generated code, a module in an archive); code (launched as text); "
        "exec (text given to exec); frozen (part of the interpreter).",
        "file",
        ...,
    )
    lines: list[SourceLine] = doc("The lines.", None, ...)
    start_line: int = doc("First line returned.", 1, ...)
    end_line: int = doc("Last line returned.", 40, ...)
    total_lines: int = doc("How many lines there are.", 40, ...)
    has_more: bool | None = doc("Whether more lines were asked for than returned.", False)
    current_line: int | None = doc("Where the frame is, or the program if it is stopped in this file.", 12)
    frame_id: int | None = doc("Frame whose source it is.", 0)
    function: str | None = doc("Function of the frame.", "process_data")


class Module(Described):
    name: str = doc("Name of the module.", "json.decoder", ...)
    path: str | None = doc("Its file, if it has one.", "/usr/lib/python3.11/json/decoder.py")
    version: str | None = doc("Its __version__, if it says.", "2.0.9")
    is_user_code: bool | None = doc("Whether it is the program's own, not a library.", False)


class ModuleList(Paged):
    modules: list[Module] = doc("Modules by name.", None, ...)


class Completion(Described):
    label: str = doc("What may stand there.", "items", ...)
    type: str = doc("variable, function, class, module, property, key or keyword.", "variable", ...)
    start: int = doc("Column at which it replaces what is typed.", 7, ...)
    length: int = doc("How many characters it replaces.", 2, ...)


class CompletionList(Described):
    items: list[Completion] = doc("The best first.", None, ...)
    total: int = doc("How many fit.", 1, ...)
    has_more: bool = doc("Whether some were left out.", False, ...)


class Hover(Described):
    expression: str = doc("What was looked at.", "order.total", ...)
    value: str | None = doc("Its value as text; null if it raised.", "12.5")
    type: str | None = doc("Type of the value.", "float")
    variables_reference: int | None = doc("Ask variables with it to see inside.", 0)
    error: str | None = doc("What it raised.", "NameError: name 'order' is not defined")
    signature: str | None = doc("Of what can be called.", "add(a, b=1)")
    documentation: str | None = doc("How its documentation begins.", "Add two numbers.")
    has_side_effects: bool | None = doc("Always false: a hover runs nothing of the program.", False)
    range: dict[str, Any] | None = doc("Where it is written.", {"line": 12, "column": 9, "end_column": 14})


class ExceptionFrame(Described):
    path: str | None = doc("Source file.", "/home/dev/myproject/main.py")
    line: int | None = doc("Line.", 42)
    function: str | None = doc("Function.", "process_item")
    text: str | None = doc("The line's text.", "total += item.price")


class ExceptionLink(Described):
    relation: str | None = doc("cause (raised from it) or context (raised while it was handled).", "cause")
    type: str = doc("Class of the exception.", "KeyError", ...)
    full_type: str | None = doc("With its module.", "builtins.KeyError")
    message: str | None = doc("Its text.", "'price'")
    frames: list[ExceptionFrame] | None = doc("Its traceback, where it was raised last.")
    notes: list[str] | None = doc("Notes that were added to it.", ["while reading line 3"])


class ExceptionDetails(ExceptionLink):
    """The exception of the current stop in full."""

    args: list[str] | None = doc("Its arguments.", ["'price'"])
    traceback: str | None = doc("As Python prints it.", "Traceback (most recent call last):\n  ...")
    break_mode: str | None = doc("always (raised), unhandled, or user_unhandled.", "unhandled")
    variables_reference: int | None = doc("Ask variables with it for its attributes.", 1002)
    chain: list[ExceptionLink] | None = doc("What led to it, the nearest first.")
    exceptions: list[Any] | None = doc("Members of an exception group.")
    location: Location | None = doc("Where the program stopped.")
    thread_id: int | None = doc("Thread that stopped.", 1)
