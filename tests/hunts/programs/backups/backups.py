"""Prints the last four times at which the backup of the 31st has run."""

from datetime import datetime

from croniter import croniter

runs = croniter("0 0 31 * *", datetime(2020, 2, 10))
for _ in range(4):
    print(runs.get_prev(datetime))
