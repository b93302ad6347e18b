"""DuckDB: one database file, opened read only and locked down."""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar, cast

import duckdb
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from skillian.connectors.base import ArrowTable, ColumnType, Kind, Table
from skillian.connectors.threads import run_interruptible
from skillian.errors import QueryError

T = TypeVar("T")

ROW_BUDGET = 100_000
BYTE_BUDGET = 64 * 1024 * 1024
TIMEOUT_SECONDS = 30.0

_BATCH_ROWS = 8192
_STOP_AGAIN_SECONDS = 0.01
# No file but the database itself, no extension from the network, no Python variable as a table.
_LOCKED_DOWN = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
}
# A time with its zone reads the same on every machine (`connect` refuses this setting), and
# nothing of all this can be changed by a statement.
_SETTLED = "SET GLOBAL TimeZone = 'UTC'; SET lock_configuration = true"
_CATALOG = """
SELECT table_schema, table_name, column_name, data_type
FROM information_schema.columns
WHERE table_catalog = current_database()
ORDER BY table_schema <> current_schema(), table_schema, table_name, ordinal_position
"""
_KINDS: dict[str, Kind] = {
    "VARCHAR": "text",
    "ENUM": "text",
    "TINYINT": "integer",
    "SMALLINT": "integer",
    "INTEGER": "integer",
    "BIGINT": "integer",
    "HUGEINT": "integer",
    "UTINYINT": "integer",
    "USMALLINT": "integer",
    "UINTEGER": "integer",
    "UBIGINT": "integer",
    "UHUGEINT": "integer",
    "DECIMAL": "decimal",
    "FLOAT": "float",
    "DOUBLE": "float",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}
_TYPE = re.compile(r"(?P<name>[A-Z_ ]+)(?:\((?P<arguments>.*)\))?", re.DOTALL)


class DuckDBConnector:
    """A `Connector` to one DuckDB file.

    Args:
        path: The database file.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run.
    """

    dialect = "duckdb"

    def __init__(self, path: Path, name: str, timeout: float = TIMEOUT_SECONDS) -> None:
        self._path = path
        self._name = name
        self._timeout = timeout
        self._lock = Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._running: set[_Statement] = set()

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """Return the connector for `duckdb:///path`; the file is opened by its first statement."""
        return cls(folder / url.partition("://")[2].removeprefix("/"), name)

    async def catalog(self) -> tuple[Table, ...]:
        """Return all tables and views; those of the default schema first."""
        columns: dict[tuple[str, str], dict[str, ColumnType]] = {}
        for row in (await self.run(_CATALOG, {})).to_pylist():
            table = columns.setdefault((row["table_schema"], row["table_name"]), {})
            table[row["column_name"]] = column_type(row["data_type"])
        return tuple(Table(schema, name, found) for (schema, name), found in columns.items())

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT without parameters would give, without running it."""

        def columns(relation: duckdb.DuckDBPyRelation) -> dict[str, ColumnType]:
            types = (column_type(str(kind)) for kind in relation.types)
            return dict(zip(relation.columns, types, strict=True))

        return await self._execute(statement, {}, columns)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters; at most `ROW_BUDGET` rows may come back."""
        return await self._execute(statement, parameters, _read_rows)

    async def aclose(self) -> None:
        """Interrupt what runs and close the database; a later statement opens it again."""
        while self._running:
            for statement in tuple(self._running):
                statement.interrupt()
            await asyncio.sleep(_STOP_AGAIN_SECONDS)
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _execute(
        self,
        text: str,
        parameters: Mapping[str, object],
        read: Callable[[duckdb.DuckDBPyRelation], T],
    ) -> T:
        statement = _Statement()

        def work() -> T:
            self._running.add(statement)
            try:
                with statement.on(self._cursor()) as cursor:
                    return read(_select(cursor, text, parameters))
            finally:
                self._running.discard(statement)

        try:
            async with asyncio.timeout(self._timeout):
                return await run_interruptible(work, statement.interrupt)
        except TimeoutError:
            raise QueryError(
                f"the statement ran longer than {self._timeout:g} s and was stopped; narrow it"
                " with filters, or group by fewer dimensions"
            ) from None
        except duckdb.Error as error:
            raise QueryError(self._explain(error)) from None

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        # DuckDB refuses a second call on a connection that is busy, rather than wait for it.
        with self._lock:
            if self._connection is None:
                connection = duckdb.connect(self._path, read_only=True, config={**_LOCKED_DOWN})
                connection.execute(_SETTLED)
                self._connection = connection
            return self._connection.cursor()

    def _explain(self, error: duckdb.Error) -> str:
        if isinstance(error, duckdb.IOException):
            return (
                f"connection {self._name!r}: its database cannot be opened or read; check that"
                " the file is there, is a DuckDB database and is not being written to"
            )
        if isinstance(error, duckdb.PermissionException):
            return (
                f"connection {self._name!r}: the statement reads a file outside the database,"
                " which is not allowed"
            )
        text = str(error).partition("\n")[0].replace(str(self._path), self._name)
        return f"connection {self._name!r}: {text.replace(str(self._path.parent), '…')}"


class _Statement:
    """One running statement, on a cursor of its own, so that it alone can be interrupted."""

    def __init__(self) -> None:
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._stopped = False

    def on(self, cursor: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        if self._stopped:
            raise duckdb.InterruptException("interrupted before it started")
        self._cursor = cursor
        return cursor

    def interrupt(self) -> None:
        self._stopped = True
        if self._cursor is not None:
            # The statement may have ended, and closed its cursor, a moment ago.
            with suppress(duckdb.ConnectionException):
                self._cursor.interrupt()


def column_type(name: str) -> ColumnType:
    """Return the kind of a DuckDB type, given by the name DuckDB prints for it."""
    match = _TYPE.fullmatch(name)
    if match is None or match["name"] not in _KINDS:
        return ColumnType("other", name)
    kind = _KINDS[match["name"]]
    if kind != "decimal":
        return ColumnType(kind, name)
    return ColumnType(kind, name, scale=int(match["arguments"].partition(",")[2]))


def _select(
    cursor: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, object]
) -> duckdb.DuckDBPyRelation:
    kinds = [statement.type for statement in cursor.extract_statements(text)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise QueryError("only a single SELECT is run here; nothing was executed")
    return cursor.sql(text, params=dict(parameters) or None)


def _read_rows(relation: duckdb.DuckDBPyRelation) -> ArrowTable:
    reader: Any = relation.to_arrow_reader(_BATCH_ROWS)
    batches: list[Any] = []
    rows = size = 0
    try:
        for batch in reader:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > ROW_BUDGET or size > BYTE_BUDGET:
                raise QueryError(
                    f"the result is larger than {ROW_BUDGET} rows or {BYTE_BUDGET >> 20} MB;"
                    " narrow it with filters, or group by fewer dimensions"
                )
            batches.append(batch)
    except OSError as error:
        # What DuckDB raises after the first batch reaches us as pyarrow's own error.
        raise duckdb.DatabaseError(str(error)) from None
    from_batches: Any = pa.Table.from_batches  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("ArrowTable", from_batches(batches, reader.schema))
