"""`pytest --ocdb`: what is shown under failures of real test runs, and that nothing is disturbed without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT

Write = Callable[..., Path]

SHOP = """
    class Order:
        def __init__(self, items):
            self.items = items
            self._cache = {}

        def __repr__(self):
            open("a-repr-ran", "w").close()
            while True:
                pass


    def price(items, rate):
        total = 0
        for item in items:
            total += item["price"] * rate
        return total


    def require(condition):
        __tracebackhide__ = True
        if not condition:
            raise AssertionError("required")
"""
TESTS = """
    import asyncio
    import unittest

    import pytest
    from shop import Order, price, require


    def test_passes():
        assert price([], 1) == 0


    @pytest.mark.xfail
    def test_is_expected_to_fail():
        assert price([{}], 1)


    def test_price():
        order = Order([{"price": 3}, {"cost": 4}])
        password = "hunter2"
        rate = 2
        result = price(order.items, rate)
        assert result


    def test_hidden_helper():
        stock = 0
        require(stock)


    def test_cause():
        try:
            price([{"name": "pear"}], 3)
        except KeyError as error:
            raise RuntimeError("no price") from error


    async def fail_late(number):
        raise ValueError(number)


    async def start_both():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail_late(71))
            group.create_task(fail_late(72))


    def test_group():
        asyncio.run(start_both())


    def test_endless():
        def deeper(depth):
            return deeper(depth + 1)

        deeper(0)


    def test_with_subtests(subtests):
        for count in range(2):
            with subtests.test(count=count):
                assert count


    class TestCart(unittest.TestCase):
        def setUp(self):
            self.cart = ["pear"]

        def test_size(self):
            size = len(self.cart)
            self.assertEqual(size, 2)

        def test_each(self):
            for number in range(3):
                with self.subTest(number=number):
                    self.assertNotEqual(number, 1)


    @pytest.fixture
    def broken():
        divisor = 0
        return 1 / divisor


    @pytest.fixture
    def broken_at_the_end():
        left_open = ["file"]
        yield
        assert not left_open


    def test_setup(broken):
        pass


    def test_teardown(broken_at_the_end):
        pass
