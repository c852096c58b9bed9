"""Lines of a C program come when they are printed: the C library would keep them back, because stdout is a pipe."""

from __future__ import annotations

import glob

LIBRARY = tuple(f"/usr/{folder}/coreutils/libstdbuf.so" for folder in ("libexec", "lib", "lib/*"))
"""What `stdbuf` of the coreutils loads into programs."""
LOADER = b"/ld-linux"
"""In the first page of programs that use the GNU C library, for which that is made."""
PAGE = 4096
HEAD_64_BIT = b"\x7fELF\x02"


def by_lines(program: str, environment: dict[str, str]) -> dict[str, str]:
    """Variables that have the program write each line at once, as it does on a terminal."""
    library = next((found for pattern in LIBRARY for found in glob.glob(pattern)), None)
    if library is None or "_STDBUF_O" in environment or not _uses_gnu_library(program):
        return {}
    before = environment.get("LD_PRELOAD")
    return {"_STDBUF_O": "L", "LD_PRELOAD": f"{before}:{library}" if before else library}


def _uses_gnu_library(program: str) -> bool:
    try:
        with open(program, "rb") as file:
            head = file.read(PAGE)
    except OSError:
        return False
    return head.startswith(HEAD_64_BIT) and LOADER in head
