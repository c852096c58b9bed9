"""Breakpoints: what is asked, what is answered, and where the program really stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import Api, ApiError, Session, line_of
from waiting import wait_until

TEXT = '''
"""A docstring."""

import sys



# a comment
def add(a, b):
    """Add them."""
    total = a + b  # @add

    if total > 100:
        kind = "big"
    else:
        kind = "small"  # @small
    return total, kind  # @return


for n in range(10):
    add(n, 1)  # @call
print("end", file=sys.stdout)  # @end
'''


@pytest.fixture
def path(program: Callable[..., Path]) -> Path:
    return program(TEXT)


@pytest.fixture
def in_project(api: Api, path: Path) -> Iterator[Session]:
    options = {"project_root": str(path.parent), "restore_breakpoints": False}
    with api.session(**options) as session:
        yield session


@pytest.fixture(scope="module")
def idle(api: Api) -> Iterator[Session]:
    """A session for requests that are refused and change nothing."""
    with api.session() as session:
        yield session


def refused(call: Callable[[], Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value


def listed(session: Session, **filters: Any) -> list[dict[str, Any]]:
    return session.get("/breakpoints", **filters)["breakpoints"]  # type: ignore[no-any-return]


def hits(session: Session) -> dict[str, int]:
    return {row["id"]: row["hit_count"] for row in listed(session)}


def stops(session: Session, stop: dict[str, Any], most: int = 100) -> list[dict[str, Any]]:
    """This stop and all that follow."""
    found = []
    while stop["status"] == "paused":
        found.append(stop)
        assert len(found) <= most
        stop = session.resume()
    return found


# How they are asked for.


def test_a_bare_object_is_answered_with_its_id(session: Session, path: Path) -> None:
    line = line_of(path, "add")
    answer = session.post("/breakpoints", {"source": {"path": str(path)}, "line": line})
    assert (answer["breakpoint_id"], answer["verified"]) == ("bp_1", True)
    assert answer["breakpoints"] == [
        {
            "id": "bp_1",
            "verified": True,
            "source": {"path": str(path)},
            "line": line,
            "condition": None,
            "hit_condition": None,
            "log_message": None,
            "enabled": True,
            "hit_count": 0,
            "message": None,
        }
    ]


def test_a_list_is_answered_in_its_order(session: Session, path: Path) -> None:
    lines = [line_of(path, marker) for marker in ("end", "add", "call")]
    body = {"breakpoints": [{"file": str(path), "line": line} for line in lines]}
    answer = session.post("/breakpoints", body)
    assert "breakpoint_id" not in answer
    assert [bp["line"] for bp in answer["breakpoints"]] == lines
    assert [bp["id"] for bp in answer["breakpoints"]] == ["bp_1", "bp_2", "bp_3"]


def test_relative_paths_belong_to_the_project(in_project: Session, path: Path) -> None:
    line = line_of(path, "end")
    first = in_project.post("/breakpoints", {"file": path.name, "line": line})
    assert first["breakpoints"][0]["source"]["path"] == str(path)
    for spelling in ({"source": {"path": path.name}}, {"file": f"./x/../{path.name}"}, {"file": str(path)}):
        again = in_project.post("/breakpoints", {**spelling, "line": line})
        assert again["breakpoint_id"] == first["breakpoint_id"]
    assert len(listed(in_project)) == 1
    assert in_project.launch(path)["hit_breakpoint_ids"] == ["bp_1"]


def test_relative_paths_without_a_project_are_refused(session: Session, path: Path) -> None:
    for spelling in ({"source": {"path": path.name}}, {"file": path.name}):
        error = refused(lambda spelling=spelling: session.post("/breakpoints", {**spelling, "line": 1}))
        assert (error.status, error.code) == (400, "INVALID_REQUEST")
        assert error.details["errors"][0]["message"] == "Path must be absolute"
        assert error.details["errors"][0]["value"] == path.name
    assert listed(session) == []


def test_a_batch_is_all_or_nothing(session: Session, path: Path) -> None:
    good = {"file": str(path), "line": line_of(path, "add")}
    bad = {"file": str(path), "line": line_of(path, "call"), "condition": "n =="}
    past, relative = {"file": str(path), "line": 9999}, {"file": "x", "line": 1}
    for batch in ([good, bad], [bad, good], [good, past], [good, relative]):
        error = refused(lambda batch=batch: session.post("/breakpoints", {"breakpoints": batch}))
        assert error.status == 400
        assert listed(session) == []
    assert session.launch(path)["status"] == "terminated"


def test_setting_one_drops_no_other(session: Session, path: Path) -> None:
    session.break_at(path, "add")
    session.break_at(path, "end")
    assert [bp["line"] for bp in listed(session)] == [line_of(path, "add"), line_of(path, "end")]


def test_the_same_place_again_keeps_the_id(session: Session, path: Path) -> None:
    session.break_at(path, "add", "call", "end")
    (again,) = session.break_at(path, "call", condition="n == 7")
    assert (again["id"], again["condition"]) == ("bp_2", "n == 7")
    session.delete("/breakpoints/bp_3")
    (new,) = session.break_at(path, "return")
    assert new["id"] == "bp_4"
    assert [bp["id"] for bp in listed(session)] == ["bp_1", "bp_2", "bp_4"]


# Lines.


WITHOUT_CODE = {"blank": (2, 3), "comment": (7, 8), "docstring": (9, 10), "inner blank": (11, 12), "else": (14, 15)}


def test_a_line_without_code_is_unverified_with_a_suggestion(session: Session, path: Path) -> None:
    for what, (line, suggested) in WITHOUT_CODE.items():
        (bp,) = session.break_at(path, line)
        assert (bp["verified"], bp["line"], bp["message"]) == (False, line, f"No executable code at line {line}"), what
        text = path.read_text().splitlines()[bp["suggestion"]["line"] - 1].strip()
        assert bp["suggestion"] == {"line": suggested, "text": text}, what
        strict = {"file": str(path), "line": line, "strict": True}
        error = refused(lambda strict=strict: session.post("/breakpoints", strict))
        assert (error.status, error.code) == (400, "BREAKPOINT_INVALID_LINE"), what
        assert (error.details["line"], error.details["file"]) == (line, str(path)), what
        assert str(suggested) in error.details["suggestion"], what
    assert session.launch(path)["status"] == "terminated"
    assert list(hits(session).values()) == [0] * len(WITHOUT_CODE)


def test_a_line_past_the_end_is_refused(session: Session, path: Path) -> None:
    last = len(path.read_text().splitlines())
    for strict in (False, True):
        body = {"file": str(path), "line": last + 1, "strict": strict}
        error = refused(lambda body=body: session.post("/breakpoints", body))
        assert (error.status, error.code) == (400, "BREAKPOINT_INVALID_LINE")
        assert error.details["max_line"] == last


def test_a_missing_file_is_pending_or_refused(session: Session, tmp_path: Path) -> None:
    missing = tmp_path / "not_yet.py"
    (bp,) = session.post("/breakpoints", {"file": str(missing), "line": 2})["breakpoints"]
    assert (bp["verified"], bp["message"]) == (False, "Source file not found. Breakpoint pending.")
    error = refused(lambda: session.post("/breakpoints", {"file": str(missing), "line": 3, "strict": True}))
    assert (error.status, error.code, error.details["file"]) == (400, "BREAKPOINT_FILE_NOT_FOUND", str(missing))
    assert len(listed(session)) == 1


def wait_until_verified(session: Session, breakpoint_id: str) -> dict[str, Any]:
    wait_until(lambda: any(row["verified"] for row in listed(session) if row["id"] == breakpoint_id))
    return next(row for row in listed(session) if row["id"] == breakpoint_id)


def test_a_file_that_appears_before_launch_verifies_by_itself(session: Session, tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    for line in (2, 3):
        session.post("/breakpoints", {"file": str(late), "line": line})
    late.write_text("x = 1\nprint(x)\n\n")
    assert wait_until_verified(session, "bp_1")["message"] is None
    wait_until(lambda: "pending" not in listed(session)[1]["message"])
    assert listed(session)[1]["message"] == "No executable code at line 3"
    changed = [event["body"] for event in session.events("breakpoint") if event["body"]["reason"] == "changed"]
    assert [(body["breakpoint"]["id"], body["breakpoint"]["verified"]) for body in changed] == [
        ("bp_1", True),
        ("bp_2", False),
    ]
    assert session.launch(late)["hit_breakpoint_ids"] == ["bp_1"]


def test_a_file_that_appears_right_before_launch_is_stopped_in(session: Session, tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    session.post("/breakpoints", {"file": str(late), "line": 2})
    late.write_text("x = 1\nprint(x)\n")
    stop = session.launch(late)
    assert (stop["status"], stop.get("hit_breakpoint_ids")) == ("paused", ["bp_1"])


def test_a_file_that_the_program_writes_is_stopped_in(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        import pathlib
        import sys
        import time

        pathlib.Path(__file__).with_name("made.py").write_text("def f():\\n    return 42\\n")
        while not pathlib.Path(sys.argv[1]).exists():
            time.sleep(0.01)
        import made

        print(made.f())
        """
    )
    made, go = path.with_name("made.py"), path.with_name("go")
    session.post("/breakpoints", {"file": str(made), "line": 2})
    session.launch(path, args=[str(go)], wait=False)
    wait_until_verified(session, "bp_1")
    go.touch()
    stop = session.get("/report", wait="20")
    assert (stop["status"], stop["current_location"]["path"]) == ("paused", str(made))
    assert stop["hit_breakpoint_ids"] == ["bp_1"]
    assert session.resume()["exit_code"] == 0