"""


OTHER_PLUGINS = ("anyio", "cacheprovider", "hypothesispytest", "schemathesis")
"""Take seconds to load, or rewrite what others report."""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    without = [option for name in OTHER_PLUGINS for option in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", *without, "--tb=short", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def sections_of(output: str) -> dict[str, str]:
    """The sections of ocdb, by the headline of the failure that each is under."""
    found = {}
    for block in re.split(r"^(?=_+ .* _+$)", output, flags=re.MULTILINE)[1:]:
        headline, _, text = block.partition("\n")
        section = re.search(r"^-+ ocdb -+\n(.*?)(?=^={3,}|\Z)", text, re.DOTALL | re.MULTILINE)
        if section:
            found[headline.strip("_ ")] = section[1].rstrip("\n")
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "shop.py").write_text(textwrap.dedent(SHOP))
    (folder / "test_shop.py").write_text(textwrap.dedent(TESTS))
    return folder


@pytest.fixture(scope="module")
def shown(project: Path) -> dict[str, str]:
    return sections_of(run_pytest(project, "--ocdb", "--junit-xml=report.xml").stdout)


def test_a_failure_shows_place_source_values_and_stack(shown: dict[str, str]) -> None:
    first, *lines = shown["test_price"].splitlines()
    assert first == "exception at shop.py:16 in price"
    assert lines[0] == "KeyError: 'price'"
    assert '>16         total += item["price"] * rate' in lines
    assert "locals: rate = 2; total = 6; item = {'cost': 4}; items = [{'price': 3}, {'cost': 4}]" in lines
    assert any(re.fullmatch(r"stack: 0 price shop\.py:16 < 1 test_price test_shop\.py:\d+", line) for line in lines)


def test_the_frames_that_led_to_it_follow(shown: dict[str, str]) -> None:
    caller = re.split(r"^at ", shown["test_price"], flags=re.MULTILINE)[1]
    assert re.match(r"test_shop\.py:\d+ in test_price\n", caller)
    assert re.search(r"^>\d+ result = price\(order\.items, rate\)$", caller, re.MULTILINE)


def test_objects_are_shown_by_their_attributes_and_their_repr_never_runs(project: Path, shown: dict[str, str]) -> None:
    assert "order = Order(items=[{'price': 3}, {'cost': 4}])" in shown["test_price"]
    assert not (project / "a-repr-ran").exists()


def test_secrets_are_masked(shown: dict[str, str]) -> None:
    assert "password = " in shown["test_price"]
    assert "hunter2" not in shown["test_price"]


def test_a_helper_that_hides_from_tracebacks_is_not_where_it_stopped(shown: dict[str, str]) -> None:
    assert re.match(r"exception at test_shop\.py:\d+ in test_hidden_helper, frame 1; ", shown["test_hidden_helper"])
    assert "locals: stock = 0" in shown["test_hidden_helper"]


def test_what_caused_an_exception_is_shown_with_its_values(shown: dict[str, str]) -> None:
    assert "  from KeyError: 'price' at shop.py:16 in price" in shown["test_cause"]
    assert "item = {'name': 'pear'}" in shown["test_cause"]


def test_each_member_of_a_group_is_shown_with_its_values(shown: dict[str, str]) -> None:
    text = shown["test_group"]
    assert "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)" in text
    assert "number = 71" in text
    assert "number = 72" in text
    assert "frames of asyncio …" in text


def test_endless_recursion_is_shown_where_it_ended(shown: dict[str, str]) -> None:
    text = shown["test_endless"]
    assert "RecursionError: maximum recursion depth exceeded" in text
    assert re.search(r"^>\d+ +return deeper\(depth \+ 1\)$", text, re.MULTILINE)


def test_failing_subtests_are_shown_one_by_one(shown: dict[str, str]) -> None:
    assert "locals: count = 0" in shown["test_with_subtests (count=0)"]
    assert "number = 1" in shown["TestCart.test_each (number=1)"]
    assert "test_with_subtests" not in shown  # its report only counts them


def test_a_unittest_case_shows_the_test_and_not_the_assertion_method(shown: dict[str, str]) -> None:
    text = shown["TestCart.test_size"]
    assert re.match(r"exception at test_shop\.py:\d+ in test_size, frame \d; stopped in unittest/case\.py", text)
    assert "self = TestCart(cart=['pear'])" in text
    assert "size = 1" in text


def test_failures_of_setup_and_teardown_are_shown(shown: dict[str, str]) -> None:
    assert "locals: divisor = 0" in shown["ERROR at setup of test_setup"]
    assert "locals: left_open = ['file']" in shown["ERROR at teardown of test_teardown"]


def test_only_failures_have_a_section(shown: dict[str, str]) -> None:
    assert not {"test_passes", "test_is_expected_to_fail", "test_setup", "test_teardown"} & shown.keys()


def test_a_section_keeps_to_its_budget(project: Path, shown: dict[str, str]) -> None:
    assert max(map(len, shown.values())) <= 1200
    small = sections_of(run_pytest(project, "--ocdb", "--ocdb-budget=300").stdout)
    assert small.keys() == shown.keys()
    assert max(map(len, small.values())) <= 300
    assert small["test_price"].startswith("exception at shop.py:16 in price\nKeyError: 'price'\n")


def test_workers_of_xdist_send_their_sections(project: Path, shown: dict[str, str]) -> None:
    there = sections_of(run_pytest(project, "--ocdb", "-n", "2", "--show-capture=no").stdout)
    assert {headline.replace("'", "") for headline in there} == shown.keys()  # values of subtests are quoted on the way
    assert there["test_price"] == shown["test_price"]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


def test_a_module_that_cannot_be_imported_is_shown(write: Write, tmp_path: Path) -> None:
    write("test_module.py", "sizes = {'pear': 3}\ntotal = sizes['apple']\n")
    write("test_missing.py", "wanted = 'x'\nimport there_is_no_such_module\n")
    there = sections_of(run_pytest(tmp_path, "--ocdb").stdout)
    assert "sizes = {'pear': 3}" in there["ERROR collecting test_module.py"]
    assert "wanted = 'x'" in there["ERROR collecting test_missing.py"]


def test_what_was_left_out_is_named_with_the_command_that_shows_it(write: Write, tmp_path: Path) -> None:
    assigned = "\n".join(f"    name_{number} = {number}" for number in range(60))
    header = "import pytest\n\n\n@pytest.mark.parametrize('it', ['a b'])\ndef test_many(it):\n"
    write("test_many.py", f"{header}{assigned}\n    assert name_59 == 0\n")
    write("pytest.ini", "[pytest]\n")
    (tmp_path / "elsewhere").mkdir()
    text = sections_of(run_pytest(tmp_path / "elsewhere", "--ocdb", "../test_many.py").stdout)["test_many[a b]"]
    (values,) = re.findall(r"^locals: (name_59 = 59; .*)$", text, re.MULTILINE)
    hidden = 61 - len(values.split("; "))
    assert f"more: {hidden} more locals: ocdb test '../test_many.py::test_many[a b]'" in text.splitlines()


def test_more_room_shows_more_frames(write: Write, tmp_path: Path) -> None:
    write("test_deep.py", """
        def fall(depth, filling):
            if depth:
                fall(depth - 1, filling)
            raise ValueError("down")


        def test_deep():
            fall(9, "x" * 100)
        """)

    def callers_shown(budget: int) -> int:
        done = run_pytest(tmp_path, "--ocdb", f"--ocdb-budget={budget}")
        return sections_of(done.stdout)["test_deep"].count("\nat ")

    assert 0 < callers_shown(1200) < callers_shown(6000) == 10


def test_a_section_that_cannot_be_made_takes_nothing_away(write: Write, tmp_path: Path) -> None:
    write("conftest.py", """
        from opencode_debugger.pytest_plugin import failure_texts

        def fail(*args):
            raise LookupError("no luck")

        failure_texts.failure_text = fail
        """)
    write("test_one.py", "def test_one():\n    assert 1 == 2\n")
    done = run_pytest(tmp_path, "--ocdb")
    assert sections_of(done.stdout) == {"test_one": "no values: LookupError: no luck"}
    assert "E   assert 1 == 2" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


REPORTS_MODULES = """
    import sys

    def pytest_sessionfinish():
        print("\\nloaded:", *(name for name in sys.modules if name.startswith(("opencode_debugger", "msgspec"))))
