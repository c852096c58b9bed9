"""Wire models: what clients send, and what they are answered."""
