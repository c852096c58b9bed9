"""Validation errors of pydantic, in our words: field, message, value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ..errors import RelayError
from . import meant
from .envelope import to_json

MAX_PROBLEMS = 50
MAX_COUNTED = 5_000
"""Problems of which a list is made at all: each costs time."""
MAX_VALUE = 300
MAX_NAME = 100
NOT_AN_OBJECT = "Must be a JSON object"
MESSAGES = {
    "model_attributes_type": NOT_AN_OBJECT,
    "model_type": NOT_AN_OBJECT,
    "dict_type": NOT_AN_OBJECT,
    "missing": "This is required",
    "string_unicode": "Must be text that UTF-8 can express",
}


@dataclass(frozen=True)
class Problem:
    field: str
    message: str
    value: Any
    in_body: bool
    missing: bool

    def to_dict(self) -> dict[str, Any]:
        return {"field": self.field, "message": self.message, "value": self.value}


def errors_of(error: ValidationError, *where: int | str) -> list[Any]:
    """What pydantic found, with where that was."""
    if error.error_count() > MAX_COUNTED:
        message = f"There are {error.error_count()} mistakes, too many to tell"
        problem = Problem("", message, None, in_body=True, missing=False)
        raise RelayError("INVALID_REQUEST", message, errors=[problem.to_dict()])
    return [{**item, "loc": (*where, *item["loc"])} for item in error.errors(include_url=False)]


def refusal(errors: Sequence[dict[str, Any]], body_model: Any = None, also_known: Sequence[str] = ()) -> RelayError:
    """What pydantic found, as clients are told: all that is wrong with a body, else the first wrong parameter."""
    found = [translate(item, body_model, also_known) for item in errors[:MAX_PROBLEMS]]
    if any(problem.in_body for problem in found):
        listed = [problem.to_dict() for problem in found if problem.in_body]
        return RelayError("INVALID_REQUEST", "Request validation failed", errors=listed)
    first, listed = found[0], [problem.to_dict() for problem in found]
    if first.missing:
        message = f"Required parameter '{first.field}' is missing"
        return RelayError("MISSING_PARAMETER", message, parameter=first.field, errors=listed)
    message = f"Parameter '{first.field}' is not valid: {first.message}"
    return RelayError("INVALID_PARAMETER", message, parameter=first.field, errors=listed)


def translate(item: dict[str, Any], body_model: Any, also_known: Sequence[str] = ()) -> Problem:
    where, *path = item["loc"]
    path = [step for step in path if not is_marker(step)]
    if field := item.get("ctx", {}).get("field"):
        path.append(field)
    kind = item["type"]
    if kind == "extra_forbidden":
        known = [*known_fields(body_model, path[:-1]), *(also_known if len(path) == 1 else ())]
        message = refused_field(body_model, path) or unknown_field(str(path[-1]), known)
    elif kind == "missing" and not path:
        message = "A JSON body is required"
    else:
        message = MESSAGES.get(kind, item["msg"])
    if message == NOT_AN_OBJECT and (fields := known_fields(body_model, path)):
        message += f" with {'breakpoints' if 'breakpoints' in fields else ', '.join(fields[:5])}"
    value = None if kind == "missing" else bounded(item.get("input"))
    return Problem(field_path(path), message, value, where == "body", kind == "missing")


def is_marker(step: int | str) -> bool:
    """Steps that pydantic adds for itself: the branch of a union, the key of a mapping."""
    return isinstance(step, str) and (step == "[key]" or (step.startswith("<") and step.endswith(">")))


def field_path(path: Sequence[int | str]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step[:MAX_NAME]}"
    return text.removeprefix(".")


def refused_field(body_model: Any, path: Sequence[int | str]) -> str | None:
    """Why a field that exists cannot be sent here, where the model says so."""
    reasons = [getattr(model, "refused", {}) for model in unwrapped([body_model])] if len(path) == 1 else []
    return next((found[str(path[0])] for found in reasons if str(path[0]) in found), None)


def unknown_field(name: str, known: list[str]) -> str:
    others = f". Known fields: {', '.join(known)}" if known else ". It takes no fields"
    return f"Unknown field '{name[:MAX_NAME]}'{did_you_mean(name, known) or others}"


def did_you_mean(name: str, known: Sequence[str]) -> str:
    nearest = meant.field(name[:MAX_NAME], known)
    return f". Did you mean '{nearest}'?" if nearest else ""


def known_fields(annotation: Any, path: Sequence[int | str]) -> list[str]:
    """Field names of the model at the end of a path through nested models, lists and unions."""
    models = [annotation]
    for step in path:
        models = [inner for model in unwrapped(models) for inner in children(model, step)]
    return list(dict.fromkeys(name for model in unwrapped(models) for name in getattr(model, "model_fields", {})))


def children(model: Any, step: int | str) -> list[Any]:
    if isinstance(step, int):
        return list(get_args(model)) if get_origin(model) is list else []
    fields = getattr(model, "model_fields", {})
    return [fields[step].annotation] if step in fields else []


def unwrapped(annotations: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for annotation in annotations:
        if get_origin(annotation) in (Union, UnionType):
            found += unwrapped(get_args(annotation))
        elif get_origin(annotation) is Annotated:
            found += unwrapped(get_args(annotation)[:1])
        elif get_origin(annotation) is list or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            found.append(annotation)
    return found


def bounded(value: Any) -> Any:
    """The value itself if it is small, else the beginning of its JSON."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, str):
        return value if len(value) <= MAX_VALUE else value[:MAX_VALUE] + "..."
    encoded = to_json(value)
    return value if len(encoded) <= MAX_VALUE else encoded[:MAX_VALUE].decode(errors="ignore") + "..."
