"""Signals that code gives of its own thinking."""
