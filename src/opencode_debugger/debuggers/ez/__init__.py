"""Programs under a debugger that speaks the EZ protocol."""
