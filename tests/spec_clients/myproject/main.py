"""Adds up the sales of each region in a CSV file."""

import argparse

from models.data import Sales
from utils.helpers import read_csv, share


def load(rows):
    """Called back by read_csv when the file is open."""
    kept = [row for row in rows if row["amount"]]
    if not kept:
        return []

    sales = Sales(kept)
    return sales.items


def process(data, verbose):
    totals = {}
    for sale in data:
        totals[sale.region] = totals.get(sale.region, 0.0) + sale.amount
        if verbose:
            print(f"{sale.region}: {sale.amount}")
    count = len(data)
    return totals, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", default="data.csv")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    data = read_csv(options.input, load)
    totals, count = process(data, options.verbose)
    for region, total in totals.items():
        print(f"{region} {total:.2f} {share(total, totals)}")
    print(f"{count} sales, the best in {max(data)}")


if __name__ == "__main__":
    main()
