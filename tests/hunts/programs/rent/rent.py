"""Prints when the rent is due: on the last day of each month."""

import arrow

for due in arrow.Arrow.range("month", arrow.get(2019, 1, 31), limit=6):
    print(due.format("ddd YYYY-MM-DD"))
