"""Python programs, through the debugpy that ships with the relay."""
