"""What every answer is: a struct whose fields say what they mean, the same one that is made, encoded and documented."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar, Union, dataclass_transform

from msgspec import UNSET, Meta, Struct, StructMeta, UnsetType
from msgspec.structs import asdict

__all__ = ["UNSET", "Answer", "Maybe", "Paged", "extended", "said"]

T = TypeVar("T")
Maybe: TypeAlias = Union[T, UnsetType]  # noqa: UP007 - as text it could not be given a type
"""a field that is left out of an answer when it is UNSET"""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class AnswerMeta(StructMeta):
    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> AnswerMeta:
        return super().__new__(mcls, name, bases, namespace, frozen=True, kw_only=True)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Answer(Struct, metaclass=AnswerMeta):
    """One that does not change, made of fields by name."""


def said(description: str, example: Any = None) -> Meta:
    """Describe a field for the API's description."""
    return Meta(description=description, examples=None if example is None else [example])


Larger = TypeVar("Larger", bound=Answer)


def extended(answer: Answer, kind: type[Larger], **more: Any) -> Larger:
    """Return an answer of a kind that has all fields of this one's kind, and more."""
    return kind(**asdict(answer) | more)


class Paged(Answer):
    """A list that is asked for with offset and limit."""

    total: Annotated[int, said("How many there are in all.", 3)]
    offset: Annotated[int, said("How many were skipped.", 0)]
    limit: Annotated[int, said("How many a page has at most.", 100)]
    has_more: Annotated[bool, said("Whether there is another page.", False)]


def unless_none(value: T | None) -> Maybe[T]:
    """Leave a field out that has no value."""
    return UNSET if value is None else value
