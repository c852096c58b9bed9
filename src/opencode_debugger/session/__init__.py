"""One debug session and its parts, whatever the debugger."""
