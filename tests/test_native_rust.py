"""Programs in Rust: values as rustc's own code shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native import Builder, Native
from relays import Api, Session

from opencode_debugger.adapters.native import rust


@pytest.fixture
def session(api: Api) -> Iterator[Session]:
    with api.session() as session:
        yield session


@pytest.fixture
def shop(build: Builder) -> Native:
    return build("shop")


def inside(session: Session, row: dict[str, Any], **page: Any) -> dict[str, Any]:
    return dict(session.get(f"/variables/{row['variables_reference']}", **page))


def test_values_of_rust_are_shown_and_expanded_as_rust_has_them(session: Session, shop: Native) -> None:
    session.break_at(shop.source, shop.line("looked"))
    stop = session.launch(program=str(shop.program), adapter="gdb")
    assert stop["current_location"]["line"] == shop.line("looked")
    if rust.printers() is None:  # as with Debian's rustc, whose packages keep that apart
        assert rust.MISSING in stop["warnings"]
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
    for name in rust.NEEDED:
        (folder / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    rust.printers.cache_clear()
    try:
        assert (rust.printers(), rust.printers()) == (str(folder), str(folder))
        assert (tmp_path / "asked").read_text() == "/\n"
    finally:
        rust.printers.cache_clear()
