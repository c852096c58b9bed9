"""The Pythons that are here, and the packages that the benchmark needs in each."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

OLDEST, NEWEST = 8, 14
PACKAGES = ("pytest", "mpmath==1.3.0")


class PythonUnderTest(NamedTuple):
    version: str
    path: str
    packages: Path
    """folder of packages that its programs can import, if they are installed"""


def find_pythons() -> dict[str, str]:
    """Return the interpreter of each version that pyenv has, and our own."""
    found = {}
    for minor in range(OLDEST, NEWEST + 1):
        installed = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        if installed:
            found[f"3.{minor}"] = str(installed[-1])
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {own: sys.base_prefix + "/bin/python3", **found} if own not in found else found


def packages_folder(name: str) -> Path:
    """Return where the packages for a version are, or will be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "opencode-debugger" / "speed" / name


def is_installed(folder: Path) -> bool:
    return (folder / ".installed").exists()


def install_packages(folder: Path, python: str) -> None:
    """Install by name what the benchmark needs.

    debugpy is among it, in our version or the last one for that Python: so stock has its compiled parts."""
    command = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--root-user-action=ignore"]
    wanted = [*PACKAGES, f"debugpy<={version('debugpy')}"]
    subprocess.run([*command, "--upgrade", "--target", str(folder), *wanted], check=True)
    (folder / ".installed").touch()
