"""What a recording keeps of a value."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from opencode_debugger.debuggers.python.inside.recording.kept_values import ValueKeeper

NOON = (2017, 3, 10, 12, 15)


class OwnZone(datetime.tzinfo):
    def __repr__(self) -> str:
        raise AssertionError("a time zone of the program was asked")

    utcoffset = tzname = dst = __repr__  # type: ignore[assignment]


class OwnDay(datetime.date):
    def __repr__(self) -> str:
        raise AssertionError("a day of the program was asked")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (datetime.datetime(*NOON), ("datetime.datetime(2017, 3, 10, 12, 15)",)),
        (datetime.datetime(*NOON, tzinfo=datetime.UTC),
         ("datetime.datetime(2017, 3, 10, 12, 15, tzinfo=datetime.timezone.utc)",)),
        (datetime.timedelta(days=2), ("datetime.timedelta(days=2)",)),
        (decimal.Decimal("2.50"), ("Decimal('2.50')",)),
        (datetime.datetime(*NOON, tzinfo=OwnZone()), ("<datetime with OwnZone>",)),
    ],
)  # fmt: skip
def test_times_and_decimals_are_kept_as_they_read(value: Any, kept: tuple[str]) -> None:
    assert ValueKeeper(lambda name: False).keep(value) == kept


def test_a_class_of_the_program_is_not_asked_how_it_reads() -> None:
    assert ValueKeeper(lambda name: False).keep(OwnDay(2017, 3, 10))[:2] == ("O", "OwnDay")
