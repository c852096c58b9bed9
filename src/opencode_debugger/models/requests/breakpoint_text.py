"""Reads a breakpoint that is spelled as one text: `app.py:42 if x > 3`.

The place comes first: FILE:LINE, FILE~TEXT or FILE~"TEXT" (the line that contains the text), FUNCTION, FILE:FUNCTION.
It ends at the first ` if `, ` hits ` or ` log `; a quoted TEXT ends at its quote. Behind it, in any order and each
once, come ` if CONDITION`, ` hits RULE` and ` log MESSAGE`. A condition ends at a ` hits ` that a rule follows or at a
` log `, unless it begins with them or they are inside of quotes or brackets; a further ` if ` is part of it. A message
goes to the end of the text."""

import re
from typing import Any

from ..fields import problem

FORMS = (
    'Write FILE:LINE, FILE~"TEXT", FUNCTION or FILE:FUNCTION, then, if needed: if CONDITION, hits RULE, log MESSAGE. '
    "Such as: app.py:42 if x > 3")
LONGEST_SPELLED = 10_000
CLAUSES = {"if": "condition", "hits": "hit_condition", "log": "log_message"}
CLAUSE = re.compile(r"\s(if|hits|log)(?=\s|$)")
FIRST_CLAUSE = re.compile(r"\s*(if|hits|log)(?=\s|$)")
AFTER_CONDITION = re.compile(r"\s(?:hits(?=\s+[=<>%]*\s*[0-9])|log(?=\s+\S))")
"""What ends a condition: both words may also be variables in it."""
TEXT_MARK = re.compile(r"(?<=[^\s:/])~")
"""Not that of a home folder, nor of a destructor."""
QUOTED = re.compile(
    r"""(?P<quote>["'])(?P<text>(?:\\.|[^\\])*?)(?P=quote)(?=\s+(?:if|hits|log)(?:\s|$)|\s*$)""", re.DOTALL)
AT_LINE = re.compile(r"(?P<file>.+):(?P<line>-?[0-9]{1,16})", re.DOTALL)
IN_FILE = re.compile(r"(?P<file>.+)(?<!:):(?!:)(?P<function>.+)", re.DOTALL)
"""A single colon parts a file from a function; doubled ones are part of names."""
TEST_ID = re.compile(r"(?P<file>.+\.py)::(?P<function>.+)", re.DOTALL)
BARE_FILE = re.compile(r".+\.pyw?|.*/.*\.(c|cc|cpp|cxx|h|hpp|rs|go|ez)", re.DOTALL)
SKIPPED = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
"""Of a condition: what is escaped, and strings."""
PAIRS = {"(": ")", "[": "]", "{": "}"}


def breakpoint_fields(spelled: str) -> dict[str, Any]:
    """Return the fields of the breakpoint that a text spells; raise what is wrong with it as a validation error."""
    if len(spelled) > LONGEST_SPELLED:
        raise problem(f"It has more than {LONGEST_SPELLED} characters: send an object instead")
    place, rest = _split_place(spelled.strip())
    return {**place, **_read_clauses(rest)}


def _split_place(spelled: str) -> tuple[dict[str, Any], str]:
    """Return the place, and what comes behind it."""
    clause = CLAUSE.search(spelled)
    end = clause.start() if clause else len(spelled)
    mark = TEXT_MARK.search(spelled, 0, end)
    if mark is None:
        return _read_place(spelled[:end].rstrip()), spelled[end:]
    file, text = spelled[: mark.start()], spelled[mark.end() :]
    if quoted := QUOTED.match(text):
        return {"file": file, "text": re.sub(r"\\([\\\"'])", r"\1", quoted["text"])}, text[quoted.end() :]
    if not (unquoted := spelled[mark.end() : end].strip()):
        raise problem(f"There is no text behind {file[:100]}~. {FORMS}")
    return {"file": file, "text": unquoted}, spelled[end:]


def _read_place(place: str) -> dict[str, Any]:
    if not place:
        raise problem(f"It names no place. {FORMS}")
    if found := AT_LINE.fullmatch(place):
        if AT_LINE.fullmatch(found["file"]):
            raise problem(f"{place[-100:]} has a column: give the line only. {FORMS}")
        return {"file": found["file"], "line": int(found["line"])}
    if found := TEST_ID.fullmatch(place):
        return {"file": found["file"], "function": found["function"].replace("::", ".")}
    if found := IN_FILE.fullmatch(place):
        return found.groupdict()
    if BARE_FILE.fullmatch(place):
        raise problem(f"{place[-100:]} is a file: say at which line, or in which function of it. {FORMS}")
    return {"function": place}


def _read_clauses(rest: str) -> dict[str, str]:
    given: dict[str, str] = {}
    while found := FIRST_CLAUSE.match(rest):
        word, rest = found[1], rest[found.end() :]
        field = CLAUSES[word]
        if field in given:
            raise problem(f"It says '{word}' twice. {FORMS}")
        end = _end_of_clause(word, rest)
        given[field], rest = rest[:end].strip(), rest[end:]
        if not given[field]:
            raise problem(f"There is nothing behind '{word}'. {FORMS}")
    return given


def _end_of_clause(word: str, text: str) -> int:
    if word == "if":
        return _end_of_condition(text)
    next_clause = CLAUSE.search(text) if word == "hits" else None
    return next_clause.start() if next_clause else len(text)


def _end_of_condition(text: str) -> int:
    """Return where another clause begins, outside of strings and brackets; a bracket without end does not count."""
    last = {opening: text.rfind(closing) for opening, closing in PAIRS.items()}
    awaited: list[str] = []
    at = len(text) - len(text.lstrip())
    while at < len(text):
        if skipped := SKIPPED.match(text, at):
            at = skipped.end()
            continue
        if not awaited and AFTER_CONDITION.match(text, at):
            return at
        if (char := text[at]) in PAIRS and last[char] > at:
            awaited.append(PAIRS[char])
        elif awaited and char == awaited[-1]:
            awaited.pop()
        at += 1
    return len(text)
