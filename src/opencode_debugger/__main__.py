"""`python -m opencode_debugger`: the command."""

# Nothing that a file in the start folder could stand for, `__future__` included, is imported before `main` has seen to
# the path.
import os
import sys


def main() -> None:
    """Importing what the other commands need takes longer than an IDE likes to wait."""
    sys.path[:] = dependable(sys.path)  # before anything else is imported
    if sys.argv[1:2] in (["debugserver"], ["stdio"]):
        from .cli.debugserver import quickly

        code = quickly(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    from .cli.main import run

    run()


def dependable(path: list[str]) -> list[str]:
    """Where modules are looked for, without what depends on the working directory: anybody may have put a file there.

    Python itself puts it first (`-m`), and takes an empty or relative entry of PYTHONPATH for it.
    """
    try:
        here = os.getcwd()
    except OSError:  # it is gone
        here = ""
    if not sys.flags.safe_path and path[:1] in ([""], [here]):
        path = path[1:]
    variable = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    named = variable.split(os.pathsep) if variable else []
    doubtful = {os.path.normpath(os.path.join(here, entry)) for entry in named if not os.path.isabs(entry)}
    doubtful -= {os.path.normpath(entry) for entry in named if os.path.isabs(entry)}
    return [entry for entry in path if os.path.isabs(entry) and os.path.normpath(entry) not in doubtful]


if __name__ == "__main__":
    main()
