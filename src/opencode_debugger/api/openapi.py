"""How the API introduces itself: title, first steps, tags, and the schema itself."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ..auth.scopes import TABLE
from .route import RelayRoute

TITLE = "OpenCode Debug Relay Server"

TAGS = [
    {"name": "Server", "description": "Server health and information."},
    {"name": "Sessions", "description": "Create, list, watch and delete debug sessions."},
    {"name": "Program Control", "description": "Launch a program, or attach to one."},
    {"name": "Breakpoints", "description": "Set, change, list and remove breakpoints, before launch or at any time."},
    {"name": "Breakpoint Profiles", "description": "Named sets of breakpoints, saved and applied to any session."},
    {"name": "Execution", "description": "Continue, pause and step; each can wait and return the next stop."},
    {"name": "Inspection", "description": "Threads, stacks, variables and expressions of a paused program."},
    {"name": "Native", "description": "Native programs: memory, machine code, breakpoints on data, going back."},
    {"name": "Output", "description": "Program output and events, read from a cursor."},
]

DESCRIPTION = """\
Debug real programs with single HTTP calls. A first session, with nothing but curl:

```bash
BASE=http://127.0.0.1:{port}/api/v1

# 1. A session; the answer has data.session_id
curl -X POST $BASE/sessions -H 'Content-Type: application/json' -d '{"project_root": "/home/dev/myproject"}'

# 2. A breakpoint
curl -X POST $BASE/sessions/$ID/breakpoints -H 'Content-Type: application/json' \\
     -d '{"file": "main.py", "line": 42}'

# 3. Launch, and wait for the first stop: where, why, source, locals, stack, output
curl -X POST "$BASE/sessions/$ID/launch?wait=true" -H 'Content-Type: application/json' \\
     -d '{"script": "/home/dev/myproject/main.py"}'

# 4. Look and move
curl -X POST $BASE/sessions/$ID/evaluate -H 'Content-Type: application/json' -d '{"expression": "len(items)"}'
curl -X POST $BASE/sessions/$ID/step-over
curl -X POST "$BASE/sessions/$ID/continue?wait=30"

# 5. What it wrote, and the end
curl $BASE/sessions/$ID/output
curl -X DELETE $BASE/sessions/$ID
```

Every answer has the envelope `{"success", "data", "error", "meta"}`. An error has a `code`, a `message` that says \
what happened, and `details.suggestion` that says what to call next.

A relay that requires tokens wants one in every request, `Authorization: Bearer TOKEN`, with the scopes that the call \
lists.
"""

TOKEN = {"type": "http", "scheme": "bearer", "description": "Made by `opencode-debugger token create`."}


def description(port: int) -> str:
    return DESCRIPTION.replace("{port}", str(port))


def schema(app: FastAPI) -> dict[str, Any]:
    """FastAPI's schema without its 422: what is not valid is answered with 400 here."""
    relayed = [route for route in app.routes if isinstance(route, RelayRoute)]
    made = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        tags=app.openapi_tags,
        license_info=app.license_info,
        routes=[route.described() for route in relayed],
    )
    scopes = {route.operation_id: sorted(TABLE[route.operation]) for route in relayed}
    for operation in (operation for methods in made["paths"].values() for operation in methods.values()):
        operation["responses"].pop("422", None)
        for parameter in operation.get("parameters", []):
            parameter["schema"] = never_null(parameter["schema"])
        operation["security"] = [{"token": scopes[operation["operationId"]]}, {}]
    made["components"]["securitySchemes"] = {"token": TOKEN}
    for name in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(name, None)
    return made


def never_null(shape: dict[str, Any]) -> dict[str, Any]:
    """A query string has no null: an optional parameter is left out."""
    branches = [branch for branch in shape.pop("anyOf", []) if branch.get("type") != "null"]
    if len(branches) == 1:
        return {**branches[0], **shape}
    return {"anyOf": branches, **shape} if branches else shape
