"""How each builtin container is written by its own repr."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from typing import Dict, NamedTuple

from .raw import DICT_VIEWS

ODICT_AS_PAIRS = sys.version_info >= (3, 12)


class Look(NamedTuple):
    opening: str
    closing: str
    empty: str
    cycle: str


def _named(name: str, opening: str, closing: str, empty: str, cycle: str) -> Look:
    return Look(name + opening, closing, name + empty, cycle)


def _odict(name: str) -> Look:
    opening, closing = ("({", "})") if ODICT_AS_PAIRS else ("([", "])")
    return _named(name, opening, closing, "()", "...")


LOOKS: Dict[type, Look] = {
    list: Look("[", "]", "[]", "[...]"),
    tuple: Look("(", ")", "()", "(...)"),
    dict: Look("{", "}", "{}", "{...}"),
    set: Look("{", "}", "set()", "set(...)"),
    frozenset: _named("frozenset", "({", "})", "()", "frozenset(...)"),
    deque: _named("deque", "([", "])", "([])", "[...]"),
    OrderedDict: _odict("OrderedDict"),
    defaultdict: _named("defaultdict", "(", "})", "()", "defaultdict(...)"),
}
LOOKS.update({view: _named(view.__name__, "([", "])", "([])", "...") for view in DICT_VIEWS})
# list, tuple and dict do not show the name of a subclass, the others do.
LOOKS_OF_SUBCLASSES: Dict[type, Look] = {
    set: _named("%s", "({", "})", "()", "%s(...)"),
    frozenset: _named("%s", "({", "})", "()", "%s(...)"),
    deque: _named("%s", "([", "])", "([])", "[...]"),
    OrderedDict: _odict("%s"),
    defaultdict: _named("%s", "(", "})", "()", "%s(...)"),
}
