"""A customer's cart."""

from catalog import price_list


class Cart:
    def __init__(self, customer: str, discount: int) -> None:
        self.customer = customer
        self.prices = price_list()
        if discount:
            for name in self.prices:
                self.prices[name] *= 1 - discount / 100

    def total(self, names: list[str]) -> float:
        return round(sum(self.prices[name] for name in names), 2)
