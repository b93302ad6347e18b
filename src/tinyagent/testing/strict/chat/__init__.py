"""Chat completions, with the differences between providers as a table in `rules`."""
