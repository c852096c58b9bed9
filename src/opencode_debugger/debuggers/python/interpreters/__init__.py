"""The Pythons and environments of programs, and which lines of a file stop."""
