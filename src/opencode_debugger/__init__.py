"""OpenCode Debug Relay: keeps debug sessions alive and lets anyone drive them with single calls."""

__version__ = "0.1.0"