# Conditions.


@pytest.mark.parametrize(
    ("condition", "message"),
    [("n ==", "invalid syntax"), ("n = 5", "invalid syntax"), ("(n", "never closed"), ("x y", "invalid syntax")],
)
def test_a_bad_condition_is_refused_with_its_place(idle: Session, path: Path, condition: str, message: str) -> None:
    body = {"file": str(path), "line": line_of(path, "add"), "condition": condition}
    error = refused(lambda: idle.post("/breakpoints", body))
    assert (error.status, error.code) == (400, "BREAKPOINT_INVALID_CONDITION")
    assert message in error.details["error_message"]
    assert error.details["error_message"] in error.message
    assert error.details["condition"] == condition
    assert 1 <= error.details["offset"] <= len(condition) + 1


@pytest.mark.parametrize("condition", ["abc", "=5", "!=3", "-1", "0", "5.0", ">", "% 0", "5 6", "=>5"])
def test_a_bad_hit_condition_is_refused(idle: Session, path: Path, condition: str) -> None:
    body = {"file": str(path), "line": line_of(path, "add"), "hit_condition": condition}
    error = refused(lambda: idle.post("/breakpoints", body))
    assert (error.status, error.code) == (400, "BREAKPOINT_INVALID_CONDITION")
    assert error.details["hit_condition"] == condition
    assert error.details["suggestion"]


