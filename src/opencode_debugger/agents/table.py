"""The table of agent calls, by name."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from . import arguments
from .any_operation import call_operation
from .conversation import Conversation, Told
from .looking import evaluate, look, output, source, stack
from .moving import go_on, step
from .setting_breakpoints import change_breakpoints
from .starting import attach, end, list_sessions, run
from .tracing import trace


class AgentCall(msgspec.Struct, frozen=True):
    name: str
    summary: str
    """for models"""
    takes: type[arguments.Arguments]
    perform: Callable[[Conversation, Any], Coroutine[Any, Any, Told]]
    is_read_only: bool = False
    is_destructive: bool = False


CALLS = (
    AgentCall("debug_run",
        "Start a program or test and wait for its first stop: a breakpoint, an uncaught exception, a failing test. "
        "Answers with place, source, locals and stack.", arguments.Run, run),
    AgentCall("debug_attach",
        "Attach to a running process; without pid and port list processes to attach to.",
        arguments.Attach, attach),
    AgentCall("debug_continue", "Run to the next stop; or wait for it, pause, restart, give input.",
        arguments.Continue, go_on),
    AgentCall("debug_step", "Step, and see place, line and what changed.", arguments.Step, step),
    AgentCall("debug_breakpoints", "Add, remove or switch breakpoints; without arguments list them.",
        arguments.ChangeBreakpoints, change_breakpoints),
    AgentCall("debug_eval", "Evaluate an expression, or run a statement, in a frame: its value and what it printed.",
        arguments.Evaluate, evaluate, is_destructive=True),
    AgentCall("debug_look", "Look into a value, a page at a time, or at all locals of a frame.", arguments.Look, look),
    AgentCall("debug_stack", "The call stack; all threads; asyncio tasks; who waits for which lock.",
        arguments.Stack, stack, is_read_only=True),
    AgentCall("debug_source", "Source around the current line, or of a file.",
        arguments.Source, source, is_read_only=True),
    AgentCall("debug_output", "What the program wrote.", arguments.Output, output, is_read_only=True),
    AgentCall("debug_trace",
        "Run a program or test with all calls recorded, or ask the session's recording: call tree, arguments and "
        "results, exceptions, where values come from, where two runs part.", arguments.Trace, trace),
    AgentCall("debug_sessions", "List the sessions.", arguments.Sessions, list_sessions, is_read_only=True),
    AgentCall("debug_end", "End a session and its program.", arguments.End, end, is_destructive=True),
    AgentCall("debug_call", "Any other operation of the API by name (memory, watches, profiles, settings, …).",
        arguments.Call, call_operation, is_destructive=True),
)
AGENT_CALLS = {call.name: call for call in CALLS}
