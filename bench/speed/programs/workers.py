"""Four threads that work at the same time and share a queue and a lock."""

import queue
import threading

import elsewhere  # noqa: F401
from timing import repeat


def other():
    return None


def weigh(number):
    weight = 0
    while number:
        weight += number & 1  # @hot
        number >>= 1
    if weight < 0:
        weight = 0  # @cold
    return weight


def toil(waiting, totals, lock):
    while True:
        number = waiting.get()
        if number is None:
            return
        weight = sum(weigh(number + offset) for offset in range(50))
        with lock:
            totals.append(weight)


def work(size):
    waiting, totals, lock = queue.Queue(), [], threading.Lock()
    threads = [threading.Thread(target=toil, args=(waiting, totals, lock)) for _ in range(4)]
    for thread in threads:
        thread.start()
    count = int(2000 * size)
    for number in range(count):
        waiting.put(number)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    assert len(totals) == count


if __name__ == "__main__":
    repeat(work)
