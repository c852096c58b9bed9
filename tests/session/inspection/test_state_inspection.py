"""The acceptance criteria of state inspection and of programs with several files, on one program."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from relays import Api, Session, line_of, pythons, refusal

VERSIONS = pythons("3.8", "3.13")

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": """
        from . import prices

        class Cart:
            def __init__(self):
                self.items = [{"name": "tea", "count": 2}]
                self.owner = ("ann", 7)

            def total(self):
                summed = 0
                for item in self.items:
                    summed += prices.price(item["name"])  # @call
                return summed
    """,
    "shop/prices.py": """
        TABLE = {"tea": 3.5}

        def price(name):
            found = TABLE[name]
            return found  # @price
    """,
    "main.py": """
        from shop.cart import Cart

        def main(count):
            cart = Cart()
            return cart.total()

        main(1)
    """,
}


@pytest.fixture(scope="module", params=VERSIONS.values(), ids=VERSIONS)
def shop(
    api: Api, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Session, Path]]:
    """Stopped in an imported module of a package."""
    root = tmp_path_factory.mktemp("shop")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(textwrap.dedent(text).lstrip("\n"))
    with api.session(project_root=str(root), python_path=str(request.param)) as session:
        (set_,) = session.break_at(root / "shop/cart.py", "call")
        assert set_["verified"]
        report = session.launch(root / "main.py")
        assert report["current_location"]["path"] == str(root / "shop/cart.py")
        yield session, root


def test_the_stack_has_every_frame_with_file_line_and_function(shop: tuple[Session, Path]) -> None:
    session, root = shop
    frames = session.get("/stacktrace")["frames"]
    assert [(frame["name"], frame["source"]["path"], frame["line"]) for frame in frames] == [
        ("total", str(root / "shop/cart.py"), line_of(root / "shop/cart.py", "call")),
        ("main", str(root / "main.py"), 5),
        ("<module>", str(root / "main.py"), 7),
    ]


def test_all_locals_come_with_values_and_complex_ones_expand(shop: tuple[Session, Path]) -> None:
    session, _ = shop
    scope = session.get("/frames/0/scopes")["scopes"][0]
    rows = {row["name"]: row for row in session.get(f"/scopes/{scope['variables_reference']}/variables")["variables"]}
    assert {name: rows[name]["value"] for name in ("summed", "item")} == {
        "summed": "0",
        "item": "{'name': 'tea', 'count': 2}",
    }
    assert set(rows) == {"self", "summed", "item"}
    inside = {row["name"]: row for row in session.get(f"/variables/{rows['self']['variables_reference']}")["variables"]}
    assert {name: row["type"] for name, row in inside.items()} == {"items": "list", "owner": "tuple"}
    (first,) = session.get(f"/variables/{inside['items']['variables_reference']}")["variables"]
    deeper = session.get(f"/variables/{first['variables_reference']}")["variables"]
    assert [(row["name"], row["value"]) for row in deeper] == [("'name'", "'tea'"), ("'count'", "2")]


def test_expressions_give_result_and_type_and_bad_ones_a_clear_error(shop: tuple[Session, Path]) -> None:
    session, _ = shop
    answer = session.evaluate("len(self.items) * 2.5")
    assert (answer["result"], answer["type"]) == ("2.5", "float")
    assert session.evaluate("count", frame_id=1)["result"] == "1"
    raised = session.evaluate("self.missing")
    assert (raised["result"], raised["error"]) == (None, "AttributeError: 'Cart' object has no attribute 'missing'")
    error = refusal(400, "EVALUATE_ERROR", session.evaluate, "1 +")
    assert error.message.startswith("SyntaxError: ")


def test_what_an_expression_prints_comes_with_its_answer(session: Session, program: Callable[..., Path]) -> None:
    path = program(
        """
        import contextlib, io, logging, sys

        logging.basicConfig(level=0)
        first = 1  # @first
        with contextlib.redirect_stdout(io.StringIO()):
            second = 2  # @captured
        """
    )
    session.break_at(path, "first", "captured")
    session.launch(path)
    answer = session.evaluate("print('one'); logging.info('two'); print('three')")
    entries = [(entry["category"], entry["output"]) for entry in answer["output"]]
    assert entries == [("stdout", "one\n"), ("stderr", "INFO:root:two\n"), ("stdout", "three\n")]
    session.wait_for_output("three")
    failed = session.evaluate("print('x' * 9000) or 1 / 0")
    assert (len(failed["output"][0]["output"]), failed["output_truncated"]) == (8000, True)
    assert failed["error"].startswith("ZeroDivisionError")
    assert "output" not in session.evaluate("'write' in vars(sys.stdout)")
    session.resume()
    assert session.evaluate("print('caught')")["output"] == [{"category": "stdout", "output": "caught\n"}]
    assert session.evaluate("'write' in vars(sys.__stdout__)")["result"] == "False"
    assert session.resume()["exit_code"] == 0
    assert "caught" not in session.output()


def test_source_of_any_frame_is_retrievable(shop: tuple[Session, Path]) -> None:
    session, _ = shop
    for frame in session.get("/stacktrace")["frames"]:
        source = session.get(f"/frames/{frame['id']}/source")
        path = Path(frame["source"]["path"])
        assert [line["text"] for line in source["lines"]] == path.read_text().splitlines()
        assert (source["path"], source["current_line"]) == (str(path), frame["line"])


def test_step_into_follows_into_an_imported_module(shop: tuple[Session, Path]) -> None:
    session, root = shop
    report = session.step("into")
    assert report["current_location"]["path"] == str(root / "shop/prices.py")
    assert report["current_location"]["function"] == "price"
    assert "native_frame" not in report
    paths = [frame["source"]["path"] for frame in session.get("/stacktrace")["frames"]]
    assert paths == [str(root / name) for name in ("shop/prices.py", "shop/cart.py", "main.py", "main.py")]
    session.break_at(root / "shop/prices.py", "price")
    assert session.resume()["current_location"]["line"] == line_of(root / "shop/prices.py", "price")