@pytest.mark.parametrize("text", ["{", "}", "{n", "{}", "{n n}", "{n!x}", "{1 +}"])
def test_a_bad_log_message_is_refused(idle: Session, path: Path, text: str) -> None:
    body = {"file": str(path), "line": line_of(path, "add"), "log_message": text}
    error = refused(lambda: idle.post("/breakpoints", body))
    assert (error.status, error.code) == (400, "BREAKPOINT_INVALID_CONDITION")


def test_a_condition_decides_and_counts_only_what_it_lets_through(session: Session, path: Path) -> None:
    session.break_at(path, "add", condition="a % 4 == 1 and b")
    seen = []
    for _ in stops(session, session.launch(path)):
        seen.append(hits(session)["bp_1"])
    assert session.get()["status"] == "terminated"
    assert len(seen) == 3
    assert hits(session) == {"bp_1": 3}


HIT_CONDITIONS = {
    "5": [4],
    "==5": [4],
    ">5": [5, 6, 7, 8, 9],
    ">= 8": [7, 8, 9],
    "<3": [0, 1],
    "<=3": [0, 1, 2],
    "%4": [3, 7],
}


def test_hit_conditions_mean_what_they_say(session: Session, program: Callable[..., Path]) -> None:
    """Each on a line of its own, which runs ten times."""
    lines = [f"    x = {number}" for number in range(len(HIT_CONDITIONS))]
    path = program("\n".join(["for a in range(10):", *lines]))
    for line, condition in enumerate(HIT_CONDITIONS, 2):
        session.break_at(path, line, hit_condition=condition)
    stop = session.launch(path, fields=["locals"])
    seen: dict[str, list[int]] = {condition: [] for condition in HIT_CONDITIONS}
    while stop["status"] == "paused":
        condition = list(HIT_CONDITIONS)[stop["current_location"]["line"] - 2]
        seen[condition].append(int(next(row["value"] for row in stop["locals"] if row["name"] == "a")))
        stop = session.resume(fields=["locals"])
    assert seen == HIT_CONDITIONS
    assert list(hits(session).values()) == [10] * len(HIT_CONDITIONS)


