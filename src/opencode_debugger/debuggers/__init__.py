"""How each debugger is started, attached, driven and ended."""
