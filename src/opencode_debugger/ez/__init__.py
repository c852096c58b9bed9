"""The EZ debugger protocol on the wire: the table of its messages, lines, and a test suite made from both."""
