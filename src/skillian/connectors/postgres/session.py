"""A connection to PostgreSQL, and the statement that it runs in a transaction.

`psycopg_pool` is not used: it connects in background tasks, so that a caller waits for its time-out
instead of an error that a password is wrong, and it cannot cancel the statements that run.
"""

import logging
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from socket import SHUT_RDWR, socket
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from skillian.connectors.arrow import arrow_schema, empty_batch
from skillian.connectors.base import (
    ArrowBatch,
    ColumnType,
    Declaration,
    Table,
    columns_by_name,
    tables_of,
)
from skillian.connectors.postgres.copy_rows import (
    Connection,
    Parser,
    described,
    for_driver,
    next_rows,
)
from skillian.connectors.postgres.types import CATALOG, column_type
from skillian.connectors.servers import CannotConnectError, StateSession

# Otherwise its warnings, with host, user and database, would be printed.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

# Set for the transaction only, since a proxy may give the session to other clients. The first
# statement fixes the snapshot; after it nothing can make the transaction writable.
_BEGIN = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = {milliseconds};
SET LOCAL idle_in_transaction_session_timeout = '1min';
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL IntervalStyle = 'postgres';
SET LOCAL bytea_output = 'hex';
SET LOCAL quote_all_identifiers = off;
SET LOCAL extra_float_digits = 1;
SET LOCAL standard_conforming_strings = on
"""
# Between the statements of one state, the other side may be read for long.
_WAITING = b"SET LOCAL idle_in_transaction_session_timeout = '1h'"
_STOP_SECONDS = 5.0


class PostgresSession(StateSession):
    """A connection that runs one statement at a time, each in a transaction that only reads.

    In a state, each runs in a subtransaction, so that one that fails ends nothing else.
    """

    def __init__(self, conninfo: str, seconds: float) -> None:
        super().__init__(seconds)
        self._conninfo = conninfo
        self._connection: Connection | None = None
        self._holds_state = False
        self._killed = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether it is connected, and free for another statement."""
        known = self._connection
        idle = known is not None and known.info.transaction_status is TransactionStatus.IDLE
        return idle and not self.is_stopped

    def begin(self) -> None:
        """Start a transaction in which all statements read the state of now."""
        self._begun().execute(_WAITING)
        self._holds_state = True

    def catalog(self) -> tuple[Table, ...]:
        """All relations; those of the default schema first."""
        with self._transaction() as connection:
            rows: Any = connection.execute(CATALOG).fetchall()
        columns = (
            (
                schema,
                table,
                column,
                column_type(*kind) if readable else None,
                Declaration(declared, nullable, collation or "", key or 0),
            )
            for schema, table, column, *kind, declared, nullable, collation, key, readable in rows
        )
        return tables_of("postgres", columns)

    def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        text = for_driver(statement, {})
        with self._transaction() as connection:
            return columns_by_name(described(connection, text, {}))

    def start(self, statement: str, parameters: Mapping[str, object]) -> None:
        """Start a SELECT; raises `QueryError` for any other statement, and the driver's errors."""
        self.rows = self._run(for_driver(statement, parameters), parameters)
        next(self.rows)

    def end_statement(self) -> None:
        """Have the server stop a running statement, and end its transaction."""
        close: Callable[[], None] | None = getattr(self.rows, "close", None)
        if close is not None:
            with suppress(psycopg.Error):
                close()

    def kill(self) -> None:
        """Have the server stop the statement; later, disconnect from one that does not answer."""
        connection = self._connection
        if connection is None or connection.closed:
            return
        self._killed = self._killed or time.monotonic()
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=_STOP_SECONDS)
        if time.monotonic() - self._killed > _STOP_SECONDS:
            with (
                suppress(psycopg.Error, OSError),
                socket(fileno=os.dup(connection.fileno())) as line,
            ):
                line.shutdown(SHUT_RDWR)

    def stop(self) -> None:
        """Have the server stop a running statement, and disconnect."""
        self.end_statement()
        self.wait_for_kill()
        if self._connection is not None:
            self._connection.close()

    def _run(self, text: bytes, parameters: Mapping[str, object]) -> Generator[ArrowBatch]:
        """Yield no rows once the statement runs, and then its rows; closing it stops it."""
        with self._transaction() as connection:
            self.columns = described(connection, text, parameters)
            parser = Parser(self.columns)
            copy = b"COPY (\n" + text + b"\n) TO STDOUT (FORMAT csv)"
            with connection.cursor().copy(copy, parameters or None):
                yield empty_batch(arrow_schema(self.columns))
                ended = False
                while not ended:
                    rows, ended = connection.wait(next_rows(connection.pgconn))
                    yield parser.parse(rows)

    @contextmanager
    def _transaction(self) -> Generator[Connection]:
        """The connection in a transaction of one statement."""
        self.check()
        if self._holds_state and self._connection is not None:
            connection, end = self._connection, b"ROLLBACK TO statement; RELEASE statement"
            connection.execute(b"SAVEPOINT statement")
        else:
            connection, end = self._begun(), b"ROLLBACK"
        try:
            yield connection
        finally:
            with suppress(psycopg.Error):
                connection.execute(end)

    def _begun(self) -> Connection:
        begin = _BEGIN.format(milliseconds=int(self.seconds * 1000)).encode()
        if self._connection is not None:
            # The server may have closed it in the meantime.
            with suppress(psycopg.OperationalError):
                self._connection.execute(begin)
                return self._connection
            self._connection.close()
        try:
            self._connection = psycopg.connect(
                self._conninfo,
                autocommit=True,
                prepare_threshold=None,  # a proxy may give the session to others
            )
        except psycopg.Error as error:
            raise CannotConnectError(error) from None
        self.check()
        self._connection.execute(begin)
        return self._connection
