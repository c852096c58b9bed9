"""Arrays and tables as numpy and pandas make them."""

import numpy as np
import pandas as pd


class Rude:
    def __repr__(self):
        raise RuntimeError("no repr")


def tables(folder):
    huge = np.zeros(10**8)
    matrix = np.arange(12).reshape(3, 4)
    turned = matrix[::2, ::-1].T
    single = np.array(5)
    empty = np.zeros((0, 3))
    objects = np.array([None, Rude(), {"a": 1}], dtype=object)
    records = np.array([(1, 2.5, "x"), (2, 3.5, "y")], dtype=[("a", "i4"), ("b", "f8"), ("c", "U3")])
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    dates = np.array(["2020-01-01", "NaT"], dtype="M8[D]")
    mapped = np.memmap(folder + "/mapped", dtype="u1", mode="w+", shape=(1000, 1000))
    own = np.arange(3).view(type("Own", (np.ndarray,), {"__repr__": None, "shape": property(lambda self: 1 / 0)}))
    scalar = np.float64(1.5)
    frame = pd.DataFrame({"n": np.arange(10**6), "word": ["x"] * 10**6, "price": np.linspace(0, 1, 10**6)})
    wide = pd.DataFrame(np.zeros((3, 2000)))
    labelled = pd.DataFrame({"a": [1, 2]}, index=["first", "second"])
    series = pd.Series([10, 20], index=["x", "y"])
    kinds = pd.Series(["a", "b", "a"], dtype="category")
    moments = pd.Series(pd.date_range("2020-01-01", periods=2))
    index = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])
    return locals() and None  # @tables


if __name__ == "__main__":
    import sys

    tables(sys.argv[1])
