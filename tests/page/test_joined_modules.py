"""The page comes as two files, one behind the other, in which each of its modules is once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opencode_debugger.doors.page.joined_modules import join_modules, modules_of
from opencode_debugger.doors.page.static_files import JOINED, STATIC

FIRST, LATER, WORKER = JOINED


def test_every_module_is_needed_and_comes_once() -> None:
    first, later, worker = (modules_of(STATIC, name) for name in (FIRST, LATER, WORKER))
    there = {path.relative_to(STATIC).as_posix() for kind in ("app", "vendor") for path in STATIC.glob(f"{kind}/*.js")}
    assert there == {*first, *later, *worker}
    behind = join_modules(STATIC, LATER, FIRST)
    assert not [name for name, module in later.items() if name in first and module.as_function() in behind]
    assert 'from "/page/app/main.js"' in behind


@pytest.mark.parametrize("name", JOINED)
def test_a_joined_file_asks_for_no_module_but_the_one_before_it(name: str) -> None:
    after = JOINED[name]
    asked = re.findall(r"""^import [^"]*"([^"]+)";""", join_modules(STATIC, name, after), re.MULTILINE)
    assert asked == ([f"/page/{after}"] if after else [])


def test_what_a_module_takes_from_others_is_what_they_export(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    texts = {
        "main.js": (
            'import "./first.js";\nimport standard from "./lib.js";\nimport { one as two, three } from "./lib.js";\n'
        ),
        "lib.js": 'const own = 1;export{own as one};export { three } from "./first.js";\nexport default own;\n',
        "first.js": "export const three = 3;\n",
    }
    for name, text in texts.items():
        (tmp_path / "app" / name).write_text(text)
    joined = join_modules(tmp_path, "app/main.js")
    assert joined.index("const app_first") < joined.index("const app_lib") < joined.index("const standard = app_lib")
    assert "return { three: app_first.three, one: own, default: standard };" in joined
    assert "const { one: two, three: three } = app_lib;" in joined


@pytest.mark.parametrize("text", [
    'import * as all from "./lib.js";', "export let counter = 0;", 'export * from "./lib.js";',
])
def test_a_module_in_words_that_joining_does_not_know_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "main.js").write_text('import { one } from "./part.js";\n')
    (tmp_path / "part.js").write_text(f"{text}\n")
    with pytest.raises(ValueError, match=r"part\.js cannot be joined with others: (import|export)"):
        join_modules(tmp_path, "main.js")


def test_a_file_takes_the_one_before_it_only_as_it_was_when_they_were_joined(tmp_path: Path) -> None:
    (tmp_path / "part.js").write_text("export const one = 1;\n")
    (tmp_path / "main.js").write_text('import { one } from "./part.js";\n')
    (tmp_path / "later.js").write_text('import { one } from "./part.js";\nexport const two = one + 1;\n')

    def edition(name: str, after: str | None = None) -> str:
        found = re.search(r"(?:export|import) \{.*?(edition_\w+)", join_modules(tmp_path, name, after))
        assert found
        return found[1]

    before = edition("later.js", "main.js")
    assert before == edition("main.js")
    (tmp_path / "part.js").write_text("export const one = 1.5;\n")
    assert before != edition("later.js", "main.js") == edition("main.js")


def test_modules_that_need_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import { one } from "./other.js";\n')
    (tmp_path / "other.js").write_text('import { two } from "./main.js";\nexport const one = 1;\n')
    with pytest.raises(ValueError, match=r"main\.js → other\.js → main\.js"):
        join_modules(tmp_path, "main.js")


def test_a_name_that_is_not_exported_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import { one, two } from "./part.js";\n')
    (tmp_path / "part.js").write_text("export const one = 1;\n")
    with pytest.raises(ValueError, match=r"main\.js takes from part\.js what that does not export: two"):
        join_modules(tmp_path, "main.js")
