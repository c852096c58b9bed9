"""OpenCode Debug Relay: keeps debug sessions alive and lets anyone drive them with single calls.

PYTEST_DONT_REWRITE: it has a plugin for pytest, which would else warn where the package is loaded before pytest.
"""

__version__ = "0.1.0"
