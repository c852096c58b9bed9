"""Functions by the name that people call them: both debuggers tell more, each in its own way."""

from __future__ import annotations

import re

QUALIFIERS = re.compile(r"( const| volatile| &&?| \[.*\])+$")
HASH = re.compile(r"::h[0-9a-f]{16}$")
TAG = re.compile(r"\[abi:\w+\]")


def short_name(name: str) -> str:
    """Return a C++ function without its parameters and what a template returns, one of Rust without its hash."""
    name = TAG.sub("", HASH.sub("", name.removeprefix("::")))
    bare = QUALIFIERS.sub("", name)
    if not bare.endswith(")") or bare.endswith("operator()"):
        return name
    depth, start = 0, len(bare)
    while start and (depth or start == len(bare)):
        start -= 1
        depth += {")": 1, "(": -1}.get(bare[start], 0)
    head = bare[:start]
    return (head if "operator" in head else _split(head, " ", "<(", ">)")[-1]) or name


def _split(text: str, separator: str, opening: str, closing: str) -> list[str]:
    """Split a text at a sign, as far as it is not in brackets."""
    depth, parts = 0, [""]
    for char in text:
        depth += (char in opening) - (char in closing)
        if char == separator and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


AN_ADDRESS = "*"
"""The beginning of an address where a function could be named."""
ESCAPED = {"<": "$LT$", ">": "$GT$", "(": "$LP$", ")": "$RP$", ",": "$C$", "&": "$RF$", "*": "$BP$"}
ESCAPED |= {char: f"$u{ord(char):x}$" for char in " {}[];+'\""}
"""Signs as older versions of rustc write them into names."""
TYPES = "((::)?<.*>)?"
ENDING = "(::h[0-9a-f]{16})?$"


def rust_pattern(name: str) -> str:
    """Finds a function of Rust by its full name where the debugger knows it as its compiler wrote it: with escapes and
    a hash, with its types apart from the name, or, of generic ones, by the last word alone.

    What all forms have in common stands outside of the alternatives: lldb looks for such a text first, and a pattern
    without it takes seconds, not milliseconds, for all functions of a program.
    """
    words = _split(name.replace("::", "\0"), "\0", "<([{", ">)]}")
    *path, last = [word.replace("\0", "::") for word in words]
    head, bracket, types = last.partition("<")
    if not head:  # such as `<T as Shape>`
        head, bracket, types = last, "", ""
    before = f"{_forms('::'.join(path), '::'.join(map(_escaped, path)))}::" if path else ""
    if not bracket:
        return f"^{before}{_forms(head, _escaped(head))}{TYPES}{ENDING}"
    given = bracket + types
    forms = _forms(given, f"::{given}", _escape(given))
    return f"^{before and f'({before})?'}{_forms(head, _escaped(head))}{forms}{TYPES}{ENDING}"


def _forms(*texts: str) -> str:
    """Return a pattern for one of these texts."""
    found = [re.escape(text) for text in dict.fromkeys(texts)]
    return found[0] if len(found) == 1 else f"({'|'.join(found)})"


def _escape(part: str) -> str:
    return "".join(ESCAPED.get(char, char) for char in part.replace("::", ".."))


def _escaped(part: str) -> str:
    """Return a part of a name as older versions of rustc write it."""
    text = _escape(part)
    return f"_{text}" if text.startswith("$") else text
