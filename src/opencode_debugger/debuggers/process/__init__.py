"""The debugged program as a process: its pipes, its environment, its end, and whose it is."""
