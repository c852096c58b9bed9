"""The project's own files: a lock that pins and names no registry, links that lead somewhere, one version."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import opencode_debugger

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
REGISTRY_HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("pypi", "python"))]
NOT_OURS = {".git", ".venv", "build", "dist", "__pycache__"}
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def locked() -> dict[str, str]:
    """Each package of the lock and its block of lines, comments aside."""
    lines = [line for line in LOCK.splitlines() if not line.lstrip().startswith("#")]
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


def test_every_package_of_the_lock_is_pinned_with_hashes() -> None:
    packages = locked()
    assert len(packages) > 20
    for name, block in packages.items():
        assert re.match(r"[\w.\[\]-]+==\S+", block), name
        assert "--hash=sha256:" in block, name


def test_the_lock_has_no_addresses_and_no_paths() -> None:
    assert [line for line in LOCK.splitlines() if "://" in line or re.search(r"(^|\s)[/~]", line)] == []


def test_the_lock_satisfies_every_requirement_of_the_project() -> None:
    packages = locked()
    for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]:
        requirement = Requirement(text)
        block = packages[canonicalize_name(requirement.name)]
        pinned = re.search(r"==([^\s;\\]+)", block)
        assert pinned, text
        assert requirement.specifier.contains(pinned.group(1)), text


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
    adapters = ROOT / "src/opencode_debugger/adapters"
    scripts = ("lines", "injected", "debugpy_launcher", "child_debugpy_launcher")
    python, native = adapters / "debugpy", adapters / "native"
    checked = [path for folder in ("inside", "below") for path in (python / folder).rglob("*.py")]
    checked += [python / f"{name}.py" for name in scripts]
    checked += [*(native / "gdb_inside").rglob("*.py"), native / "lldb_containers.py", native / "lldb_rust.py"]
    script = "import ast, sys; [ast.parse(open(p).read(), p, feature_version=(3, 8)) for p in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", script, *map(str, checked)], check=True)


def test_what_a_runner_loads_brings_no_openssl() -> None:
    """It costs megabytes in every session; hashlib, hmac, secrets and ssl bring it."""
    code = "import sys, opencode_debugger.runner.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {"_hashlib", "_ssl"} & set(loaded) == set()