def test_a_hit_condition_counts_what_the_condition_lets_through(session: Session, path: Path) -> None:
    session.break_at(path, "add", condition="a % 2 == 1", hit_condition="%2")
    stop = session.launch(path)
    assert session.locals()["a"] == "3"
    stop = session.resume()
    assert session.locals()["a"] == "7"
    assert session.resume()["status"] == "terminated"
    assert stop["hit_breakpoint_ids"] == ["bp_1"]
    assert hits(session) == {"bp_1": 5}


@pytest.mark.parametrize(
    ("condition", "problem"),
    [("nowhere > 1", "NameError: name 'nowhere' is not defined"), ("a / 0", "ZeroDivisionError: division by zero")],
)
def test_a_condition_that_raises_stops_and_says_why(session: Session, path: Path, condition: str, problem: str) -> None:
    session.break_at(path, "add", condition=condition)
    stop = session.launch(path)
    assert (stop["status"], stop["stop_reason"]) == ("paused", "breakpoint")
    assert stop["current_location"]["line"] == line_of(path, "add")
    assert problem in stop["note"]
    assert problem in session.events("stopped")[-1]["body"]["text"]
    assert problem in session.get("/report")["note"]
    session.break_at(path, "add", condition="a == 9")
    again = session.resume()
    assert "note" not in again
    assert session.locals()["a"] == "9"


# Logpoints.


def test_logpoints_print_and_never_stop(session: Session, path: Path) -> None:
    text = "a={a} {{b}}={b!r:>3} {a + b:03d} {[a, b][0]} {'}'} {a=}"
    session.break_at(path, "add", log_message=text, condition="a < 2")
    session.break_at(path, "return", log_message="{kind!r} {missing} after", hit_condition="==1")
    assert session.launch(path)["status"] == "terminated"
    first, failed, second = session.output("console").splitlines()
    assert (first, second) == ("a=0 {b}=  1 001 0 } a=0", "a=1 {b}=  1 002 1 } a=1")
    assert failed.startswith("'small' ") and failed.endswith(" after")
    assert "NameError: name 'missing' is not defined" in failed
    assert session.output("stdout") == "end\n"
    assert hits(session) == {"bp_1": 2, "bp_2": 10}
    assert session.events("stopped") == []


