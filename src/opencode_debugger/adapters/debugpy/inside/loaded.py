"""The modules that the program has loaded, without those of its debugger."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

from . import of_pydevd, raw
from .texts import clip, encodable

_OWN = ("debugpy", "pydevd", "_pydev", "_ocdb", "pydev")
_LIMIT = 1000


def modules() -> List[Dict[str, Any]]:
    found = []
    for name, module in _snapshot():
        names = raw.instance_dict(module) or {}
        path = _text(names.get("__file__"))
        if name.partition(".")[0].startswith(_OWN) or (path or "").startswith(of_pydevd.FOLDER):
            continue
        found.append({"name": encodable(clip(name, 200)[0]), "path": path, "version": _text(names.get("__version__"))})
    return found


def _snapshot() -> List[Any]:
    """Sorted by name alone: modules cannot be compared."""
    there = [item for item in list(sys.modules.items()) if type(item[0]) is str and item[1] is not None]
    return sorted(there, key=lambda item: item[0])


def _text(value: Any) -> Optional[str]:
    return encodable(clip(value, _LIMIT)[0]) if type(value) is str else None


def page(offset: int, limit: int, filter: Optional[str]) -> Dict[str, Any]:
    wanted = (filter or "").lower()
    found = [row for row in modules() if wanted in row["name"].lower() or wanted in (row["path"] or "").lower()]
    shown = found[offset : offset + limit]
    return {"modules": shown, "total": len(found), "has_more": offset + len(shown) < len(found)}
