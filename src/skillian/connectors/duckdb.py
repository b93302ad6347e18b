"""DuckDB: one database file, attached read only to a DuckDB that is locked down."""

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Self

from sqlglot import exp

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.duckdb_engine import TIMEOUT_SECONDS, DuckDBEngine, Setup
from skillian.connectors.duckdb_types import column_type

# With a space, so that no schema is likely to have the same name, which would be ambiguous.
_ATTACHED = "attached file"
_UNREADABLE = (
    "its database cannot be opened or read; check that the file is there, is a DuckDB database"
    " and is not being written to"
)
_CATALOG = """
SELECT table_schema, table_name, column_name, data_type
FROM information_schema.columns
WHERE table_catalog = current_database()
ORDER BY table_schema <> current_schema(), table_schema, table_name, ordinal_position
"""


class DuckDBConnector:
    """A `Connector` to one DuckDB file.

    Args:
        path: The database file.
        name: The connection's name in the configuration; messages use it in place of the path.
        timeout: How many seconds a statement may run.
    """

    dialect = "duckdb"
    keeps_catalog = False

    def __init__(self, path: Path, name: str, timeout: float = TIMEOUT_SECONDS) -> None:
        file = exp.Literal.string(str(path)).sql("duckdb")
        setup = Setup(
            path=path,
            unreadable=_UNREADABLE,
            script=f'ATTACH {file} AS "{_ATTACHED}" (TYPE duckdb, READ_ONLY)',
            use=f'USE "{_ATTACHED}"',
        )
        self._engine = DuckDBEngine(name, setup, timeout)

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """Return the connector for `duckdb:///path`; the file is opened by its first statement."""
        return cls(path_of(url, folder), name)

    async def catalog(self) -> tuple[Table, ...]:
        """Return all tables and views; those of the default schema first."""
        columns: dict[tuple[str, str], dict[str, ColumnType]] = {}
        for row in (await self.run(_CATALOG, {})).to_pylist():
            table = columns.setdefault((row["table_schema"], row["table_name"]), {})
            table[row["column_name"]] = column_type(row["data_type"])
        return tuple(Table(schema, name, found) for (schema, name), found in columns.items())

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT without parameters would give, without running it."""
        return await self._engine.describe(statement)

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budgets."""
        return await self._engine.run(statement, parameters)

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches; closing the iterator ends it."""
        return self._engine.stream(statement, parameters)

    async def aclose(self) -> None:
        """Interrupt what runs and close the database; a later statement opens it again."""
        await self._engine.aclose()


def path_of(url: str, folder: Path) -> Path:
    """Return the path in `scheme:///path`, relative to `folder`; with four slashes absolute."""
    return folder / url.partition("://")[2].removeprefix("/")
