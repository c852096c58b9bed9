"""Scopes, variables and pages of children, and how long their references live."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import OrderedDict
from types import FrameType
from typing import Any

import pytest
from hostile_objects import Closed, LyingDict, NegativeList, all_objects

from opencode_debugger.debuggers.python.inside.rpc.handles import Handles
from opencode_debugger.debuggers.python.inside.values import variable_rows
from opencode_debugger.debuggers.python.inside.values.variable_rows import (
    Reply,
    children_page,
    locals_report,
    scope_rows,
    variable_row,
)

MODULE_FRAME_SOURCE = "import json\nclass C: pass\ndef f(): pass\ndata = [1]\nframe = sys._getframe()\n"


class Node:
    def __init__(self) -> None:
        self.value = "root"
        self.parent = self

    @property
    def computed(self) -> None:
        raise AssertionError("properties must not run")


class Slotted:
    __slots__ = ("a", "b", "unset")

    def __init__(self) -> None:
        self.a, self.b = 1, [2]


def page(obj: Any, start: int = 0, count: int | None = None, filter: str | None = None, total: int = 10_000) -> Any:
    reply = Reply()
    row = variable_row("it", obj, reply, 100, None)
    return children_page(row["variables_reference"], reply, start=start, count=count, filter=filter, limit_total=total)


def names(obj: Any, **how: Any) -> list[str]:
    return [row["name"] for row in page(obj, **how)["variables"]]


def some_frame(first: int, second: str = "two") -> FrameType:
    third = [first]
    __hidden__ = third
    assert __hidden__
    return sys._getframe()


def test_scopes_have_the_fields_of_the_contract() -> None:
    found = scope_rows(some_frame(1), Reply())
    assert [scope["name"] for scope in found] == ["Locals", "Globals"]
    assert found[0] == {
        "name": "Locals",
        "presentation_hint": "locals",
        "variables_reference": found[0]["variables_reference"],
        "named_variables": 3,
        "indexed_variables": 0,
        "expensive": False,
    }


def test_locals_come_in_the_order_of_definition_without_hidden_names() -> None:
    reply = Reply()
    reference = scope_rows(some_frame(1), reply)[0]["variables_reference"]
    rows = children_page(reference, reply, limit_total=1000)["variables"]
    assert [(row["name"], row["value"]) for row in rows] == [("first", "1"), ("second", "'two'"), ("third", "[1]")]


@pytest.mark.parametrize("name", ["__name__", "__pydevd_ret_val_dict", "__exception__", "(return) f", ".0", 5])
def test_names_that_are_not_the_programs_are_hidden(name: Any) -> None:
    namespace: dict[Any, Any] = {"sys": sys, name: 1}
    exec("frame = sys._getframe()", namespace)
    report = locals_report(namespace["frame"], Reply(), 1000, 10, None)
    assert sorted(row["name"] for row in report["variables"]) == ["frame", "sys"]


def test_at_module_level_locals_and_globals_are_the_same() -> None:
    namespace: dict[str, Any] = {"sys": sys}
    exec(MODULE_FRAME_SOURCE, namespace)
    reply = Reply()
    first, second = (
        children_page(scope["variables_reference"], reply, limit_total=5000)["variables"]
        for scope in scope_rows(namespace["frame"], reply)
    )
    assert (
        [row["name"] for row in first]
        == [row["name"] for row in second]
        == list(namespace)[:1] + [name for name in list(namespace)[1:] if not name.startswith("__")]
    )


def test_a_variable_has_only_the_fields_that_apply() -> None:
    plain = {"variables_reference": 0, "named_variables": 0, "indexed_variables": 0}
    assert variable_row("n", 42, Reply(), 100, None) == {"name": "n", "value": "42", "type": "int", **plain}
    found = variable_row("l", list(range(10000)), Reply(), 28, None)
    assert found.pop("variables_reference") > 0
    assert found == {
        "name": "l",
        "value": "[0, 1, 2, ... (10000 items)]",
        "type": "list",
        "named_variables": 0,
        "indexed_variables": 10000,
        "length": 10000,
        "expandable": True,
        "truncated": True,
        "presentation_hint": {"kind": "data"},
    }


@pytest.mark.parametrize(
    ("value", "hint"), [([], "data"), ({}, "data"), (int, "class"), (len, "method"), (json.dumps, "method"), (5, None)]
)
def test_the_presentation_hint_tells_the_kind(value: Any, hint: str | None) -> None:
    found = variable_row("it", value, Reply(), 100, None).get("presentation_hint")
    assert found == (hint and {"kind": hint})


@pytest.mark.parametrize("value", [None, 5, "text", b"bytes", (), [], {}, object()])
def test_what_has_no_children_has_no_reference(value: Any) -> None:
    assert variable_row("it", value, Reply(), 100, None)["variables_reference"] == 0


def test_an_object_that_holds_itself_is_circular_and_can_be_followed() -> None:
    reply = Reply()
    row = variable_row("node", Node(), reply, 100, None)
    first = children_page(row["variables_reference"], reply, limit_total=1000)["variables"]
    assert [found["name"] for found in first] == ["value", "parent"]
    assert first[1]["value"] == "<circular: node>" and first[1]["circular"] is True
    again = children_page(first[1]["variables_reference"], reply, limit_total=1000)["variables"]
    assert [found["name"] for found in again] == ["value", "parent"]


def test_a_dict_that_contains_itself_is_circular() -> None:
    cyclic: dict[str, Any] = {}
    cyclic["self"] = cyclic
    (row,) = page(cyclic)["variables"]
    assert row["name"] == "'self'" and row["circular"]


def test_a_page_of_five_million_items_is_quick() -> None:
    big = list(range(5_000_000))
    started = time.thread_time()
    found = page(big, start=4_999_990, count=100)
    assert time.thread_time() - started < 0.1
    assert [row["name"] for row in found["variables"]] == [str(place) for place in range(4_999_990, 5_000_000)]
    assert (found["total"], found["has_more"]) == (5_000_000, False)


@pytest.mark.parametrize("value", [{3}, frozenset([3]), range(3, 4), (3,), {3: 1}.keys(), NegativeList([3])])
def test_sequences_and_sets_are_indexed(value: Any) -> None:
    assert [(row["name"], row["value"]) for row in page(value)["variables"]] == [("0", "3")]


def test_a_range_too_long_for_len_can_be_paged() -> None:
    assert page(range(10**30), start=5, count=1)["variables"][0]["value"] == "5"


def test_mappings_are_named_by_the_repr_of_their_keys() -> None:
    assert names({"a": 1, 2: 3, (1, "x"): 0}) == ["'a'", "2", "(1, 'x')"]
    ordered = OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    assert names(ordered) == ["'b'", "'a'"]


def test_a_list_with_attributes_shows_them_first_and_filters_both() -> None:
    class Items(list):  # type: ignore[type-arg]
        def __init__(self) -> None:
            super().__init__([10, 20])
            self.label = "x"

    assert names(Items()) == ["label", "0", "1"]
    assert names(Items(), filter="named") == ["label"]
    assert names(Items(), filter="indexed", start=1) == ["1"]
    assert page(Items(), filter="indexed", count=1)["has_more"] is True


def test_slots_exceptions_classes_and_liars_show_their_real_attributes() -> None:
    assert names(Slotted()) == ["a", "b"]
    assert names(ValueError("x")) == ["args"]
    assert names(Node) == ["computed"]
    assert names(LyingDict()) == ["real"]
    assert names(Closed()) == ["inner"]


@pytest.mark.parametrize("total", [1, 50, 500, 5000])
def test_all_values_together_stay_within_the_limit(total: int) -> None:
    mixed = ["x" * 1000, 1, list(range(1000)), "y" * 1000, None] * 20
    seen, start = 0, 0
    while True:
        found = page(mixed, start=start, total=total)
        assert 0 < sum(len(row["value"]) for row in found["variables"]) <= total
        seen += len(found["variables"])
        start += len(found["variables"])
        if not found["has_more"]:
            break
    assert seen == len(mixed)


def test_hostile_objects_are_listed_like_any_other() -> None:
    found = page(all_objects())
    assert len(found["variables"]) == found["total"] == len(all_objects())
    assert json.loads(json.dumps(found)) == found


def test_references_die_with_the_reply_and_release_the_object() -> None:
    gc.disable()
    try:
        reply = Reply()
        reference = variable_row("all", all_objects(), reply, 1000, None)["variables_reference"]
        assert "variables" in children_page(reference, reply, limit_total=1000)
        del reply
        assert children_page(reference, Reply(), limit_total=1000) == {"missing": True}
    finally:
        gc.enable()


def test_references_never_repeat() -> None:
    handles = Handles(50)
    first = handles.add_object("a", 1).reference
    handles.start_at(10)
    second = handles.add_object("b", 2).reference
    handles.start_at(5000)
    assert (first, second > first, handles.add_object("c", 3).reference) == (50, True, 5000)


def test_a_reply_is_its_json() -> None:
    assert str(Reply().finish({"a": 1})) == repr(Reply('{"a":1}')) == '{"a":1}'


def test_the_report_shows_small_values_in_full_and_cuts_big_ones() -> None:
    def frame_of(big: str, more: list[int], small: int, name: str) -> FrameType:
        return sys._getframe()

    report = locals_report(frame_of("x" * 9999, list(range(9999)), 5, "bob"), Reply(), 200, 10, None)
    shown = {row["name"]: row for row in report["variables"]}
    assert (shown["small"]["value"], shown["name"]["value"], report["omitted"]) == ("5", "'bob'", 0)
    assert shown["big"]["truncated"] and shown["more"]["truncated"]
    assert sum(len(row["value"]) for row in report["variables"]) <= 200


def test_the_report_lists_data_before_definitions_and_counts_what_it_omits() -> None:
    namespace: dict[str, Any] = {"sys": sys}
    exec(MODULE_FRAME_SOURCE, namespace)
    report = locals_report(namespace["frame"], Reply(), 1000, 3, None)
    assert [row["name"] for row in report["variables"]] == ["data", "frame", "sys"]
    assert report["omitted"] == 3


def test_an_unknown_reference_is_missing() -> None:
    assert variable_rows.children_page(1, Reply(), limit_total=10) == {"missing": True}
