"""The conversation, and the runs behind it."""
