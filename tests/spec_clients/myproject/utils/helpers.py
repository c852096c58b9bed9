"""Small functions that the other files use."""

import csv

NOTHING = "0 %"
PERCENT = 100


def read_csv(path, load):
    """What `load` makes of the rows of a CSV file."""
    with open(path, newline="") as file:
        rows = csv.DictReader(file)
        return load(list(rows))


def clamp(value, low, high):
    """The value, or the bound that it crossed."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def rounded(value, step=1):
    """The nearest multiple of the step."""
    return step * round(value / step)


def share(part, totals):
    """A region's part of everything, in percent.

    Nothing of nothing is nothing.
    """
    whole = sum(totals.values())
    if not whole:
        return NOTHING

    percent = PERCENT * part / whole
    percent = clamp(percent, 0, PERCENT)
    percent = rounded(percent)
    return f"{percent} %"
