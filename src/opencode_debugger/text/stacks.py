"""Stacks, threads, tasks and locks as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..answers.inspection import AsyncTask, Frame, Holder, Locks, StackTrace, TaskList, TaskPlace, Thread, ThreadList
from ..answers.sessions import Location
from ..wording import counted
from .paths import is_library, package_of, short_names
from .view import View, join_lines, known, shorten

MOST_PACKAGES = 3
NAME_WIDTH = 60
"""characters of a function's name: those of C++ templates are long"""


def is_folded(frame: Frame) -> bool:
    """Tell whether a frame is of a library."""
    return frame.presentation_hint == "subtle" or is_library(frame.source.path)


def folded_words(frames: Sequence[Frame]) -> str:
    packages = list(dict.fromkeys(package_of(frame.source.path) for frame in frames))
    named = ", ".join(packages[:MOST_PACKAGES]) + (", …" if len(packages) > MOST_PACKAGES else "")
    return f"… {counted(len(frames), 'frame')} of {named} …"


def folded_groups(frames: Sequence[Frame], shown_ids: frozenset[int] = frozenset()) -> Iterator[list[Frame] | Frame]:
    """Return own frames, and those that are to be shown, one by one, frames of libraries in lists."""
    first = {frames[0].id} if frames else set()
    for folded, group in groupby(frames, lambda frame: is_folded(frame) and frame.id not in shown_ids | first):
        if folded:
            yield list(group)
        else:
            yield from group


def stack_line(frames: Sequence[Frame], most: int, shown_ids: frozenset[int] = frozenset()) -> tuple[str, int]:
    """Return the stack on one line with short names of files, and the id of the frame at which it ends."""
    names = short_names(frame.source.path for frame in frames if frame.source.path)
    parts: list[str] = []
    last_path: str | None = None
    left, following = most, 0
    for group in folded_groups(frames, shown_ids):
        if left <= 0:
            break
        if isinstance(group, list):
            parts.append(folded_words(group))
            following = group[-1].id + 1
            continue
        if group.id > following:
            parts.append(f"… {counted(group.id - following, 'frame')} …")
        path = group.source.path
        name = "" if path == last_path else names[path] if path else "?"
        parts.append(f"{group.id} {shorten(group.name, NAME_WIDTH)} {name}:{group.line}")
        last_path, left, following = path, left - 1, group.id + 1
    return " < ".join(parts), following


def render_stack(trace: StackTrace, view: View) -> str:
    of = f"task {trace.task_id}" if known(trace.task_id) is not None else f"thread {trace.thread_id}"
    lines = [f"{of}, running; it may have gone on:" if known(trace.running) else f"{of}:"]
    for group in folded_groups(trace.frames):
        if isinstance(group, list):
            lines.append(f"  {folded_words(group)}")
        else:
            lines.append(f"{group.id:>3} {group.name} {view.place(group.source.path, group.line)}")
    last = trace.frames[-1].id + 1 if trace.frames else 0
    hidden = trace.total_frames - last
    if known(trace.has_more) or hidden > 0:
        many = "more" if known(trace.has_more) else f"{hidden} more"
        lines.append(f"… {many}: ask with start_frame={last}")
    return "\n".join(lines)


def location_words(location: Location | None, view: View) -> str:
    return f" at {view.place(location.path, location.line)} in {location.function}" if location else ""


def render_threads(answer: ThreadList, view: View) -> str:
    return "\n".join(_thread_line(thread, view) for thread in answer.threads) or "no threads"


def _thread_line(thread: Thread, view: View) -> str:
    mark = ">" if thread.is_current else " "
    return f"{mark}{thread.id} {thread.name} {thread.status}{location_words(known(thread.location), view)}"


def _place_words(place: TaskPlace, view: View) -> str:
    return f"{place.function} {view.place(place.path, place.line)}"


def render_tasks(answer: TaskList, view: View) -> str:
    lines = [_task_line(task, view) for task in answer.tasks]
    if answer.has_more:
        lines.append(f"… {answer.total} in all: ask with offset={answer.offset + len(answer.tasks)}")
    return "\n".join(lines) or "no tasks"


def _task_line(task: AsyncTask, view: View) -> str:
    where = " < ".join(_place_words(place, view) for place in task.awaiting)
    waits = f" waits for {task.waits_for}" if task.waits_for else ""
    mark = ">" if task.is_current else " "
    return f"{mark}{task.id} {task.name} {task.state}: {task.coroutine}{waits}" + (f", in {where}" if where else "")


def render_locks(answer: Locks, view: View) -> str:
    deadlocks = [f"deadlock: {each.text}" for each in answer.deadlocks]
    waiting = []
    for each in answer.waiting:
        held = ", ".join(_holder_words(holder) for holder in each.held_by)
        has = f", held by {held}" if held else ""
        values = "; ".join(f"{name} = {view.value(value, name)}" for name, value in each.locals.items())
        place = _place_words(each.location, view)
        waiting.append(f"{_who(each.thread_id, each.task_id)} {each.name} waits for {each.waits_for}{has}, in {place}")
        waiting += [f"    {values}"] if values else []
    return join_lines(*deadlocks, *waiting) or "nobody waits for a lock"


def _who(thread_id: object, task_id: object) -> str:
    return f"task {task_id}" if isinstance(task_id, int) else f"thread {thread_id}"


def _holder_words(holder: Holder) -> str:
    since = f" since line {holder.since_line}" if known(holder.since_line) else ""
    return f"{_who(holder.thread_id, holder.task_id)} {holder.name}{since}"
