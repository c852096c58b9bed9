"""The libraries of others that the page uses are those that its list names, and each has its licence."""

from __future__ import annotations

import hashlib
import tomllib

from places import ROOT

VENDOR = ROOT / "src/opencode_debugger/doors/page/static/vendor"
LISTED = tomllib.loads((VENDOR / "packages.toml").read_text(encoding="utf-8"))


def test_every_vendored_file_has_the_hash_that_its_list_gives() -> None:
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    del there["packages.toml"]
    assert there == LISTED["hashes"], "changed by hand? `scripts/vendor-page` writes them anew"


def test_every_vendored_package_has_its_version_its_hash_and_its_licence() -> None:
    for package in LISTED["package"]:
        assert package["version"]
        assert package["integrity"].startswith("sha512-")
        licence = package["name"].removeprefix("@").replace("/", "-") + ".LICENSE.txt"
        assert {*package["files"], licence} <= set(LISTED["hashes"])
