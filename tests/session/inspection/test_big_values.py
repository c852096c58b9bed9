"""Values that are too big, too deep or too odd to be shown as they are: a summary, pages on demand, always in time."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from places import PROGRAMS
from relays import Api, Session, pythons, refusal
from waiting import soon

VALUES = PROGRAMS / "values.py"
TABLES = PROGRAMS / "tables.py"


def rows_of(session: Session, path: str = "/frames/0/variables", **query: Any) -> dict[str, dict[str, Any]]:
    rows = session.get(path, **{"count": 1000, **query})["variables"]
    return {row["name"]: row for row in rows}


def inside(session: Session, row: dict[str, Any], **query: Any) -> Any:
    return session.get(f"/variables/{row['variables_reference']}", **query)


@pytest.fixture(scope="module", params=list(pythons("3.8", "3.11", "3.12", "3.13")))
def paused(api: Api, request: pytest.FixtureRequest) -> Iterator[Session]:
    """Stopped among the values, on each Python."""
    with api.session(python_path=str(pythons(request.param)[request.param])) as session:
        session.break_at(VALUES, "plain")
        assert session.launch(VALUES)["status"] == "paused"
        yield session


@pytest.fixture(scope="module")
def modern(api: Api) -> Iterator[Session]:
    """The same on the tests' own Python only: for what does not depend on the version."""
    with api.session(python_path=sys.executable) as session:
        session.break_at(VALUES, "plain", "hanging", "deep")
        assert session.launch(VALUES)["status"] == "paused"
        yield session


