"""Reads source text and modules that only the program knows."""
