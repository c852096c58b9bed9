"""Named sets of breakpoints: saved, listed, applied elsewhere, and no harm done by a file that is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, Relay, Session, line_of, refusal

Write = Callable[..., Path]

TEXT = """
def f(n):
    x = n  # @first
    return x  # @second


for i in range(5):
    f(i)  # @call
"""


@pytest.fixture
def checkout(program: Write) -> Path:
    return program(TEXT, "one/app/main.py").parent.parent


@pytest.fixture
def other(program: Write) -> Path:
    return program(TEXT, "two/app/main.py").parent.parent


@pytest.fixture(autouse=True)
def no_profiles(api: Api) -> Iterator[None]:
    yield
    for profile in api.get("/breakpoint-profiles")["profiles"]:
        api.delete(f"/breakpoint-profiles/{profile['name']}")


def save(api: Api, name: str, **body: Any) -> Any:
    return api.post("/breakpoint-profiles", {"name": name, **body})


def replace(api: Api, name: str, **body: Any) -> Any:
    return api.request("PUT", f"/breakpoint-profiles/{name}", body)


def apply(session: Session, name: str, **options: Any) -> Any:
    return session.api.post(f"/breakpoint-profiles/{name}/apply", {"session_id": session.id, **options})


def lines(session: Session) -> list[int | str]:
    return [bp.get("function") or bp["line"] for bp in session.get("/breakpoints")["breakpoints"]]


def test_what_a_session_has_is_set_in_another_checkout(api: Api, checkout: Path, other: Path) -> None:
    main = checkout / "app/main.py"
    with api.session(project_root=str(checkout), restore_breakpoints=False) as session:
        session.break_at(main, "first", condition="n == 3", enabled=False)
        session.break_at(main, "second", hit_condition="2")
        session.post("/breakpoints", {"function": "f", "file": "app/main.py", "log_message": "{n}"})
        session.post("/breakpoints", {"function": "main.f", "condition": "n == 4"})
        session.post("/exception-breakpoints", {"exceptions": ["ValueError"], "condition": "exc.args"})
        saved = save(api, "bug-7", session_id=session.id)
    assert saved == api.get("/breakpoint-profiles/bug-7")
    assert (saved["name"], saved["project_root"]) == ("bug-7", str(checkout))
    places = [(bp["source"] and bp["source"]["path"], bp["line"], bp["function"]) for bp in saved["breakpoints"]]
    assert places == [
        ("app/main.py", 2, None),
        ("app/main.py", 3, None),
        ("app/main.py", None, "f"),
        (None, None, "main.f"),
    ]
    (listed,) = api.get("/breakpoint-profiles")["profiles"]
    counts = {"breakpoint_count": 4, "exception_breakpoint_count": 1}
    assert listed == {"name": "bug-7", "saved_at": saved["saved_at"], "project_root": str(checkout), **counts}
    with api.session(project_root=str(other), restore_breakpoints=False) as session:
        applied = apply(session, "bug-7")
        assert (applied["profile"], applied["session_id"], applied["removed"]) == ("bug-7", session.id, [])
        theirs = other / "app/main.py"
        assert [bp["source"] and bp["source"]["path"] for bp in applied["breakpoints"]] == [*[str(theirs)] * 3, None]
        assert applied["exception_breakpoints"][0]["exceptions"] == ["ValueError"]
        stop = session.launch(theirs)
        assert (stop["hit_breakpoint_ids"], stop["current_location"]["line"]) == (["bp_2"], line_of(theirs, "second"))
        assert session.resume()["hit_breakpoint_ids"] == ["bp_4"]
        assert session.output("console") == "0\n1\n2\n3\n4\n"
        assert session.get("/exception-breakpoints")["filters"] == ["raised"]


def test_applying_adds_or_replaces(api: Api, checkout: Path) -> None:
    main = checkout / "app/main.py"
    save(api, "one", breakpoints=[{"file": "app/main.py", "line": 2, "condition": "n == 1"}])
    save(api, "two", breakpoints=[], exception_breakpoints=[{"filters": ["raised"]}])
    with api.session(project_root=str(checkout)) as session:
        session.break_at(main, "first", "call")
        session.post("/breakpoints", {"function": "f"})
        session.post("/exception-breakpoints", {"exceptions": ["KeyError"]})
        apply(session, "one")
        assert lines(session) == [2, line_of(main, "call"), "f"]
        assert session.get("/breakpoints")["breakpoints"][0]["condition"] == "n == 1"
        session.launch(main)
        applied = apply(session, "one", replace=True)
        assert lines(session) == [2]
        assert [gone["id"] for gone in applied["removed"]] == ["bp_2", "bp_3"]
        assert session.get("/exception-breakpoints")["filters"] == []
        assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
        assert session.locals()["n"] == "1"
        apply(session, "two", replace=True)
        assert (lines(session), session.get("/exception-breakpoints")["filters"]) == ([], ["raised"])
        assert session.resume()["status"] == "terminated"
        apply(session, "one")
    with api.session(project_root=str(checkout)) as session:
        assert lines(session) == [2]
        session.delete("/breakpoints/bp_1")


def test_a_profile_is_applied_as_a_whole_or_not_at_all(api: Api, session: Session, checkout: Path) -> None:
    main = checkout / "app/main.py"
    good, bad = {"file": str(main), "line": 2}, {"file": str(main), "line": 999}
    save(api, "past", breakpoints=[good, bad], exception_breakpoints=[{"filters": ["raised"]}])
    save(api, "relative", breakpoints=[{"file": "app/main.py", "line": 2}])
    session.break_at(main, "call")
    for name, code in (("past", "BREAKPOINT_INVALID_LINE"), ("relative", "INVALID_REQUEST")):
        refusal(400, code, apply, session, name, replace=True)
    assert lines(session) == [line_of(main, "call")]
    assert session.get("/exception-breakpoints")["total"] == 0
    refusal(404, "PROFILE_NOT_FOUND", apply, session, "nothing")
    body = {"session_id": "sess_nobody"}
    refusal(404, "SESSION_NOT_FOUND", api.post, "/breakpoint-profiles/past/apply", body)
    refusal(404, "SESSION_NOT_FOUND", save, api, "new", session_id="sess_nobody")


def test_a_name_is_taken_once_and_replaced_on_demand(api: Api, tmp_path: Path) -> None:
    first = save(api, "mine", breakpoints=[{"function": "f"}])
    error = refusal(409, "PROFILE_EXISTS", save, api, "mine", breakpoints=[])
    assert "PUT" in error.details["suggestion"]
    assert api.get("/breakpoint-profiles/mine") == first
    inside = {"source": {"path": str(tmp_path / "a.py")}, "line": 1}
    outside = {"file": "/elsewhere/b.py", "line": 2}
    second = replace(api, "mine", breakpoints=[inside, outside], project_root=str(tmp_path))
    assert [bp["source"]["path"] for bp in second["breakpoints"]] == ["a.py", "/elsewhere/b.py"]
    assert replace(api, "new", breakpoints=[])["breakpoints"] == []
    assert [profile["name"] for profile in api.get("/breakpoint-profiles")["profiles"]] == ["mine", "new"]
    assert api.delete("/breakpoint-profiles/new") == {"name": "new", "deleted": True}
    refusal(404, "PROFILE_NOT_FOUND", api.delete, "/breakpoint-profiles/new")
    refusal(404, "PROFILE_NOT_FOUND", api.get, "/breakpoint-profiles/new")


def test_they_outlive_the_relay_in_files_for_the_user_only(relay: Relay, api: Api) -> None:
    save(api, "kept", breakpoints=[{"function": "f"}])
    file = relay.data_dir / "profiles/kept.json"
    assert file.stat().st_mode & 0o777 == 0o600
    content = json.loads(file.read_text())
    assert (content["version"], content["breakpoints"][0]["function"]) == (1, "f")


def test_a_damaged_or_newer_file_is_told_and_harms_no_other(relay: Relay, api: Api, session: Session) -> None:
    save(api, "good", breakpoints=[{"function": "f"}])
    folder = relay.data_dir / "profiles"
    (folder / "broken.json").write_text('{"version": 1, "breakpoints"')
    (folder / "odd.json").write_text('{"version": 1, "name": "odd", "breakpoints": [{"enabled": true}]}')
    (folder / "newer.json").write_text('{"version": 99, "things": []}')
    listed = {profile["name"]: profile for profile in api.get("/breakpoint-profiles")["profiles"]}
    assert sorted(listed) == ["broken", "good", "newer", "odd"]
    assert listed["good"]["breakpoint_count"] == 1
    assert "damaged" in listed["broken"]["error"]["message"]
    assert listed["newer"]["error"]["message"] == "Profile 'newer' was written by a newer version of the relay"
    for name in ("broken", "odd", "newer"):
        assert listed[name]["error"]["code"] == "PROFILE_UNREADABLE"
        refusal(409, "PROFILE_UNREADABLE", api.get, f"/breakpoint-profiles/{name}")
        refusal(409, "PROFILE_UNREADABLE", apply, session, name)
    assert apply(session, "good")["breakpoints"][0]["function"] == "f"
    refusal(409, "PROFILE_UNREADABLE", replace, api, "newer", breakpoints=[])
    assert json.loads((folder / "newer.json").read_text())["version"] == 99
    assert replace(api, "broken", breakpoints=[])["breakpoints"] == []
    (aside,) = folder.glob("broken.json.corrupt-*")
    aside.unlink()
    assert api.delete("/breakpoint-profiles/newer")["deleted"]


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "a b", "x" * 65, "ü", "a\n", "-x"])
def test_names_that_are_no_names_are_refused(api: Api, name: str) -> None:
    error = refusal(400, "INVALID_REQUEST", save, api, name, breakpoints=[])
    assert error.details["errors"][0]["field"] == "name"
    assert api.get("/breakpoint-profiles")["total"] == 0


def test_a_path_in_place_of_a_name_leads_nowhere(api: Api) -> None:
    refusal(400, "INVALID_PARAMETER", api.get, "/breakpoint-profiles/..%5Cup")
    refusal(400, "INVALID_PARAMETER", api.delete, "/breakpoint-profiles/.lock")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "INVALID_REQUEST"),
        ({"session_id": "sess_1", "breakpoints": []}, "INVALID_REQUEST"),
        ({"session_id": "sess_1", "project_root": "/x"}, "INVALID_REQUEST"),
        ({"breakpoints": [{"file": "/x.py", "text": "x"}]}, "INVALID_REQUEST"),
        ({"breakpoints": [{"file": "/x.py"}]}, "INVALID_REQUEST"),
        ({"breakpoints": [{"file": "/x.py", "line": 1, "condition": "x ="}]}, "BREAKPOINT_INVALID_CONDITION"),
        ({"breakpoints": [{"function": "f", "hit_condition": "often"}]}, "BREAKPOINT_INVALID_CONDITION"),
        ({"breakpoints": [{"function": "f"}] * 1001}, "INVALID_REQUEST"),
        ({"breakpoints": [], "exception_breakpoints": [{}]}, "INVALID_REQUEST"),
        ({"breakpoints": [], "exception_breakpoints": [{"exceptions": ["StopIteration"]}]}, "NOT_SUPPORTED"),
    ],
)
def test_what_makes_no_sense_is_not_saved(api: Api, body: dict[str, Any], code: str) -> None:
    refusal(400, code, save, api, "bad", **body)
    assert api.get("/breakpoint-profiles")["total"] == 0
