"""Leases: whether the process that holds a turn, or works on a job, has died."""

from datetime import datetime, timedelta
from threading import Lock
from time import monotonic
from typing import Any

from cachetools import LRUCache
from sqlalchemy import Row

from skillian.storage.database import as_text

LEASE_SECONDS = 10.0
UNTIL_TAKEN_OVER = ":durable"
"""The end of a holder's name whose turn waits, if it dies, for another process."""
HANDED_OVER = "handed:"
"""The beginning of the name of what holds a turn that waits for any process."""

_WATCHED = 10_000


class Leases:
    """Tells whose holder has died, by its lease.

    A lease that ends later than a holder could have set it was set before the clock was put back.
    Such a holder lives if it renews its lease within the time that it would need to.

    Args:
        seconds: How long a lease is.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = max(seconds, LEASE_SECONDS)
        self._watched: LRUCache[str, tuple[str, float]] = LRUCache(_WATCHED)
        self._lock = Lock()

    def is_over(self, turn: Row[Any] | None, now: datetime) -> bool:
        """Whether the turn runs according to its row, but its holder has died.

        Args:
            turn: The row.
            now: The time by the clock that all processes share.
        """
        if turn is None or turn.state != "running":
            return False
        if turn.holder.startswith(HANDED_OVER) or turn.holder.endswith(UNTIL_TAKEN_OVER):
            return str(turn.lease_until) < as_text(now)
        return self.has_ended(f"{turn.session_id}-{turn.number}", turn.lease_until, now)

    def has_ended(self, key: str, until: str, now: datetime) -> bool:
        """Whether a lease has ended, or is not renewed although it ends impossibly late.

        Args:
            key: Whose lease it is.
            until: When it ends, as it is stored.
            now: The time by the clock that all processes share.
        """
        if until <= as_text(now + timedelta(seconds=2 * self._seconds)):
            return until < as_text(now)
        with self._lock:
            seen = self._watched.get(key)
            if seen is None or seen[0] != until:
                seen = self._watched[key] = until, monotonic()
        return monotonic() - seen[1] > self._seconds
