"""The call for everything that has none of its own: an operation by its name."""

from __future__ import annotations

from ..errors import RelayError
from ..operations.operation import ID, Operation
from ..operations.table import OFFERED
from . import arguments
from .conversation import Conversation, Told


async def call_operation(conversation: Conversation, given: arguments.Call) -> Told:
    if given.operation is None:
        return Told("\n".join(f"{each.name}: {each.summary}" for each in OFFERED.values()), list(OFFERED))
    name = given.operation.replace("-", "_")
    if name not in OFFERED:
        import difflib  # here, because it is seldom needed

        near = difflib.get_close_matches(name, OFFERED, 3)
        suggestion = f"Did you mean {' or '.join(near)}?" if near else "Without an operation, all are listed"
        raise RelayError("INVALID_PARAMETER", f"There is no operation {given.operation[:100]!r}", suggestion=suggestion)
    operation = OFFERED[name]
    is_of_session = all(ID in route.path_names for route in operation.routes)
    named = given.session or given.arguments.get(ID)
    session = await conversation.find_session(named and str(named)) if is_of_session else given.session
    _check_ids(operation, given.arguments)
    return await conversation.tell(name, given.arguments, session)


def _check_ids(operation: Operation, params: dict[str, object]) -> None:
    needed = [[route.renamed.get(name, name) for name in route.path_names if name != ID] for route in operation.routes]
    if not any(set(names) <= params.keys() for names in needed):
        names = min(needed, key=len)
        message = f"{operation.name} needs {' and '.join(names)}"
        raise RelayError("MISSING_PARAMETER", message, suggestion=f"Add {', '.join(names)} to the arguments")
