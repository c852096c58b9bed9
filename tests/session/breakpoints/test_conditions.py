"""Hit conditions and log messages: what is accepted, what they compute, what is refused and how."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from opencode_debugger.debuggers.python.inside.breakpoints.hit_decisions import HitRule, log_message
from opencode_debugger.debuggers.python.python_expressions import check_expression
from opencode_debugger.errors import RelayError
from opencode_debugger.session.breakpoints.conditions import LogPart, log_parts, parse_hit_condition, parse_log_message


class Point:
    x = 3

    def __format__(self, spec: str) -> str:
        return f"<{spec}>"


NAMES = {"i": 7, "name": "Ann", "items": [1, 2], "data": {"a:b": 1, "}": 2}, "p": Point(), "width": 6, "f": 2.5}

SAME_AS_FSTRING = [
    "plain",
    "i = {i}",
    "Processing item {i}: {name}",
    "{name!r} {name!s} {name!a}",
    "{f:.3f}|{i:>5}|{i:05d}",
    "{name!r:>10}",
    "{i:{width}}|{i:>{width + 2}}|{f:{width}.{i - 5}f}",
    "{{literal}} {{{i}}} }}{{",
    "{i != 3} {i == 7} {i >= 1} {i <= 1}",
    "{data['a:b']} {data['}']} {data[\"a:b\"]}",
    "{ {'k': i}['k'] }",
    "{(lambda v: v + 1)(i)}",
    "{[n for n in items if n != 1]} {items[0:1]}",
    "{i=} {i = } {name=!s} {f=:.2f}",
    "{p} {p:x:y} {p.x}",
    "{'a' if i else 'b'}",
    "{i,}",
    "{'it''s'} {'''x'''}",
    "\ttab and ünïcode ☃ {name}",
    "'single' \"double\" {name}",
    "{(i\n+ 1)} {i\n+ 1}",
]


@pytest.mark.parametrize("text", ["5", "==5", "== 5", " ==5", "  5 ", "005", "==\t5"])
def test_a_bare_number_means_exactly_that_hit(text: str) -> None:
    assert parse_hit_condition(text) == "==5"


@pytest.mark.parametrize("operator", ["==", ">", ">=", "<", "<=", "%"])
def test_every_operator_is_accepted_with_and_without_blanks(operator: str) -> None:
    assert parse_hit_condition(f"{operator}50") == f"{operator}50"
    assert parse_hit_condition(f" {operator}  50 ") == f"{operator}50"


def test_the_largest_hit_count_is_accepted() -> None:
    assert parse_hit_condition("> 1000000000") == ">1000000000"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "=5",
        "!=3",
        "5.0",
        "-5",
        "> -1",
        "5 5",
        "= = 5",
        "> = 5",
        "i > 5",
        "٥",
        "1e3",
        "5\0",
        "===5",
        "%",
    ],
)
def test_anything_else_is_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(RelayError) as caught:
        parse_hit_condition(text)
    assert caught.value.code == "BREAKPOINT_INVALID_CONDITION"
    assert "%N" in caught.value.details["suggestion"]


@pytest.mark.parametrize("text", ["0", "%0", ">000", "1000000001", "9" * 100_000])
def test_numbers_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(RelayError) as caught:
        parse_hit_condition(text)
    assert len(caught.value.message) < 200


def test_a_log_message_is_taken_apart() -> None:
    assert parse_log_message("a {x!r} {{b}} {y:>{w}}", check_expression) == [
        "a ",
        LogPart("x", "r"),
        " {b} ",
        LogPart("y", "", (">", LogPart("w"))),
    ]


def test_an_expression_that_shows_itself_keeps_its_text() -> None:
    assert parse_log_message("{x = }") == ["x = ", LogPart("x", "r")]


@pytest.mark.parametrize("text", SAME_AS_FSTRING)
def test_a_log_message_computes_what_the_fstring_would(text: str) -> None:
    parse_log_message(text, check_expression)
    multi_line = '"""' if not text.endswith('"') else "'''"
    quoted = next(q for q in ('"', multi_line, "'''") if q not in text and not ("\n" in text and len(q) == 1))
    expected = eval(f"f{quoted}{text}{quoted}", dict(NAMES))
    assert computed(text, dict(NAMES)) == expected


def computed(text: str, names: dict[str, object]) -> str:
    """As the code inside the program does it."""
    rule = HitRule(None, None, log_parts(text), 0)
    assert rule.log is not None
    return log_message(rule.log, SimpleNamespace(f_globals=names, f_locals=names))


def test_names_that_the_program_shadowed_do_not_matter() -> None:
    shadowed: dict[str, object] = {"format": None, "str": None, "repr": None, "x": "v", "__builtins__": {}}
    assert computed("{x!r:>5}", shadowed) == "  'v'"


def test_an_expression_that_fails_leaves_the_rest_of_the_message() -> None:
    assert computed("{x} {missing} {x!r}", {"x": "v"}) == "v <NameError: name 'missing' is not defined> 'v'"


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("i = {i", 5, "'{' was never closed"),
        ("i = i}", 6, "single '}' is not allowed"),
        ("x {} y", 4, "an expression is empty"),
        ("x { } y", 4, "an expression is empty"),
        ("v: {a b}", 7, "invalid syntax"),
        ("v: {1 +}", 8, "invalid syntax"),
        ("v: {(1\n) )}", 10, "unmatched ')'"),
        ("v: {1\n  2}", 5, "SyntaxError"),
        ("v: {x = 5}", 0, "SyntaxError"),
        ("{x!z}", 3, "invalid conversion '!z'"),
        ("{x!r }", 5, "expected ':' or '}'"),
        ("{x) + (y}", 3, "unmatched ')'"),
        ("{'abc}", 2, "unterminated string literal"),
        ("{x # y}", 4, "cannot include '#'"),
        ("{x:{y:{z}}}", 7, "nested too deeply"),
        ("{x:{y}", 1, "'{' was never closed"),
        ("{x:", 1, "'{' was never closed"),
        ("{lambda x: 1}", 0, "SyntaxError"),
        ("{yield}", 0, "SyntaxError"),
        ("{x\0}", 3, "null byte"),
        ("{" + "(" * 5000 + ")" * 5000 + "}", 0, "too many nested parentheses"),
    ],
)
def test_a_malformed_log_message_is_refused_with_the_place(text: str, offset: int, message: str) -> None:
    with pytest.raises(RelayError) as caught:
        parse_log_message(text, check_expression)
    error = caught.value
    assert error.code == "BREAKPOINT_INVALID_CONDITION"
    assert error.message.startswith("Log message ")
    assert "SyntaxError: " in error.message
    assert message in error.message
    assert len(error.message) < 400
    if offset:
        assert error.details["offset"] == offset
