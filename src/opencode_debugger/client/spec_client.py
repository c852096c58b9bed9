"""The client class of the specification's example, with its methods and their answers as JSON has them."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import msgspec

from ..agents.conversation import only_given, run_now
from ..operations.operation import ID
from .discovery import running_or_started
from .http import HttpAsker, find_operation

Json = dict[str, Any]


class DebugClient:
    """Drives one session at a time. Without an address it finds the relay, or starts it."""

    def __init__(self, base_url: str | None = None) -> None:
        find = partial(running_or_started, base_url)
        self._asker = HttpAsker(find(), find_again=find)
        self.session_id: str | None = None
        self._event_cursor: str | None = None

    def create_session(self, name: str | None = None, project_root: str | None = None) -> str:
        self.session_id = str(self._ask("create_session", name=name, project_root=project_root)[ID])
        return self.session_id

    def get_session(self) -> Json:
        return self._ask("info")

    def set_breakpoints(self, breakpoints: list[Json]) -> list[Json]:
        return cast(list[Json], self._ask("set_breakpoints", breakpoints=breakpoints)["breakpoints"])

    def launch(
        self, script: str, args: list[str] | None = None, cwd: str | None = None, stop_on_entry: bool = False,
        stop_on_exception: bool = True,
    ) -> Json:
        return self._ask(
            "launch", script=script, args=args, cwd=cwd, stop_on_entry=stop_on_entry,
            stop_on_exception=stop_on_exception)

    def wait_for_pause(self, timeout: float = 30.0) -> Json:
        """Return the session when its program is paused; raises if it ends, or runs on for longer."""
        status = self._ask("report", wait=timeout)["status"]
        if status == "terminated":
            raise RuntimeError("Program terminated")
        if status != "paused":
            raise TimeoutError("Timeout waiting for pause")
        return self.get_session()

    def continue_execution(self) -> Json:
        return self._ask("continue")

    def step_over(self) -> Json:
        return self._ask("step_over")

    def step_into(self) -> Json:
        return self._ask("step_into")

    def step_out(self) -> Json:
        return self._ask("step_out")

    def get_stacktrace(self, thread_id: int | None = None) -> list[Json]:
        return cast(list[Json], self._ask("stack_trace", thread_id=thread_id)["frames"])

    def get_variables(self, variables_reference: int) -> list[Json]:
        return cast(list[Json], self._ask("variables", variables_reference=variables_reference)["variables"])

    def get_local_variables(self, frame_id: int = 0) -> list[Json]:
        return cast(list[Json], self._ask("frame_variables", frame_id=frame_id)["variables"])

    def evaluate(self, expression: str, frame_id: int = 0) -> Json:
        return self._ask("evaluate", expression=expression, frame_id=frame_id)

    def get_output(self) -> list[Json]:
        return cast(list[Json], self._ask("output")["entries"])

    def poll_events(self, timeout: int = 0) -> list[Json]:
        page = self._ask("events", timeout=timeout, cursor=self._event_cursor)
        self._event_cursor = page["next_cursor"]
        return cast(list[Json], page["events"])

    def delete_session(self) -> Json:
        deleted = self._ask("delete_session")
        self.session_id = None
        self._asker.close()
        return deleted

    def _ask(self, operation: str, **params: Any) -> Json:
        given = only_given(**params)
        if self.session_id is not None and ID in find_operation(operation).routes[0].path_names:
            given[ID] = self.session_id
        return cast(Json, msgspec.json.decode(run_now(self._asker.ask(operation, given))))
