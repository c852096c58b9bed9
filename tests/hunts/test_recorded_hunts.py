"""Bugs are found by asking a recorded run: each in three commands and 3,000 characters at the most."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import Ocdb
from places import ROOT
from relays import Relay

Write = Callable[..., Path]
MOST_CALLS = 3
MOST_CHARACTERS = 3000

TREE = """
    def worth(shelf, depth=0):
        amount = own_worth(shelf, depth)
        for part in shelf.get("parts", ()):
            amount += worth(part, depth + 1)
        return amount

    def own_worth(shelf, depth):
        if depth == 5 and shelf["name"].startswith("set"):
            return -shelf["price"]
        return shelf["price"]

    shelf = {"name": "set of pens", "price": 40}
    for level in range(5):
        shelf = {"name": f"shelf {level}", "price": level, "parts": [shelf, {"name": "box", "price": 1}]}
    print(worth(shelf), "instead of 55")
"""

DISTANCE = """
    class Settings:
        def __init__(self):
            self.timeout = 30
            self.retries = 3

    def fetch(settings, page):
        return f"page {page} within {settings.timeout}"

    def load_plugins(settings):
        for plugin in ("cache", "metrics", "proxy"):
            configure(settings, plugin)

    def configure(options, plugin):
        if plugin == "metrics":
            vars(options).update(timeout=0)

    settings = Settings()
    fetch(settings, 1)
    load_plugins(settings)
    for page in range(2, 50):
        fetch(settings, page)
    print(fetch(settings, 50))
"""

RARE = """
    def parse(row):
        name, amount = row.split(",")
        return name, int(amount)

    def read(rows):
        total = 0
        for row in rows:
            try:
                total += parse(row)[1]
            except ValueError:
                continue
        return total

    rows = [f"item {number},{number}" for number in range(10_000)]
    rows[7_213] = "nuts, bolts,7213"
    print(read(rows), "instead of", sum(range(10_000)))
"""

RACE = """
    import asyncio

    class Account:
        def __init__(self, balance):
            self.balance = balance

    async def fee(amount):
        await asyncio.sleep(0)
        return amount // 100

    async def deposit(account, amount):
        balance = account.balance
        cost = await fee(amount)
        account.balance = balance + amount - cost
        return account.balance

    async def main():
        account = Account(1000)
        await asyncio.gather(deposit(account, 100), deposit(account, 500))
        print(account.balance, "instead of", 1000 + 99 + 495)

    asyncio.run(main())
"""

MEETINGS = """
    import datetime
    import unittest

    import parse

    class Meetings(unittest.TestCase):
        def test_lunch_is_at_noon(self):
            found = parse.parse("{:tg} {}", "9/3/2017 12:15 PM Lunch")
            self.assertEqual(found[0], datetime.datetime(2017, 3, 9, 12, 15))
"""


class RecordedHunt:
    """Asks one question after the other, and counts."""

    def __init__(self, ocdb: Ocdb) -> None:
        self._ocdb = ocdb
        self.calls = 0
        self.characters = 0

    def ask(self, *words: str, shows: tuple[str, ...]) -> None:
        answer = self._ocdb.ask(*words)
        told = answer.text + answer.errors
        self.calls += 1
        self.characters += len(told)
        for expected in shows:
            assert re.search(expected, told), f"{expected!r} is not in: {told}"


@pytest.fixture
def hunt(relay: Relay, tmp_path: Path) -> Iterator[RecordedHunt]:
    """A hunt in the folder of the test, which is over in few calls and few words."""
    ocdb = Ocdb(relay.data_dir, tmp_path, {})
    hunt = RecordedHunt(ocdb)
    yield hunt
    ocdb("end")
    assert hunt.calls <= MOST_CALLS
    assert hunt.characters <= MOST_CHARACTERS


def test_a_wrong_value_deep_in_a_tree(hunt: RecordedHunt, program: Write) -> None:
    program(TREE, "tree.py")
    hunt.ask("trace", "tree.py", shows=(r"worth\(.*depth=0\) → -25",))
    hunt.ask(
        "calls", "own_worth", "where", "result < 0",
        shows=("1 of 11 calls", r"own_worth\(shelf=\{'name': 'set of pens', 'price': 40\}, depth=5\) → -40"),
    )


def test_a_mutation_at_a_distance(hunt: RecordedHunt, program: Write) -> None:
    program(DISTANCE, "settings.py")
    hunt.ask(
        "trace", "settings.py",
        shows=(r"configure\(options=Settings\(timeout=30, retries=3\), plugin='metrics'\) → None",),
    )
    hunt.ask("origin", ".timeout", shows=(r"given to #\d+ configure\(.*plugin='proxy'\).*timeout=0 \(was 30\)",))


def test_a_rare_exception_in_ten_thousand_rounds(hunt: RecordedHunt, program: Write) -> None:
    program(RARE, "rare.py")
    hunt.ask("trace", "rare.py", shows=(r"parse\(row='nuts, bolts,7213'\) ✗ ValueError",))
    hunt.ask("errors", shows=(r"1 time ValueError at rare.py:2 in parse: caught in read", "row='nuts, bolts,7213'"))


def test_an_asyncio_race(hunt: RecordedHunt, program: Write) -> None:
    program(RACE, "race.py")
    hunt.ask(
        "trace", "--lines", "deposit", "race.py",
        shows=(
            r"deposit\(account=Account\(balance=1000\), amount=100\) → 1099",
            r"deposit\(account=Account\(balance=1000\), amount=500\) → 1495",
        ),
    )
    hunt.ask("origin", "balance", shows=("balance=1000",))


def test_a_failing_test_of_a_real_package(hunt: RecordedHunt, program: Write, tmp_path: Path) -> None:
    """parse 1.6.6 as its maintainers have it: the package and its tests in one folder."""
    subprocess.run(["sh", ROOT / "scripts" / "hunted-packages"], check=True)
    (package,) = (ROOT / ".venv" / "hunted").glob("lib/*/site-packages/parse.py")
    shutil.copy(package, tmp_path)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv" / "hunted")
    program(MEETINGS, "test_meetings.py")
    hunt.ask(
        "trace", "--lines", "date_convert", "--test", "test_meetings.py",
        shows=(
            r"date_convert\(string='9/3/2017 12:15 PM'.*\) → datetime\.datetime\(2017, 3, 10, 0, 15\)",
            "AssertionError",
        ),
    )
    hunt.ask("origin", "24", shows=(r"set in #\d+ date_convert.*parse.py:497: H=24",))
