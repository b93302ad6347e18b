"""A SQLite file, read only, as the threads of a connector use it: one at a time."""

import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlglot import exp

from skillian.connectors.base import ColumnType, Table
from skillian.connectors.sqlite_values import declared_type
from skillian.connectors.unreadable import Unreadable

BATCH_ROWS = 16_384
SCHEMA = "main"

_TABLES = """
SELECT name FROM sqlite_master
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY name
"""
_COLUMNS = "SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
_SESSION = ("PRAGMA query_only = ON", "PRAGMA trusted_schema = OFF")

Version = tuple[int, ...]


class SQLiteFile:
    """Opened when it is first read, and anew when another file has taken its place.

    Args:
        path: The database file; it is never created.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._identity: Version = ()

    @contextmanager
    def snapshot(self) -> Generator[Version]:
        """Everything read within is of one moment; gives what changes whenever the file has.

        Raises `sqlite3.Error` or `OSError`, as all methods do.
        """
        connection = self._opened()
        connection.execute("BEGIN")
        try:
            (schema,) = connection.execute("PRAGMA schema_version").fetchone()
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            (data,) = connection.execute("PRAGMA data_version").fetchone()
            yield (*self._identity, schema, data)
        finally:
            connection.rollback()

    def tables(self) -> tuple[Table, ...]:
        """Return tables and views with the types that their columns are declared with."""
        return tuple(Table(SCHEMA, name, self._columns(name)) for (name,) in self._execute(_TABLES))

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield all rows of a table in batches, with these columns."""
        listed = [exp.column(column, quoted=True) for column in columns]
        select = exp.select(*listed).from_(exp.to_identifier(table, quoted=True))
        cursor = self._execute(select.sql("sqlite"))
        while batch := cursor.fetchmany(BATCH_ROWS):
            yield batch

    def interrupt(self) -> None:
        """Stop what is being read, from another thread."""
        if self._connection is not None:
            with suppress(sqlite3.ProgrammingError):  # it may just have been closed
                self._connection.interrupt()

    def close(self) -> None:
        """Let the file go; what comes next opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _opened(self) -> sqlite3.Connection:
        found = self._path.stat()
        identity = (found.st_dev, found.st_ino)
        if self._connection is None or identity != self._identity:
            self.close()
            uri = f"file:{quote(str(self._path.absolute()))}?mode=ro"
            connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False
            )
            self._connection, self._identity = connection, identity
            for setting in _SESSION:
                connection.execute(setting)
        return self._connection

    def _columns(self, table: str) -> Mapping[str, ColumnType]:
        try:
            return {
                name: declared_type(declared)
                for name, declared in self._execute(_COLUMNS, (table,))
            }
        except sqlite3.OperationalError as error:
            return Unreadable(f"view {table!r} cannot be read: {error}")

    def _execute(self, statement: str, values: tuple[str, ...] = ()) -> sqlite3.Cursor:
        return self._opened().execute(statement, values)
