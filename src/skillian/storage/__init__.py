"""Sessions, comparison results and background jobs, in SQLite or PostgreSQL."""

from skillian.storage.errors import (
    MessageTooLong,
    SessionBusy,
    SessionNotFound,
    StorageError,
    StoreUnavailable,
    StoreUrlError,
    TooManySessions,
    TooManyWaiting,
    TurnLost,
)
from skillian.storage.jobs import JobRecord, JobStore
from skillian.storage.sessions import SessionRecord
from skillian.storage.store import MAX_EVENTS, SessionStore, open_store
from skillian.storage.turn_rows import CANCELLED, DIED, Draft, SessionProgress, TurnEvent
from skillian.storage.turns import HANDED_OVER_SECONDS, HeldTurn

__all__ = [
    "CANCELLED",
    "DIED",
    "HANDED_OVER_SECONDS",
    "MAX_EVENTS",
    "Draft",
    "HeldTurn",
    "JobRecord",
    "JobStore",
    "MessageTooLong",
    "SessionBusy",
    "SessionNotFound",
    "SessionProgress",
    "SessionRecord",
    "SessionStore",
    "StorageError",
    "StoreUnavailable",
    "StoreUrlError",
    "TooManySessions",
    "TooManyWaiting",
    "TurnEvent",
    "TurnLost",
    "open_store",
]
