"""Calls for which nothing of the program may run: what they find, what they leave alone, and when they give up."""

from __future__ import annotations

import codecs
import collections
import datetime
import decimal
import enum
import json
import sys
import threading
import types
import warnings
import weakref
from pathlib import Path
from typing import Any

import pytest

from opencode_debugger.debuggers.python.inside.breakpoints import exception_stops
from opencode_debugger.debuggers.python.inside.evaluation.quiet_lookup import Scope
from opencode_debugger.debuggers.python.inside.pydevd_patches import pydevd_parts
from opencode_debugger.debuggers.python.inside.rpc import call_scope, calling
from opencode_debugger.debuggers.python.inside.rpc.interrupts import nothing_runs
from opencode_debugger.debuggers.python.inside.source import source_text
from opencode_debugger.debuggers.python.inside.values import pandas_tables, raw
from opencode_debugger.debuggers.python.inside.values.bounded_repr import render_value

HUGE = 10**5000


class Alike(str):
    """Has the hash of a text, and notes that it is asked whether it is that text."""

    asked = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Alike.asked += 1
        return False


class Plain:
    own = 1

    def method(self) -> None:
        pass


class Child(Plain):
    own = 2


class OfC:
    join = str.join
    upper = str.upper


class Color(enum.StrEnum):
    RED = "red"


class Shade(enum.Enum):
    DARK = 1


def quietly(method: str, frame: Any = None, **arguments: Any) -> dict[str, Any]:
    here = threading.get_ident()
    call_scope.frames_looked_into[here] = frame or sys._getframe(1)
    try:
        found: dict[str, Any] = json.loads(calling.call(method, json.dumps({**arguments, "quiet": True})).text)
    finally:
        del call_scope.frames_looked_into[here]
    return found


def hover(text: str, **variables: Any) -> dict[str, Any]:
    def frame(**names: Any) -> Any:
        namespace: dict[str, Any] = {"sys": sys, **names}
        exec("frame = sys._getframe()", namespace)
        return namespace["frame"]

    return quietly("hover", frame(**variables), expression=text, limit=200)


# Code of the program that is in the way.


def test_a_source_file_is_read_without_the_codec_that_it_names(tmp_path: Path) -> None:
    asked: list[str] = []
    codecs.register(asked.append)  # type: ignore[arg-type]
    path = tmp_path / "coded.py"
    for cookie, data, shown in [
        ("of-the-program", "né".encode(), "né"),
        ("of-the-program", b"n\xe9", "n\N{REPLACEMENT CHARACTER}"),
        ("latin-1", b"n\xe9", "né"),
        ("ISO_8859_1", b"n\xe9", "né"),
    ]:
        path.write_bytes(b"#!/usr/bin/python\r\n# -*- coding: %s -*-\r\n%s\x0c\n" % (cookie.encode(), data))
        lines = quietly("source", path=str(path))["lines"]
        assert lines == ["#!/usr/bin/python", f"# -*- coding: {cookie} -*-", f"{shown}\x0c"]
    assert asked == []


def test_an_endless_line_is_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_bytes(b"\xef\xbb\xbf" + b"a" * (source_text.LONGEST_SOURCE + 1000))
    with nothing_runs():
        assert [len(line) for line in source_text.text_lines(str(path), None)] == [source_text.LONGEST_SOURCE - 3 + 1]


def test_warnings_do_not_reach_the_program_and_are_shown_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    warnings.simplefilter("always")
    monkeypatch.setattr(warnings, "showwarning", lambda message, *more: shown.append(str(message)))
    before = list(warnings.filters)
    assert hover(r"'\d'")["result"] == r"'\\d'"
    assert hover("~flag", flag=True)["result"] == "-2"
    assert shown == [] and list(warnings.filters) == before
    compile(r"'\d'", "<test>", "eval")
    assert len(shown) == 1


def test_keys_that_are_no_plain_texts_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[Any, Any] = {
        Alike(name): () for name in ("x", "own", "__dict__", "__slots__", "__repr__", "__module__")
    }
    odd: Any = type("Odd", (), dict(names))()
    own = vars(odd)
    own.update({**names, "own": 5})
    modules: dict[Any, Any] = {Alike("pandas"): odd, **sys.modules}
    monkeypatch.setattr(sys, "modules", modules)
    sys._clear_type_cache()  # that has answers of these keys: whoever asks the class is noticed
    Alike.asked = 0
    with nothing_runs():
        assert raw.read_attribute(odd, "x", "nothing") == "nothing"
        assert raw.class_attribute(type(odd), "own") is raw.MISSING
        assert (raw.instance_dict(odd), raw.slot_values(odd)) == ({"own": 5}, [])
        assert raw.module_dict("pandas") is None and raw.module_dict("json") is vars(json)
        assert raw.dict_pairs(own) == [("own", 5)]
        assert raw.plain_variables(own) == {"own": 5}
        assert render_value(odd, 100)[0].startswith("<Odd object at 0x")
        assert render_value([type(odd)], 100)[0] == "[<class 'Odd'>]"
    assert Alike.asked == 0
    assert raw.read_attribute(odd, "x", "nothing") == "nothing" and Alike.asked


def test_a_namespace_of_a_class_of_its_own_keeps_its_names_only() -> None:
    class Unhashed(str):
        def __hash__(self) -> int:
            hashed.append(self)
            return 1

    class Namespace(dict[Any, Any]):
        pass

    hashed: list[str] = []
    odd = Plain()
    odd.__dict__ = Namespace({Unhashed("a"): 1, "b": 2})
    hashed.clear()
    assert raw.instance_dict(odd) == {"b": 2} and hashed == []


