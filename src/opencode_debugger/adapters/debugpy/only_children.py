"""Programs that are no Python, such as a shell script or make: they run without a debugger.

The Python programs that they start are debugged, each as a session of its own."""

from __future__ import annotations

import os

from ...errors import RelayError
from ..base import Bound, DebuggerBreakpoint, ExceptionRule, Groups, LaunchSpec
from ..conversation import Conversation
from . import launch as launching
from .adapter import DebugpyAdapter
from .callback import CallBack

NOT_DEBUGGED = "{name} is not debugged itself: it is no Python program"
ITS_CHILDREN = (
    "The Python programs that it starts are sessions of their own: GET /sessions/{id} lists them in `children`, and "
    "GET /sessions/{id}/report?wait=30 waits until one of them stops"
)
RUNS_FREELY = "{name} is no Python program and runs without a debugger, and so does what it starts (debug_subprocesses)"
NO_EFFECT = "{what} has no effect on {name}, which is not debugged itself. {advice}"
ADVICE = {
    "stop_on_entry": "Set breakpoints for what it starts",
    "python_args": "Set variables in `env` for the Python programs that it starts, such as PYTHONWARNINGS",
    "python_path": "What it starts runs on the Python that it calls; `venv` activates an environment for it",
}
OF_CHILDREN = "Launch without debug_subprocesses false, and it holds for the Python programs that it starts"


class OnlyChildrenAdapter(DebugpyAdapter):
    name = "none"
    is_undebugged = True
    _shown = "The program"

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"subprocesses"})

    def refusal(self, capability: str) -> RelayError:
        message = NOT_DEBUGGED.format(name=self._shown)
        return RelayError("NOT_SUPPORTED", message, capability=capability, suggestion=ITS_CHILDREN)

    def _require_talk(self) -> Conversation:
        raise self.refusal("debugging")

    async def check_launch(self, spec: LaunchSpec) -> None:
        """What it is was found out when it was looked for."""
        if "python_path" in spec.without_effect:
            await self.check_interpreter(spec.interpreter)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        self._shown = os.path.basename(spec.target)
        self.warnings = [] if spec.debug_subprocesses else [RUNS_FREELY.format(name=self._shown)]
        for what in spec.without_effect:
            advice = ADVICE.get(what, OF_CHILDREN)
            self.warnings.append(NO_EFFECT.format(what=what, name=self._shown, advice=advice))
        async with CallBack(self._folder, self._new_channel) as callback:
            environment = launching.environment_above(spec, self._session_id, callback, self._first_reference)
            if spec.debug_subprocesses:
                self._callback = callback
                callback.expect_only_children(self._child_called)
            self._begin_program([*spec.command, *spec.args], spec, environment)

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        """Those who come have them from the session."""
        return [Bound(bp.function is None) for bp in breakpoints]

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        """The same."""

    async def hits(self) -> dict[int, int]:
        return {}

    async def own_threads(self) -> list[int]:
        return []
