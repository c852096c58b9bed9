"""The tests of a real package, mpmath, run by pytest."""

import contextlib
import io
import os

import elsewhere  # noqa: F401
import pytest
from timing import repeat

MODULES = ["test_basic_ops", "test_linalg", "test_interval", "test_ode"]


def work(size):
    wanted = ["mpmath.tests." + name for name in MODULES[: max(1, round(len(MODULES) * min(size, 1)))]]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = pytest.main(["-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, "--pyargs", *wanted])
    assert code == 0, output.getvalue()


if __name__ == "__main__":
    repeat(work)
