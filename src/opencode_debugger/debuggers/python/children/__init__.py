"""Processes that a debugged Python program starts."""
