"""One long loop in one function: no frame is entered or left while it runs."""

import elsewhere  # noqa: F401
from timing import repeat


def other():
    return None


def work(size):
    total = 0
    for number in range(int(1_000_000 * size)):
        total += number & 7  # @hot
    if total < 0:
        total = 0  # @cold
    return total


if __name__ == "__main__":
    repeat(work)
