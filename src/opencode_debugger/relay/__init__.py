"""The service that every door calls: which sessions there are, and who holds them."""
