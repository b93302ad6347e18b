"""Models: what answers a request, near or far."""
