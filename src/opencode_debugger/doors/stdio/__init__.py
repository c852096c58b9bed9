"""The EZ debugger protocol on standard input and output: a session in this process, driven by an IDE."""
