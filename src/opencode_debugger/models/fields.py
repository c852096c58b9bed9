"""Field types that request bodies and query parameters share: bounded, strict, with plain messages."""

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

MAX_INTEGER = 2**53 - 1
MAX_WAIT_SECONDS = 3600
MIN_BUDGET, MAX_BUDGET = 200, 100_000
MIN_PAGE_BUDGET = 600
MAX_FIELD_NAMES = 64

_FIELD_NAME = re.compile(r"[a-z][a-z0-9_.]{0,63}")
_INTEGER_TEXT = re.compile(r"-?[0-9]{1,19}")
_NUMBER_TEXT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def optional(description: str, **rules: Any) -> Any:
    """Describe a field that may be left out."""
    return Field(None, description=description, **rules)


def preset(default: Any, description: str, **rules: Any) -> Any:
    """Describe a field that has a default."""
    return Field(default, description=description, **rules)


def problem(message: str, field: str | None = None) -> PydanticCustomError:
    """A validation error in our own words; `field` names a field of the object that failed."""
    context = {"message": message.replace("{", "(").replace("}", ")"), "field": field or ""}
    return PydanticCustomError("relay", "{message}", context)


def without_nul(value: str) -> str:
    if "\0" in value:
        raise problem("Must not contain NUL characters")
    return value


def line_number(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= MAX_INTEGER:
        raise problem("Line number must be a positive integer")
    return value


def seconds_or_bool(value: Any) -> bool | float | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= MAX_WAIT_SECONDS:
        return value
    raise problem(f"Must be true, false or a number of seconds from 0 to {MAX_WAIT_SECONDS}")


def wait_text(value: object) -> object:
    """`wait` as written in a query string."""
    if not isinstance(value, str):
        return value
    if value in ("true", "false"):
        return value == "true"
    return seconds_or_bool(float(value) if _NUMBER_TEXT.fullmatch(value) else value)


def integer_text(value: object) -> object:
    """Only digits make an integer in a query string or path: not `1.0`, not `1_0`."""
    if not isinstance(value, str):
        return value
    if not _INTEGER_TEXT.fullmatch(value):
        raise problem("Must be an integer")
    return int(value)


def boolean_text(value: object) -> object:
    """Only true and false make a boolean in a query string."""
    if isinstance(value, str) and value not in ("true", "false"):
        raise problem("Must be true or false")
    return value == "true" if isinstance(value, str) else value


def field_names(value: Any) -> list[str] | None:
    """A list of names, or the same separated by commas."""
    if value is None:
        return None
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list) or len(names) > MAX_FIELD_NAMES:
        raise problem(f"Must be a list of at most {MAX_FIELD_NAMES} names, or names separated by commas")
    for name in names:
        if not isinstance(name, str) or not _FIELD_NAME.fullmatch(name):
            raise problem("Field names are lower case words, such as location or locals")
    return names


ShortText = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(without_nul)]
PathText = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(without_nul)]
Argument = Annotated[str, Field(max_length=100_000), AfterValidator(without_nul)]
InputText = Annotated[str, Field(max_length=10_000_000)]
Expression = Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(without_nul)]

THREAD = "Thread of the frame; the stopped thread if left out."
TASK = "An asyncio task, by its id in the list of tasks, instead of a thread."
FOCUS = "the one that stop reports are about if left out"
Identifier = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
LineNumber = Annotated[
    int, BeforeValidator(line_number), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_INTEGER})]
Budget = Annotated[int, Field(ge=MIN_BUDGET, le=MAX_BUDGET)]

WAIT_CHOICES: list[Any] = [{"type": "boolean"}, {"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS}]
_WAIT_SCHEMA = {"anyOf": [*WAIT_CHOICES, {"type": "null"}]}
Wait = Annotated[bool | float | None, BeforeValidator(seconds_or_bool), WithJsonSchema(_WAIT_SCHEMA)]

_NAME_SCHEMA = {"type": "string", "pattern": "^[a-z][a-z0-9_.]{0,63}$"}
_NAMES_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": _NAME_SCHEMA, "maxItems": MAX_FIELD_NAMES},
        {"type": "string", "pattern": "^[a-z][a-z0-9_.]{0,63}( *, *[a-z][a-z0-9_.]{0,63}){0,63}$"},
        {"type": "null"},
    ]
}
FieldNames = Annotated[list[str] | None, BeforeValidator(field_names), WithJsonSchema(_NAMES_SCHEMA)]
