"""Bugs, and how each is found with the debugger: every hunt once, as agent calls and what their answers must show.

The hunter knows what a user would report, and the names of functions; not the cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Step(NamedTuple):
    call: str
    """as in the table of agent calls"""
    arguments: dict[str, Any]
    shows: tuple[str, ...] = ()
    """what the hunter learns from the answer: regular expressions"""


@dataclass(frozen=True, eq=False)
class Hunt:
    name: str
    """of the folder with the program"""
    where: str
    """the bug is"""
    wrong: str
    """what the user sees"""
    cause: str
    steps: tuple[Step, ...]
    most_calls: int = 5
    most_characters: int = 4000

    @property
    def script(self) -> str:
        return f"{self.name}.py"


END = Step("debug_end", {})

HUNTS = (
    Hunt(
        "rent",
        "arrow 0.15.4",
        "2019-03-28",
        "Arrow.range adds a month to the day that it gave last, cut by February, and not to the first",
        (
            Step("debug_run", {"script": "rent.py", "breakpoints": ["arrow.Arrow.range"]}, ("_get_frames",)),
            Step("debug_source", {"line": 343, "around": 9}, ("yield current", "current = cls")),
            Step("debug_step", {"until": "current.month == 3"}, (r"while current <= end",)),
            Step(
                "debug_eval",
                {"expression": "current, values, start + relativedelta(months=i)"},
                ("2019-03-28", r"\[2019, 2, 28", r"datetime\(2019, 3, 31"),
            ),
            END,
        ),
    ),
    Hunt(
        "preferences",
        "boltons 23.0.0",
        "saved: light",
        "LRI.__setitem__ writes the value of a known key to its list of links, and not to the dict",
        (
            Step(
                "debug_run",
                {
                    "script": "preferences.py",
                    "breakpoints": ['boltons.cacheutils.LRI.__setitem__ if key == "theme" and value == "dark"'],
                },
                ("__setitem__",),
            ),
            Step("debug_step", {"until": "link[VALUE] == value"}, ("link",)),
            Step("debug_eval", {"expression": "link[VALUE], dict.__getitem__(self, key)"}, ("'dark', 'light'",)),
            END,
        ),
    ),
    Hunt(
        "backups",
        "croniter 0.3.30",
        "2019-12-01",
        "it counts back from the 31st of a month that has 30 days, and stays in December",
        (
            Step(
                "debug_run",
                {
                    "script": "backups.py",
                    "breakpoints": ["croniter.croniter._get_prev_nearest_diff if x == 30 hits 2"],
                },
                (r"to_check.*\[31\]", "range_val.*30"),
            ),
            Step("debug_step", {"kind": "out"}, ("-29", r"2019, 12, 30", "days_in_prev_month.*30")),
            Step("debug_eval", {"expression": "d + relativedelta(days=-29)"}, ("2019, 12, 1,",)),
            END,
        ),
    ),
    Hunt(
        "weather",
        "num2words 0.5.6",
        "5: zero point four degrees",
        "float2tuple gives the part before the point as an int, and 0 has no sign",
        (
            Step(
                "debug_run",
                {
                    "script": "weather.py",
                    "breakpoints": ["num2words.base.Num2Word_Base.float2tuple if value == -0.4"],
                },
                ("-0.4",),
            ),
            Step("debug_step", {"kind": "out"}, (r"\(0, 4\)",)),
            END,
        ),
    ),
    Hunt(
        "meetings",
        "parse 1.6.6",
        "2017-03-10 00:15:00 Lunch",
        "date_convert adds 12 hours to every PM, and a day to noon",
        (
            Step(
                "debug_run",
                {"script": "meetings.py", "breakpoints": ['parse.date_convert if "12:15 PM" in string']},
                ("date_convert",),
            ),
            Step("debug_source", {"line": 490, "around": 12}, (r"H \+= 12",)),
            Step("debug_step", {"until": "H == 24"}, ("if H > 23:", r"\bH\b.{,12}\b24\b", r"\bam\b.{,13} PM'")),
            END,
        ),
    ),
    Hunt(
        "shop",
        "the program itself",
        "Carl pays 8.4",
        "the catalog hands out its own prices, and a discount changes them for everybody",
        (
            Step(
                "debug_run",
                {
                    "script": "shop.py",
                    "breakpoints": ['Cart.total if self.customer == "Carl"'],
                    "watches": ["price_list()"],
                },
                ("'tea': 3.2",),
            ),
            Step("debug_eval", {"expression": "price_list() is self.prices"}, ("True",)),
            END,
        ),
        most_calls=4,
        most_characters=3000,
    ),
)
