"""Parts of debuggers that refuse what not every debugger offers, and say what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Never

from ..errors import RelayError
from ..operations.advice import advice
from .shapes import LaunchSpec


class Absence(NamedTuple):
    what: str
    """what a debugger without the capability cannot do"""
    instead: str
    """what to do then, as advice"""


ABSENT = {
    "tasks": Absence("list tasks", "Tasks are Python's: {threads} shows what a native program runs"),
    "locks": Absence(
        "tell who holds which lock",
        "Python's locks are explained: {threads} shows where the threads of a native program are",
    ),
    "step_targets": Absence(
        "step into a chosen call",
        "Use step-into: it enters the first call of the line, and again after step-out the next",
    ),
    "memory": Absence("show memory", "Look at values with {evaluate}; memory is shown of native programs"),
    "write_memory": Absence(
        "write memory",
        "Change values with {set_expression}; memory is written in native programs",
    ),
    "disassembly": Absence(
        "show machine code", "Only native programs have machine code to show: launch with `program`"
    ),
    "data_breakpoints": Absence("watch values", "Use {step_until} with an expression, or a conditional breakpoint"),
    "instruction_steps": Absence(
        "step by instructions", "Step by lines: only native programs have instructions to step by"
    ),
    "reverse": Absence(
        "go back", "A Python program is gone back in if it was launched with `record`, a native one with gdb"
    ),
}
"""Capabilities that not every debugger has."""

PYTHON_CAPABILITIES = frozenset({
    "subprocesses", "stop_scope_thread", "completions", "exception_classes", "step_until", "step_targets", "tasks",
    "locks",
})  # fmt: skip
NATIVE_CAPABILITIES = frozenset({
    "memory", "write_memory", "disassembly", "data_breakpoints", "instruction_steps", "exception_classes",
    "completions", "step_until",
})  # fmt: skip
"""Offered by gdb and lldb."""

BUSY = "The debugger has not halted the program yet: one of them is busy. It pauses as soon as it can."
"""Why a pause may take its time."""

Refuse = Callable[[str], RelayError]
"""makes the error for a capability that a debugger does not have"""


def refusal(debugger: str, capability: str) -> RelayError:
    return cannot(debugger, *ABSENT[capability], capability=capability)


def cannot(debugger: str, what: str, instead: str, **details: Any) -> RelayError:
    """Make the error for what a debugger cannot do; `instead` is advice, with operations in braces."""
    message = f"The debugger of this session ({debugger}) cannot {what}"
    return RelayError("NOT_SUPPORTED", message, suggestion=advice(instead), **details)


def refuse_options(spec: LaunchSpec, debugger: str) -> None:
    """Refuse all of a launch that needs more than a debugger which runs the files that it is given."""
    refused = {"debug_subprocesses": spec.debug_subprocesses, "just_my_code": spec.just_my_code}
    refused |= {"tunnel_only": spec.tunnel_only, "core": bool(spec.core), "debugger": bool(spec.server)}
    refused |= {"python_args": bool(spec.interpreter_args), "stop_scope": spec.stop_scope == "thread"}
    refused |= {"module or code": spec.kind not in ("file", "program")}
    for name in (name for name, given in refused.items() if given):
        message = f"{name} is not for programs under {debugger}"
        raise RelayError("NOT_SUPPORTED", message, parameter=name, suggestion=f"Launch without {name}")


def _refusing(capability: str) -> Any:
    """Return a method of a part that refuses for want of this capability, whatever it is asked."""

    async def refuse(part: Refusing, *_: Any, **__: Any) -> Never:
        raise part._refuse(capability)

    return refuse


class Refusing:
    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse


class NoTasksAndLocks(Refusing):
    tasks = task_stack = _refusing("tasks")
    locks = _refusing("locks")


class NoMemory(Refusing):
    read_memory = address_of = _refusing("memory")
    write_memory = _refusing("write_memory")
    instruction = disassemble = _refusing("disassembly")
    set_data_breakpoints = _refusing("data_breakpoints")


class NoRecording(Refusing):
    needs_pause = False
    record = describe = flush = reverse = _refusing("reverse")

    def folders(self) -> list[str]:
        return []
