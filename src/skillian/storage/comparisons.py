"""Results of comparisons, shared by all processes at one database."""

from __future__ import annotations

import json
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
        """Keep a result under its key, in place of what was there.

        Args:
            key: the cache key.
            result: what is kept, as JSON.
            expires: until when, or for how long from now.

        Raises:
            MessageTooLong: its JSON has more than `MAX_BYTES`.
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
        """Return what is kept under the key and has not expired."""

        def work(connection: Connection) -> str | None:
            now = as_text(self._database.now(connection))
            kept = select(comparisons.c.body).where(comparisons.c.key == key)
            return connection.scalar(kept.where(comparisons.c.expires > now))

        body = await self._database.read(work)
        found: dict[str, Any] | None = None if body is None else json.loads(body)
        return found

    async def purge(self) -> int:
        """Delete what has expired; gives how many."""

        def work(connection: Connection) -> int:
            now = as_text(self._database.now(connection))
            gone = connection.execute(delete(comparisons).where(comparisons.c.expires <= now))
            return gone.rowcount

        return await self._database.write(work)
