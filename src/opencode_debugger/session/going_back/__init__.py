"""A session stands in the past of its recorded program."""
