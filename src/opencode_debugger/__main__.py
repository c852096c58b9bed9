"""`python -m opencode_debugger`: the command."""

# Nothing that a file in the start folder could stand for, `__future__` included, is imported before `main` has seen to
# the path.
import gc
import os
import sys


def main() -> None:
    """Run a command, with no more imported than it needs: IDEs and agents wait for it."""
    sys.path[:] = dependable_path(sys.path)  # before anything else is imported
    if sys.argv[1:2] in (["debugserver"], ["stdio"]):
        from .cli.serving.debugserver import run_quickly

        code = run_quickly(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    gc.disable()  # what is loaded is no garbage, and looking for some among it takes long
    from .cli.dispatch import run

    gc.freeze()
    gc.enable()
    end_quickly(run(sys.argv[1:]))


def end_quickly(code: int) -> None:
    """End the process without taking the interpreter apart, which takes as long as many a command."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads it: Python ends as it always does then
        sys.exit(code)
    os._exit(code)


def dependable_path(path: list[str]) -> list[str]:
    """Return where modules are looked for, without what depends on the working directory: anybody may put a file there.

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
