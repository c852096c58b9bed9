"""Functions by the name that people call them: both debuggers tell more, each in its own way."""

from __future__ import annotations

import re

QUALIFIERS = re.compile(r"( const| volatile| &&?| \[.*\])+$")
HASH = re.compile(r"::h[0-9a-f]{16}$")
TAG = re.compile(r"\[abi:\w+\]")


def short_name(name: str) -> str:
    """Of a C++ function, without its parameters and without what a template returns; of Rust's, without its hash."""
    name = TAG.sub("", HASH.sub("", name.removeprefix("::")))
    bare = QUALIFIERS.sub("", name)
    if not bare.endswith(")") or bare.endswith("operator()"):
        return name
    depth, start = 0, len(bare)
    while start and (depth or start == len(bare)):
        start -= 1
        depth += {")": 1, "(": -1}.get(bare[start], 0)
    head = bare[:start]
    return (head if "operator" in head else _last_word(head)) or name


def _last_word(text: str) -> str:
    """Behind the last space that is not inside of brackets."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if char == " " and not depth:
            start = place + 1
    return text[start:]
