"""A session that several clients drive: who did what, and who may for now."""
