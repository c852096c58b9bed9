"""Validation errors of pydantic, in our words: field, message, value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ..errors import RelayError
from ..operations.advice import advice
from .envelope import to_json
from .synonyms import FIELDS

MAX_PROBLEMS = 50
MAX_COUNTED = 5_000
"""Problems of which a list is made at all: each costs time."""
MAX_VALUE = 300
MAX_NAME = 100
NOT_AN_OBJECT = "Must be a JSON object"
MARKER = re.compile(r"\[key\]|<.*>", re.DOTALL)
"""Steps that pydantic adds for itself: the branch of a union, the key of a mapping."""
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
    """Return what pydantic found, each with where it was."""
    if error.error_count() > MAX_COUNTED:
        message = f"There are {error.error_count()} mistakes, too many to tell"
        raise RelayError("INVALID_REQUEST", message, errors=[{"field": "", "message": message, "value": None}])
    return [{**item, "loc": (*where, *item["loc"])} for item in error.errors(include_url=False)]


def validation_refusal(errors: Sequence[Any], body_model: Any = None, also_known: Sequence[str] = ()) -> RelayError:
    """Return the error that clients are told: all that is wrong with a body, else the first wrong parameter."""
    found = [translate_error(item, body_model, also_known) for item in errors[:MAX_PROBLEMS]]
    if any(problem.in_body for problem in found):
        listed = [problem.to_dict() for problem in found if problem.in_body]
        return RelayError("INVALID_REQUEST", "Request validation failed", errors=listed)
    first, listed = found[0], [problem.to_dict() for problem in found]
    if first.missing:
        message = f"Required parameter '{first.field}' is missing"
        return RelayError("MISSING_PARAMETER", message, parameter=first.field, errors=listed)
    message = f"Parameter '{first.field}' is not valid: {first.message}"
    return RelayError("INVALID_PARAMETER", message, parameter=first.field, errors=listed)


def translate_error(item: dict[str, Any], body_model: Any, also_known: Sequence[str] = ()) -> Problem:
    where, *path = item["loc"]
    path = [step for step in path if not (isinstance(step, str) and MARKER.fullmatch(step))]
    if field := item.get("ctx", {}).get("field"):
        path.append(field)
    kind = item["type"]
    if kind == "extra_forbidden":
        known = [*known_fields(body_model, path[:-1]), *(also_known if len(path) == 1 else ())]
        others = f". Known fields: {', '.join(known)}" if known else ". It takes no fields"
        unknown = f"Unknown field '{str(path[-1])[:MAX_NAME]}'{did_you_mean(str(path[-1]), known) or others}"
        message = refused_field(body_model, path) or unknown
    elif kind == "missing" and not path:
        message = "A JSON body is required"
    else:
        message = MESSAGES.get(kind, item["msg"])
    if message == NOT_AN_OBJECT and (fields := known_fields(body_model, path)):
        message += f" with {'breakpoints' if 'breakpoints' in fields else ', '.join(fields[:5])}"
    value = None if kind == "missing" else bounded_value(item.get("input"))
    steps = [f"[{step}]" if isinstance(step, int) else f".{step[:MAX_NAME]}" for step in path]
    return Problem("".join(steps).removeprefix("."), message, value, where == "body", kind == "missing")


def refused_field(body_model: Any, path: Sequence[int | str]) -> str | None:
    """Why a field that exists cannot be sent here, where the model says so."""
    reasons = [getattr(model, "refused", {}) for model in unwrapped_models([body_model])] if len(path) == 1 else []
    return next((advice(found[str(path[0])]) for found in reasons if str(path[0]) in found), None)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Name the field of ours that was meant, if that can be told."""
    name = name[:MAX_NAME]
    meant = [other for other in FIELDS.get(name.lower(), ()) if other in known]
    nearest = next(iter(meant or get_close_matches(name, known, n=1)), None)
    return f". Did you mean '{nearest}'?" if nearest else ""


def known_fields(annotation: Any, path: Sequence[int | str]) -> list[str]:
    """Field names of the model at the end of a path through nested models, lists and unions."""
    models = [annotation]
    for step in path:
        inside = unwrapped_models(models)
        if isinstance(step, int):
            models = [inner for model in inside if get_origin(model) is list for inner in get_args(model)]
        else:
            fields = [getattr(model, "model_fields", {}) for model in inside]
            models = [each[step].annotation for each in fields if step in each]
    names = [name for model in unwrapped_models(models) for name in getattr(model, "model_fields", {})]
    return list(dict.fromkeys(names))


def unwrapped_models(annotations: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for annotation in annotations:
        if get_origin(annotation) in (Union, UnionType):
            found += unwrapped_models(get_args(annotation))
        elif get_origin(annotation) is Annotated:
            found += unwrapped_models(get_args(annotation)[:1])
        elif get_origin(annotation) is list or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            found.append(annotation)
    return found


def bounded_value(value: Any) -> Any:
    """The value itself if it is small, else the beginning of its JSON."""
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, str):
        return value if len(value) <= MAX_VALUE else value[:MAX_VALUE] + "..."
    encoded = to_json(value)
    return value if len(encoded) <= MAX_VALUE else encoded[:MAX_VALUE].decode(errors="ignore") + "..."