def test_what_only_pretends_to_be_a_range_or_a_table_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Range:
        __repr__ = range.__repr__
        start = stop = step = property(lambda self: asked.append("start"))

    class Table:
        __class__ = property(lambda self: asked.append("class"))  # type: ignore[assignment]

    pandas: Any = types.ModuleType("pandas")
    pandas.DataFrame = pandas.Series = Table()
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    with nothing_runs():
        assert render_value(Range(), 100)[0].startswith("<Range object at 0x")
        assert pandas_tables.table_view(Plain(), None) is None
    assert asked == []


def test_a_look_imports_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    imported: list[tuple[str, str]] = []
    original, here = __import__, threading.get_ident()

    def note(name: str, *more: Any) -> Any:
        if threading.get_ident() == here:
            imported.append((name, sys._getframe(1).f_code.co_filename))
        return original(name, *more)

    path = tmp_path / "module.py"
    path.write_text("def f(a):\n    return a.b\n\nfünf = '\\N{SPACE}'\n", encoding="utf-8")
    monkeypatch.setattr(pydevd_parts, "pydevd", types.SimpleNamespace(get_global_debugger=lambda: None))
    monkeypatch.setattr(exception_stops, "exception_at_stop", lambda: (error := ValueError("bad"), error.__traceback__))
    monkeypatch.setattr("builtins.__import__", note)
    answers = [
        quietly("hover", expression=" Plain.own ", limit=100),
        quietly("hover", path=str(path), line=2, column=14, limit=100),
        quietly("hover", expression="Plain().__private", limit=100),
        quietly("hover", expression="fünf.__private", limit=100),
        quietly("complete", text="Plain.ow", column=None),
        quietly("modules", offset=0, limit=9, filter=None),
        quietly("report", budget=1000, names=5, seconds=1, watched=["Plain.own"], with_source=True, stepped_from=1),
        quietly("step_targets"),
        quietly("exception", seconds=1),
        quietly("source"),
        quietly("tasks", start=0, count=9),
    ]
    monkeypatch.undo()
    assert imported == [] and not [answer for answer in answers if "failed" in answer]


# What is found.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("d['a']", "1"),
        ("d[2.0]", "2"),
        ("d[(1, (True, 'x'))]", "3"),
        ("d[shade]", "4"),
        ("d[None]", "5"),
        ("'a' in d", "True"),
        ("b'a' in d", "False"),
        ("(1, 'x') in d", "False"),
        ("ordered['b']", "2"),
        ("plain.own", "1"),
        ("error.args[0]", "'told'"),
        ("number.real", "7"),
        ("of_c.upper", None),
        ("space.inner", "6"),
    ],
)
def test_what_can_be_known_is_found(text: str, shown: str | None) -> None:
    found: dict[Any, Any] = {"a": 1, 2: 2, (1, (1, "x")): 3, Shade.DARK: 4, None: 5}
    found.update({Plain(): 8, Plain: 9, quietly: 10})
    names: dict[str, Any] = {"d": found, "shade": Shade.DARK, "plain": Plain(), "number": 7, "of_c": "text"}
    names["ordered"] = collections.OrderedDict(a=1, b=2)
    names.update(error=ValueError("told"), space=types.SimpleNamespace(inner=6))
    answer = hover(text, **names)
    assert answer["result"] == shown if shown is not None else answer["type"] == "builtin_function_or_method", answer


@pytest.mark.parametrize(
    "key", [Alike("red"), Color.RED, decimal.Decimal(1), datetime.date(2020, 1, 1), frozenset([1]), (1, Alike("red"))]
)
def test_a_key_that_only_code_can_compare_makes_no_answer(key: Any) -> None:
    wanted = (1, "red") if type(key) is tuple else "red"
    for text in (f"d[{wanted!r}]", f"{wanted!r} in d", "d['nobody'] or d[1]", "d.get"):
        answer = hover(text, d={key: 1, "other": 2})
        is_certain = text == "d.get" or (type(key) is tuple and "nobody" in text)
        assert ("beyond" in answer) is not is_certain, (text, answer)
    assert hover("d['other']", d={key: 1, "other": 2})["result"] == "2"
    assert hover("d[key]", d={key: 1}, key=key)["result"] == "1"


def test_attributes_that_c_code_looks_for_elsewhere_are_not_denied() -> None:
    local, plain = threading.local(), Child()
    local.x = 1
    names = {"local": local, "plain": plain, "parent": super(Child, plain), "proxy": weakref.proxy(plain)}
    for text in ("local.x", "parent.own", "proxy.own", "plain.method.__name__"):
        assert "beyond" in hover(text, **names), text
    assert hover("plain.nothing", **names)["error"] == "AttributeError: 'Child' object has no attribute 'nothing'"


def test_errors_of_pythons_own_are_answers() -> None:
    assert hover("d[key]", d={}, key=HUGE)["error"].startswith("KeyError: <int with ")
    assert hover("d[(1, 'x')]", d={})["error"] == "KeyError: (1, 'x')"
    assert hover("of_c.join", of_c=OfC())["error"].startswith("TypeError: descriptor 'join'")


def test_all_keys_of_an_expression_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundredth of the steps that there are."""
    assert Scope({}).steps == 1_000_000
    monkeypatch.setattr(Scope.__init__, "__defaults__", (10_000,))
    big = dict.fromkeys(range(9_000))
    ordered = collections.OrderedDict(big)
    assert hover("0.5 in big", big=big)["result"] == "False"
    for text in (" or ".join(["0.5in big"] * 150), "0.5 in ordered or 0.5 in ordered", "'b' in long or 'b' in long"):
        assert "too much" in hover(text, big=big, ordered=ordered, long="a" * 6_000)["beyond"]
