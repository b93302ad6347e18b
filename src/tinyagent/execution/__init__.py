"""Where a model's code runs: executors of graduated trust."""
