"""Output, input and events of the program."""
