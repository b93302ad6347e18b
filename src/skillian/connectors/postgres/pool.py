"""Connections to one PostgreSQL server: opened when needed, kept for the next statement.

`psycopg_pool` is not used: it connects in background tasks, so that a caller waits for its time-out
instead of an error that a password is wrong, and it cannot cancel the statements that run.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus

from skillian.connectors.postgres.errors import connect_error
from skillian.errors import QueryError

MAX_CONNECTIONS = 8

# A dead peer is detected within a minute, whatever the network does.
_NETWORK = {
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
# Set for the transaction only, since a proxy may give the session to other clients. The first
# statement fixes the snapshot; after it nothing can make the transaction writable.
_BEGIN = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = {milliseconds};
SET LOCAL idle_in_transaction_session_timeout = '1min';
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL extra_float_digits = 1;
SET LOCAL standard_conforming_strings = on
"""
_WAIT_SECONDS = 30.0
_STOP_INTERVAL_SECONDS = 0.01
_STOP_SECONDS = 5.0

Connection = AsyncConnection[tuple[object, ...]]


class Pool:
    """At most `MAX_CONNECTIONS` connections, without background tasks.

    Messages have the connection's `name`; `options` are the parameters of libpq.
    """

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self._name = name
        self._conninfo = make_conninfo("", **{**_NETWORK, **options})
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: list[Connection] = []
        self._running: set[Connection] = set()
        self._paused: set[Connection] = set()
        self._closings = 0

    @asynccontextmanager
    async def transaction(self, seconds: float) -> AsyncGenerator[Connection]:
        """A connection in a new read-only transaction, which is rolled back at the end.

        `seconds` is how long each of its statements may run. Raises `QueryError` if no connection
        becomes free, or the server refuses a new one.
        """
        await self._wait_for_free(min(seconds, _WAIT_SECONDS))
        try:
            closings = self._closings
            connection = await self._begun(_BEGIN.format(milliseconds=int(seconds * 1000)))
            self._running.add(connection)
            try:
                if closings != self._closings:
                    raise QueryError(f"connection {self._name!r} has been closed")
                yield connection
            finally:
                await self._put_back(connection, closings)
        finally:
            self._free.release()

    @contextmanager
    def paused(self, connection: Connection) -> Generator[None]:
        """Mark the connection as not in use during the block, so that it may be closed."""
        self._paused.add(connection)
        try:
            yield
        finally:
            self._paused.discard(connection)

    @contextmanager
    def resumed(self, connection: Connection) -> Generator[None]:
        """Mark a paused connection as in use during the block."""
        self._paused.discard(connection)
        try:
            yield
        finally:
            self._paused.add(connection)

    async def aclose(self) -> None:
        """Cancel running statements and close all connections; a later transaction reconnects."""
        self._closings += 1
        deadline = asyncio.get_running_loop().time() + _STOP_SECONDS
        while (self._idle or self._running) and asyncio.get_running_loop().time() < deadline:
            while self._idle:
                await self._idle.pop().close()
            for connection in tuple(self._running):
                with suppress(psycopg.Error):
                    await connection.cancel_safe(timeout=_STOP_SECONDS)
                if connection in self._paused:
                    await connection.close()
                    self._running.discard(connection)
            # A request just before a statement starts has no effect.
            await asyncio.sleep(_STOP_INTERVAL_SECONDS)

    async def _wait_for_free(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise QueryError(
                f"connection {self._name!r}: all {MAX_CONNECTIONS} of its connections are busy;"
                " try again later"
            ) from None

    async def _begun(self, begin: str) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            # The server may have closed it in the meantime.
            with suppress(psycopg.OperationalError):
                return await _executed(connection, begin)
        try:
            connection = await AsyncConnection.connect(
                self._conninfo,
                autocommit=True,
                prepare_threshold=None,  # a proxy may give the session to others
            )
        except psycopg.Error as error:
            raise connect_error(self._name, error) from None
        return await _executed(connection, begin)

    async def _put_back(self, connection: Connection, closings: int) -> None:
        self._running.discard(connection)
        if connection.closed:
            return
        with suppress(psycopg.Error):
            await _executed(connection, "ROLLBACK")
            if closings == self._closings:
                self._idle.append(connection)
                return
        await connection.close()


async def _executed(connection: Connection, statement: str) -> Connection:
    """Run a statement and return the connection; close it if that fails."""
    try:
        await connection.execute(statement.encode())
    except BaseException:
        await connection.close()
        raise
    return connection


@asynccontextmanager
async def subtransaction(connection: Connection) -> AsyncGenerator[None]:
    """Undo what the block did to the transaction if it is left by an exception.

    If a statement is still running then, because the wait for its end was cancelled, the connection
    is closed. `psycopg` would log that it could not roll back.
    """
    await connection.execute("SAVEPOINT statement")
    try:
        yield
    except BaseException:
        if connection.info.transaction_status is TransactionStatus.ACTIVE:
            await connection.close()
        elif not connection.closed:
            await connection.execute("ROLLBACK TO statement")
            await connection.execute("RELEASE statement")
        raise
    await connection.execute("RELEASE statement")
