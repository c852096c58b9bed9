"""One run of a program under its debugger: its parts, and all that comes from the debugger.

It is forgotten when the next program is launched."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ...ez.messages import EventData
from ..multi_step import Journeys
from ..optional_features import Refuse
from ..process.program_process import Program
from ..registry import DebuggerSetup
from ..rows import ModulePage, ModuleRow
from ..small_debugger import SmallSources
from .ez_breakpoints import EzBreakpoints, EzMemory
from .ez_control import EzControl, EzRecording
from .ez_conversation import Conversation, ToldInput
from .ez_output import OutputSplitter
from .ez_shutdown import EzShutdown
from .inspection.ez_inspection import EzInspection
from .inspection.ez_stacks import Places, Stacks
from .program_state import ProgramState

GOING = frozenset({"continue", "stepInto", "stepOver", "stepOut", "stepBack", "reverseContinue"})
UNABLE = re.compile(r"unknown command|cannot (step|continue|resume)|not started", re.IGNORECASE)
"""Answers of debuggers to a command that lets the program go on, if they do not say to which."""
NEVER_SAID = frozenset({"exited", "terminated", "output"})
"""Events that the debugger of the EZ language does not send unasked: a program that prints one has only printed it."""


@dataclass(frozen=True)
class RunContext:
    """The facts and parts that outlive each run."""

    setup: DebuggerSetup
    refuse: Refuse
    places: Places = field(default_factory=Places)
    journeys: Journeys = field(default_factory=Journeys)


@dataclass(frozen=True)
class EzSources(SmallSources):
    """The source of a program: files only, and of modules just the one that was started."""

    _target: str

    async def modules(self, offset: int, limit: int, filter: str | None) -> ModulePage:
        path = self._target
        found: list[ModuleRow] = [{"name": os.path.basename(path), "path": path, "version": None}]
        shown = found if (filter or "").lower() in path.lower() else []
        return {"modules": shown[offset : offset + limit], "total": len(shown), "has_more": False}

    async def has_module(self, path: str) -> bool:
        return bool(self._target) and os.path.realpath(self._target) == os.path.realpath(path)


class EzRun:
    def __init__(self, context: RunContext, target: str = "", cwd: str = "/", may_read: bool = False) -> None:
        self._listener = listener = context.setup.listener
        refuse, places, journeys = context.refuse, context.places, context.journeys
        self.state = state = ProgramState()
        self.conversation = talk = Conversation(state, listener, context.setup.timeout, may_read)
        self.input = ToldInput(talk)
        self.breakpoints = breakpoints = EzBreakpoints(talk)
        breakpoints.learn_path(target)
        self.sources = EzSources(target)
        self._stacks = stacks = Stacks(talk, state, places, cwd)
        self.inspection = looks = EzInspection(state, talk, places, stacks)
        self.memory = memory = EzMemory(refuse, talk, places, looks, listener)
        self.control = EzControl(refuse, state, talk, listener, places, stacks, breakpoints, looks, memory, journeys)
        self.recording = EzRecording(refuse, talk, self.control)
        self.shutdown = EzShutdown(context.setup.session_id, state, talk, self.input, listener)
        self._splitter = OutputSplitter(self._take_event, lambda text: listener.on_output("stdout", text))
        self._handlers: dict[str, Callable[[EventData], None]] = {
            "stopped": self.control.on_stopped,
            "output": self._on_output,
            "error": self._on_error,
            "exited": self.shutdown.on_exited,
            "terminated": self.shutdown.on_terminated,
            "inputRequested": self.input.on_requested,
            "dataBreakpointCleared": self.memory.on_cleared,
        }
        self.is_raw = False
        """the debugger stops by itself, as the one of the EZ language does, which lets the program write between its
        messages"""
        self.last_words = ""
        """the end of what came from its stderr"""

    def start_debugger(self, command: list[str], cwd: str, environment: dict[str, str]) -> int:
        end = self.shutdown.on_debugger_ended
        process = Program(command, cwd, environment, self._on_written, lambda how: end(how, self._splitter.end()))
        self.conversation.process = process
        return process.pid

    def _on_written(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            self._splitter.feed(data)
        elif not self.state.is_ending:  # what it says when it is being ended is its own affair
            self.last_words = (self.last_words + data.decode("utf-8", "replace"))[-500:]
            self._listener.on_output("stderr", data)

    def _take_event(self, event: str, data: EventData) -> bool | None:
        is_ended = self.state.is_ending or self.state.is_over
        if self.is_raw and event in NEVER_SAID and not is_ended:
            return False
        if self.conversation.take_answer(event, data) or self.state.is_over:
            return None
        if event in self._handlers:
            self._handlers[event](data)
        return None

    def _on_output(self, data: EventData) -> None:
        text = data["text"]
        if data["category"] in ("stdout", "stderr"):
            self._listener.on_output(data["category"], text.encode("utf-8", "surrogateescape"))
        else:
            self._listener.on_log(0, text.removesuffix("\n"))

    def _on_error(self, data: EventData) -> None:
        """Log an error of the program, or of a command that nobody waits for."""
        message, place, command = data["message"], data.get("location"), data.get("command")
        is_unnamed = command is None and place is None and self.conversation.announced is None
        if command in GOING or (is_unnamed and UNABLE.search(message)):
            self.control.on_refusal(message)
        where = f" ({self._stacks.absolute_path(place['file'])}:{place['line']})" if place else ""
        self._listener.on_log(0, f"{'Runtime error' if place else 'The debugger says'}: {message}{where}")
