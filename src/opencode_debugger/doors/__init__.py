"""The doors: how clients of each kind reach sessions."""
