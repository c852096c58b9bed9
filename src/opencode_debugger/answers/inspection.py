"""Answers about threads, tasks, frames, scopes, values and watches."""

from __future__ import annotations

from typing import Annotated

from .sessions import Location
from .shape import UNSET, Answer, Maybe, Paged, said


class Thread(Answer):
    id: Annotated[int, said("Identifier of the thread.", 1)]
    name: Annotated[str, said("Its name.", "MainThread")]
    status: Annotated[str, said("running or paused.", "paused")]
    is_current: Annotated[bool, said("Whether it is the thread that is looked at when none is named.", True)]
    location: Annotated[Maybe[Location | None], said("Where it is; only of a paused one.")] = UNSET


class ThreadList(Answer):
    threads: Annotated[list[Thread], said("Every thread of the program.")]
    stopped_thread_id: Annotated[int | None, said("Thread that is looked at when none is named.", 1)]


class TaskPlace(Answer):
    path: Annotated[str, said("Source file.", "/home/dev/myproject/main.py")]
    line: Annotated[int, said("Line (1-indexed).", 42)]
    function: Annotated[str, said("Function or coroutine.", "fetch")]


class AsyncTask(Answer):
    id: Annotated[int, said("Number of the task; it keeps it while it lives.", 1)]
    name: Annotated[str, said("Its name.", "Task-1")]
    state: Annotated[str, said("running, pending, finished, failed or cancelled.", "pending")]
    coroutine: Annotated[str, said("What it runs.", "main.<locals>.fetch")]
    awaiting: Annotated[list[TaskPlace], said("Coroutines that await each other, the innermost first.")]
    waits_for: Annotated[str | None, said("What the innermost waits for; null if it runs or is over.", "sleep(10)")]
    created: Annotated[TaskPlace | None, said("Where it was made; null if that was not seen.")]
    thread_id: Annotated[int | None, said("Thread of its event loop, while that runs.", 1)]
    is_current: Annotated[bool, said("Whether its event loop runs it now.", False)]


class TaskList(Paged):
    tasks: Annotated[list[AsyncTask], said("Tasks of every event loop, unfinished ones first.")]


class Holder(Answer):
    thread_id: Annotated[Maybe[int], said("The thread that has it, or that is waited for.", 3)] = UNSET
    task_id: Annotated[Maybe[int], said("The task, if it is one.", 3)] = UNSET
    name: Annotated[str, said("Its name.", "Worker-2")]
    since_line: Annotated[Maybe[int], said("Line on which it took it.", 11)] = UNSET


class Waiter(Answer):
    thread_id: Annotated[Maybe[int], said("The thread that waits.", 2)] = UNSET
    task_id: Annotated[Maybe[int], said("The task that waits, if it is one.", 2)] = UNSET
    name: Annotated[str, said("Its name.", "Worker-1")]
    waits_for: Annotated[str, said(
        "What it waits for: type and expression, or a thread, task or process.", "lock self.b")]
    held_by: Annotated[list[Holder], said("Who has it, as far as the source tells.")]
    location: Annotated[TaskPlace, said("Where it waits, in the program's own code if it can be seen.")]
    locals: Annotated[dict[str, str], said("The first locals there.", {"order": "17"})]


class Deadlock(Answer):
    members: Annotated[list[Holder], said("Threads and tasks of the circle, each waiting for the next.")]
    text: Annotated[
        str,
        said(
            "The same in words.",
            "thread 2 'one' waits for lock b, which thread 3 'two' has since line 11; thread 3 'two' waits for lock a, "
            "which thread 2 'one' has since line 5",
        ),
    ]


class Locks(Answer):
    waiting: Annotated[list[Waiter], said("Blocked threads, and tasks that wait.")]
    deadlocks: Annotated[list[Deadlock], said("Circles that never end.")]


class FrameSource(Answer):
    path: Annotated[str | None, said("Source file.", "/home/dev/myproject/main.py")]
    name: Annotated[str | None, said("Its short name.", "main.py")]


class Frame(Answer):
    id: Annotated[int, said("Frame id: 0 is the top.", 0)]
    name: Annotated[str, said("Function.", "process_item")]
    source: Annotated[FrameSource, said("Source file.")]
    line: Annotated[int, said("Line (1-indexed).", 42)]
    column: Annotated[int, said("Column (1-indexed).", 9)]
    module_name: Annotated[str | None, said("Module.", "__main__")]
    presentation_hint: Annotated[str, said("normal, label or subtle.", "normal")]


