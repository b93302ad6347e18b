"""Rows of two databases: which of them have to travel to be compared."""
