"""The table of actions: each operation of a session by its name, and what it takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ..errors import RelayError
from ..models import (
    assigning,
    breakpoints,
    code,
    exception_breakpoints,
    execution,
    inspection,
    machine,
    program,
    queries,
    requests,
    sessions,
    watches,
)
from ..models.fields import Identifier
from ..models.problems import did_you_mean, errors_of, refusal
from ..models.reading import as_body
from .connection import Service

Params = dict[str, Any]
Carry = Callable[[Service, str, Params], Awaitable[bytes]]

Number = Annotated[Identifier, Field(strict=True)]
Name = Annotated[str, Field(strict=True, max_length=128)]


@dataclass(frozen=True)
class Id:
    """What REST has in the path."""

    name: str
    type: Any = Name
    is_required: bool = True
    param: str = ""
    """what the operation calls it, if not the same"""


class Nothing(requests.RequestModel):
    """Of an action without parameters."""


class Action:
    def __init__(self, model: Any = Nothing, *ids: Id, carry: Carry | None = None) -> None:
        query = isinstance(model, type) and issubclass(model, queries.QueryModel)
        self.model = as_body(model) if query else model
        self.ids = ids
        self.carry = carry
        self._check = TypeAdapter(self.model).validate_python
        self._checks = {id.name: TypeAdapter(id.type).validate_python for id in ids}

    def params(self, given: Params) -> Params:
        """What the operation is asked; all that is wrong with it is told at once."""
        rest = {name: value for name, value in given.items() if name not in self._checks}
        params: Params = {}
        errors: list[Any] = []
        for id in self.ids:
            if given.get(id.name) is None and not id.is_required:
                continue
            try:
                if id.name not in given:
                    errors.append({"type": "missing", "loc": ("body", id.name), "msg": "", "input": None})
                else:
                    params[id.param or id.name] = self._checks[id.name](given[id.name])
            except ValidationError as error:
                errors += errors_of(error, "body", id.name)
        try:
            checked = self._check(rest)
        except ValidationError as error:
            errors += errors_of(error, "body")
        if errors:
            raise refusal(errors, self.model, list(self._checks))
        return {**checked.params(), **params}


async def _info(relay: Service, session_id: str, params: Params) -> bytes:
    """Whoever may send commands may also enter the tunnel."""
    return await relay.call(session_id, "info", {"with_token": True})


async def _update(relay: Service, session_id: str, params: Params) -> bytes:
    return await relay.update_session(session_id, params)


async def _delete(relay: Service, session_id: str, params: Params) -> bytes:
    return await relay.delete_session(session_id, params["force"])


async def _clone(relay: Service, session_id: str, params: Params) -> bytes:
    return await relay.clone_session(session_id, params.get("name"))


async def _export(relay: Service, session_id: str, params: Params) -> bytes:
    return await relay.export_session(session_id, params["include_env"])


FRAME, REFERENCE = Id("frame_id", Number), Id("variables_reference", Number)
BREAKPOINT = Id("breakpoint_id")

ACTIONS: dict[str, Action] = {
    "info": Action(carry=_info),
    "status": Action(),
    "report": Action(requests.ReportOptions),
    "ping": Action(),
    "update": Action(sessions.UpdateSessionRequest, carry=_update),
    "delete_session": Action(queries.DeleteQuery, carry=_delete),
    "clone_session": Action(sessions.CloneSessionRequest, carry=_clone),
    "export": Action(queries.ExportQuery, carry=_export),
    "launch": Action(program.LaunchRequest),
    "attach": Action(program.AttachRequest),
    "restart": Action(program.RestartRequest),
    "detach": Action(),
    "terminate": Action(program.TerminateRequest),
    "continue": Action(execution.ResumeRequest),
    "pause": Action(execution.PauseRequest),
    "step_over": Action(execution.StepRequest),
    "step_into": Action(execution.StepIntoRequest),
    "step_out": Action(execution.StepRequest),
    "step_until": Action(execution.StepUntilRequest),
    "step_targets": Action(queries.ScopesQuery),
    "run_to": Action(execution.RunToRequest),
    "stdin": Action(execution.SendInputRequest),
    "set_breakpoints": Action(breakpoints.BreakpointsBody),
    "list_breakpoints": Action(queries.BreakpointQuery),
    "change_breakpoint": Action(breakpoints.ChangeBreakpointRequest, BREAKPOINT),
    "remove_breakpoint": Action(Nothing, BREAKPOINT),
    "clear_breakpoints": Action(),
    "set_exception_breakpoint": Action(exception_breakpoints.ExceptionBreakpointRequest),
    "list_exception_breakpoints": Action(),
    "remove_exception_breakpoints": Action(Nothing, Id("breakpoint_id", is_required=False, param="id")),
    "set_data_breakpoint": Action(machine.DataBreakpointRequest),
    "list_data_breakpoints": Action(),
    "remove_data_breakpoints": Action(Nothing, Id("data_breakpoint_id", is_required=False)),
    "threads": Action(),
    "tasks": Action(queries.TasksQuery),
    "locks": Action(),
    "stack_trace": Action(queries.ThreadStackQuery),
    "scopes": Action(queries.ScopesQuery),
    "variables": Action(queries.VariablesQuery),
    "children": Action(queries.OffsetQuery, FRAME, REFERENCE),
    "frame_variables": Action(queries.FrameVariablesQuery, FRAME),
    "evaluate": Action(inspection.EvaluateRequest),
    "set_variable": Action(assigning.SetVariableRequest, REFERENCE),
    "set_expression": Action(assigning.SetExpressionRequest),
    "add_watch": Action(watches.WatchRequest),
    "list_watches": Action(queries.ScopesQuery),
    "remove_watch": Action(Nothing, Id("watch_id")),
    "clear_watches": Action(),
    "source": Action(code.SourceQuery),
    "modules": Action(code.ModulesQuery),
    "exception": Action(),
    "completions": Action(code.CompletionsRequest),
    "hover": Action(code.HoverRequest),
    "read_memory": Action(machine.MemoryQuery),
    "write_memory": Action(machine.WriteMemoryRequest),
    "disassemble": Action(machine.DisassemblyQuery),
    "record": Action(machine.RecordRequest),
    "step_back": Action(machine.BackRequest),
    "reverse_continue": Action(machine.BackRequest),
    "output": Action(queries.OutputQuery),
    "clear_output": Action(),
    "events": Action(queries.EventsQuery),
}
"""By the names of the operations, as the table of scopes has them."""

ALSO_CALLED = {
    "step": "step_over",
    "input": "stdin",
    "stacktrace": "stack_trace",
    "delete": "delete_session",
    "clone": "clone_session",
}


def operation_called(name: str) -> str:
    """The operation that an action means; `step-over` is `step_over`."""
    plain = name.replace("-", "_")
    operation = ALSO_CALLED.get(plain, plain)
    if operation in ACTIONS:
        return operation
    known = sorted([*ACTIONS, *ALSO_CALLED])
    message = f"There is no action '{name[:100]}'{did_you_mean(plain, known)}"
    raise RelayError(
        "INVALID_REQUEST",
        message,
        suggestion="Use one of details.actions",
        errors=[{"field": "action", "message": message, "value": name[:100]}],
        actions=known,
    )


async def carry_out(relay: Service, session_id: str, operation: str, params: Params) -> bytes:
    carry = ACTIONS[operation].carry
    return await (carry(relay, session_id, params) if carry else relay.call(session_id, operation, params))
