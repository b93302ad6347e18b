"""Compares whole tables: every column of every row, matched by a key."""
