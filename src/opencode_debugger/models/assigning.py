"""Setting variables: what a client may send, and the answers."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from .documented import doc
from .fields import FOCUS, Expression, Identifier
from .inspection import Variable
from .requests import RequestModel


class AssignRequest(RequestModel):
    value: Expression = Field(description="Expression whose value it gets, evaluated in the frame.")
    frame_id: Identifier | None = Field(
        None, description=f"Frame in whose scope value is evaluated: 0 is the top; {FOCUS}."
    )
    thread_id: Identifier | None = Field(None, description="Thread of the frame; the stopped thread if left out.")
    timeout: float | None = Field(None, ge=0.1, le=300, description="Seconds it may take.")


class SetVariableRequest(AssignRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "total", "value": "0"}]})

    name: Expression = Field(description="A name as the reference lists it: a variable, attribute, key or index.")


class SetExpressionRequest(AssignRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "order.items[3].name", "value": "'x'"}]})

    expression: Expression = Field(description="What to assign to: a name, attribute or item.")


class Assigned(Variable):
    """The variable as it reads now."""

    old: str | None = doc("Its value before, as text; null if it had none.", "3")
    old_type: str | None = doc("Type of its value before.", "int")
    expression: str | None = doc("What was assigned to, for set-expression.", "order.items[3].name")
    note: str | None = doc("More about it, such as that a setter stored something else.")
