"""gdb and gdbserver."""