def test_logged_lines_come_after_what_was_printed_before_them(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        for n in range(50):
            print("printed", n)
            pass  # @log
        """
    )
    session.break_at(path, "log", log_message="logged {n}")
    session.launch(path)
    lines = session.output(None).splitlines()
    assert [line for line in lines if "printed" in line] == [f"printed {n}" for n in range(50)]
    assert [line for line in lines if "logged" in line] == [f"logged {n}" for n in range(50)]
    early = [n for n in range(50) if lines.index(f"logged {n}") < lines.index(f"printed {n}")]
    assert early == []


# Changing them.


def test_a_disabled_breakpoint_does_not_stop_until_it_is_enabled(session: Session, path: Path) -> None:
    session.break_at(path, "add", enabled=False)
    session.break_at(path, "call", hit_condition="3")
    stop = session.launch(path)
    assert stop["hit_breakpoint_ids"] == ["bp_2"]
    assert hits(session)["bp_1"] == 0
    (enabled,) = session.break_at(path, "add")
    assert (enabled["id"], enabled["enabled"]) == ("bp_1", True)
    assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
    assert session.locals()["a"] == "2"
    session.break_at(path, "add", enabled=False)
    assert session.resume()["status"] == "terminated"
    assert hits(session) == {"bp_1": 1, "bp_2": 10}


def test_counts_survive_changes_of_other_breakpoints(session: Session, path: Path) -> None:
    """Setting, replacing and removing breakpoints in a file resets no counter in it."""
    session.break_at(path, "add", condition="a >= 0", hit_condition="%3")
    session.launch(path)
    assert session.locals()["a"] == "2"
    session.break_at(path, "end")
    assert session.resume()["current_location"]["line"] == line_of(path, "add")
    assert session.locals()["a"] == "5"
    session.delete("/breakpoints/bp_2")
    session.break_at(path, "call", enabled=False)
    session.resume()
    assert session.locals()["a"] == "8"
    assert hits(session)["bp_1"] == 9
    assert session.resume()["status"] == "terminated"
    assert hits(session) == {"bp_1": 10, "bp_3": 0}


def test_a_breakpoint_keeps_its_count_when_it_is_switched_off_and_on(session: Session, path: Path) -> None:
    session.break_at(path, "call", hit_condition="%4")
    session.break_at(path, "add", condition="True", hit_condition=">=3")
    session.launch(path)
    assert hits(session) == {"bp_1": 3, "bp_2": 3}
    session.break_at(path, "add", condition="True", hit_condition=">=3", enabled=False)
    assert session.resume()["hit_breakpoint_ids"] == ["bp_1"]
    assert hits(session) == {"bp_1": 4, "bp_2": 3}
    session.break_at(path, "add", condition="True", hit_condition=">=5")
    session.resume()
    assert session.locals()["a"] == "4"
    assert hits(session) == {"bp_1": 5, "bp_2": 5}


def test_breakpoints_are_set_and_removed_while_the_program_runs(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        import time


        def tick(n):
            return n + 1  # @tick


        n = 0
        while n >= 0:
            n = tick(n)
            time.sleep(0.001)
        """
    )
    assert session.launch(path, wait=False)["status"] == "running"
    (bp,) = session.break_at(path, "tick")
    assert bp["verified"]
    stop = session.get("/report", wait="20")
    assert (stop["status"], stop["hit_breakpoint_ids"]) == ("paused", ["bp_1"])
    assert session.resume()["status"] == "paused"
    assert session.post("/continue")["status"] in ("running", "paused")
    removed = session.delete("/breakpoints/bp_1")
    assert (removed["id"], removed["deleted"]) == ("bp_1", True)
    late = session.get("/report", wait="0.3")
    if late["status"] == "paused":  # it was there again before the removal
        session.post("/continue")
        late = session.get("/report", wait="0.3")
    assert (late["status"], late["timed_out"]) == ("running", True)
    assert listed(session) == []
    error = refused(lambda: session.delete("/breakpoints/bp_1"))
    assert (error.status, error.code) == (404, "BREAKPOINT_NOT_FOUND")
    (again,) = session.break_at(path, "tick", condition="n < 0")
    assert again["id"] == "bp_2"
    assert session.get("/report", wait="0.2")["timed_out"]
    reasons = [event["body"]["reason"] for event in session.events("breakpoint")]
    assert reasons == ["new", "removed", "new"]


