"""Collects items, then goes through them: work for a conditional breakpoint, a hit count and a logpoint."""

import sys


class Item:
    """Something to process."""

    def __init__(self, name, weight):
        self.name = name
        self.weight = weight

    def __repr__(self):
        return f"Item({self.name!r}, {self.weight})"


def names(count):
    """item-0, item-1, ..."""
    for number in range(count):
        yield f"item-{number}"


def heaviest(items):
    """The item that weighs most; the first of them if there are several."""
    best = items[0]
    for item in items:
        if item.weight > best.weight:
            best = item
    return best


def weigh(name):
    """A weight that depends on the name alone."""
    return sum(map(ord, name)) % 10


def process(count):
    """Everything that there is to do."""
    items = []
    for name in names(count):
        item = Item(name, weigh(name))
        items.append(item)
    total = 0
    for i, item in enumerate(items):
        total += item.weight
    print("total", total)
    for i, item in enumerate(items[:3]):
        print("processed", item.name)
    return heaviest(items)


if __name__ == "__main__":
    print(process(120))
    sys.exit(0)
