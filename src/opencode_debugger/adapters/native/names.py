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


AN_ADDRESS = "*"
"""What an address begins with where a function could be named."""
ESCAPED = {"<": "LT", ">": "GT", "(": "LP", ")": "RP", ",": "C", "&": "RF", "*": "BP"} | {
    char: f"u{ord(char):x}" for char in " {}[];+'\""
}
"""Signs as older versions of rustc write them into names."""
ENDING = r"(::h[0-9a-f]{16})?$"


def rust_pattern(name: str) -> str:
    """Finds a function of Rust by its full name where the debugger knows it as its compiler wrote it: with escapes and
    a hash, with its types apart from the name, or, of generic ones, by the last word alone."""
    parts = _path(name)
    plain, escaped = "::".join(map(re.escape, parts)), "::".join(re.escape(_escaped(part)) for part in parts)
    head, bracket, types = parts[-1].partition("<")
    found = [plain + "(::<.*>|<.*>)?", escaped]
    if head and bracket:
        apart = [*parts[:-1], head, bracket + types]
        found += ["::".join(map(re.escape, apart)), re.escape(parts[-1])]
    return f"^({'|'.join(found)}){ENDING}"


def _path(name: str) -> list[str]:
    """The words between `::`, as far as they are not in brackets."""
    depth, parts = 0, [""]
    for char in name.replace("::", "\0"):
        depth += {"<": 1, "(": 1, "[": 1, "{": 1, ">": -1, ")": -1, "]": -1, "}": -1}.get(char, 0)
        if char == "\0" and not depth:
            parts.append("")
        else:
            parts[-1] += "::" if char == "\0" else char
    return parts


def _escaped(part: str) -> str:
    text = "".join(f"${ESCAPED[char]}$" if char in ESCAPED else char for char in part.replace("::", ".."))
    return f"_{text}" if text.startswith("$") else text
