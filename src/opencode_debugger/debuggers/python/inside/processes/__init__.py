"""Follows the processes that the program starts, and parts the program from its debugger."""
