"""JSON and regular expressions: short Python functions around long C functions."""

import json
import re

import elsewhere  # noqa: F401
from timing import repeat

WORD = re.compile(r"(\w+)@(\w+)\.(com|org)")
ORDERS = [{"id": n, "mail": f"name{n}@host{n % 7}.org", "prices": [n * 0.5, n * 1.5]} for n in range(40)]


def other():
    return None


def hosts(text):
    found = {}
    for match in WORD.finditer(text):
        host = match.group(2)
        found[host] = found.get(host, 0) + 1  # @hot
        if not host:
            found.clear()  # @cold
    return found


def work(size):
    for _ in range(int(250 * size)):
        text = json.dumps(ORDERS)
        assert len(hosts(text)) == 7
        json.loads(text)


if __name__ == "__main__":
    repeat(work)
