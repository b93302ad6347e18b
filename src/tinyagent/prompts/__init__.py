"""What the model is told before the task."""
