"""Breakpoints of a session, from what a client asked for to what the debugger has."""