class StackTrace(Answer):
    thread_id: Annotated[int | None, said("Thread of these frames; of a task, that of its event loop.", 1)]
    task_id: Annotated[Maybe[int], said("Task of these frames, if one was asked for.", 3)] = UNSET
    frames: Annotated[list[Frame], said("Frames, top first.")]
    total_frames: Annotated[int, said("How many frames the stack has, or with has_more at least has.", 3)]
    has_more: Annotated[Maybe[bool], said(
        "True if it is so deep that it was not counted: ask for a larger start_frame.", True)] = UNSET
    running: Annotated[Maybe[bool], said("True if the thread was running: it may have gone on since.", True)] = UNSET


class VariableScope(Answer):
    name: Annotated[str, said("Name of the scope.", "Locals")]
    presentation_hint: Annotated[str | None, said("locals or globals.", "locals")]
    variables_reference: Annotated[int, said("Ask variables with it.", 1000)]
    named_variables: Annotated[int, said("How many named variables it has.", 5)]
    indexed_variables: Annotated[int, said("How many indexed variables it has.", 0)]
    expensive: Annotated[bool, said("Whether it is slow to read.", False)]


class ScopeList(Answer):
    frame_id: Annotated[int, said("Frame of these scopes.", 0)]
    scopes: Annotated[list[VariableScope], said("Scopes of the frame.")]


class PresentationHint(Answer):
    kind: Annotated[Maybe[str], said("What it is.", "data")] = UNSET
    attributes: Annotated[Maybe[list[str]], said("More about it.", ["readOnly"])] = UNSET
    visibility: Annotated[Maybe[str], said("Who may see it.", "private")] = UNSET


class Column(Answer):
    name: Annotated[str, said("Label of the column.", "'price'")]
    dtype: Annotated[str, said("Type of its values.", "float64")]


class Value(Answer):
    """What can be said of any value, as far as it is known."""

    named_variables: Annotated[Maybe[int], said("How many named children.", 0)] = UNSET
    indexed_variables: Annotated[Maybe[int], said("How many indexed children.", 5)] = UNSET
    presentation_hint: Annotated[Maybe[PresentationHint | None], said("How to show it.")] = UNSET
    length: Annotated[Maybe[int], said("How many items, characters or bytes it has.", 5)] = UNSET
    truncated: Annotated[Maybe[bool], said("True if the text of it, or its base64, was shortened.", True)] = UNSET
    expandable: Annotated[Maybe[bool], said(
        "True if there is something inside: ask variables_reference.", True)] = UNSET
    circular: Annotated[Maybe[bool], said(
        "True if it is one of the objects that it was reached through; variables_reference leads back to that."
    )] = UNSET
    shape: Annotated[Maybe[list[int]], said("Shape of an array or table.", [1000000, 3])] = UNSET
    dtype: Annotated[Maybe[str], said("Type of an array's elements.", "float64")] = UNSET
    columns: Annotated[Maybe[list[Column]], said("The first 50 columns of a table.")] = UNSET
    index_type: Annotated[Maybe[str], said("Kind of a table's index.", "RangeIndex")] = UNSET
    memory_bytes: Annotated[Maybe[int], said("Memory of an array or table.", 8000000)] = UNSET
    base64: Annotated[Maybe[str], said(
        "How binary data begins; the rest of it by variables_reference.", "aGkA")] = UNSET
    encoding: Annotated[Maybe[str], said("base64, where base64 is given.", "base64")] = UNSET
    signature: Annotated[Maybe[str], said("Parameters of a function.", "(a, b=1)")] = UNSET
    state: Annotated[Maybe[str], said(
        "created, running, suspended or closed, of a generator or coroutine.", "suspended")] = UNSET
    line: Annotated[Maybe[int | None], said("Line at which a generator or coroutine is.", 12)] = UNSET
    memory_reference: Annotated[Maybe[str], said(
        "Where it is in the memory of a native program.", "0x7ffe0010")] = UNSET


class Variable(Value):
    name: Annotated[str, said("Name, or index.", "items")]
    value: Annotated[Maybe[str], said("Its value as text; left out in a summary.", "[1, 2, 3, 4, 5]")] = UNSET
    type: Annotated[str | None, said("Its type.", "list")]
    variables_reference: Annotated[int, said("Ask variables with it to see inside; 0 means nothing inside.", 1002)]
    index: Annotated[Maybe[int], said("Position of an item in its list, array or table.", 0)] = UNSET


class Page(Answer):
    variables_reference: Annotated[Maybe[int], said("What was asked.", 1000)] = UNSET
    total: Annotated[Maybe[int], said("How many there are in all.", 5)] = UNSET
    has_more: Annotated[Maybe[bool], said("Whether there are more: ask again with start.", False)] = UNSET
    incomplete: Annotated[Maybe[bool], said(
        "True if a search by name ended before the end of a very large mapping.")] = UNSET
    text: Annotated[Maybe[str], said("A part of a long string, if that is what was asked.", "Lorem ipsum")] = UNSET
    base64: Annotated[Maybe[str], said("Bytes, if that is what was asked.", "aGkA")] = UNSET
    encoding: Annotated[Maybe[str], said("base64, where base64 is given.", "base64")] = UNSET
    length: Annotated[Maybe[int], said("How many bytes or characters there are in all.", 3)] = UNSET