def test_a_breakpoint_that_is_removed_as_the_program_comes_to_it_stops_at_none_that_comes_later(
    session: Session, program: Callable[..., Path]
) -> None:
    path = program(
        """
        def tick(n):
            return n + 1  # @tick

        n = 0
        while n >= 0:
            n = tick(n)
        """
    )
    session.break_at(path, "tick")
    session.launch(path)
    for _ in range(10):
        session.post("/continue")
        session.delete("/breakpoints")
        session.get("/report", wait="0.05")
        if session.get("/status")["status"] == "paused":  # before the removal
            session.post("/continue")
        (never,) = session.break_at(path, "tick", condition="n < 0")
        report = session.get("/report", wait="0.1")
        if report["status"] == "paused":  # of the removed one, told late
            assert never["id"] not in report.get("hit_breakpoint_ids", [])
            session.post("/continue")
        session.delete("/breakpoints")
        session.break_at(path, "tick")
        assert session.get("/report", wait="20")["status"] == "paused"


def test_breakpoints_are_set_and_removed_while_it_is_paused(session: Session, path: Path) -> None:
    session.break_at(path, "call")
    session.launch(path)
    session.break_at(path, "return")
    session.delete("/breakpoints/bp_1")
    assert session.resume()["hit_breakpoint_ids"] == ["bp_2"]
    session.delete("/breakpoints/bp_2")
    assert session.resume()["status"] == "terminated"


def test_the_list_can_be_filtered(session: Session, path: Path, program: Callable[..., Path]) -> None:
    other = program("x = 1\n\n", "other.py")
    link = path.with_name("link.py")
    link.symlink_to(path)
    session.break_at(path, "add", 7)
    session.break_at(other, 1)
    assert [bp["id"] for bp in listed(session, file=str(path))] == ["bp_1", "bp_2"]
    assert [bp["id"] for bp in listed(session, file=str(link))] == ["bp_1", "bp_2"]
    assert [bp["id"] for bp in listed(session, verified="true")] == ["bp_1", "bp_3"]
    assert [bp["id"] for bp in listed(session, verified="false")] == ["bp_2"]
    assert [bp["id"] for bp in listed(session, verified="false", file=str(other))] == []
    assert listed(session, file="/nowhere.py") == []
    assert session.get("/breakpoints", file=str(other))["total"] == 1


def test_two_breakpoints_are_never_on_one_line_by_two_names(session: Session, path: Path) -> None:
    link = path.with_name("link.py")
    link.symlink_to(path)
    session.break_at(path, "add")
    (again,) = session.break_at(link, "add", condition="a == 3")
    assert again["id"] == "bp_1"
    session.launch(path)
    assert session.locals()["a"] == "3"


def test_a_definition_line_says_when_it_runs(session: Session, path: Path) -> None:
    (bp,) = session.break_at(path, 8)
    assert bp["verified"]
    assert bp["message"] == "Line 8 runs when 'add' is defined; use line 10 to stop inside it"
    assert [stop["current_location"]["line"] for stop in stops(session, session.launch(path))] == [8]
    assert hits(session) == {"bp_1": 1}


def test_a_statement_of_many_lines_stops_where_it_was_asked(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        def f(*args):
            return sum(args)


        value = f(
            1,
            f(2),  # @second
            3,
        )
        print(value)
        """
    )
    (bp,) = session.break_at(path, "second")
    seen = stops(session, session.launch(path))
    lines = {stop["current_location"]["line"] for stop in seen}
    assert lines == ({line_of(path, "second")} if bp["verified"] else set())
    assert hits(session)["bp_1"] == len(seen)
