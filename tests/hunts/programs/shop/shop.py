"""The orders of a day: only Bea has a discount."""

from cart import Cart

ORDERS = [("Ada", 0, ["tea", "cake"]), ("Bea", 20, ["coffee", "cake"]), ("Carl", 0, ["tea", "coffee"])]

for customer, discount, names in ORDERS:
    print(customer, "pays", Cart(customer, discount).total(names))
