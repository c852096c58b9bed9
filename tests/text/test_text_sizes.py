"""A first stop takes at most 1,200 characters, a step 300, whatever the program has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from relays import Session
from text_answers import in_text, launch_in_text, step_in_text

from opencode_debugger.answers.inspection import Frame, FrameSource, Variable
from opencode_debugger.answers.sessions import Location
from opencode_debugger.answers.stop_reports import Change, Omission, SourceLine, StopReport, Written
from opencode_debugger.text.stop_reports import FIRST_STOP, STEP, render_stop_report
from opencode_debugger.text.view import View

MANY = "\n".join(f"    long_name_{number} = 'value {number} ' * 40" for number in range(60))
PROGRAM = f"""
def deep(n):
    if n:
        return deep(n - 1)
{MANY}
    counter = 0
    while counter < 5:
        counter += 1; long_name_3 = [counter] * 1000; other = "{"x" * 300}"  # @here
        print("y" * 500)
    return counter

deep(40)
"""


def test_a_program_with_much_of_everything(session: Session, program: Callable[..., Path]) -> None:
    path = program(PROGRAM)
    session.break_at(path, "here")
    first = launch_in_text(session, path)
    assert 600 < len(first) <= FIRST_STOP
    shown = next(line for line in first.split("\n") if line.startswith("locals: "))
    assert [row.partition(" = ")[0] for row in shown[8:].split("; ")][:2] == ["long_name_3", "counter"]
    assert "more locals: GET /sessions/{id}/frames/0/variables" in first
    assert "37 more frames: GET /sessions/{id}/stacktrace" in first
    for _ in range(3):
        assert 60 < len(step_in_text(session)) <= STEP
    again = in_text(session, "POST", "/continue", {"wait": 30})
    assert len(again) <= STEP and "changed: counter: " in again and "\nout| …yyy" in again


def test_what_a_step_cut_is_named_with_its_call(session: Session, program: Callable[..., Path]) -> None:
    names = "; ".join(f"name_{number} = 'v' * 100" for number in range(20))
    path = program(f"def f():\n    x = 1\n    {names}\n    return x\nf()\n")
    session.break_at(path, 2)
    session.launch(path)
    step_in_text(session)
    stepped = step_in_text(session)
    assert "changed: " in stepped and "more changes: GET /sessions/{id}/frames/0/variables" in stepped
    assert len(stepped) <= STEP


names = st.text("abcdefgh_", min_size=1, max_size=40)
texts = st.text(max_size=2000)
lines = st.integers(1, 99_999)
variables = st.builds(
    Variable, name=names, value=texts, type=st.sampled_from(["str", "list", None]), variables_reference=st.just(0),
    truncated=st.booleans(), length=st.integers(0, 10**6),
)
frames = st.builds(
    Frame, id=st.integers(0, 99), name=texts, line=lines, column=st.just(1), module_name=st.none(),
    source=st.builds(FrameSource, path=st.sampled_from([None, "/a/b.py", "/c/b.py", "/x/site-packages/y/z.py"]),
                     name=st.none()),
    presentation_hint=st.sampled_from(["normal", "subtle"]),
)
omissions = st.sampled_from([
    Omission(what="3 more locals", get="GET /sessions/{id}/frames/0/variables"),
    Omission(what="12 more frames", get="GET /sessions/{id}/stacktrace?start_frame=5"),
    Omission(what="output", get="GET /sessions/{id}/output?tail=100"),
])


@st.composite
def reports(draw: st.DrawFn) -> StopReport:
    line = draw(lines)
    source = draw(st.lists(texts.filter(lambda text: "\n" not in text), max_size=7))
    return StopReport(
        session_id="sess_a1b2c3d4", status="paused", stop_reason="step", thread_id=draw(st.integers(1, 99)),
        current_location=Location(path="/home/dev/project/module.py", line=line, column=1, function=draw(texts)),
        source=[SourceLine(line=line + offset, text=text) for offset, text in enumerate(source, -3)],
        locals=draw(st.lists(variables, max_size=50)),
        changes=draw(st.lists(st.builds(Change, name=names, old=st.none() | texts, new=texts), max_size=50)),
        stack=draw(st.lists(frames, max_size=20)), callers=draw(st.lists(frames, max_size=4)),
        output=draw(st.lists(st.builds(Written, category=names, output=texts), max_size=20)),
        omitted=draw(st.lists(omissions, max_size=3, unique_by=lambda each: each.what)),
        same_function=draw(st.booleans()),
    )


@given(reports())
def test_no_stop_is_too_long(report: StopReport) -> None:
    text = render_stop_report(report, View("/home/dev/project"))
    assert len(text) <= (STEP if report.same_function else FIRST_STOP)
    assert text.startswith("sess_a1b2c3d4 paused: step at module.py:")


def test_a_budget_of_ones_own(session: Session, program: Callable[..., Path]) -> None:
    path = program(PROGRAM)
    session.break_at(path, "here")
    session.launch(path)
    assert len(in_text(session, "GET", "/report", budget=400)) <= 400
    assert 3000 < len(in_text(session, "GET", "/report", budget=5000)) <= 5000
