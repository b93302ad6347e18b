"""Comparisons of two sources: from the question to classes, differences and explanations."""

from dataclasses import dataclass

TOP = 10
"""The number of largest differences in a result by default."""
MAX_PAGE = 1000
"""The largest number of groups on a page."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How much of what differs a report has.

    Attributes:
        groups: How many groups that differ it lists.
        drilled: For how many of them it shows their rows.
        why: Whether to look for what explains the rows that differ.
    """

    groups: int = 0
    drilled: int = 0
    why: bool = False
