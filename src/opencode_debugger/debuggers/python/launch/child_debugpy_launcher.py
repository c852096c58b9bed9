"""Runs a Python child of a debugged program under the debugger: the program starts this in its place.

Whatever stands in the way, such as a Python that is too old (this file is understood by all of them, Python 2 too) or
a runner that is gone, the child is then started exactly as it was meant to be.
"""

import json
import os
import sys

OLDEST = (3, 8)
execve = os.execve  # as it is before we wrap it


def start_without_debugger(config, environment):  # type: ignore[no-untyped-def]
    """Become the program that was meant, in the same process, as if we had never been here."""
    execve(config["executable"], config["command"], environment)


def main():  # type: ignore[no-untyped-def]
    config = json.loads(os.environ.pop("OPENCODE_DEBUG_LAUNCH"))
    if not config["is_marked"]:
        os.environ.pop(config["marker"][0], None)
    environment = dict(os.environ)
    implementation = getattr(getattr(sys, "implementation", None), "name", "")
    if sys.version_info < OLDEST or implementation != "cpython":
        start_without_debugger(config, environment)  # type: ignore[no-untyped-call]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        import debugpy_launcher  # type: ignore[import-not-found]

        del sys.path[0], sys.modules["debugpy_launcher"]
        program = debugpy_launcher.begin_child(config)
    except BaseException:
        start_without_debugger(config, environment)  # type: ignore[no-untyped-call]
    else:
        program()


if __name__ == "__main__":
    main()  # type: ignore[no-untyped-call]
