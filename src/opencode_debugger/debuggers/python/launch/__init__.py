"""Starting a Python program under its debugger."""
