"""A SQLite file, read only, and the columns of it that a statement reads."""

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from skillian.connectors.base import ColumnType, Declaration, Table, UnreadableColumns
from skillian.connectors.sqlite.types import declared_type, held_type

BATCH_ROWS = 16_384
SCHEMA = "main"

_TABLES = """
SELECT name, type FROM sqlite_master
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
UNION ALL SELECT name, 'query' FROM sqlite_temp_master
ORDER BY name
"""
_COLUMNS = """
SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid
"""
# What tells whether a column has only numbers or only texts, as the arguments of `held_type`.
_HELD = (
    "SUM(TYPEOF({0}) = 'integer')",
    "SUM(TYPEOF({0}) = 'real')",
    "SUM(TYPEOF({0}) = 'text')",
    "SUM(TYPEOF({0}) = 'blob')",
    "MIN(CASE WHEN TYPEOF({0}) IN ('integer', 'real') THEN {0} END)",
    "MAX(CASE WHEN TYPEOF({0}) IN ('integer', 'real') THEN {0} END)",
)
_LOOKED_AT = 200_000  # values of a table, to find the types of columns
_STEPS = 10_000_000  # of SQLite's machine, for that; under a second
_ROW_ID = "INTEGER"  # the declared type of a primary key that is the row's number, never NULL
_SESSION = ("PRAGMA query_only = ON", "PRAGMA trusted_schema = OFF")

Version = tuple[int, ...]


