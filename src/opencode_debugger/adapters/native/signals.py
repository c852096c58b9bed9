"""Signals with which programs work: they are no crash, and go through without a stop."""

QUIET = (
    "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGCHLD", "SIGCONT",
    "SIGWINCH", "SIGURG", "SIGIO",
)  # fmt: skip
