"""The sessions and their owners."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from skillian.storage.database import Database, as_text
from skillian.storage.errors import SessionNotFound, TooManySessions
from skillian.storage.schema import comparisons, sessions, turns

_ID = re.compile(r"[0-9a-f]{32}")
MAX_SESSIONS = 100_000
"""The maximum number of sessions of an owner."""
MAX_TITLE = 80
_PROBE = "a probe"  # not a cache key
_PURGED_AT_ONCE = 100  # so that others can write in between


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session. `created` and `updated`, the time of its last turn, are UTC in ISO 8601."""

    id: str
    owner: str
    title: str
    created: str
    updated: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


class Sessions:
    """The part of the session store that checks the owner."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, owner: str, title: str = "") -> SessionRecord:
        """A new session; without a title, its first message becomes the title.

        Raises:
            TooManySessions: The owner has `MAX_SESSIONS` of them.
        """
        beyond = select(sessions.c.id).where(sessions.c.owner == owner)
        beyond = beyond.offset(MAX_SESSIONS - 1).limit(1)

        def work(connection: Connection) -> SessionRecord:
            if connection.scalar(beyond) is not None:
                raise TooManySessions(MAX_SESSIONS)
            now = as_text(self._database.now(connection))
            record = SessionRecord(uuid4().hex, owner, as_title(title), now, now)
            connection.execute(insert(sessions), record.to_dict())
            return record

        return await self._database.write(work)

    async def list(
        self, owner: str, offset: int = 0, limit: int = 50, search: str = ""
    ) -> list[SessionRecord]:
        """The owner's sessions, most recently used first; only those with `search` in the title."""
        query = select(sessions).where(sessions.c.owner == owner).offset(offset).limit(limit)
        if search:
            query = query.where(sessions.c.title.icontains(search, autoescape=True))
        rows = await self._rows(query.order_by(sessions.c.updated.desc(), sessions.c.id))
        return [record_of(row) for row in rows]

    async def count(self, owner: str) -> int:
        """The number of the owner's sessions."""
        counted = select(func.count()).select_from(sessions).where(sessions.c.owner == owner)
        return int((await self._rows(counted))[0][0])

    async def get(self, owner: str, session_id: str) -> SessionRecord:
        """The owner's session of this id.

        Raises:
            SessionNotFound: There is none, or it is another owner's.
        """
        rows = await self._rows(select(sessions).where(*_owned(owner, session_id)))
        if not rows:
            raise SessionNotFound
        return record_of(rows[0])

    async def rename(self, owner: str, session_id: str, title: str) -> SessionRecord:
        """Give a session another title; raises as `get` does."""

        def work(connection: Connection) -> int:
            renamed = update(sessions).where(*_owned(owner, session_id))
            return connection.execute(renamed.values(title=as_title(title))).rowcount

        if not await self._database.write(work):
            raise SessionNotFound
        return await self.get(owner, session_id)

    async def delete(self, owner: str, session_id: str) -> None:
        """Delete a session with its messages; a running turn is lost. Raises as `get` does."""

        def work(connection: Connection) -> int:
            result = connection.execute(delete(sessions).where(*_owned(owner, session_id)))
            return result.rowcount

        if not await self._database.write(work):
            raise SessionNotFound

    async def purge(self, older_than: timedelta) -> int:
        """Delete sessions not used for this long; returns their number.

        A session with a running turn is kept.
        """
        total, count = 0, _PURGED_AT_ONCE
        while count == _PURGED_AT_ONCE:
            count = await self._database.write(
                lambda connection: self._purge_some(connection, older_than)
            )
            total += count
        return total

    async def running_turns(self, owner: str, limit: int) -> Sequence[tuple[SessionRecord, int]]:
        """The owner's sessions with a running turn and its number, most recently used first."""

        def work(connection: Connection) -> Sequence[tuple[SessionRecord, int]]:
            query = select(sessions, turns.c.number).join(
                turns, turns.c.session_id == sessions.c.id
            )
            query = query.where(
                sessions.c.owner == owner,
                turns.c.state == "running",
                turns.c.lease_until >= as_text(self._database.now(connection)),
            )
            query = query.order_by(sessions.c.updated.desc(), sessions.c.id).limit(limit)
            return [(record_of(row), int(row.number)) for row in connection.execute(query)]

        return await self._database.read(work)

    async def ping(self) -> None:
        """Check that the database can be written to; raises `StoreUnavailable`."""

        def work(connection: Connection) -> None:
            # Committed, because a full disk shows only then.
            probe = {"key": _PROBE, "body": "", "expires": ""}
            connection.execute(delete(comparisons).where(comparisons.c.key == _PROBE))
            connection.execute(insert(comparisons), probe)

        await self._database.write(work, lasting=False)

    def _purge_some(self, connection: Connection, older_than: timedelta) -> int:
        now = self._database.now(connection)
        before = as_text(now - older_than)
        runs = select(turns.c.session_id).where(
            turns.c.state == "running", turns.c.lease_until > as_text(now)
        )
        old = select(sessions.c.id).where(sessions.c.updated < before, sessions.c.id.not_in(runs))
        chosen = delete(sessions).where(sessions.c.id.in_(old.limit(_PURGED_AT_ONCE)))
        # The condition is repeated: a turn may begin while this waits for the row.
        return connection.execute(chosen.where(sessions.c.updated < before)).rowcount

    async def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        def work(connection: Connection) -> Sequence[Row[Any]]:
            rows: Sequence[Row[Any]] = connection.execute(query).all()
            return rows

        return await self._database.read(work)


def record_of(row: Row[Any]) -> SessionRecord:
    """The session in a row of the table."""
    return SessionRecord(row.id, row.owner, row.title, row.created, row.updated)


def _owned(owner: str, session_id: str) -> tuple[Any, ...]:
    # A text that cannot be an id is not looked up: some databases refuse some texts.
    known = session_id if _ID.fullmatch(session_id) else ""
    return sessions.c.id == known, sessions.c.owner == owner


def as_title(text: str) -> str:
    """The printable characters of a text on one line of at most `MAX_TITLE` characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: MAX_TITLE * 8])
    return " ".join(line.split())[:MAX_TITLE].rstrip()
