"""Every operation's answer can be told in text and in lean JSON, whatever it has and whatever it lacks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import inspect

from opencode_debugger.answers.stop_reports import StopReport
from opencode_debugger.errors import CATALOGUE, RelayError
from opencode_debugger.models.named import request_model
from opencode_debugger.operations.table import OPERATIONS
from opencode_debugger.text.lean import lean_answer
from opencode_debugger.text.render import answer_type, find_rendering, make_room, render_answer, render_error

ANSWERED = [name for name, operation in OPERATIONS.items() if operation.answer]
GENERIC = {
    "sign_in", "sign_out", "make_sign_in_code",
    "health", "server_info", "shutdown", "ping", "export", "list_profiles", "get_profile", "save_profile",
    "delete_profile",
}
"""Operations whose answers are shown in the way of any other."""
DEEPEST = 6
PLAIN = {inspect.StrType: "text", inspect.IntType: 7, inspect.FloatType: 1.5, inspect.BoolType: True}


def example_of(kind: Any, is_whole: bool, depth: int = 0) -> Any:
    """A value as the API's description has it as an example; without what may be left out unless it is to be whole."""
    if isinstance(kind, inspect.Metadata):
        examples = (kind.extra_json_schema or {}).get("examples")
        return examples[0] if examples else example_of(kind.type, is_whole, depth)
    if isinstance(kind, inspect.UnionType):
        some = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        is_null = len(some) < len(kind.types) and (not is_whole or depth > DEEPEST)
        return None if is_null else example_of(some[0], is_whole, depth)
    if isinstance(kind, (inspect.StructType, inspect.TypedDictType)):
        fields = [field for field in kind.fields if field.required or (is_whole and depth < DEEPEST)]
        return {field.encode_name: example_of(field.type, is_whole, depth + 1) for field in fields}
    if isinstance(kind, inspect.ListType):
        return [example_of(kind.item_type, is_whole, depth + 1)] if is_whole and depth < DEEPEST else []
    if isinstance(kind, inspect.DictType):
        return {"name": example_of(kind.value_type, is_whole, depth + 1)} if is_whole else {}
    if isinstance(kind, inspect.LiteralType):
        return kind.values[0]
    return PLAIN.get(type(kind), "anything")


def answer_of(operation: str, is_whole: bool) -> bytes:
    return msgspec.json.encode(example_of(inspect.type_info(answer_type(operation)), is_whole))


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("operation", ANSWERED)
def test_every_answer_is_told_in_text(operation: str, is_whole: bool) -> None:
    text = render_answer(operation, answer_of(operation, is_whole), "/home/dev/myproject")
    assert text.strip()
    assert not text.startswith(("{", "[")) and "UNSET" not in text and "None" not in text and "'name':" not in text


@pytest.mark.parametrize("operation", ANSWERED)
def test_every_answer_has_a_lean_form_that_is_not_larger(operation: str) -> None:
    for is_whole in (True, False):
        whole = answer_of(operation, is_whole)
        lean = lean_answer(operation, whole)
        assert isinstance(msgspec.json.decode(lean), dict) and len(lean) <= len(whole) + len(".0")


def test_all_that_agents_look_at_has_a_rendering_of_its_own() -> None:
    generic = {name for name in ANSWERED if find_rendering(answer_type(name)).__name__ == "render_any"}
    reports = {name for name in ANSWERED if issubclass(answer_type(name), StopReport)}
    assert generic - reports == GENERIC


def test_every_report_takes_the_budget_that_its_text_needs() -> None:
    for name in ANSWERED:
        if issubclass(answer_type(name), StopReport):
            assert make_room(name, {"wait": 1})["budget"] > 4000
            taken = request_model(OPERATIONS[name].takes or "")
            models = getattr(taken, "__args__", [taken])
            assert all("budget" in getattr(model, "__origin__", model).model_fields for model in models[:1]), name
        else:
            assert make_room(name, {}) == {}


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_error_is_told_with_what_to_do(code: str) -> None:
    first, *rest = render_error(RelayError(code, "It went wrong").to_dict()).split("\n")
    assert first == f"error {code}: It went wrong"
    assert all(line.startswith("→ ") for line in rest) and len(rest) <= 1


def test_fields_that_are_wrong_are_named_once() -> None:
    errors = [{"field": "line", "message": "Must be positive", "value": -1}]
    told = render_error(RelayError("INVALID_REQUEST", "Request validation failed", errors=errors).to_dict())
    assert told.split("\n")[-1] == "line: Must be positive"
    told = render_error(RelayError("INVALID_PARAMETER", "line: Must be positive", errors=errors).to_dict())
    assert told.count("Must be positive") == 1


def test_an_answer_of_another_version_is_told_all_the_same() -> None:
    told = render_answer("threads", b'{"threads": [{"number": 1, "title": "MainThread"}], "more": 2}')
    assert told.split("\n") == ["threads:", "  number=1, title=MainThread", "more: 2"]
