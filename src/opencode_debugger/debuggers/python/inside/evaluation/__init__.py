"""Evaluates, assigns, completes, hovers and looks up expressions."""
