"""Programs that are no Python, such as a shell script or make: they run without a debugger.

The Python programs that they start are debugged, each as a session of its own."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from ....errors import RelayError
from ....operations.advice import advice
from ...registry import DebuggerSetup
from ...shapes import AttachSpec, Bound, DebuggerBreakpoint, ExceptionRule, Groups, LaunchSpec
from ..debugpy_adapter import DebugpyAdapter
from ..debugpy_breakpoints import DebugpyBreakpoints
from ..debugpy_inspection import DebugpyInspection
from ..launch import start_program as launching
from ..launch.callback_socket import CallBack

NOT_DEBUGGED = "{name} is not debugged itself: it is no Python program"
ITS_CHILDREN = (
    "The Python programs that it starts are sessions of their own: {info} lists them in `children`, and "
    "{report wait=30} waits until one of them stops"
)
RUNS_FREELY = "{name} is no Python program and runs without a debugger, and so does what it starts (debug_subprocesses)"
NO_EFFECT = "{what} has no effect on {name}, which is not debugged itself. {advice}"
ADVICE = {
    "stop_on_entry": "Set breakpoints for what it starts",
    "python_args": "Set variables in `env` for the Python programs that it starts, such as PYTHONWARNINGS",
    "python_path": "What it starts runs on the Python that it calls; `venv` activates an environment for it",
}
OF_CHILDREN = "Launch without debug_subprocesses false, and it holds for the Python programs that it starts"


class BreakpointsOfChildren(DebugpyBreakpoints):
    """Has none: those who come get theirs from the session."""

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        return [Bound(bp.function is None) for bp in breakpoints]

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None: ...


class InspectionOfNothing(DebugpyInspection):
    """Refuses to look into the program, in which there is nothing of ours."""

    async def own_threads(self) -> list[int]:
        return []


class OnlyChildrenAdapter(DebugpyAdapter):
    """Launches a program to which no debugger ever comes: whatever is asked of one is refused."""

    name = "none"
    is_undebugged = True
    busy = "The program is not debugged itself: it cannot be paused"
    capabilities = frozenset({"subprocesses"})

    def __init__(self, setup: DebuggerSetup) -> None:
        super().__init__(replace(setup, asks_early=False))
        self._shown_name = "The program"
        self.breakpoints = BreakpointsOfChildren(self._connection, self.breakpoints.ids)
        self.inspection = InspectionOfNothing(self._connection, str)

    def refusal(self, capability: str) -> RelayError:
        message = NOT_DEBUGGED.format(name=self._shown_name)
        return RelayError("NOT_SUPPORTED", message, capability=capability, suggestion=advice(ITS_CHILDREN))

    def _no_connection(self) -> RelayError:
        return self.refusal("debugging")

    def use_interpreter(self, path: str) -> None:
        """Take no notice: the program runs on none, and what it starts on the Python that it calls."""

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Check what was given besides: the program was looked at when it was looked for."""
        if "python_path" in spec.without_effect:
            await self.check_interpreter(spec.interpreter)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        launched = self._target = self._launched
        await launched.forget_last()
        self._shown_name = os.path.basename(spec.target)
        self.warnings = [] if spec.debug_subprocesses else [RUNS_FREELY.format(name=self._shown_name)]
        for what in spec.without_effect:
            instead = ADVICE.get(what, OF_CHILDREN)
            self.warnings.append(NO_EFFECT.format(what=what, name=self._shown_name, advice=instead))
        async with CallBack(self._folder, self._connection.new_channel) as callback:
            reference = launched.first_reference
            environment = launching.undebugged_environment(spec, self._session_id, callback, reference)
            if spec.debug_subprocesses:
                launched.welcome_children(callback, only_children=True)
            self.pid = launched.begin([*spec.command, *spec.args], spec, environment).pid

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        raise self.refusal("attach")

    async def join(self, *_: Any, **__: Any) -> None:
        raise self.refusal("join")
