"""Has an operation carried out: by the relay, or by the session that it is about."""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import Any

from ..auth.access import Caller
from ..models.envelope import to_json
from ..operations.operation import ID, Operation
from ..relay.service import Relay


async def perform(relay: Relay, operation: Operation, caller: Caller, params: dict[str, Any]) -> bytes:
    """Return the answer as JSON; failures are raised as RelayError."""
    for name, other in operation.if_allowed.items():
        if caller.may_do(other):
            params[name] = True
    if not operation.by_relay:
        return await relay.call(params.pop(ID), operation.name, params)
    answer = attrgetter(operation.by_relay)(relay)(**params)
    if inspect.isawaitable(answer):
        answer = await answer
    return answer if isinstance(answer, bytes) else to_json(answer)
