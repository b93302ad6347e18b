"""Commands about the setup: what works, and which models are reachable."""
