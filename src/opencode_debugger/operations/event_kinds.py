"""The kinds of events that a session tells, each with what it means and the fields of its body, in their order."""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    meaning: str
    fields: tuple[str, ...]
    """of the body, in the order in which it has them"""
    optional: frozenset[str]
    """fields that not every body has"""

    def __new__(cls, value: str, meaning: str, fields: str) -> EventKind:
        """Take the fields as words; a `?` marks those that not every body has."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.meaning = meaning
        kind.fields = tuple(word.removesuffix("?") for word in fields.split())
        kind.optional = frozenset(word[:-1] for word in fields.split() if word.endswith("?"))
        return kind

    STOPPED = (
        "stopped",
        "a thread has stopped, or all have",
        "reason description thread_id preserve_focus_hint text all_threads_stopped hit_breakpoint_ids location "
        "exception_info?",
    )
    CONTINUED = "continued", "a thread goes on, or all do", "thread_id all_threads_continued"
    TERMINATED = "terminated", "the program has ended, or was let go", "exit_code restart reason? signal? error?"
    RESTARTED = "restarted", "the program was started again; how it ended before", "pid previous"
    OUTPUT = "output", "it has written something", "category output source line column"
    INPUT_REQUESTED = "input_requested", "it waits for its stdin", "prompt pid"
    THREAD = "thread", "a thread has `started` or `exited`", "reason thread_id"
    MODULE = "module", "a module was loaded", "reason module"
    SUBPROCESS_SPAWNED = (
        "subprocess_spawned", "it has started a process", "event pid command debuggable session_id message")
    BREAKPOINT = "breakpoint", "one was set, changed or removed, or its condition failed", "reason breakpoint error?"
    EXCEPTION_BREAKPOINT = (
        "exception_breakpoint", "the same for one on exceptions", "reason exception_breakpoint error?")
    DATA_BREAKPOINT = "data_breakpoint", "one was set, or has ended with what it watched", "reason data_breakpoint"
    VARIABLE = "variable", "somebody has set one", "reason name value? old? type thread_id frame_id"
    WHEEL = "wheel", "somebody took the wheel, or no longer has it: `why`", "action holder why?"
    DEBUGGER_EVENT = "event", "what only this debugger tells, by its name", "event body"

    def allows(self, body: dict[str, object]) -> bool:
        """Tell whether a body has the fields of this kind and no other, in their order."""
        expected = [name for name in self.fields if name in body or name not in self.optional]
        return list(body) == expected
