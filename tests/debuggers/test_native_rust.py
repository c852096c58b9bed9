"""Programs in Rust: values as rustc's own code shows them, and panics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native import Builder, Native
from relays import Api, Session

from opencode_debugger.debuggers.native import rust_toolchain


@pytest.fixture
def session(api: Api) -> Iterator[Session]:
    with api.session() as session:
        yield session


@pytest.fixture
def shop(build: Builder) -> Native:
    return build("shop")


def inside(session: Session, row: dict[str, Any], **page: Any) -> dict[str, Any]:
    return dict(session.get(f"/variables/{row['variables_reference']}", **page))


def test_rust_is_recognised_by_names_of_functions_of_which_little_is_read_at_once(
    shop: Native, build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at_once in (rust_toolchain.AT_ONCE, 64):  # the name lies across two parts, or more
        monkeypatch.setattr(rust_toolchain, "AT_ONCE", at_once)
        programs = (str(shop.program), str(build("family").program))
        assert [rust_toolchain.is_rust(path) for path in programs] == [True, False]
    content = shop.program.read_bytes()
    half, text = tmp_path / "half", tmp_path / "text"
    half.write_bytes(content[: len(content) // 2])
    text.write_bytes(rust_toolchain.MARK)
    assert [rust_toolchain.is_rust(str(path)) for path in (half, text, tmp_path / "none")] == [False] * 3


def test_values_of_rust_are_shown_and_expanded_as_rust_has_them(session: Session, shop: Native) -> None:
    session.break_at(shop.source, shop.line("looked"))
    stop = session.launch(program=str(shop.program), adapter="gdb")
    assert stop["current_location"]["line"] == shop.line("looked")
    if rust_toolchain.printers() is None:  # as with Debian's rustc, whose packages keep that apart
        assert rust_toolchain.MISSING in stop["warnings"]
        return
    rows = {row["name"]: row for row in session.get("/frames/0/variables", count=100)["variables"]}
    values = {name: row["value"] for name, row in rows.items()}
    assert values["text"] == '"pay the bill"'
    assert values["words"] == 'Vec(size=3) = {"pay", "the", "bill"}'
    assert values["ages"] == 'HashMap(size=1) = {["ann"] = 33}'
    assert values["sorted"] == 'BTreeMap(size=2) = {[1] = "one", [2] = "two"}'
    assert values["line"] == "VecDeque(size=3) = {4, 5, 6}"
    assert values["slice"] == "&[i32](size=2) = {20, 30}"
    assert values["shared"].startswith("Rc(strong=2, weak=0) = {value = shop::shapes::Sq {side: 4}")
    assert values["some"].endswith('Some("héllo")')
    assert values["none"].endswith("None")
    assert values["choice"].endswith("Some(2)")
    assert values["tup"] == '(1, "two", 3.5)'
    assert 'shop::Order::Named{name: "pen", price: 1.5}' in values["orders"]
    assert len(values["long"]) < 2500

    page = inside(session, rows["many"], start=4000, count=2)
    assert ([row["value"] for row in page["variables"]], page["total"]) == (["4000", "4001"], 5000)
    assert [row["value"] for row in inside(session, rows["ages"])["variables"]] == ["33"]
    assert [row["name"] for row in inside(session, rows["orders"])["variables"]] == ["[0]", "[1]", "[2]"]
    changed = session.post(f"/variables/{rows['many']['variables_reference']}/set", {"name": "[3]", "value": "77"})
    assert changed["value"] == "77"
    assert [session.evaluate(each)["result"] for each in ("tup.0", "nested.0.1", "slice[1]")] == ["1", "2", "30"]
    assert "area" in session.evaluate("nested.1.area()")["error"]
    for wild in (row for name, row in rows.items() if name.startswith("wild_")):
        assert inside(session, wild)["variables"]  # as it is in memory
        assert inside(session, wild, start=10**12)["variables"] == []


def test_lldb_shows_values_of_rust_and_believes_no_length_that_cannot_be(session: Session, shop: Native) -> None:
    session.break_at(shop.source, shop.line("looked"))
    session.launch(program=str(shop.program), adapter="lldb")
    rows = {row["name"]: row for row in session.get("/frames/0/variables", count=100)["variables"]}
    values = {name: row["value"] for name, row in rows.items()}
    expected = {
        "text": '"pay the bill"',
        "items": "size=3 {10, 20, 30}",
        "choice": "Some(2)",
        "words": 'size=3 {"pay", "the", "bill"}',
        "ages": 'size=1 {("ann", 33)}',
        "seen": "size=1 {'\\a'}",
        "line": "size=3 {4, 5, 6}",
        "slice": "size=2 {20, 30}",
        "shared": "(strong=2, weak=0) {side: 4}",
        "none": "None",
        "some": 'Some("héllo")',
        "good": "Ok(3)",
        "orders": 'size=3 {Empty, Count(3), Named {name: "pen", price: 1.5}}',
        "tup": '(1, "two", 3.5)',
        "nested": "((1, 2), {side: 9})",
        "many": "size=5000 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...}",
    }
    assert {name: values[name] for name in expected} == expected
    assert all(len(values[name]) < 200 for name in ("chain", "ring"))
    wild = [name for name in values if name.startswith("wild_")]
    assert not any(said in values[name] for name in wild for said in ("size=", "strong", "None"))

    page = inside(session, rows["many"], start=4000, count=2)
    assert ([row["value"] for row in page["variables"]], page["total"]) == (["4000", "4001"], 5000)
    assert [row["value"] for row in inside(session, rows["shared"])["variables"]] == ["{side:4}"]
    changed = session.post(f"/variables/{rows['many']['variables_reference']}/set", {"name": "[3]", "value": "77"})
    assert changed["value"] == "77"
    asked = ("many[3]", "words[1]", "slice[1]", "tup.__0", "*boxes")
    assert [session.evaluate(each)["result"] for each in asked] == ["77", '"the"', "30", "1", "6"]
    assert [row["value"] for row in inside(session, rows["orders"])["variables"]][1] == "Count(3)"
    assert all(inside(session, rows[name])["variables"] for name in wild)  # as it is in memory


@pytest.mark.parametrize("adapter", ["gdb", "lldb"])
def test_a_panic_stops_in_the_code_that_panics_and_the_program_goes_on(
    session: Session, shop: Native, adapter: str
) -> None:
    wishes = ["caught", "thread", "together", "closed", "again"]
    stop = session.launch(program=str(shop.program), adapter=adapter, args=wishes)
    threads = []
    for line, message in (
        *[(shop.line("panic"), "no price for order 1 of 3")] * 6,
        (shop.line("closed"), "the shop is closed"),
        (shop.line("unwrap"), "called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }"),
    ):
        assert (stop["stop_reason"], stop["exception"]["type"]) == ("exception", "panic")
        assert stop["exception"]["message"] == message
        assert (stop["current_location"]["path"], stop["current_location"]["line"]) == (str(shop.source), line)
        assert stop["top_location"]["function"].endswith("rust_panic")
        threads.append(stop["thread_id"])
        if line == shop.line("panic"):
            assert session.evaluate("at")["result"] == "1"
        stop = session.step() if len(threads) == 2 else session.resume()  # of which a step does no less
    assert len(set(threads)) == 6
    assert (stop["status"], stop["exit_code"]) == ("terminated", 101)  # what was caught and goes on is told once
    assert session.get("/exception-breakpoints")["exception_breakpoints"][0]["hit_count"] == 8


@pytest.mark.parametrize("adapter", ["gdb", pytest.param("lldb", marks=pytest.mark.wide)])
def test_panics_stop_only_those_who_want_to_hear_of_them(session: Session, shop: Native, adapter: str) -> None:
    launch = {"program": str(shop.program), "adapter": adapter, "args": ["caught", "thread", "1"]}
    end = session.launch(**launch, stop_on_exception=False)
    assert (end["status"], end["exit_code"]) == ("terminated", 101)
    session.post("/exception-breakpoints", {"filters": ["raised"], "exceptions": ["std::runtime_error"]})
    assert session.launch(**launch)["exit_code"] == 101
    session.post("/exception-breakpoints", {"filters": ["raised"], "exceptions": ["panic"]})
    assert session.launch(**launch)["exception"]["type"] == "panic"
    session.delete("/exception-breakpoints")
    assert session.resume()["exit_code"] == 101


STANDARD = """
#[inline(never)]
pub fn checked(number: i32) -> i32 {
    if number > 0 { panic!("{} is too much", number) }
    number
}
"""
BUYING = """
#[path = "{standard}"]
mod standard;
fn buy(wanted: i32) -> i32 {{
    standard::checked(wanted) // @buy
}}
fn main() {{
    for wanted in 1..3 {{
        println!("{{}}", std::panic::catch_unwind(|| buy(wanted)).is_err());
    }}
}}
"""


def test_the_standard_library_is_not_the_code_that_panics_also_where_its_source_is_installed(
    session: Session, build: Builder, tmp_path: Path
) -> None:
    standard, source = tmp_path / "lib/rustlib/src/rust/library/core.rs", tmp_path / "buying.rs"
    standard.parent.mkdir(parents=True)
    standard.write_text(STANDARD)
    source.write_text(BUYING.format(standard=standard))
    buying = build(f"buying-{tmp_path.name}", source=source)
    session.post("/exception-breakpoints", {"filters": ["raised"], "condition": "wanted == 2"})
    stop = session.launch(program=str(buying.program), adapter="gdb")
    assert stop["exception"]["message"] == "2 is too much"
    assert (stop["current_location"]["path"], stop["current_location"]["line"]) == (str(source), buying.line("buy"))
    assert len(stop["hit_breakpoint_ids"]) == 1
    assert session.resume()["exit_code"] == 0


SCRIPT = """
__asm__(".pushsection .debug_gdb_scripts, \\"MS\\",@progbits,1\\n.byte 4\\n"
        ".ascii \\"taken\\\\nopen('{marker}', 'w')\\\\n\\"\\n.byte 0\\n.popsection");
