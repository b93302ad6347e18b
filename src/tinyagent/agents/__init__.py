"""The agents: one loop, and what each puts into it."""
