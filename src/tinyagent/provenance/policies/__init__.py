"""Policies: what they are, how they are read, checked, and drafted."""
