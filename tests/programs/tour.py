"""A walk through the ways in which Python goes from one line to the next; nothing of the library is called."""


def twice(function):
    def wrapper(*args):
        first = function(*args)
        return first + function(*args)

    return wrapper


@twice
def square(n):
    return n * n


def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


def countdown(n):
    while n > 0:
        yield n
        n -= 1


def relayed(n):
    got = yield from countdown(n)
    return got


def counter(start):
    def step(by=1):
        nonlocal start
        start += by
        return start

    return step


def risky(divisor):
    try:
        result = 10 // divisor
    except ZeroDivisionError as error:
        result = str(error)
    else:
        result += 1
    finally:
        done = True
    return result, done


def unwinds(depth):
    if depth:
        unwinds(depth - 1)
    raise KeyError("deep")


class Door:
    name = "unnamed"
    opened = 0

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        Door.opened += 1
        return self

    def __exit__(self, *problem):
        self.name = self.name.upper()
        return problem[0] is ValueError

    def __repr__(self):
        return f"Door({self.name!r})"

    @property
    def label(self):
        return f"<{self.name}>"


def rooms():
    with Door("a") as door:
        label = door.label
        raise ValueError(label)
    return door


def main():
    total = square(3)
    product = factorial(3)
    seen = []
    for number in countdown(2):
        if number == 9:
            continue
        seen.append(number)
    else:
        seen.append("end")
    seen += relayed(1)
    count = counter(10)
    count()
    five = count(by=5)
    fine, broken = risky(5), risky(0)
    try:
        unwinds(1)
    except KeyError as error:
        caught = error.args
    room = rooms()
    squares = [n * n for n in range(3) if n != 1]
    names = {n: chr(97 + n) for n in range(2)}
    lazily = sum(n + 1 for n in range(2))
    picked = sorted(
        ["bb", "a"],
        key=lambda text: len(text),
    )
    text = "x" if total else "y"
    while lazily:
        lazily -= 1
        if lazily == 1:
            break
    a, *rest = picked
    del a
    assert text, "never"
    print(total, product, seen, five, fine, broken, caught, room, squares, names, rest)


if __name__ == "__main__":
    main()
