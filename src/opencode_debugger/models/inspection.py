"""Looking into a program: threads, tasks, frames, scopes, variables, evaluation."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from .documented import Described, Paged, doc
from .fields import FOCUS, Expression, Identifier
from .requests import RequestModel
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


class TaskList(Paged):
    tasks: list[AsyncTask] = doc("Tasks of every event loop, unfinished ones first.", None, ...)


class Holder(Described):
    thread_id: int | None = doc("The thread that has it, or that is waited for.", 3)
    task_id: int | None = doc("The task, if it is one.", 3)
    name: str = doc("Its name.", "Worker-2", ...)
    since_line: int | None = doc("Line on which it took it.", 11)


class Waiter(Described):
    thread_id: int | None = doc("The thread that waits.", 2)
    task_id: int | None = doc("The task that waits, if it is one.", 2)
    name: str = doc("Its name.", "Worker-1", ...)
    waits_for: str = doc("What it waits for: type and expression, or a thread, task or process.", "lock self.b", ...)
    held_by: list[Holder] = doc("Who has it, as far as the source tells.", None, ...)
    location: TaskPlace = doc("Where it waits, in the program's own code if it can be seen.", None, ...)
    locals: dict[str, str] = doc("The first locals there.", {"order": "17"}, ...)


class Deadlock(Described):
    members: list[Holder] = doc("Threads and tasks of the circle, each waiting for the next.", None, ...)
    text: str = doc(
        "The same in words.",
        "thread 2 'one' waits for lock b, which thread 3 'two' has since line 11; thread 3 'two' waits for lock a, "
        "which thread 2 'one' has since line 5",
        ...,
    )


class Locks(Described):
    waiting: list[Waiter] = doc("Blocked threads, and tasks that wait.", None, ...)
    deadlocks: list[Deadlock] = doc("Circles that never end.", None, ...)


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
    thread_id: int | None = doc("Thread of these frames; of a task, that of its event loop.", 1, ...)
    task_id: int | None = doc("Task of these frames, if one was asked for.", 3)
    frames: list[Frame] = doc("Frames, top first.", None, ...)
    total_frames: int = doc("How many frames the stack has, or with has_more at least has.", 3, ...)
    has_more: bool | None = doc("True if it is so deep that it was not counted: ask for a larger start_frame.", True)
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


class Column(Described):
    name: str = doc("Label of the column.", "'price'", ...)
    dtype: str = doc("Type of its values.", "float64", ...)


class Variable(Described):
    name: str = doc("Name, or index.", "items", ...)
    value: str | None = doc("Its value as text; left out in a summary.", "[1, 2, 3, 4, 5]")
    type: str | None = doc("Its type.", "list", ...)
    variables_reference: int = doc("Ask variables with it to see inside; 0 means nothing inside.", 1002, ...)
    named_variables: int | None = doc("How many named children.", 0)
    indexed_variables: int | None = doc("How many indexed children.", 5)
    presentation_hint: PresentationHint | None = doc("How to show it.")
    index: int | None = doc("Position of an item in its list, array or table.", 0)
    length: int | None = doc("How many items, characters or bytes it has.", 5)
    truncated: bool | None = doc("True if the value, or its base64, was shortened.", True)
    expandable: bool | None = doc("True if there is something inside: ask variables_reference.", True)
    circular: bool | None = doc(
        "True if it is one of the objects that it was reached through; variables_reference leads back to that.", True
    )
    shape: list[int] | None = doc("Shape of an array or table.", [1000000, 3])
    dtype: str | None = doc("Type of an array's elements.", "float64")
    columns: list[Column] | None = doc("The first 50 columns of a table.")
    index_type: str | None = doc("Kind of a table's index.", "RangeIndex")
    memory_bytes: int | None = doc("Memory of an array or table.", 8000000)
    base64: str | None = doc("The first 256 bytes of binary data; the others by variables_reference.", "aGkA")
    encoding: str | None = doc("base64, where base64 is given.", "base64")
    signature: str | None = doc("Parameters of a function.", "(a, b=1)")
    state: str | None = doc("created, running, suspended or closed, of a generator or coroutine.", "suspended")
    line: int | None = doc("Line at which a generator or coroutine is.", 12)


class Page(Described):
    variables_reference: int | None = doc("What was asked.", 1000)
    total: int | None = doc("How many there are in all.", 5)
    has_more: bool | None = doc("Whether there are more: ask again with start.", False)
    incomplete: bool | None = doc("True if a search by name ended before the end of a very large mapping.")
    text: str | None = doc("A part of a long string, if that is what was asked.", "Lorem ipsum")
    base64: str | None = doc("Bytes, if that is what was asked.", "aGkA")
    encoding: str | None = doc("base64, where base64 is given.", "base64")
    length: int | None = doc("How many bytes there are in all.", 3)


class VariableList(Page):
    variables: list[Variable] = doc("The variables.", None, ...)


class ChildList(Page):
    items: list[Variable] = doc("What is inside.", None, ...)


class FrameVariables(VariableList):
    frame_id: int | None = doc("Frame of these locals.", 0)


class EvaluateRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "len(items) * 2", "frame_id": 0}]})

    expression: Expression = Field(description="Expression to evaluate.")
    frame_id: Identifier | None = Field(
        None, description=f"Frame in whose scope it is evaluated: 0 is the top; {FOCUS}."
    )
    thread_id: Identifier | None = Field(None, description="Thread of the frame; the stopped thread if left out.")
    task_id: Identifier | None = Field(
        None, description="An asyncio task, by its id in the list of tasks, instead of a thread."
    )
    context: Literal["watch", "repl", "hover", "clipboard"] = Field(
        "repl",
        description="repl takes statements too, the others only expressions. The answers of watch and hover say "
        "whether the expression may have side effects.",
    )
    timeout: float | None = Field(
        None, ge=0.1, le=300, description="Seconds it may take; 504 DEBUGPY_TIMEOUT after that."
    )


class Evaluation(Described):
    result: str | None = doc("The value as text; null if it raised.", "84")
    type: str | None = doc("Its type.", "int")
    variables_reference: int | None = doc("Ask variables with it to see inside.", 0)
    named_variables: int | None = doc("How many named children.", 0)
    indexed_variables: int | None = doc("How many indexed children.", 0)
    presentation_hint: Any = doc("How to show it.")
    length: int | None = doc("How many items, characters or bytes it has.", 5)
    truncated: bool | None = doc("True if the result, or its base64, was shortened.", True)
    expandable: bool | None = doc("True if there is something inside: ask variables_reference.", True)
    shape: list[int] | None = doc("Shape of an array or table.", [1000000, 3])
    dtype: str | None = doc("Type of an array's elements.", "float64")
    columns: list[Column] | None = doc("The first 50 columns of a table.")
    base64: str | None = doc("Binary data, the first 12,000 bytes.", "aGkA")
    encoding: str | None = doc("base64, where base64 is given.", "base64")
    error: str | None = doc("What it raised.", "NameError: name 'undefined_var' is not defined")
    traceback: Any = doc("Where it raised.")
    output: list[dict[str, str]] | None = doc(
        "What it printed, in order; not there if nothing.", [{"category": "stdout", "output": "hello\n"}]
    )
    output_truncated: bool | None = doc("True if it printed more than output has.", True)
    elsewhere: bool | None = doc("True if it ran on another thread: this one is inside a call.", True)
    has_side_effects: bool | None = doc("In contexts watch and hover: whether it may change the program.", False)