@pytest.fixture(scope="module")
def tables(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with api.session(python_path=sys.executable) as session:
        session.break_at(TABLES, "tables")
        folder = tmp_path_factory.mktemp("tables")
        assert session.launch(TABLES, args=[str(folder)])["status"] == "paused"
        yield session


def test_every_kind_of_value_is_shown_on_every_python(paused: Session) -> None:
    with soon():
        rows = rows_of(paused)
    large = rows["large_list"]
    assert large["value"].startswith("[0, 1, 2, 3, 4, ") and large["value"].endswith("... (1000000 items)]")
    assert (large["type"], large["length"], large["truncated"], large["expandable"]) == ("list", 1_000_000, True, True)
    assert rows["nested"]["value"].startswith("[[[[") and rows["nested"]["truncated"]
    assert rows["ring"]["value"] == "[1, [...]]"
    assert (rows["long_text"]["length"], rows["long_text"]["truncated"]) == (1_000_000, True)
    assert rows["größe"]["value"] == "'straße 日本語 שלום 🐍'"
    assert rows["odd_text"]["value"] == r"'nul\x00 lone\ud800 tab\t'"
    assert rows["raising"]["value"].startswith("<Raising object at 0x")
    assert rows["raising"]["value"].endswith("(repr raised ValueError: no repr today)>")
    assert rows["flooding"]["truncated"]
    assert (rows["liar"]["type"], rows["liar"]["length"], rows["liar"]["value"]) == ("Liar", 2, "[1, 2]")
    assert "shape" not in rows["fake"]
    assert rows["point"]["value"] == "Point(x=1, y=[2])"
    assert rows["color"]["value"] == "<Color.RED: 1>"
    assert rows["record"]["value"].startswith("Record(name='r', items=[0, 1, 2, ")
    assert rows["record"]["value"].endswith("... (1000000 items)])")
    assert (rows["generator"]["state"], "suspended, line" in rows["generator"]["value"]) == ("suspended", True)
    assert rows["packed"]["value"].startswith("array('d', [0.5, 0.5, ")
    assert rows["proxy"]["value"] == "mappingproxy({'a': 1})"
    assert rows["counter"]["value"].startswith("Counter({0: 1, ")
    assert rows["queue"]["value"].endswith("... (100000 items)], maxlen=200000)")
    assert rows["function"]["signature"] == "(name, /, *names, loud=False, **more)"
    names = [row["name"] for row in inside(paused, rows["slotted"])["variables"]]
    assert names == ["a"]
    assert [row["name"] for row in inside(paused, rows["point"])["variables"]] == ["x", "y"]
    assert [row["name"] for row in inside(paused, rows["generator"])["variables"]] == ["limit", "each"]
    assert [row["name"] for row in inside(paused, rows["record"])["variables"]] == ["name", "items", "secret"]
    assert inside(paused, rows["proxy"])["variables"][0]["name"] == "'a'"


def test_pages_of_a_list_of_a_million(paused: Session) -> None:
    row = rows_of(paused, name="large_list")["large_list"]
    page = inside(paused, row, start=0, count=50)
    assert [(item["index"], item["value"], item["type"]) for item in page["variables"]] == [
        (n, str(n), "int") for n in range(50)
    ]
    assert (page["total"], page["has_more"]) == (1_000_000, True)
    children = f"/frames/0/variables/{row['variables_reference']}/children"
    page = paused.get(children, offset=999_990, limit=100)
    assert [item["index"] for item in page["items"]] == list(range(999_990, 1_000_000))
    assert (page["total"], page["has_more"]) == (1_000_000, False)
    refusal(404, "FRAME_NOT_FOUND", paused.get, f"/frames/99/variables/{row['variables_reference']}/children")
    refusal(404, "VARIABLE_NOT_FOUND", paused.get, "/frames/0/variables/1/children")
    refusal(400, "INVALID_PARAMETER", paused.get, children, offset=1, start=1)


def test_what_leads_back_to_itself_is_marked(paused: Session) -> None:
    node = rows_of(paused, name="node")["node"]
    inner = {row["name"]: row for row in inside(paused, node)["variables"]}
    assert inner["value"]["value"] == "'root'"
    assert (inner["parent"]["value"], inner["parent"]["circular"]) == ("<circular: node>", True)
    assert inner["parent"]["type"] == "TreeNode"
    assert (inner["children"]["length"], inner["children"]["expandable"]) == (3, True)
    again = {row["name"]: row for row in inside(paused, inner["parent"])["variables"]}
    assert again["value"]["value"] == "'root'"
    first = inside(paused, inner["children"])["variables"][0]
    (parent,) = [row for row in inside(paused, first)["variables"] if row["name"] == "parent"]
    assert (parent["circular"], parent["variables_reference"]) == (True, node["variables_reference"])


def test_bytes_are_base64_with_their_length(paused: Session) -> None:
    rows = rows_of(paused, name="bytes")
    small, long = rows["small_bytes"], rows["long_bytes"]
    assert base64.b64decode(small["base64"]) == bytes(range(200))
    assert (small["encoding"], small["length"], small["variables_reference"]) == ("base64", 200, 0)
    whole = bytes(range(256)) * 400
    assert (long["length"], long["truncated"], long["expandable"]) == (len(whole), True, True)
    assert whole.startswith(base64.b64decode(long["base64"]))
    read = b""
    while len(read) < len(whole):
        page = inside(paused, long, start=len(read), count=65536)
        read += base64.b64decode(page["base64"])
        assert (page["total"], page["has_more"]) == (len(whole), len(read) < len(whole))
    assert read == whole
    assert base64.b64decode(paused.evaluate("mutable")["base64"]) == b"abc"
    found = paused.evaluate("view[1:4]")
    assert (base64.b64decode(found["base64"]), found["length"]) == (b"bcd", 3)
    assert "b'bcd'" in found["result"]
    assert base64.b64decode(paused.evaluate("long_bytes")["base64"]) == whole[:12000]
    assert "base64" not in paused.evaluate("view[::2]")


def test_a_summary_has_types_and_sizes_and_runs_nothing(modern: Session) -> None:
    calls = modern.evaluate("Raising.calls")["result"]
    rows = rows_of(modern, summary="true")
    assert all("value" not in row and "base64" not in row for row in rows.values())
    assert (rows["large_list"]["type"], rows["large_list"]["length"]) == ("list", 1_000_000)
    (scope,) = [scope for scope in modern.get("/scopes")["scopes"] if scope["name"] == "Locals"]
    reference = scope["variables_reference"]
    again = rows_of(modern, f"/scopes/{reference}/variables", summary="true")
    assert {name: row["type"] for name, row in again.items()} == {name: row["type"] for name, row in rows.items()}
    node = inside(modern, rows["node"], summary="true")["variables"]
    assert [(row["type"], "value" in row) for row in node] == [("str", False), ("TreeNode", False), ("list", False)]
    assert modern.evaluate("Raising.calls")["result"] == calls


def test_names_can_be_searched(modern: Session) -> None:
    assert set(rows_of(modern, name="LARGE")) == {"large_list", "large_dict", "large_set"}
    (scope,) = [scope for scope in modern.get("/scopes")["scopes"] if scope["name"] == "Globals"]
    found = modern.get(f"/scopes/{scope['variables_reference']}/variables", name="rais")
    assert ([row["name"] for row in found["variables"]], found["total"]) == (["Raising"], 1)
    large = rows_of(modern, name="large_dict")["large_dict"]
    page = inside(modern, large, name="key29999", count=5)
    assert [row["name"] for row in page["variables"]] == ["'key29999'"] + [f"'key29999{n}'" for n in range(4)]
    assert (page["total"], page["has_more"]) == (11, True)
    assert inside(modern, large, name="nowhere")["total"] == 0


@pytest.mark.parametrize("budget", [600, 1500, 20_000])
def test_a_budget_is_never_exceeded_and_nothing_is_lost(modern: Session, budget: int) -> None:
    wanted = list(rows_of(modern))
    seen: list[str] = []
    while True:
        page = modern.get("/frames/0/variables", start=len(seen), count=1000, budget=budget)
        assert len(json.dumps(page, ensure_ascii=False, separators=(",", ":"))) <= budget
        seen += [row["name"] for row in page["variables"]]
        if not page["has_more"]:
            break
    assert seen == wanted
    large = rows_of(modern, name="large_list")["large_list"]
    page = inside(modern, large, count=1000, budget=budget)
    assert len(json.dumps(page, separators=(",", ":"))) <= budget
    assert len(page["variables"]) >= budget // 300
    data = rows_of(modern, name="long_bytes")["long_bytes"]
    assert len(json.dumps(inside(modern, data, count=65536, budget=budget), separators=(",", ":"))) <= budget


def test_a_repr_that_hangs_costs_a_second_once(modern: Session) -> None:
    refusal(400, "INVALID_PARAMETER", modern.get, "/frames/0/variables", budget=599)
    assert modern.resume(fields=["location"])["current_location"]["function"] == "hanging"
    with soon():
        rows = rows_of(modern)
        assert [rows[name]["value"] for name in ("first", "last")] == ["1", "2"]
        page = inside(modern, rows["hangs"])
        assert (len(page["variables"]), page["total"]) == (50, 50)
        assert "(repr timed out)>" in page["variables"][0]["value"]
    with soon():
        assert rows_of(modern, summary="true")["hangs"]["length"] == 50


def test_a_deep_stack_is_paged_to_the_depth_that_is_asked_for(modern: Session) -> None:
    while modern.get("/status")["location"]["function"] != "recursive":
        modern.resume(fields=["location"])
    page = modern.get("/stacktrace")
    assert (len(page["frames"]), page["total_frames"]) == (20, 902)
    page = modern.get("/stacktrace", start_frame=890, levels=1000)
    assert [frame["id"] for frame in page["frames"]] == list(range(890, 902))
    assert page["frames"][-1]["name"] == "<module>"
    assert modern.evaluate("depth", frame_id=900)["result"] == "900"


def test_arrays_are_shown_by_shape_dtype_and_head(tables: Session) -> None:
    rows = rows_of(tables)
    huge = rows["huge"]
    assert (huge["type"], huge["shape"], huge["dtype"], huge["length"]) == ("ndarray", [10**8], "float64", 10**8)
    assert huge["value"].startswith("array(shape=(100000000,), dtype=float64, [0.0, 0.0, ")
    assert (huge["truncated"], huge["memory_bytes"]) == (True, 8 * 10**8)
    with soon():
        page = inside(tables, huge, start=10**8 - 2)
    assert [(row["index"], row["value"], row["type"]) for row in page["variables"]] == [
        (10**8 - 2, "0.0", "float64"),
        (10**8 - 1, "0.0", "float64"),
    ]
    assert rows["matrix"]["value"] == "array(shape=(3, 4), dtype=int64, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])"
    assert rows["turned"]["value"] == "array(shape=(4, 2), dtype=int64, [[3, 11], [2, 10], [1, 9], [0, 8]])"
    row = inside(tables, rows["matrix"])["variables"][1]
    assert (row["shape"], row["value"]) == ([4], "array(shape=(4,), dtype=int64, [4, 5, 6, 7])")
    assert (rows["single"]["value"], rows["single"]["shape"]) == ("array(shape=(), dtype=int64, 5)", [])
    assert rows["empty"]["value"] == "array(shape=(0, 3), dtype=float64, [])"
    assert "(repr raised RuntimeError: no repr)>, {'a': 1}])" in rows["objects"]["value"]
    assert rows["records"]["value"].endswith("[(1, 2.5, 'x'), (2, 3.5, 'y')])")
    assert rows["masked"]["value"] == "MaskedArray(shape=(3,), dtype=int64, [1, --, 3])"
    assert rows["dates"]["value"] == "array(shape=(2,), dtype=datetime64[D], [2020-01-01, NaT])"
    assert (rows["mapped"]["type"], rows["mapped"]["shape"]) == ("memmap", [1000, 1000])
    assert (rows["own"]["value"], rows["own"]["shape"]) == ("Own(shape=(3,), dtype=int64, [0, 1, 2])", [3])
    assert tables.evaluate("matrix * 2")["shape"] == [3, 4]
    summary = rows_of(tables, summary="true")
    assert (summary["huge"]["shape"], summary["frame"]["shape"]) == ([10**8], [10**6, 3])


def test_tables_are_shown_by_their_columns_and_first_rows(tables: Session) -> None:
    rows = rows_of(tables)
    frame = rows["frame"]
    assert (frame["shape"], frame["length"], frame["index_type"]) == ([10**6, 3], 10**6, "RangeIndex")
    assert [column["name"] for column in frame["columns"]] == ["'n'", "'word'", "'price'"]
    assert (frame["columns"][0]["dtype"], frame["columns"][2]["dtype"]) == ("int64", "float64")
    assert frame["memory_bytes"] > 10**7
    assert frame["value"].startswith("DataFrame(shape=(1000000, 3), [{'n': 0, 'word': 'x', 'price': 0.0}, {'n': 1,")
    columns = inside(tables, frame, filter="named")["variables"]
    assert [(row["name"], row["type"], row["dtype"]) for row in columns[::2]] == [
        ("'n'", "Series", "int64"),
        ("'price'", "Series", "float64"),
    ]
    with soon():
        page = inside(tables, frame, filter="indexed", start=999_999)
    (last,) = page["variables"]
    assert (last["index"], last["value"]) == (999_999, "{'n': 999999, 'word': 'x', 'price': 1.0}")
    cells = inside(tables, last)["variables"]
    assert [(cell["name"], cell["value"]) for cell in cells] == [
        ("'n'", "999999"),
        ("'word'", "'x'"),
        ("'price'", "1.0"),
    ]
    assert rows["wide"]["value"].count("... (2000 items)") == 3
    wide = inside(tables, inside(tables, rows["wide"], filter="indexed")["variables"][0], start=1999)
    assert [(row["name"], row["value"]) for row in wide["variables"]] == [("1999", "0.0")]
    labelled = inside(tables, rows["labelled"], filter="indexed")["variables"]
    assert [(row["name"], row["index"]) for row in labelled] == [("'first'", 0), ("'second'", 1)]
    assert rows["series"]["value"] == "Series(shape=(2,), dtype=int64, {'x': 10, 'y': 20})"
    assert [row["name"] for row in inside(tables, rows["series"])["variables"]] == ["'x'", "'y'"]
    assert rows["kinds"]["dtype"] == "category"
    assert rows["moments"]["dtype"].startswith("datetime64")
    assert rows["index"]["value"] == "MultiIndex(shape=(2,), dtype=object, [(1, 'a'), (2, 'b')])"


def test_a_stop_report_stays_small_among_large_values(tables: Session) -> None:
    report = tables.get("/report", budget=4000)
    assert len(json.dumps(report)) < 4500
    shown = {row["name"]: row for row in report.get("locals", [])}
    assert not any("columns" in row or "base64" in row for row in shown.values())


def test_a_stop_among_many_variables_shows_the_first_and_says_how_many_more(
    session: Session, program: Callable[..., Path]
) -> None:
    names = "\n".join(f"name_{number} = {number}" for number in range(200))
    path = program(f"{names}\nprint(name_0)  # @here\n")
    session.break_at(path, "here")
    stop = session.launch(path)
    assert len(json.dumps(stop)) < 6000
    assert [row["name"] for row in stop["locals"][:3]] == ["name_0", "name_1", "name_2"]
    assert stop["stack"] and stop["source"]
    (omitted,) = [each for each in stop["omitted"] if "locals" in each["what"]]
    assert omitted["what"] == f"{200 - len(stop['locals'])} more locals"


def test_a_long_string_is_read_in_pages(session: Session, program: Callable[..., Path]) -> None:
    path = program("text = 'ab\\u00e9\\U0001f600' * 50000\nprint(len(text))  # @here\n")
    session.break_at(path, "here")
    session.launch(path)
    (row,) = session.get("/frames/0/variables")["variables"]
    assert (row["length"], row["truncated"], row["expandable"]) == (200_000, True, True)
    read, pages = "", 0
    while True:
        page = session.get(f"/variables/{row['variables_reference']}", start=len(read), count=65536)
        read, pages = read + page["text"], pages + 1
        if not page["has_more"]:
            break
    assert (read, page["total"]) == ("abé😀" * 50000, 200_000)
    assert pages < 40
    small = session.get(f"/variables/{row['variables_reference']}", budget=600)
    assert len(json.dumps(small)) <= 600 and small["text"]
