"""Decides which breakpoints, functions and exceptions stop the program."""
