"""Where a model's code runs: an executor with three levels of trust."""
