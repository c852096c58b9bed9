"""What the page on the SDK tells to type does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from places import DOCS

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_on_the_sdk_prints_what_it_says(folder: Path, tmp_path: Path) -> None:
    (_, program), *blocks = BLOCK.findall((DOCS / "sdk.md").read_text(encoding="utf-8"))
    (tmp_path / "shop.py").write_text(program)
    typed = "\n".join(text for kind, text in blocks if kind == "python")
    printed = "".join(text for kind, text in blocks if kind == "text")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", typed], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == (printed, "")
