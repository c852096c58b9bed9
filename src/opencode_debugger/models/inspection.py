"""Answers about a program: threads, tasks, frames, scopes, variables, evaluation."""

from __future__ import annotations

from typing import Any

from .documented import Described, doc
from .sessions import Location


class Thread(Described):
    id: int = doc("Identifier of the thread.", 1, ...)
    name: str = doc("Its name.", "MainThread", ...)
    status: str = doc("running or paused.", "paused", ...)
    is_current: bool = doc("Whether it is the thread that is looked at when none is named.", True, ...)
    location: Location | None = doc("Where it is; only of a paused one.")


class ThreadList(Described):
    threads: list[Thread] = doc("Every thread of the program.", None, ...)
    stopped_thread_id: int | None = doc("Thread that is looked at when none is named.", 1)


class TaskPlace(Described):
    path: str = doc("Source file.", "/home/dev/myproject/main.py", ...)
    line: int = doc("Line (1-indexed).", 42, ...)
    function: str = doc("Function or coroutine.", "fetch", ...)


class AsyncTask(Described):
    id: int = doc("Number of the task; it keeps it while it lives.", 1, ...)
    name: str = doc("Its name.", "Task-1", ...)
    state: str = doc("running, pending, finished, failed or cancelled.", "pending", ...)
    coroutine: str = doc("What it runs.", "main.<locals>.fetch", ...)
    awaiting: list[TaskPlace] = doc("Coroutines that await each other, the innermost first.", None, ...)
    waits_for: str | None = doc("What the innermost waits for; null if it runs or is over.", "sleep(10)")
    created: TaskPlace | None = doc("Where it was made; null if that was not seen.")
    thread_id: int | None = doc("Thread of its event loop, while that runs.", 1)
    is_current: bool = doc("Whether its event loop runs it now.", False, ...)


class TaskList(Described):
    tasks: list[AsyncTask] = doc("Tasks of every event loop, unfinished ones first.", None, ...)
    total: int = doc("How many there are in all.", 2, ...)
    offset: int = doc("How many were skipped.", 0, ...)
    limit: int = doc("How many a page has at most.", 100, ...)
    has_more: bool = doc("Whether there is another page.", False, ...)


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
    running: bool | None = doc("True if the thread was running: it may have gone on since.", True)


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
