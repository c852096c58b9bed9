"""Stacks, variables and expressions of a program in EZ, or in another language whose debugger speaks its protocol."""
