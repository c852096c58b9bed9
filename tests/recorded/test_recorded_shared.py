"""Several clients at one session, and browsers that sign in."""

from __future__ import annotations

import json

from clients import RestSession, Stage, socket
from test_recorded_server import token_of

from opencode_debugger.operations.scopes import ALL_SCOPES

SHOP = """\
def total(prices):
    result = 0
    for price in prices:
        result += price  # @adds
    return result


print(total([10, 20]))
"""


def test_several_clients(stage: Stage) -> None:
    script = stage.write("shop.py", SHOP)
    with stage.rest() as rest, rest.session(project_root=str(stage.folder)) as session:
        session.break_at(script, "adds")
        session.launch(script)
        follow_sessions(session)
        session.rest.get("/sessions/stream", unknown="x")
        session.post("/wheel", {"action": "take", "as": "Ann"})
        session.post("/wheel", {"action": "take", "as": "Bob"})
        session.step()
        session.delete()
        session.get()
        session.post("/wheel", {"action": "give_back", "force": True})
        session.post("/wheel", {"action": "drive"})
        session.step(fields="location", link="true")
        session.get("/files", query="sh")
        session.get("/files", limit=0)
        session.get("/timeline", limit=3)
        session.get("/timeline", cursor="nonsense")
        session.get("/timeline/3")
        session.get("/timeline/99")
        session.get("/timeline/export", format="json")
        session.get("/timeline/export", format="odd")
        session.get("/timeline", format="text")
        session.stream("/events/stream", "timeline", timeline="true", kinds="timeline")
        token = token_of(stage.relay, "everything", *ALL_SCOPES)
        with socket(stage, f"/sessions/{session.id}/debug", token, replay="false") as ws:
            ws.asks("wheel", params={"action": "give_back"})
            ws.asks("files", query="shop")
            ws.asks("timeline", limit=1)
            ws.asks("timeline_entry", entry_id=1)
            ws.asks("export_timeline", odd=1)


def follow_sessions(session: RestSession) -> None:
    """Record the first event of the list of sessions, which has all of them."""
    path = "/api/v1/sessions/stream"
    with session.rest.http.stream("GET", path) as answer:
        lines = answer.iter_lines()
        event, data = next(lines), json.loads(next(lines).removeprefix("data: "))
    items = [item for item in data["items"] if item["session_id"] == session.id]
    session.rest.recording.add(f"GET {path}", status=answer.status_code, event=event, items=items)


def test_signing_in(stage: Stage) -> None:
    """On a relay that asks for no tokens; others are in tests/page/test_sign_in.py."""
    with stage.rest() as rest:
        rest.post("/sign-in-code")
        rest.post("/sign-in", {"code": "q1Jx"})
        rest.post("/sign-in", {"code": "q1Jx", "token": "ocdb_x"})
        rest.post("/sign-in", {})
        rest.post("/sign-out")
