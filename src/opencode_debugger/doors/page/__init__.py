"""The page for people: its files, and how a browser signs in."""
