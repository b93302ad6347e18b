"""The session store in PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import URL, Connection, extract, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from skillian.storage.database import Database, Kind, T, Work, unavailable

_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30000,
    "prepare_threshold": None,  # a proxy may give the session to another client
    "client_encoding": "utf8",
}


class PostgresDatabase(Database):
    """At most eight connections, checked before use because the server may have closed them."""

    is_postgres = True

    def __init__(self, url: URL) -> None:
        self._engine = create_async_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=_OPTIONS,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=8,
            max_overflow=0,
            pool_timeout=60,
        )

    async def open(self) -> None:
        """Nothing needs preparing."""

    async def run(self, work: Work[T], kind: Kind) -> T:  # noqa: ARG002 - all writes are lasting
        """The result of `work` in a transaction."""
        try:
            async with self._engine.begin() as connection:
                return await connection.run_sync(work)
        except (SQLAlchemyError, OSError) as error:
            raise unavailable(error) from None

    def now(self, connection: Connection) -> datetime:
        """The server's time."""
        # As a number, because the text form of times depends on the server's settings.
        seconds = connection.scalar(select(extract("epoch", func.clock_timestamp())))
        return datetime.fromtimestamp(float(seconds or 0), UTC)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._engine.dispose()
