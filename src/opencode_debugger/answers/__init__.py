"""Answers: what every door gives, as structs that say what each field means."""
