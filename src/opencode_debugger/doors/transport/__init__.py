"""HTTP and WebSockets on the wire: uvicorn's, with bounds."""
