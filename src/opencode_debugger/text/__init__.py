"""Answers as text, and as lean JSON: one renderer for every door."""
