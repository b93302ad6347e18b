"""What an agent remembers: the steps of a code agent, its scratchpad, and what to forget."""
