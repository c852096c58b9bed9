"""Mends on which raised exceptions pydevd stops: once for each, where it first reaches code of the program's own.

As it comes, it stops in every frame that an exception passes, and on those that libraries raise and handle among
themselves: dozens of stops before a program that imports argparse has begun.
"""

from __future__ import annotations

from typing import Any


def install() -> None:
    import pydevd

    original = pydevd.PyDB.exclude_exception_by_filter

    def exclude_exception_by_filter(self: Any, exception_breakpoint: Any, trace: Any) -> bool:
        if original(self, exception_breakpoint, trace):
            return True
        if not any(exception_breakpoint is known for known in self.break_on_caught_exceptions.values()):
            return False
        if trace is None or not _is_own(self, trace.tb_frame):
            return True
        inner = trace.tb_next
        while inner is not None:
            if _is_own(self, inner.tb_frame):
                return True  # it stopped there already
            inner = inner.tb_next
        return False

    pydevd.PyDB.exclude_exception_by_filter = exclude_exception_by_filter


def _is_own(py_db: Any, frame: Any) -> bool:
    return frame.f_code.co_filename == "<string>" or bool(py_db.in_project_scope(frame))
