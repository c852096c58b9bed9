"""The Debug Adapter Protocol on the wire: framing, messages, channel."""
