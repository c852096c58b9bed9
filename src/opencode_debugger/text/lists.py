"""Sessions, settings and processes as text, a line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..answers.server import Configuration, ConfigurationChanged, Process, ProcessList
from ..answers.sessions import (
    Detached,
    Parted,
    PastMoment,
    Session,
    SessionCreated,
    SessionDeleted,
    SessionItem,
    SessionList,
    SessionStatus,
    Terminated,
)
from ..answers.shape import Maybe, Paged
from .stacks import location_words
from .stop_reports import end_words
from .view import View, join_lines, known, shorten

COMMAND_WIDTH = 120


def _page_end(page: Paged, shown: int) -> str:
    return f"… {page.total} in all: ask with offset={page.offset + shown}" if page.has_more else ""


def render_sessions(answer: SessionList, view: View) -> str:
    lines = [_session_line(item, view) for item in answer.items]
    return join_lines(*lines, _page_end(answer, len(lines))) or "no sessions"


def _session_line(item: SessionItem, view: View) -> str:
    program = f" {view.path(item.program)}" if item.program else ""
    pid = f", pid {item.pid}" if known(item.pid) else ""
    parent = f", child of {item.parent_session_id}" if item.parent_session_id else ""
    return f"{item.session_id} {item.status}:{program} ({item.name}{pid}{parent})"


def render_created(answer: SessionCreated, view: View) -> str:
    restored = known(answer.restored_breakpoints)
    return join_lines(
        f"{answer.session_id} {answer.status} in {answer.config.project_root}",
        known(answer.message) or "",
        *(restored.edits if restored else ()),
        *(f"warning: {text}" for text in known(answer.warnings) or ()),
    )


def render_session(answer: Session, view: View) -> str:
    program, debugger = answer.program, answer.debugger
    ran = None
    if program is not None:
        ran = known(program.script) or known(program.program) or known(program.module) or known(program.command)
    is_over = answer.status in ("terminated", "failed")
    ended = ": " + end_words(answer.reason, answer.exit_code, answer.signal) if is_over else ""
    why = f": {answer.stop_reason}" if answer.stop_reason else ""
    waits = answer.waiting_for_input
    return join_lines(
        f"{answer.session_id} {answer.status}{ended or why}{location_words(answer.current_location, view)}",
        past_line(answer.past),
        f"waits for input after {waits.prompt!r}" if waits else "",
        f"{answer.exception.type}: {answer.exception.message}" if answer.exception else "",
        f"program: {view.path(ran)}{_arguments(known(program.args) if program else None)}" if ran else "",
        f"pid {answer.pid}" if answer.pid else "",
        f"debugger: {debugger.adapter}" if debugger else "",
        f"project: {answer.config.project_root}; breakpoints: {answer.breakpoint_count}; name: {answer.name}",
        *(f"child: {child.session_id} {child.status} pid {child.pid}" for child in answer.children),
        *(f"warning: {text}" for text in [*(known(answer.warnings) or ()), answer.warning] if text),
        f"expires: {answer.expires_at}",
    )


def past_line(past: Maybe[PastMoment]) -> str:
    """Tell at which moment of the past the session stands, if it does."""
    there = known(past)
    return f"stands in the past: #{there.moment} of recording {there.recording}, line {there.line}" if there else ""


def _arguments(args: list[str] | None) -> str:
    return " " + shorten(" ".join(args), COMMAND_WIDTH) if args else ""


def render_status(answer: SessionStatus, view: View) -> str:
    reason = f": {end_words(answer.reason, answer.exit_code, answer.signal)}" if answer.reason else ""
    prompt = known(answer.prompt)
    exception = known(answer.exception)
    threads = [
        f"thread {each.thread_id} {each.name or ''} {each.reason}{location_words(each.location, view)}"
        for each in answer.stopped_threads[1:]
    ]
    running = [each for each in answer.all_threads or () if each.status == "running"]
    return join_lines(
        f"{answer.session_id} {answer.status}{reason}{location_words(known(answer.location), view)}",
        past_line(answer.past),
        f"prompt: {prompt}" if prompt else "",
        f"{exception.type}: {exception.message}" if exception else "",
        *threads,
        f"running threads: {', '.join(f'{each.thread_id} {each.name}' for each in running)}" if running else "",
        known(answer.message) or "",
        answer.warning or "",
    )


def render_deleted(answer: SessionDeleted, view: View) -> str:
    code = known(answer.exit_code)
    lets_go = f"; its program runs on, pid {answer.pid}" if known(answer.detached) else ""
    exited = f", exit code {code}" if code is not None else ""
    return f"{answer.session_id} deleted: {answer.final_status}{exited}{lets_go}"


def render_parted(answer: Parted, view: View) -> str:
    words = end_words(answer.reason, answer.exit_code, answer.signal)
    return f"{answer.session_id} {answer.status}: {words}{f', pid {answer.pid}' if answer.pid else ''}"


def render_detached(answer: Detached, view: View) -> str:
    children = f"; let go with it: {', '.join(answer.children_let_go)}" if answer.children_let_go else ""
    return render_parted(answer, view) + ("; it runs on" if answer.detached else "; it had ended") + children


def render_configuration(answer: Configuration, view: View) -> str:
    lines = []
    for name, setting in answer.settings.items():
        origin = "" if setting.source == "default" else f", from {setting.source}"
        lines.append(f"{name} = {setting.value}  ({setting.description}{origin})")
    changed = f"changed: {', '.join(answer.changed)}" if isinstance(answer, ConfigurationChanged) else ""
    warnings = answer.warnings if isinstance(answer, ConfigurationChanged) else []
    return join_lines(changed, *(f"warning: {text}" for text in warnings), *lines) or "no settings"


def render_processes(answer: ProcessList, view: View) -> str:
    lines = [_process_line(each) for each in answer.items]
    return join_lines(*lines, _page_end(answer, len(lines))) or "no processes"


def _process_line(each: Process) -> str:
    facts = [f"Python {each.python_version}" if each.python_version else ""]
    facts.append(f"session {each.session_id}" if each.session_id else "")
    facts.append(f"debugpy on port {each.debugpy_port}" if each.debugpy_port else "")
    facts.append("" if each.attachable else f"not attachable: {each.reason}")
    told = "; ".join(filter(None, facts))
    return f"{each.pid} {shorten(each.command, COMMAND_WIDTH)}{f'  ({told})' if told else ''}"


RENDERINGS: dict[type, Callable[[Any, View], str]] = {
    SessionList: render_sessions,
    Session: render_session,
    SessionCreated: render_created,
    SessionStatus: render_status,
    SessionDeleted: render_deleted,
    Detached: render_detached,
    Terminated: render_parted,
    Configuration: render_configuration,
    ProcessList: render_processes,
}
