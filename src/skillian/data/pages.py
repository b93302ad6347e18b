"""How much of a comparison is shown at once."""

TOP = 10
"""How many of the largest differences, where nobody says otherwise."""
MAX_PAGE = 1000
"""How many groups a page may have."""
