"""Looking into a program: threads, stacks, values, source, memory."""
