"""Bringing the debugger into a Python program that runs already."""
