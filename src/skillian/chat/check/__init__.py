"""The check of the calls of a turn against its question."""
