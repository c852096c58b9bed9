"""Expressions that are looked at again at every stop: each costs bounded time and size, whatever it does."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional

from .evaluate import evaluate, look_up
from .handles import Reply
from .interrupts import guard

UNREAD = "not evaluated: this caller may only read"
LATE = "not evaluated: no time was left"
TIMED_OUT = "timed out"
VALUE_LIMIT = 240


def look(
    expressions: List[str], namespace: Dict[str, Any], reply: Reply, budget: int, deadline: Optional[float]
) -> List[Dict[str, Any]]:
    """One row for each. Where one does not end in time, the relay's interrupt ends it and those after it."""
    limit = min(VALUE_LIMIT, max(1, budget // max(1, len(expressions))))
    with guard() as running:
        rows = []
        for expression in expressions:
            if running.is_quiet:
                rows.append(_row(look_up(expression, namespace, reply, limit, deadline), limit))
            elif running.interrupted or (deadline is not None and time.monotonic() >= deadline):
                rows.append({"error": LATE})
            else:
                rows.append(_row(evaluate(expression, namespace, reply, limit, "watch", deadline), limit))
        return rows


def _row(answer: Dict[str, Any], limit: int) -> Dict[str, Any]:
    if "beyond" in answer:
        return {"error": UNREAD}
    if answer.get("timed_out"):
        return {"error": TIMED_OUT}
    if "syntax_error" in answer:
        return {"error": ("SyntaxError: %s" % answer["syntax_error"]["message"])[:limit]}
    if answer.get("error") is not None:
        return {"error": answer["error"][:limit]}
    row = {"value": answer.pop("result")}
    row.update((name, value) for name, value in answer.items() if value is not None)
    return row
