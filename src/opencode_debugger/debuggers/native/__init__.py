"""Native programs: a debugger that speaks DAP on its stdin and stdout, and the program under it."""
