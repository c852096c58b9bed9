"""lldb, by way of lldb-dap, and lldb-server."""
