"""DuckDB: one database file, attached read only to a DuckDB that is locked down."""

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from sqlglot import exp

from skillian.connectors.base import (
    TIMEOUT_SECONDS,
    ArrowBatch,
    ColumnType,
    Declaration,
    Table,
    path_of,
    same_version,
    tables_of,
)
from skillian.connectors.duckdb.engine import DuckDBEngine, Mount, Setup, Workspace
from skillian.connectors.duckdb.statement import column_type

# With a space, so that no schema is likely to have the same name, which would be ambiguous.
_ATTACHED = "attached file"
_UNREADABLE = (
    "its database cannot be opened or read; check that the file is there, is a DuckDB database"
    " and is not being written to"
)
_CATALOG = """
SELECT c.table_schema, c.table_name, c.column_name, c.data_type,
    CASE WHEN t.table_type = 'BASE TABLE' THEN c.is_nullable = 'YES' END AS nullable,
    coalesce(list_position(k.constraint_column_names, c.column_name), 0) AS key
FROM information_schema.columns AS c
JOIN information_schema.tables AS t USING (table_catalog, table_schema, table_name)
LEFT JOIN duckdb_constraints() AS k
    ON k.database_name = c.table_catalog AND k.schema_name = c.table_schema
    AND k.table_name = c.table_name AND k.constraint_type = 'PRIMARY KEY'
WHERE c.table_catalog = current_database()
ORDER BY c.table_schema <> current_schema(), c.table_schema, c.table_name, c.ordinal_position
"""


class EngineConnector(ABC):
    """The part of a `Connector` that is common to those whose statements a DuckDB runs."""

    dialect = "duckdb"

    @abstractmethod
    def engine_for(self, statement: str) -> AbstractAsyncContextManager[DuckDBEngine]:
        """A DuckDB that holds all data the statement reads."""

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        async with self.engine_for(statement) as engine:
            return await engine.describe(statement)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowBatch:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        async with self.engine_for(statement) as engine:
            return await engine.run(statement, parameters)

    async def plain_rows(
        self, statement: str, parameters: Mapping[str, object]
    ) -> list[dict[str, Any]] | None:
        """All rows of one SELECT in Python values; None if only `stream` has all of them."""
        async with self.engine_for(statement) as engine:
            return await engine.plain_rows(statement, parameters)

    @asynccontextmanager
    async def staging(self) -> AsyncGenerator[Workspace | None]:
        """Where rows can be stored beside the data; None if nowhere."""
        async with self.engine_for("") as engine:
            yield engine if isinstance(engine, Workspace) else None

    async def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches; closing the iterator stops it."""
        async with (
            self.engine_for(statement) as engine,
            aclosing(engine.stream(statement, parameters)) as batches,
        ):
            async for batch in batches:
                yield batch


class DuckDBConnector(EngineConnector):
    """A `Connector` to one DuckDB file.

    Args:
        path: The database file.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run.
    """

    keeps_catalog = False

    def __init__(self, path: Path, name: str, timeout: float = TIMEOUT_SECONDS) -> None:
        file = exp.Literal.string(str(path)).sql("duckdb")
        setup = Setup(
            paths={path: name},
            unreadable=_UNREADABLE,
            script=f'ATTACH {file} AS "{_ATTACHED}" (TYPE duckdb, READ_ONLY)',
            use=f'USE "{_ATTACHED}"',
        )
        self._mount = Mount(name, Path(os.path.realpath(path)), is_database=True)
        self._engine = DuckDBEngine(f"connection {name!r}", setup, timeout)

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """The connector for `duckdb:///path`; the first statement opens the file."""
        return cls(path_of(url, folder), name)

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default schema first."""
        rows = (await self.run(_CATALOG, {})).to_pylist()
        return tables_of(
            "duckdb",
            (
                (
                    row["table_schema"],
                    row["table_name"],
                    row["column_name"],
                    column_type(row["data_type"]),
                    Declaration(nullable=row["nullable"], key=row["key"]),
                )
                for row in rows
            ),
        )

    @asynccontextmanager
    async def engine_for(self, statement: str) -> AsyncGenerator[DuckDBEngine]:  # noqa: ARG002 - it holds all data
        """The DuckDB that the file is attached to."""
        yield self._engine

    async def mount(self, tables: Collection[str]) -> Mount | None:  # noqa: ARG002 - all are in it
        """How another DuckDB reads the database."""
        return self._mount

    @asynccontextmanager
    async def unchanged(self, tables: Collection[str], name: str) -> AsyncGenerator[None]:  # noqa: ARG002 - one file
        """Raise `QueryError` at the end if the file has changed."""

        async def now() -> object:
            return self._stamps()

        async with same_version(self._stamps(), now, name):
            yield

    def _stamps(self) -> tuple[object, ...]:
        paths = (self._mount.path, Path(f"{self._mount.path}.wal"))
        statuses = [path.stat() for path in paths if path.exists()]
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in statuses)

    async def aclose(self) -> None:
        """Interrupt running statements and close the database; the next statement reopens it."""
        await self._engine.aclose()
