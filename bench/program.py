"""What the benchmark debugs: a loop with calls, a few kinds of values, and more steps than anyone takes."""


class Order:
    def __init__(self, number: int) -> None:
        self.number = number
        self.customer = f"customer {number % 7}"
        self.items = [{"name": f"item {n}", "price": 2.5 * n, "count": number % 3 + 1} for n in range(4)]


def price(item: dict[str, object]) -> float:
    return round(float(str(item["price"])) * int(str(item["count"])), 2)


def never_called() -> str:
    return "nothing"  # @never


def main(rounds: int) -> dict[str, float]:
    numbers: list[int] = []
    totals: dict[str, float] = {}
    label, ratio, nothing = "orders", 0.25, None
    for number in range(rounds):
        order = Order(number)  # @here
        numbers.append(number)
        if len(numbers) > 20:
            del numbers[0]
        total = sum(price(item) for item in order.items)
        totals[order.customer] = totals.get(order.customer, 0.0) + total * ratio
        label = f"{order.customer}: {total:.2f} {nothing}"
    return {label: sum(totals.values())}


if __name__ == "__main__":
    main(1_000_000)
