"""Ways to write Python in which one line runs more than once, or several things run on one line."""

# ruff: noqa
# fmt: off

import threading


def loops(n):
    doubled = [i * 2 for i in range(n)]
    for i in range(n): doubled.append(i)
    while n: n -= 1
    pairs = {i: j
             for i in range(2) for j in range(2)}
    total = sum(i for i in range(3))
    while True:
        n += 1
        if n > 2: break
    for i in range(3):
        continue
    return (
        doubled,
        pairs,
        total,
        [one for one in
            range(2)],
    )


def numbers():
    for i in range(2): yield i


def handling():
    for k in numbers(): str(k) if k else 1
    [one for one in numbers() if one]
    with threading.Lock() as held: pass
    try: raise ValueError(held)
    except ValueError: left = 1
    finally: left = 2
    while left: left -= 1; continue


async def waiting(depth):
    if depth: return await waiting(depth - 1)
    return depth


class Shape:
    sides: int = 4; name = "square"

    @property
    def area(self): return self.sides ** 2

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def unwinding():
    with Shape() as shape:
        raise KeyError(shape.area)
    return shape.sides if shape else None


def finishing(values):
    for value in values:
        try:
            if value: continue
            return value
        finally:
            values = [*values, value]


five = lambda: 5
loops(3); handling(); five()
for _ in range(3): five()
[five() for _ in range(2)]
try: waiting(2).send(None)
except StopIteration as end: assert end.value == 0
unwinding()
finishing([1, 0])
worker = threading.Thread(target=lambda: [loops(one) for one in (1, 2)])
worker.start(); worker.join()
print("done")
