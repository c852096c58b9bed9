"""A hundred thousand exceptions that are raised, pass a frame, and are caught."""

import elsewhere  # noqa: F401
from timing import repeat


def other():
    return None


def refuse(number):
    raise ValueError(number)  # @hot


def attempt(number):
    try:
        refuse(number)
    except ValueError:
        return 1
    return 0  # @cold


def work(size):
    count = int(100_000 * size)
    assert sum(attempt(number) for number in range(count)) == count


if __name__ == "__main__":
    repeat(work)
