"""Answers about a paused program: threads, frames, scopes, variables, evaluation."""

from __future__ import annotations

from typing import Any

from .documented import Described, doc


class Thread(Described):
    id: int = doc("Identifier of the thread.", 1, ...)
    name: str = doc("Its name.", "MainThread", ...)
    status: str = doc("running or paused; all threads have the same.", "paused", ...)
    is_current: bool = doc("Whether it is the thread that stopped.", True, ...)


class ThreadList(Described):
    threads: list[Thread] = doc("Every thread of the program.", None, ...)
    stopped_thread_id: int | None = doc("Thread that stopped.", 1)


class FrameSource(Described):
    path: str | None = doc("Source file.", "/home/dev/myproject/main.py")
    name: str | None = doc("Its short name.", "main.py")


class Frame(Described):
    id: int = doc("Frame id: 0 is the top.", 0, ...)
    name: str = doc("Function.", "process_item", ...)
    source: FrameSource | None = doc("Source file.")
    line: int = doc("Line (1-indexed).", 42, ...)
    column: int | None = doc("Column (1-indexed).", 9)
    module_name: str | None = doc("Module.", "__main__")
    presentation_hint: str | None = doc("normal, label or subtle.", "normal")


class StackTrace(Described):
    thread_id: int = doc("Thread of these frames.", 1, ...)
    frames: list[Frame] = doc("Frames, top first.", None, ...)
    total_frames: int = doc("How many frames the stack has.", 3, ...)


class VariableScope(Described):
    name: str = doc("Name of the scope.", "Locals", ...)
    presentation_hint: str | None = doc("locals or globals.", "locals")
    variables_reference: int = doc("Ask variables with it.", 1000, ...)
    named_variables: int | None = doc("How many named variables it has.", 5)
    indexed_variables: int | None = doc("How many indexed variables it has.", 0)
    expensive: bool | None = doc("Whether it is slow to read.", False)


class ScopeList(Described):
    frame_id: int = doc("Frame of these scopes.", 0, ...)
    scopes: list[VariableScope] = doc("Scopes of the frame.", None, ...)


class PresentationHint(Described):
    kind: str | None = doc("What it is.", "data")
    attributes: list[str] | None = doc("More about it.", ["readOnly"])
    visibility: str | None = doc("Who may see it.", "private")


class Variable(Described):
    name: str = doc("Name, or index.", "items", ...)
    value: str | None = doc("Its value as text; left out in a summary.", "[1, 2, 3, 4, 5]")
    type: str | None = doc("Its type.", "list", ...)
    variables_reference: int = doc("Ask variables with it to see inside; 0 means nothing inside.", 1002, ...)
    named_variables: int | None = doc("How many named children.", 0)
    indexed_variables: int | None = doc("How many indexed children.", 5)
    presentation_hint: PresentationHint | None = doc("How to show it.")
    length: int | None = doc("How many items it has.", 5)
    truncated: bool | None = doc("True if the value was shortened.", True)
    circular: bool | None = doc("True if it contains itself.", True)


class VariableList(Described):
    variables_reference: int | None = doc("What was asked.", 1000)
    variables: list[Variable] = doc("The variables.", None, ...)
    total: int | None = doc("How many there are in all.", 5)
    has_more: bool | None = doc("Whether there are more: ask again with start.", False)


class FrameVariables(VariableList):
    frame_id: int | None = doc("Frame of these locals.", 0)


class Evaluation(Described):
    result: str | None = doc("The value as text; null if it raised.", "84")
    type: str | None = doc("Its type.", "int")
    variables_reference: int | None = doc("Ask variables with it to see inside.", 0)
    named_variables: int | None = doc("How many named children.", 0)
    indexed_variables: int | None = doc("How many indexed children.", 0)
    presentation_hint: Any = doc("How to show it.")
    error: str | None = doc("What it raised.", "NameError: name 'undefined_var' is not defined")
    traceback: Any = doc("Where it raised.")
    has_side_effects: bool | None = doc("In contexts watch and hover: whether it may change the program.", False)
