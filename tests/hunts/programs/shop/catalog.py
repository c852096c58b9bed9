"""What the shop sells, and for how much."""

PRICES = {"tea": 4.0, "coffee": 6.5, "cake": 3.0}


def price_list() -> dict[str, float]:
    return PRICES
