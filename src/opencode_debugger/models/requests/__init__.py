"""Requests that clients send: bodies and query parameters, checked before anything is done."""
