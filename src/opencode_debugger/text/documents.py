"""Source, output, exceptions, modules, memory and machine code as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..answers.machine import Disassembly, Memory, MemoryWritten
from ..answers.output import EventPage, OutputCleared, OutputPage
from ..answers.source_code import ExceptionDetails, ExceptionFrame, ExceptionLink, ModuleList, Source
from ..answers.stop_reports import StepTargets
from ..wording import counted
from .generic import value_words
from .paths import is_library
from .stacks import location_words
from .stop_reports import source_lines
from .view import View, join_lines, joined_output, known, marked_output, one_line, shorten

SOURCE_WIDTH = 300
EVENT_WIDTH = 300
ROW_OF_MEMORY = 16


def render_source(answer: Source, view: View) -> str:
    function = f" in {answer.function}" if known(answer.function) else ""
    origin = f" ({answer.origin})" if answer.origin != "file" else ""
    lines = f"lines {answer.start_line}-{answer.end_line} of {answer.total_lines}"
    changed = ", changed since the program loaded it" if known(answer.source_changed) else ""
    head = f"{view.path(answer.path)}{origin}, {lines}{function}{changed}"
    more = f"… more: ask with start_line={answer.end_line + 1}" if answer.has_more else ""
    return join_lines(head, *source_lines(answer.lines, answer.current_line, SOURCE_WIDTH), more)


def render_output(answer: OutputPage, view: View) -> str:
    """Render the text itself; where streams are mixed, lines that are not of stdout say so."""
    lines: list[str] = []
    if answer.dropped:
        lines.append(f"log| {counted(answer.dropped, 'earlier entry', 'earlier entries')} dropped")
    for category, text in joined_output((entry.category, entry.output) for entry in answer.entries):
        lines += text.split("\n") if category == "stdout" else marked_output([(category, text)])
    if owner := known(answer.output_session_id):
        lines.append(f"log| its stdout and stderr are in the output of {owner}")
    if answer.has_more:
        lines.append(f"log| more: ask with cursor={answer.next_cursor}")
    return "\n".join(lines) or "no output"


def render_events(answer: EventPage, view: View) -> str:
    lines = [
        f"{event.seq} {event.type}: {shorten(value_words(event.body, view), EVENT_WIDTH)}" for event in answer.events
    ]
    more = f"… more: ask with cursor={answer.next_cursor}" if answer.has_more else ""
    return join_lines(*lines, more) or f"no events; the session is {answer.session_status}"


def render_cleared(answer: OutputCleared, view: View) -> str:
    return f"removed {counted(answer.cleared, 'entry', 'entries')} of output"


def render_exception(answer: ExceptionDetails, view: View) -> str:
    """Render an exception with the program's own frames of its traceback, and what led to it."""
    lines = [*_link_lines(answer, view, "")]
    for link in known(answer.chain) or ():
        lines += _link_lines(link, view, "from " if known(link.relation) == "cause" else "while handling ")
    stopped = location_words(answer.location, view)
    return join_lines(*lines, f"stopped{stopped}, thread {answer.thread_id}" if stopped else "")


def _link_lines(link: ExceptionLink, view: View, relation: str, indent: str = "") -> Iterator[str]:
    yield f"{indent}{relation}{link.type}: {link.message or ''}"
    yield from (f"{indent}  note: {note}" for note in known(link.notes) or ())
    yield from (f"{indent}  {line}" for line in _frame_lines(known(link.frames) or [], view))
    for member in known(link.exceptions) or ():
        yield from _link_lines(member, view, "member ", indent + "  ")


def _frame_lines(frames: list[ExceptionFrame], view: View) -> Iterator[str]:
    hidden = 0
    for frame in reversed(frames):
        if is_library(frame.path):
            hidden += 1
            continue
        yield f"{view.place(frame.path, frame.line)} in {frame.function}: {shorten(frame.text.strip(), 120)}"
    if hidden:
        yield f"… {counted(hidden, 'frame')} of libraries …"


def render_modules(answer: ModuleList, view: View) -> str:
    lines = []
    for module in answer.modules:
        version = f" {module.version}" if known(module.version) else ""
        own = " (own)" if module.is_user_code else ""
        lines.append(f"{module.name}{version} {view.path(known(module.path))}{own}")
    more = f"… {answer.total} in all: ask with offset={answer.offset + len(lines)}" if answer.has_more else ""
    return join_lines(*lines, more) or "no modules"


def render_step_targets(answer: StepTargets, view: View) -> str:
    return "\n".join(f"{each.id} {each.label}" for each in answer.targets) or f"line {answer.line} calls nothing"


def render_memory(answer: Memory, view: View) -> str:
    start = int(answer.address, 16)
    lines = []
    for offset in range(0, answer.count, ROW_OF_MEMORY):
        digits = answer.bytes[offset * 2 : (offset + ROW_OF_MEMORY) * 2]
        pairs = " ".join(digits[at : at + 2] for at in range(0, len(digits), 2))
        lines.append(f"{start + offset:#x} {pairs:<{ROW_OF_MEMORY * 3}}{answer.text[offset : offset + ROW_OF_MEMORY]}")
    missing = f"{counted(answer.unreadable, 'byte')} cannot be read" if answer.unreadable else ""
    return join_lines(*lines, missing) or "no memory there"


def render_memory_written(answer: MemoryWritten, view: View) -> str:
    return f"wrote {counted(answer.written, 'byte')} at {answer.address}"


def render_disassembly(answer: Disassembly, view: View) -> str:
    lines: list[str] = []
    place = ("", "")
    for each in answer.instructions:
        here = (known(each.symbol) or "", view.place(known(each.path), known(each.line)) if known(each.path) else "")
        if here != place and any(here):
            lines.append(" ".join(filter(None, here)) + ":")
        place = here
        lines.append(f"{'>' if each.is_current else ' '}{each.address} {one_line(each.instruction)}")
    return "\n".join(lines) or "no instructions there"


RENDERINGS: dict[type, Callable[[Any, View], str]] = {
    Source: render_source,
    OutputPage: render_output,
    OutputCleared: render_cleared,
    EventPage: render_events,
    ExceptionDetails: render_exception,
    ModuleList: render_modules,
    StepTargets: render_step_targets,
    Memory: render_memory,
    MemoryWritten: render_memory_written,
    Disassembly: render_disassembly,
}
