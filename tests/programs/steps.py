# ruff: noqa: RET504
"""Calls within calls, to be stepped over; where a comment says so, into or out of."""


def inner(n):
    doubled = n * 2  # out
    return doubled


def evens(limit):
    for n in range(limit):
        if n % 2 == 0:
            yield n


def middle(n):
    first = inner(n)
    second = inner(first) + inner(1)  # into
    if second > 100:
        return None
    return [first, second]


def recursive(n):
    if n == 0:
        return []
    rest = recursive(n - 1)  # into
    return [n, *rest]


def fails(n):
    inner(n)
    raise LookupError(n)


def main():
    pair = middle(3)  # into
    total = 0
    for even in evens(4):
        total += even
    below = recursive(2)  # into
    try:
        fails(4)  # into
    except LookupError as error:
        problem = str(error)
    return pair, total, below, problem


result = main()  # into
print(result)
