"""The MCP server: agent calls as tools, on stdin and stdout, and as /mcp of the relay."""
