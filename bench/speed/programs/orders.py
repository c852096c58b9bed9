"""The program whose recording is asked: orders of objects, prices, exceptions that are handled, some recursion.

Each round makes ten calls; the last argument says in which round a price is another one, if any."""

import sys

rounds, odd_round = int(sys.argv[1]), int(sys.argv[2])


class OutOfStock(Exception):
    pass


class Order:
    def __init__(self, number, customer):
        self.number = number
        self.customer = customer
        self.total = 0.0

    def add(self, amount):
        self.total += amount
        return self.total


def price_of(number):
    if number == odd_round:
        return None
    return 1.5 * (number % 97)


def reserve(order, count):
    if order.number % 20 == 7:
        raise OutOfStock(order.number)
    return count - 1


def try_to_reserve(order):
    try:
        return reserve(order, order.number % 5)
    except OutOfStock:
        return None


def depth_of(number):
    return 0 if number <= 0 else 1 + depth_of(number - 1)


def describe(order):
    return f"order {order.number} of {order.customer}"


def handle(number):
    order = Order(number, f"customer {number % 13}")
    order.add(price_of(number) or 0)
    try_to_reserve(order)
    depth_of(number % 4)
    return describe(order)


def main():
    for number in range(rounds):
        handle(number)


main()
