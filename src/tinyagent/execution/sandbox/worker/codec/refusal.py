"""Why a value cannot be in a snapshot."""

from __future__ import annotations


class CannotKeepError(Exception):
    """A value cannot be kept.

    Args:
        kind: Of the value.
        reason: Why, and what to keep instead.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        self.reason = reason
