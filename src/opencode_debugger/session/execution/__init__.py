"""Continue, pause, step, and the stops that come of it."""
