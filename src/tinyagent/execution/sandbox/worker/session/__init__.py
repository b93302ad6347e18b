"""A session: running steps, and talking to the host."""
