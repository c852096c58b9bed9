"""The table of all operations, by name."""

from . import breakpoints, execution, inspection, machine, output, profiles, program, recordings, server, sessions
from .operation import Operation

SUBJECTS = (server, sessions, execution, inspection, program, breakpoints, profiles, machine, recordings, output)
"""In the order in which the API lists them."""

OPERATIONS: dict[str, Operation] = {each.name: each for subject in SUBJECTS for each in subject.OPERATIONS}
OFFERED = {name: each for name, each in OPERATIONS.items() if each.routes and not each.is_stream}
"""Those that clients ask for by their names, and that answer once."""
