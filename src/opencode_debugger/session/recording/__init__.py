"""A recorded run: its files, an index of its calls, and the questions that it answers."""
