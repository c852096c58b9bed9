"""Why a program ended without a stop at any breakpoint that it has, or at one that it could never reach."""

from __future__ import annotations

from .breakpoints import Breakpoint

SHOWN = 3
FREE = ". Processes that it started were not debugged: launch with debug_subprocesses to stop in them too"
HANDED_DOWN = ". Python programs that are started with a PYTHONPATH of their own, or with -I, -E or -S, run freely"


def missed(breakpoints: list[Breakpoint], about_children: str) -> str | None:
    """Nothing of those that nobody in this session has set."""
    waiting = [bp for bp in breakpoints if bp.enabled and not bp.log_message and not bp.is_restored]
    if any(bp.hits for bp in waiting):
        waiting = [bp for bp in waiting if bp.function and not bp.verified]  # which no run will ever reach
    if not waiting:
        return None
    told = [_told(bp) for bp in waiting[:SHOWN]]
    if len(waiting) > SHOWN:
        told.append(f"{len(waiting) - SHOWN} more, see GET /sessions/{{id}}/breakpoints")
    these = "This breakpoint" if len(waiting) == 1 else "These breakpoints"
    return f"{these} did not stop the program: {'; '.join(told)}{about_children}"


def _told(bp: Breakpoint) -> str:
    if not bp.verified:
        return f"{bp.id}: {bp.message}"
    what = bp.function or f"{bp.path}:{bp.line}"
    limit = "condition" if bp.condition else "hit condition" if bp.hit_condition else None
    return f"{bp.id} ({what}) was not reached" + (f", or its {limit} was never true" if limit else "")
