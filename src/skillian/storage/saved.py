"""Saved comparisons of the service: named questions, each with its owner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Delete, Row, Update, delete, func, insert, or_, select, update

from skillian.storage.database import Database, T, Work, as_text
from skillian.storage.schema import saved


@dataclass(frozen=True, slots=True)
class SavedRecord:
    """A saved comparison.

    Attributes:
        id: Identifies it; cannot be guessed.
        owner: The digest of the key that saved it.
        name: What its owner calls it.
        question: What is compared, as JSON.
        is_shared: Whether every key of the server may open it.
        last_key: The cache key of its last result; empty before its first run.
        created: When it was saved, in UTC (ISO 8601).
    """

    id: str
    owner: str
    name: str
    question: dict[str, Any]
    is_shared: bool
    last_key: str
    created: str

    @property
    def history_name(self) -> str:
        """Its name in the history, where names of other owners must not collide with it."""
        return f"{self.name} · {self.id}"


def _nothing(_connection: Connection) -> None:
    """The default of what a change does as well."""


class SavedStore:
    """The saved comparisons in the session store's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, owner: str, name: str, question: dict[str, Any], most: int
    ) -> SavedRecord | None:
        """Save a question; None if the owner has `most` already."""

        def work(connection: Connection) -> SavedRecord | None:
            count = connection.scalar(select(func.count()).where(saved.c.owner == owner))
            if int(count or 0) >= most:
                return None
            now = as_text(self._database.now(connection))
            record = SavedRecord(uuid4().hex, owner, name, question, False, "", now)  # noqa: FBT003
            row = {
                "id": record.id,
                "owner": owner,
                "name": name,
                "question": json.dumps(question),
                "shared": 0,
                "last_key": "",
                "created": now,
            }
            connection.execute(insert(saved), row)
            return record

        return await self._database.write(work)

    async def list(self, owner: str) -> Sequence[SavedRecord]:
        """Those of the owner, newest first."""

        def work(connection: Connection) -> Sequence[SavedRecord]:
            query = select(saved).where(saved.c.owner == owner)
            rows = connection.execute(query.order_by(saved.c.created.desc(), saved.c.id))
            return [_record(row) for row in rows]

        return await self._database.read(work)

    async def get(self, owner: str, saved_id: str) -> SavedRecord | None:
        """One that the owner has saved, or that another has shared."""

        def work(connection: Connection) -> SavedRecord | None:
            visible = or_(saved.c.owner == owner, saved.c.shared == 1)
            query = select(saved).where(saved.c.id == saved_id, visible)
            row = connection.execute(query).one_or_none()
            return None if row is None else _record(row)

        return await self._database.read(work)

    async def share(self, owner: str, saved_id: str, *, is_shared: bool) -> bool:
        """Let every key open it, or only its owner; False if the owner has none of this id."""
        own = update(saved).where(saved.c.id == saved_id, saved.c.owner == owner)
        return await self._change(own.values(shared=int(is_shared)))

    async def has_run(self, record: SavedRecord, key: str, also: Work[object] = _nothing) -> bool:
        """Note the cache key of its last result; False if it was deleted.

        Args:
            record: The saved comparison.
            key: The cache key; empty if the run failed, and the result before stays.
            also: Done in the same transaction, unless it was deleted.
        """
        values = {"last_key": key} if key else {"last_key": saved.c.last_key}
        own = update(saved).where(saved.c.id == record.id).values(values)
        return await self._change(own, also)

    async def delete(self, owner: str, saved_id: str, also: Work[object] = _nothing) -> bool:
        """Delete it, and do `also` in the same transaction; False if the owner has none."""
        own = delete(saved).where(saved.c.id == saved_id, saved.c.owner == owner)
        return await self._change(own, also)

    async def asking(self, text: str) -> Sequence[SavedRecord]:
        """Those of all owners with this text in their question, such as the id of a file."""
        query = select(saved).where(saved.c.question.contains(text, autoescape=True))

        def work(connection: Connection) -> Sequence[SavedRecord]:
            return [_record(row) for row in connection.execute(query)]

        return await self._database.read(work)

    async def transact(self, work: Work[T]) -> T:
        """The result of `work` in a transaction of their database."""
        return await self._database.write(work)

    async def _change(self, change: Update | Delete, also: Work[object] = _nothing) -> bool:
        """Whether the statement changes a row; only then `also` is done."""

        def work(connection: Connection) -> bool:
            if connection.execute(change).rowcount != 1:
                return False
            also(connection)
            return True

        return await self._database.write(work)


def _record(row: Row[Any]) -> SavedRecord:
    question: dict[str, Any] = json.loads(row.question)
    return SavedRecord(
        row.id, row.owner, row.name, question, bool(row.shared), row.last_key, row.created
    )
