"""Carries out calls of the relay inside the program, and sends events to it."""
