"""Editors at a session: a client that speaks DAP joins while others drive the same program."""
