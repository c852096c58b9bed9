"""The project's own files: locks that pin and name no registry, links that lead somewhere, one version."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from places import ROOT

import opencode_debugger

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUN_LOCK, DEV_LOCK = LOCKS = ("requirements.lock", "requirements-dev.lock")
REGISTRY_HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("pypi", "python"))]
NOT_OURS = {".git", ".venv", "build", "dist", "__pycache__"}
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def locked(name: str) -> dict[str, str]:
    """Each package of a lock and its block of lines, comments aside; one that has a version per Python, the last."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.lstrip().startswith("#")]
    blocks = re.split(r"\n(?=\S)", "\n".join(lines))
    return {str(canonicalize_name(re.split(r"[=<>~! ;\[]", block)[0])): block for block in blocks}


def files() -> list[Path]:
    """What git would hold; without git, everything but caches."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        found = list(ROOT.rglob("*"))
    return [
        path
        for path in found
        if path.is_file() and not any(part in NOT_OURS or part.endswith("_cache") for part in path.parts)
    ]


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_a_lock_is_pinned_with_hashes(name: str) -> None:
    packages = locked(name)
    assert len(packages) > 20
    for package, block in packages.items():
        assert re.match(r"[\w.\[\]-]+==\S+", block), package
        assert "--hash=sha256:" in block, package


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_no_addresses_and_no_paths(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    assert [line for line in lines if "://" in line or re.search(r"(^|\s)[/~]", line)] == []


def unsatisfied(requirements: list[str], packages: dict[str, str]) -> list[str]:
    """The requirements that the pinned versions do not meet."""
    found = []
    for text in requirements:
        requirement = Requirement(text)
        pinned = re.search(r"==([^\s;\\]+)", packages.get(canonicalize_name(requirement.name), ""))
        if not pinned or not requirement.specifier.contains(pinned.group(1)):
            found.append(text)
    return found


def test_the_locks_satisfy_every_requirement_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    running = PROJECT["dependencies"] + extras["native"] + extras["setup"]
    assert unsatisfied(running, locked(RUN_LOCK)) == []
    assert unsatisfied(extras["dev"], locked(DEV_LOCK)) == []


def test_tests_run_on_the_packages_that_serving_installs() -> None:
    assert locked(RUN_LOCK).items() <= locked(DEV_LOCK).items()


def test_serving_installs_no_package_of_the_tests() -> None:
    only_tests = {canonicalize_name(Requirement(text).name) for text in PROJECT["optional-dependencies"]["dev"]}
    brought_by_mcp = {"httpx2"}
    assert only_tests & locked(RUN_LOCK).keys() == brought_by_mcp


PYDEVD = {"_pydev_bundle", "_pydevd_bundle", "_pydevd_frame_eval", "pydevd", "pydevd_file_utils", "pydevd_tracing"}
OF_THE_DEBUGGED = PYDEVD | {"_ocdb", "gdb", "lldb"}
"""Modules that the program's debugger brings: our code there imports them."""
OF_PYTEST = {"pytest", "_pytest"}
"""The plugin is only ever loaded by pytest."""


IMPORTS = re.compile(r"^ *(?:import|from) (\w+)(?:[\w.]* import | as |,|\.|$)", re.MULTILINE)


def imported_modules(path: Path) -> set[str]:
    """The first parts of their names."""
    return set(IMPORTS.findall(path.read_text(encoding="utf-8")))


def test_every_package_that_is_imported_is_declared() -> None:
    declared = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    homes = packages_distributions()
    undeclared = set()
    for path in (ROOT / "src").rglob("*.py"):
        own = {"opencode_debugger", *(neighbour.stem for neighbour in path.parent.glob("*.py"))}
        known = own | OF_THE_DEBUGGED | (OF_PYTEST if "pytest_plugin" in path.parts else set())
        for name in imported_modules(path) - sys.stdlib_module_names - known:
            if not declared & {canonicalize_name(home) for home in homes.get(name, ())}:
                undeclared.add((str(path.relative_to(ROOT)), name))
    assert undeclared == set()


def test_no_file_names_a_package_registry() -> None:
    naming = [
        str(path.relative_to(ROOT))
        for path in files()
        if any(host.encode() in path.read_bytes().lower() for host in REGISTRY_HOSTS)
    ]
    assert naming == []


@pytest.mark.parametrize("page", [path for path in MARKDOWN if path.exists()], ids=lambda path: str(path.name))
def test_links_between_pages_lead_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    local = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_installed_version_is_the_packages_own() -> None:
    assert version(PROJECT["name"]) == opencode_debugger.__version__


def test_the_changelog_knows_the_version() -> None:
    assert f"## {opencode_debugger.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_code_that_runs_inside_any_interpreter_has_no_syntax_newer_than_3_8() -> None:
    debuggers = ROOT / "src/opencode_debugger/debuggers"
    folders = ("python/inside", "python/launch/below", "native/gdb/inside", "native/lldb/inside")
    checked = [path for folder in folders for path in (debuggers / folder).rglob("*.py")]
    launchers = ("launch/debugpy_launcher", "launch/child_debugpy_launcher", "launch/spare_start")
    scripts = ("interpreters/breakable_lines", "attach/injected", *launchers)
    checked += [debuggers / "python" / f"{name}.py" for name in scripts]
    script = "import ast, sys; [ast.parse(open(p).read(), p, feature_version=(3, 8)) for p in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", script, *map(str, checked)], check=True)


OF_PROGRAMS = re.compile(r"\.(inside|below)\b|launcher$|injected$|__main__$")
"""Modules that only the program or its debugger can load, or that do something when they are loaded."""


def test_every_module_can_be_loaded() -> None:
    """Some are only loaded by few sessions: a type that is there for type checkers alone would fail them."""
    names = [found.name for found in pkgutil.walk_packages(opencode_debugger.__path__, "opencode_debugger.")]
    loaded = [importlib.import_module(name) for name in names if not OF_PROGRAMS.search(name)]
    assert len(loaded) > 200
