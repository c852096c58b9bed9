"""The REST door: routes that translate requests into calls of the relay, and nothing else."""
