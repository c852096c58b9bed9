"""Recordings as files: those that a program writes, and one file to take anywhere."""