class SQLiteFile:
    """A file that is opened when it is first read, and reopened after it was replaced.

    One thread at a time uses it.

    Args:
        path: The database file; it is never created.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._identity: Version = ()
        self._known: tuple[Version, dict[str, Table]] = (), {}

    @contextmanager
    def snapshot(self, queries: Mapping[str, str] = MappingProxyType({})) -> Generator[Version]:
        """Read everything within from one moment; yields a version that changes with the file.

        Within, each of `queries` is a view of its name. Raises `sqlite3.Error` or `OSError`, like
        all methods.
        """
        connection = self._opened()
        connection.execute("BEGIN")
        try:
            connection.execute("PRAGMA query_only = OFF")  # the file itself is read only
            for name, query in queries.items():
                view = exp.to_identifier(name, quoted=True).sql("sqlite")
                connection.execute(f"CREATE TEMP VIEW {view} AS {query}")
            connection.execute("PRAGMA query_only = ON")
            (schema,) = connection.execute("PRAGMA schema_version").fetchone()
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            self._check_size(connection)
            (data,) = connection.execute("PRAGMA data_version").fetchone()
            version = (*self._identity, schema, data)
            if version != self._known[0]:
                self._known = version, {}
            yield version
        finally:
            connection.rollback()

    def _check_size(self, connection: sqlite3.Connection) -> None:
        """Refuse a file that ends within a page, the rest of which SQLite would read as zeros."""
        if (log := Path(f"{self._path}-wal")).exists() and log.stat().st_size:
            return  # which has pages that the file does not have yet
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (width,) = connection.execute("PRAGMA page_size").fetchone()
        size = self._path.stat().st_size
        if size < pages * width:
            raise sqlite3.OperationalError(
                f"its file has {size} of {pages * width} bytes: its end is missing; copy it again"
            )

    def tables(self) -> tuple[Table, ...]:
        """Tables and views with the declared types of their columns."""
        return tuple(self._table(name, kind) for name, kind in self._execute(_TABLES).fetchall())

    def of_query(self, name: str, query: str) -> Table:
        """The view of a snapshot's query; raises `sqlite3.Error` if SQLite cannot run it."""
        self._execute(f"EXPLAIN {query}")
        return self._table(name, "query")

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield these columns of all rows of a table, in batches."""
        listed = [exp.column(column, quoted=True) for column in columns]
        select = exp.select(*listed).from_(exp.to_identifier(table, quoted=True))
        cursor = self._execute(select.sql("sqlite"))
        while batch := cursor.fetchmany(BATCH_ROWS):
            yield batch

    def interrupt(self) -> None:
        """Stop the current read, from another thread."""
        if self._connection is not None:
            with suppress(sqlite3.ProgrammingError):  # it may just have been closed
                self._connection.interrupt()

    def close(self) -> None:
        """Close the file; the next read reopens it."""
        connection, self._connection, self._known = self._connection, None, ((), {})
        if connection is not None:
            connection.close()

    def _opened(self) -> sqlite3.Connection:
        status = self._path.stat()
        identity = (status.st_dev, status.st_ino)
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

    def _table(self, name: str, kind: str) -> Table:
        known = self._known[1]
        if name not in known:
            known[name] = self._read(name, kind)
        return known[name]

    def _read(self, name: str, kind: str) -> Table:
        try:
            rows = self._execute(_COLUMNS, (name,)).fetchall()
        except sqlite3.OperationalError as error:
            columns = UnreadableColumns(f"view {name!r} cannot be read: {error}")
            return Table(SCHEMA, name, columns, engine="sqlite")
        if not all(column for column, *_ in rows):
            columns = UnreadableColumns(
                f"table {name!r} has a column without a name, which cannot be read; rename it, or"
                " read the others by a view, or by the `query` of a declared source"
            )
            return Table(SCHEMA, name, columns, engine="sqlite")
        keys = [declared for _, declared, _, key in rows if key]
        by_number = [declared.upper() for declared in keys] == [_ROW_ID]
        declared = {
            column: Declaration(
                " ".join(stated.split()),
                None if kind != "table" else not (required or (key and by_number)),
                key=key,
            )
            for column, stated, required, key in rows
        }
        kinds = {column: declared_type(stated) for column, stated, _, _ in rows}
        undeclared = [
            column for column, each in kinds.items() if each.kind == "other" and each.sql != "BLOB"
        ]
        if undeclared:
            steps = 0 if kind == "query" else _STEPS  # a query is run anyway
            kinds |= {
                column: each
                for column, each in self._held(name, undeclared, steps).items()
                if each.sql not in {"VARCHAR", "BLOB"}  # "NUMERIC" promises numbers
                or not declared[column].type
            }
        return Table(SCHEMA, name, kinds, declared, "sqlite")

    def _held(self, table: str, columns: Sequence[str], steps: int) -> Mapping[str, ColumnType]:
        """The types of columns with only numbers or texts, by the first values of these columns.

        There are none if SQLite needs more than `steps` to find these values; 0 means any number.
        """
        listed = [exp.column(column, quoted=True).as_(f"c{i}") for i, column in enumerate(columns)]
        rows = exp.select(*listed).from_(exp.to_identifier(table, quoted=True))
        first = rows.limit(_LOOKED_AT // len(columns)).subquery("first")
        tests = [test.format(f"c{index}") for index in range(len(columns)) for test in _HELD]
        connection = self._opened()
        exceeded: list[bool] = []

        def stop() -> bool:
            exceeded.append(True)
            return True

        connection.set_progress_handler(stop, steps)
        try:
            select = exp.select(*tests, dialect="sqlite").from_(first)
            found = iter(connection.execute(select.sql("sqlite")).fetchone())
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT and not exceeded:
                raise
            return {}
        finally:
            connection.set_progress_handler(None, 0)
        held = {
            column: held_type(counts, low, high)
            for column in columns
            for *counts, low, high in [islice(found, len(_HELD))]
        }
        return {column: kind for column, kind in held.items() if kind is not None}

    def _execute(self, statement: str, values: tuple[str, ...] = ()) -> sqlite3.Cursor:
        return self._opened().execute(statement, values)


def used_columns(statement: str, tables: Iterable[Table]) -> Mapping[str, tuple[str, ...]]:
    """The columns that a DuckDB statement may read of each of `tables` that it names.

    The answer may include too many: a column counts if its name occurs anywhere in the statement.
    It is empty for a statement that does not parse, which DuckDB will refuse.
    """
    try:
        trees = [tree for tree in parse(statement, dialect="duckdb") if tree is not None]
    except (SqlglotError, RecursionError):
        return {}
    named = [table for tree in trees for table in tree.find_all(exp.Table)]
    words = {
        name.name.casefold()
        for tree in trees
        for name in tree.find_all(exp.Identifier)
        if not (isinstance(name.parent, exp.Table | exp.TableAlias) and name.arg_key != "columns")
        and not (isinstance(name.parent, exp.Column) and name.arg_key != "this")
    }
    natural = any(join.method for tree in trees for join in tree.find_all(exp.Join))
    used: dict[str, tuple[str, ...]] = {}
    for table in tables:
        uses = [use for use in named if use.name.casefold() == table.name.casefold()]
        if not uses:
            continue
        columns = tuple(table.columns)
        if not natural and not any(_whole(use, table) for use in uses):
            # At least one, so that the rows can be counted.
            columns = tuple(name for name in columns if name.casefold() in words) or columns[:1]
        used[table.name] = columns
    return used


def _whole(use: exp.Table, table: Table) -> bool:
    """Whether the statement reads all columns: by a star, or by the table's name as a column."""
    select = use.parent_select
    if select is None or select.is_star:
        return True
    name = use.alias_or_name.casefold()
    if name in {column.casefold() for column in table.columns}:
        return False
    return any(column.name.casefold() == name for column in select.find_all(exp.Column))
