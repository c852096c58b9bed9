"""Thousands of asyncio tasks that hand numbers on through a queue."""

import asyncio

import elsewhere  # noqa: F401
from timing import repeat


def other():
    return None


async def produce(queue, number):
    await asyncio.sleep(0)
    await queue.put(number)  # @hot
    if number < 0:
        await queue.join()  # @cold


async def consume(queue, count):
    total = 0
    for _ in range(count):
        total += await queue.get()
    return total


async def gather(count):
    queue = asyncio.Queue(100)
    consumer = asyncio.ensure_future(consume(queue, count))
    await asyncio.gather(*(produce(queue, number) for number in range(count)))
    return await consumer


def work(size):
    count = int(5000 * size)
    assert asyncio.run(gather(count)) == count * (count - 1) // 2


if __name__ == "__main__":
    repeat(work)
