"""Results of comparisons, shared by all processes at one database."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from skillian.storage.database import Database, as_text
from skillian.storage.errors import MessageTooLong
from skillian.storage.schema import comparisons

MAX_BYTES = 16 * 1024 * 1024
"""How large the JSON of one comparison may be."""


class ComparisonStore:
    """Comparisons by cache key, each until it expires."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = postgresql.insert if database.is_postgres else sqlite.insert

    async def put(self, key: str, result: dict[str, Any], expires: timedelta | datetime) -> None:
        """Store a result under its key, replacing an earlier one.

        Args:
            key: The cache key.
            result: The result as JSON.
            expires: When it expires, or after how long.

        Raises:
            MessageTooLong: Its JSON has more than `MAX_BYTES`.
        """
        body = json.dumps(result, separators=(",", ":"))
        if len(body) > MAX_BYTES:
            raise MessageTooLong("the comparison", len(body), MAX_BYTES)

        def work(connection: Connection) -> None:
            now = self._database.now(connection)
            until = as_text(expires if isinstance(expires, datetime) else now + expires)
            new = self._insert(comparisons).values(key=key, body=body, expires=until)
            change = {"body": new.excluded.body, "expires": new.excluded.expires}
            connection.execute(new.on_conflict_do_update(index_elements=["key"], set_=change))

        await self._database.write(work)

    async def find(self, key: str) -> dict[str, Any] | None:
        """The result under the key, if there is one that has not expired."""

        def work(connection: Connection) -> str | None:
            now = as_text(self._database.now(connection))
            query = select(comparisons.c.body).where(comparisons.c.key == key)
            return connection.scalar(query.where(comparisons.c.expires > now))

        body = await self._database.read(work)
        result: dict[str, Any] | None = None if body is None else json.loads(body)
        return result

    async def known(self, keys: Collection[str]) -> Collection[str]:
        """Those of the keys that have a result that has not expired."""

        def work(connection: Connection) -> Collection[str]:
            now = as_text(self._database.now(connection))
            query = select(comparisons.c.key).where(comparisons.c.key.in_(keys))
            return {*connection.scalars(query.where(comparisons.c.expires > now))}

        return await self._database.read(work) if keys else set()

    async def delete(self, text: str) -> None:
        """Delete all results with this text in their JSON, such as the id of a deleted file."""
        query = delete(comparisons).where(comparisons.c.body.contains(text, autoescape=True))

        def work(connection: Connection) -> None:
            connection.execute(query)

        await self._database.write(work)

    async def purge(self) -> int:
        """Delete expired results; returns their number."""

        def work(connection: Connection) -> int:
            now = as_text(self._database.now(connection))
            expired = delete(comparisons).where(comparisons.c.expires <= now)
            return connection.execute(expired).rowcount

        return await self._database.write(work)