"""


def loaded_modules(output: str) -> list[str]:
    (loaded,) = re.findall(r"^loaded: (.*)$", output, re.MULTILINE)
    return str(loaded).split()


def test_without_the_option_next_to_nothing_is_loaded_and_nothing_shown(write: Write, tmp_path: Path) -> None:
    write("conftest.py", REPORTS_MODULES)
    write("test_one.py", "def test_one():\n    assert 1 == 2\n")
    done = run_pytest(tmp_path)
    assert loaded_modules(done.stdout) == ["opencode_debugger", "opencode_debugger.pytest_plugin"]
    assert sections_of(done.stdout) == {}


def test_with_the_option_what_shows_values_is_not_loaded_until_a_test_fails(write: Write, tmp_path: Path) -> None:
    write("conftest.py", REPORTS_MODULES)
    write("test_one.py", "def test_one():\n    pass\n")
    names = ["opencode_debugger", "opencode_debugger.pytest_plugin", "opencode_debugger.pytest_plugin.failure_sections"]
    assert loaded_modules(run_pytest(tmp_path, "--ocdb").stdout) == names


def test_the_plugin_can_be_turned_off(write: Write, tmp_path: Path) -> None:
    write("test_one.py", "def test_one():\n    pass\n")
    assert run_pytest(tmp_path, "-p", "no:ocdb").returncode == pytest.ExitCode.OK
    refused = run_pytest(tmp_path, "-p", "no:ocdb", "--ocdb")
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--ocdb" in refused.stderr


def test_a_budget_that_is_too_small_is_refused(write: Write, tmp_path: Path) -> None:
    write("test_one.py", "def test_one():\n    pass\n")
    refused = run_pytest(tmp_path, "--ocdb", "--ocdb-budget=10")
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--ocdb-budget is 10: give it at least 200" in refused.stderr


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/pytest.md").read_text(), re.MULTILINE | re.DOTALL))
    (tmp_path / "test_cart.py").write_text(blocks["python"])
    program, *options = blocks["bash"].split()
    assert program == "pytest"
    assert blocks["text"] in run_pytest(tmp_path, *options).stdout


def test_sections_get_into_reports_for_other_programs(project: Path, shown: dict[str, str]) -> None:
    assert "locals: stock = 0" in shown["test_hidden_helper"]
    assert "locals: stock = 0" in (project / "report.xml").read_text()
