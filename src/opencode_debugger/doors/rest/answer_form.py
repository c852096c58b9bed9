"""The form in which a client wants its answer: JSON in the envelope, the same in few words, or text."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.types import Scope

from ...errors import RelayError
from ...models.reading import QueryReader, pairs_of
from ...models.requests.queries import AnswerFormQuery

Pairs = Sequence[tuple[str, str]]
TEXT = "text/plain"
LONGEST_ACCEPT = 1000


class AnswerForm(NamedTuple):
    is_text: bool = False
    is_lean: bool = False
    reveal: bool = False
    """show values of names that look like secrets"""
    has_link: bool = False
    """a stop report has a link to the page"""


READER = QueryReader(AnswerFormQuery)


def read_form(scope: Scope, pairs: Pairs) -> tuple[AnswerForm, list[Any]]:
    """Return the form that the parameters ask for, or else the Accept header; and what is wrong with them."""
    asked, errors = READER.read_pairs([(name, value) for name, value in pairs if name in READER.names])
    if not isinstance(asked, AnswerFormQuery):
        return AnswerForm(), errors
    is_text = prefers(scope, TEXT) if asked.format is None else asked.format == "text"
    return AnswerForm(is_text, asked.lean, asked.reveal, asked.link), errors


def without_form(pairs: Pairs) -> Pairs:
    """Return the parameters of the operation itself."""
    return [pair for pair in pairs if pair[0] not in READER.names]


def form_of_refusal(scope: Scope) -> AnswerForm:
    """Return the form for the refusal of a request, whatever is wrong with that."""
    try:
        return read_form(scope, pairs_of(scope["query_string"]))[0]
    except RelayError:
        return AnswerForm(prefers(scope, TEXT))


def prefers(scope: Scope, kind: str) -> bool:
    """Tell whether this is what the Accept header wants most, not only what it would take as well."""
    header = next((value for name, value in scope["headers"] if name == b"accept"), b"").decode("latin-1").lower()
    if kind not in header or len(header) > LONGEST_ACCEPT:
        return False
    best, quality = max(map(_weighed, header.split(",")), key=lambda each: each[1])
    return best == kind and quality > 0


def _weighed(media_range: str) -> tuple[str, float]:
    kind, *parameters = (part.strip() for part in media_range.split(";"))
    quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
    try:
        return kind, float(quality)
    except ValueError:
        return kind, 0.0
