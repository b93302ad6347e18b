"""Sessions and comparison results, in SQLite or PostgreSQL."""

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
from skillian.storage.handed import HANDED_SECONDS, HandedTurn
from skillian.storage.records import Draft, Progress, SessionRecord, TurnEvent
from skillian.storage.store import MAX_EVENTS, SessionStore, open_store
from skillian.storage.turn_rows import CANCELLED, DIED
from skillian.storage.turns import Turn

__all__ = [
    "CANCELLED",
    "DIED",
    "HANDED_SECONDS",
    "MAX_EVENTS",
    "Draft",
    "HandedTurn",
    "MessageTooLong",
    "Progress",
    "SessionBusy",
    "SessionNotFound",
    "SessionRecord",
    "SessionStore",
    "StorageError",
    "StoreUnavailable",
    "StoreUrlError",
    "TooManySessions",
    "TooManyWaiting",
    "Turn",
    "TurnEvent",
    "TurnLost",
    "open_store",
]
