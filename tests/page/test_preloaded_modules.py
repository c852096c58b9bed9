"""The page names its modules up front, so that the browser asks for all of them at once instead of level by level."""

import re
from pathlib import Path, PurePosixPath

import opencode_debugger.doors.page

STATIC = Path(opencode_debugger.doors.page.__file__).parent / "static"
IMPORT = re.compile(r'(?:^|;)(?:import|export)\b[^;]*?from\s*"(\.[^"]+)"', re.MULTILINE)
PRELOAD = re.compile(r'<link rel="modulepreload" href="/page/([^"]+)">')


def modules_from(name: str, found: set[str]) -> set[str]:
    """Follow the imports of a module to all that it needs."""
    if name not in found:
        found.add(name)
        folder = PurePosixPath(name).parent
        for target in IMPORT.findall((STATIC / name).read_text()):
            modules_from((STATIC / folder / target).resolve().relative_to(STATIC).as_posix(), found)
    return found


def test_every_module_of_the_page_is_preloaded_and_no_other() -> None:
    preloaded = PRELOAD.findall((STATIC / "index.html").read_text())
    assert sorted(preloaded) == sorted(modules_from("app/main.js", set()) - {"app/main.js"})
