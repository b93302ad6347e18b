"""The errors of the session store, by who can act on them."""

from skillian.errors import SkillianError


class StorageError(SkillianError):
    """The base class of the session store's errors; they hold no URL, path or statement."""


class StoreUrlError(StorageError):
    """The database's URL cannot be used and must be corrected in the settings."""


class StoreUnavailable(StorageError):
    """The database does not answer, or refused a statement; this may be temporary."""


class StoreBusy(StoreUnavailable):
    """Another process keeps the database locked for too long."""


class SessionNotFound(StorageError):
    """There is no such session, or it belongs to another owner."""

    def __init__(self) -> None:
        super().__init__("there is no such session")


class SessionBusy(StorageError):
    """Another turn of the session did not end in time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"another turn of this session is still running after {seconds:g} s; try again later"
        )


class TurnLost(StorageError):
    """This process has lost the turn: it was marked as broken, or its session was deleted."""

    def __init__(self) -> None:
        super().__init__("the turn was lost: it was ended elsewhere, or its session was deleted")


class TooManyWaiting(StorageError):
    """Too much of an owner's work is queued; nothing was stored."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{limit} of your {what} are queued already; try again later")


class TooManySessions(StorageError):
    """The owner has too many sessions; none was created."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"this key has {limit} sessions, which is the limit; delete some, or set"
            " SKILLIAN_RETENTION_DAYS"
        )


class MessageTooLong(StorageError):
    """A message or another text is over its limit; nothing was stored."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.limit = limit
        super().__init__(f"{what} has {size} bytes; the limit is {limit}")
