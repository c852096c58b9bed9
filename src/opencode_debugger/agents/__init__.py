"""What an agent asks in one call, in few words: the same calls for MCP and for the command line."""
