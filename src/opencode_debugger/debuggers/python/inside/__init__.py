"""Code that runs inside the debugged program, on its Python (3.8 or newer).

There the package is called `_ocdb`, and `entry.py` is what it is. Here it is empty: what the runner shares with the
program, such as how command lines are read, brings nothing else along.
"""
