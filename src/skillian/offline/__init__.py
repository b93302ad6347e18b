"""What answers: a model by the settings, or the offline planner."""
