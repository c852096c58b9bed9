"""Programs that gdb can record: it does not know the newest instructions, which the C library chooses by itself."""

from __future__ import annotations

VARIABLE = "GLIBC_TUNABLES"
HWCAPS = "glibc.cpu.hwcaps"
UNKNOWN = ("AVX512F", "AVX512VL", "AVX512BW", "AVX2", "AVX", "XSAVE", "XSAVEC")
"""What processors have that gdb cannot record, as the C library calls it."""


def plainer(environment: dict[str, str]) -> dict[str, str]:
    """Variables that keep the C library from such instructions, besides what the program is given there."""
    given = dict(each.partition("=")[::2] for each in environment.get(VARIABLE, "").split(":") if each)
    wanted = [given[HWCAPS]] if given.get(HWCAPS) else []
    given[HWCAPS] = ",".join([*wanted, *(f"-{name}" for name in UNKNOWN)])
    return {VARIABLE: ":".join(f"{name}={value}" for name, value in given.items())}
