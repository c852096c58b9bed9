"""The folder of a session: its socket, its log, its last words."""

from __future__ import annotations

FORKS = "sess_--------"
"""In the place of a session's id in the command line of the process that runners are copies of."""
SOCKET = "rpc.sock"
LOG = "runner.log"
FINAL = "final.json"
DETACHED = "detached"
"""A file that says: the program was let go, what carries the session's marker is nobody's to end."""
OWN_PATH = "OPENCODE_DEBUG_PYTHONPATH"
"""In a runner's environment: the user's PYTHONPATH, which programs get and the runner itself does not follow."""
