"""Comparisons of two sources: from the question to classes, differences and explanations."""

TOP = 10
"""The number of largest differences in a result by default."""
MAX_PAGE = 1000
"""The largest number of groups on a page."""
