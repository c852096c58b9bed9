"""`python -m opencode_debugger`: the command."""

from .cli.main import run

if __name__ == "__main__":
    run()
