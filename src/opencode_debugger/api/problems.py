"""Validation errors of the framework, in our words: field, message, value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.requests import Request

from ..models.envelope import to_json
from .route import did_you_mean

MAX_PROBLEMS = 50
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


def problems(request: Request, error: RequestValidationError) -> list[Problem]:
    body_field = request.scope["route"].body_field
    body_model = body_field.field_info.annotation if body_field else None
    return [translate(item, body_model) for item in error.errors()[:MAX_PROBLEMS]]


def translate(item: dict[str, Any], body_model: Any) -> Problem:
    where, *path = item["loc"]
    path = [step for step in path if not is_marker(step)]
    if field := item.get("ctx", {}).get("field"):
        path.append(field)
    kind = item["type"]
    if kind == "extra_forbidden":
        message = refused_field(body_model, path) or unknown_field(str(path[-1]), known_fields(body_model, path[:-1]))
    elif kind == "missing" and not path:
        message = "A JSON body is required"
    else:
        message = MESSAGES.get(kind, item["msg"])
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
    return f"Unknown field '{name[:MAX_NAME]}'{did_you_mean(name, known) or '. Known fields: ' + ', '.join(known)}"


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
