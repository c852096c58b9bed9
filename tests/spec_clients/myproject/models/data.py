"""What the program knows of a sale, and of all sales together."""


class Money:
    """An amount in a currency; amounts of different currencies do not mix."""

    def __init__(self, amount, currency="EUR"):
        self.amount = amount
        self.currency = currency

    def __add__(self, other):
        self._check(other)
        return Money(self.amount + other.amount, self.currency)

    def __eq__(self, other):
        return isinstance(other, Money) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return f"{self.amount:.2f} {self.currency}"

    def _key(self):
        return (self.amount, self.currency)

    def _check(self, other):
        if self.currency != other.currency:
            raise ValueError(f"{self.currency} and {other.currency} do not mix")


class Sales:
    """The rows of a file as sales, in its order."""

    def __init__(self, rows):
        self.items = []
        for row in rows:
            self.add(row["region"], row["amount"])

    def add(self, region, amount):
        sale = Sale(region, float(amount))
        self.items.append(sale)

    def total(self):
        """The sum of all sales, as money."""
        result = Money(0.0)
        for sale in self.items:
            result = result + Money(sale.amount)
        return result

    def of(self, region):
        return [sale for sale in self.items if sale.region == region]


class Sale:
    """One row of the file; sales are ordered by their amounts."""

    currency = "EUR"

    def __init__(self, region, amount):
        self.region = region
        self.amount = amount

    @property
    def is_refund(self):
        return self.amount < 0

    def __repr__(self):
        return f"Sale({self.region!r}, {self.amount})"

    def __str__(self):
        return f"{self.region}: {self.amount:.2f} {self.currency}"

    def __gt__(self, other):
        if not isinstance(other, Sale):
            return NotImplemented
        mine, theirs = self.amount, other.amount
        return mine > theirs
