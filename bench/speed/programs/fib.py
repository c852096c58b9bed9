"""Nothing but calls."""

import elsewhere  # noqa: F401
from timing import repeat


def other():
    return None


def fib(number):
    if number < 2:
        return number
    found = fib(number - 1) + fib(number - 2)  # @hot
    if found < 0:
        return None  # @cold
    return found


def work(size):
    for _ in range(max(1, round(60 * size))):
        fib(18)


if __name__ == "__main__":
    repeat(work)
