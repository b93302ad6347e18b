"""What the session store raises, split by who can act on it."""

from skillian.errors import SkillianError


class StorageError(SkillianError):
    """The root of what the session store raises; never holds a URL, a path or a statement."""


class StoreUrlError(StorageError):
    """The database's URL cannot be used; whoever set it mends it."""


class StoreUnavailable(StorageError):
    """The database does not answer, or refused a statement; may pass."""


class StoreBusy(StoreUnavailable):
    """Another process keeps the database locked for longer than is waited for it."""


class SessionNotFound(StorageError):
    """There is no such session, or it is another owner's."""

    def __init__(self) -> None:
        super().__init__("there is no such session")


class SessionBusy(StorageError):
    """Another turn of the session did not end in the time there was to wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"another turn of this session is still under way after {seconds:g} s; try again later"
        )


class TurnLost(StorageError):
    """The turn is no longer this process's: it was marked as broken, or its session deleted."""

    def __init__(self) -> None:
        super().__init__("the turn was taken from this process: it ran out of time or was deleted")


class TooManyWaiting(StorageError):
    """As much of an owner waits to be worked on as may; the question was not stored."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{limit} of your {what} wait to be worked on already; try again later")


class TooManySessions(StorageError):
    """The owner has as many sessions as may be; none was made."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"there are {limit} sessions of this key, which is the limit; delete some, or set"
            " SKILLIAN_RETENTION_DAYS"
        )


class MessageTooLong(StorageError):
    """A message or another text is over its limit; nothing of it was stored."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.limit = limit
        super().__init__(f"{what} has {size} bytes; the limit is {limit}")
