"""Lists threads, asyncio tasks and locks of the program."""