int main(void) {{ return 0; }}
"""


def test_no_code_that_a_program_brings_runs_in_gdb(session: Session, build: Builder, tmp_path: Path) -> None:
    marker, source = tmp_path / "marker", tmp_path / "taken.c"
    source.write_text(SCRIPT.format(marker=marker))
    program = build(f"taken-{tmp_path.name}", source=source).program
    assert str(marker).encode() in program.read_bytes()
    (tmp_path / "gdb_lookup.py").write_text(f"open({str(marker)!r}, 'w')")
    session.launch(program=str(program), adapter="gdb", cwd=str(tmp_path), stop_on_entry=True)
    session.resume()
    assert not marker.exists()


def test_the_rustc_that_is_asked_for_its_printers_sees_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rustc = tmp_path / "rustc"
    rustc.write_text(f"#!/bin/sh\npwd >> {tmp_path}/asked\necho {tmp_path}\n")
    rustc.chmod(0o755)
    folder = tmp_path / "lib/rustlib/etc"
    folder.mkdir(parents=True)
    for name in rust_toolchain.NEEDED:
        (folder / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    rust_toolchain.printers.cache_clear()
    try:
        assert (rust_toolchain.printers(), rust_toolchain.printers()) == (str(folder), str(folder))
        assert (tmp_path / "asked").read_text() == "/\n"
    finally:
        rust_toolchain.printers.cache_clear()
