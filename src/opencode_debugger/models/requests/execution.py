"""Requests that make the program run and stop."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from .. import fields as shared
from ..fields import Expression, Identifier, InputText, LineNumber, PathText, ShortText, optional, preset, problem
from .base import BudgetOption, FieldsOption, RequestModel, WaitOption, WaitOptions, given_or_not


class ContinueThreadRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 30}]})


class ResumeRequest(WaitOptions, json_schema_extra={"examples": [{"wait": 30}]}):
    thread_id: Identifier | None = optional(
        "Only this thread runs on; the others stay halted and can be looked at. All if left out.")
    single_thread: bool | None = optional(
        "true: only the thread in thread_id, or the stopped one, runs on. Left out it is true if there is a thread_id.")


class PauseRequest(WaitOptions, json_schema_extra={"examples": [{"wait": 5}]}):
    thread_id: Identifier | None = optional(
        "Thread to pause. With stop_scope all the others pause with it, else only this one.")


class StepRequest(RequestModel, json_schema_extra={"examples": [{"granularity": "line"}]}):
    wait: WaitOption = None
    fields: FieldsOption = None
    budget: BudgetOption = None
    thread_id: Identifier | None = optional("Thread to step; the stopped thread if left out.")
    single_thread: bool = preset(
        False, "true: the other threads stay halted meanwhile. With stop_scope thread it is always so.")
    granularity: Literal["line", "statement", "instruction"] = preset(
        "line", "How far a step goes: to another line, or by one machine instruction (native programs).")
    count: int | None = optional(
        "How many steps to make (default 1). A breakpoint, an exception or the end comes first: `steps` and "
        "`stop_reason` say so.",
        ge=1, le=1000)


class StepIntoRequest(StepRequest, json_schema_extra={"examples": [{"target": "process_item"}]}):
    target: ShortText | None = optional(
        "Which call of the line to step into, by name. Others on the line are run without stopping.")
    target_id: int | None = optional("The same by its id from step-targets.", ge=0, le=1000)

    @model_validator(mode="after")
    def one_aim(self) -> Self:
        given = [name for name in ("count", "target", "target_id") if getattr(self, name) is not None]
        if len(given) > 1:
            raise problem(f"Give {given[0]} or {given[1]}, not both", given[1])
        return self

    def params(self) -> dict[str, object]:
        given = super().params()
        return given | {"target": given.pop("target_id")} if "target_id" in given else given


class StepUntilRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "total > 100", "max_steps": 5000}]})

    expression: Expression = Field(
        description="Step until this is true, at least once. A name that does not exist yet makes it false; any other "
        "error ends the steps and is told in `error`.")
    kind: Literal["over", "into"] = preset("over", "How to step.")
    max_steps: int = preset(1000, "Stop after so many steps in any case.", ge=1, le=100_000)
    timeout: float | None = optional(
        "Seconds after which the program is paused where it is (default 30).", ge=0.1, le=shared.MAX_WAIT_SECONDS)
    thread_id: Identifier | None = optional("Thread to step; the stopped thread if left out.")
    fields: FieldsOption = None
    budget: BudgetOption = None


class RunToSource(RequestModel):
    path: PathText = Field(description="Absolute path; relative to project_root if the session has one.")
    name: ShortText | None = optional("Ignored; editors send it.")


class RunToRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"line": 42}, {"file": "utils.py", "text": "return total"}],
        "allOf": [
            {"oneOf": [given_or_not(["line"], ["text", "occurrence"]), given_or_not(["text"], ["line"])]},
            {"not": given_or_not(["source", "file"], [])},
        ],
    })

    source: RunToSource | None = optional("Source file by path; the current one if left out.")
    file: PathText | None = optional("Source file; may be relative to project_root.")
    line: LineNumber | None = optional("Line to run to (1-indexed).")
    text: ShortText | None = optional("What is written on the line, instead of its number.")
    occurrence: int | None = optional("Which of the lines that contain the text (1-indexed).", ge=1, le=100_000)

    @model_validator(mode="after")
    def one_place(self) -> Self:
        if self.source is not None and self.file is not None:
            raise problem("Give source.path or file, not both", "file")
        if (self.line is None) == (self.text is None):
            raise problem("Give either a line or a text", "line")
        if self.occurrence is not None and self.text is None:
            raise problem("An occurrence goes with text", "occurrence")
        return self

    def params(self) -> dict[str, object]:
        given = self.model_dump(exclude_none=True, exclude={"file", "source"})
        if path := self.file or (self.source and self.source.path):
            given |= {"path": path, "relative_ok": self.file is not None}
        return given


class SendInputRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"input": "user response\n"}, {"input": "last line\n", "eof": True, "wait": 30}],
        "anyOf": [
            {"required": ["input"], "properties": {"input": {"type": "string", "minLength": 1}}},
            {"required": ["eof"], "properties": {"eof": {"const": True}}},
        ],
    })

    input: InputText = preset("", "Text for the program's stdin, sent exactly as it is (UTF-8): a line ends with \\n.")
    eof: bool = preset(False, "End the program's stdin after it. Then input may be empty.")

    @model_validator(mode="after")
    def something(self) -> Self:
        if not self.input and not self.eof:
            raise problem("Give the text to send, or eof: true to end the input", "input")
        return self
