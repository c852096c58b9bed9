"""Reads what clients send, strictly: query strings into models, text into JSON."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ..errors import RelayError
from .fields import problem
from .problems import did_you_mean, errors_of
from .requests.queries import QueryModel

_POSITION = re.compile(r" \(byte (\d+)\)")
_decode = msgspec.json.Decoder().decode

MOST_PARAMETERS = 100
MOST_NAMES = 2_000
"""Of one object: no request has more."""
MOST_ITEMS = 150_000
"""Of all lists and objects together: a document with ten thousand breakpoints has fewer."""
SHORT = 5_000
"""Bytes of JSON that cannot hold more than is quickly dealt with."""


def pairs_of(query: bytes) -> Sequence[tuple[str, str]]:
    """The parameters of a query string, of which there are not many."""
    if not query:
        return ()
    if query.count(b"&") >= MOST_PARAMETERS:
        message = f"There are more than {MOST_PARAMETERS} parameters"
        suggestion = "Send each parameter once, and no others than the route has"
        raise RelayError("INVALID_PARAMETER", message, errors=[], suggestion=suggestion)
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)


class QueryReader:
    """The query string as one model; without a model, no parameter is known."""

    def __init__(self, model: type[QueryModel] | None) -> None:
        self.model = model
        self.names = list(model.model_fields) if model else []
        needed = model and any(field.is_required() for field in model.model_fields.values())
        self.default = model() if model and not needed else None

    def read_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[QueryModel | None, list[Any]]:
        given: dict[str, str] = {}
        for name, value in pairs:
            if name not in self.names:
                raise parameter_error(name, f"Unknown parameter '{name[:100]}'", value, self.names)
            if name in given:
                raise parameter_error(name, f"Parameter '{name}' is given twice", value, self.names)
            given[name] = value
        if self.model is None or (not given and self.default is not None):
            return self.default, []
        try:
            return self.model.model_validate(given), []
        except ValidationError as error:
            return None, errors_of(error, "query")


def parameter_error(name: str, reason: str, value: str, known: list[str]) -> RelayError:
    message = reason + did_you_mean(name, [other for other in known if other != name])
    problem = {"field": name[:100], "message": message, "value": value[:200]}
    return RelayError("INVALID_PARAMETER", message, parameter=name[:100], errors=[problem], known_parameters=known)


def decode_json(text: bytes, what: str) -> Any:
    """JSON; msgspec refuses what the standard library lets through: NaN, lone surrogates, deep nesting."""
    try:
        content = _decode(text)
    except (ValueError, RecursionError) as error:
        raise malformed_json(text, what, error) from None
    if len(text) > SHORT:
        check_extent(content, what)
    return content


def check_extent(content: Any, what: str) -> None:
    """Before it is looked at in detail, which takes much longer than this."""
    waiting, left = [content], MOST_ITEMS
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict) and len(item) > MOST_NAMES:
            raise too_much(what, f"an object in it has {len(item)} names")
        left -= len(item) if isinstance(item, (dict, list)) else 0
        if left < 0:
            raise too_much(what, f"its lists and objects have more than {MOST_ITEMS} items")
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        waiting += [each for each in inner if isinstance(each, (dict, list))]


def too_much(what: str, why: str) -> RelayError:
    problem = {"field": "", "message": why, "value": None}
    message = f"The {what} is more than any request needs: {why}"
    return RelayError("INVALID_REQUEST", message, errors=[problem], suggestion="Send less at a time")


def malformed_json(body: bytes, what: str, error: Exception) -> RelayError:
    reason, position = explain_error(body, error)
    before = body[:position]
    line, column = before.count(b"\n") + 1, position - before.rfind(b"\n")
    nearby = body[max(0, position - 20) : position + 20].decode(errors="replace")
    suggestion = f"Correct the JSON at line {line}, column {column}"
    told: dict[str, Any] = {"suggestion": suggestion, "position": position, "line": line, "column": column}
    errors = [{"field": "", "message": reason, "value": nearby}]
    return RelayError("INVALID_REQUEST", f"The {what} is not valid JSON: {reason}", **told, errors=errors)


def explain_error(body: bytes, error: Exception) -> tuple[str, int]:
    try:
        body.decode()
    except UnicodeDecodeError as invalid:
        return "it is not valid UTF-8", invalid.start
    if isinstance(error, RecursionError):
        return "it is nested too deeply", 0
    text = str(error)
    found = _POSITION.search(text)
    reason = _POSITION.sub("", text).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return reason, int(found.group(1)) if found else len(body)


class JsonParameters(BaseModel):
    """Query parameters sent as JSON: numbers and booleans are those of JSON, and other names are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def check_types(cls, given: Any) -> Any:
        if isinstance(given, dict):
            for name, value in given.items():
                field = cls.model_fields.get(name)
                if isinstance(value, str) and field is not None and not takes_text(field.annotation):
                    raise problem("Must be a JSON number or boolean, not text", name)
        return given


def takes_text(annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return any(isinstance(choice, str) for choice in get_args(annotation))
    parts = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return annotation is str or any(takes_text(part) for part in parts)


@cache
def as_body(query: type[BaseModel]) -> type[BaseModel]:
    return type(query.__name__, (JsonParameters, query), {"__doc__": query.__doc__})
