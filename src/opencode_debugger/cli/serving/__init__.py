"""Commands that serve: the relay, MCP and the EZ protocol on stdin and stdout, tunnels; tokens for a relay."""
