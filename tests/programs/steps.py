"""Calls within calls, to be stepped over and out of."""


def inner(n):
    doubled = n * 2
    return doubled


def evens(limit):
    for n in range(limit):
        if n % 2 == 0:
            yield n


def middle(n):
    first = inner(n)
    second = inner(first) + inner(1)
    if second > 100:
        return None
    return [first, second]


def recursive(n):
    if n == 0:
        return []
    rest = recursive(n - 1)
    return [n, *rest]


def fails(n):
    inner(n)
    raise LookupError(n)


def main():
    pair = middle(3)
    total = 0
    for even in evens(4):
        total += even
    below = recursive(2)
    try:
        fails(4)
    except LookupError as error:
        problem = str(error)
    return pair, total, below, problem


result = main()
print(result)
