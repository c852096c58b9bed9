"""The WebSocket door: logs and debugger control of a session as they happen."""