class VariableList(Page):
    variables: Annotated[list[Variable], said("The variables.")]


class ChildList(Page):
    items: Annotated[list[Variable], said("What is inside.")]


class FrameVariables(Page):
    frame_id: Annotated[int, said("Frame of these locals.", 0)]
    variables: Annotated[list[Variable], said("The variables.")]


class Printed(Answer):
    category: Annotated[str, said("stdout or stderr.", "stdout")]
    output: Annotated[str, said("What was printed.", "hello\n")]


class Evaluation(Value):
    result: Annotated[str | None, said("The value as text; null if it raised.", "84")]
    type: Annotated[str | None, said("Its type.", "int")]
    variables_reference: Annotated[Maybe[int], said("Ask variables with it to see inside.", 0)] = UNSET
    error: Annotated[Maybe[str], said("What it raised.", "NameError: name 'undefined_var' is not defined")] = UNSET
    traceback: Annotated[Maybe[str | None], said("Where it raised.")] = UNSET
    output: Annotated[Maybe[list[Printed]], said("What it printed, in order; not there if nothing.")] = UNSET
    output_truncated: Annotated[Maybe[bool], said("True if it printed more than output has.", True)] = UNSET
    elsewhere: Annotated[Maybe[bool], said(
        "True if it ran on another thread: this one is inside a call.", True)] = UNSET
    has_side_effects: Annotated[Maybe[bool], said(
        "In contexts watch and hover: whether it may change the program.", False)] = UNSET


class Assigned(Value):
    """The variable as it reads now."""

    name: Annotated[str, said("Name, or index.", "items")]
    value: Annotated[Maybe[str], said("Its value as text.", "7")] = UNSET
    type: Annotated[str | None, said("Its type.", "int")]
    variables_reference: Annotated[int, said("Ask variables with it to see inside; 0 means nothing inside.", 0)]
    variables_reference_of: Annotated[Maybe[int], said("What it is in, if it was set by a reference.", 1000)] = UNSET
    old: Annotated[Maybe[str | None], said("Its value before, as text; null if it had none.", "3")] = UNSET
    old_type: Annotated[Maybe[str | None], said("Type of its value before.", "int")] = UNSET
    expression: Annotated[Maybe[str], said("What was assigned to, for set-expression.", "order.items[3].name")] = UNSET
    note: Annotated[Maybe[str], said("More about it, such as that a setter stored something else.")] = UNSET


class Watch(Answer):
    watch_id: Annotated[str, said("Identifier of the watch.", "w_1")]
    expression: Annotated[str, said("The expression.", "len(items)")]
    name: Annotated[str, said("What it is called.", "how many")]
    has_side_effects: Annotated[Maybe[bool], said(
        "Whether evaluating it may change the program, as its text tells.", False)] = UNSET


class WatchValue(Watch):
    value: Annotated[Maybe[str], said("Its value as text, if the program is paused and it did not raise.", "3")] = UNSET
    type: Annotated[Maybe[str | None], said("Type of the value.", "int")] = UNSET
    variables_reference: Annotated[Maybe[int], said(
        "Ask variables with it to see inside; 0 means nothing inside.", 0)] = UNSET
    named_variables: Annotated[Maybe[int], said("How many named children.", 0)] = UNSET
    indexed_variables: Annotated[Maybe[int], said("How many indexed children.", 5)] = UNSET
    length: Annotated[Maybe[int], said("How many items, characters or bytes it has.", 5)] = UNSET
    truncated: Annotated[Maybe[bool], said("True if the value was shortened.", True)] = UNSET
    error: Annotated[Maybe[str], said(
        "What it raised, or that it timed out.", "NameError: name 'items' is not defined")] = UNSET
    changed: Annotated[Maybe[bool], said(
        "In stop reports: true if it differs from the stop reported before.", True)] = UNSET
    old: Annotated[Maybe[str], said("What it was there.", "2")] = UNSET


class WatchList(Answer):
    watches: Annotated[list[WatchValue], said("The watches, with values if the program is paused.")]
    total: Annotated[int, said("How many there are.", 1)]
    session_status: Annotated[str, said("State of the session.", "paused")]


class WatchesRemoved(Answer):
    removed: Annotated[list[Watch], said("The watches that were removed.")]
    total: Annotated[int, said("How many are left.", 0)]
