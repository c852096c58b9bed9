"""One session in a process of its own, behind a unix socket."""
