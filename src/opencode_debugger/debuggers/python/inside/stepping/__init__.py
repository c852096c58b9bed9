"""Makes steps that go on by themselves, and tells what a line calls and returns."""
