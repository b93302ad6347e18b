"""What every database looks like to skillian: tables, column types, and one way to run a SELECT."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol, Self

from skillian.errors import QueryError

Kind = Literal[
    "text",
    "integer",
    "decimal",
    "float",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "other",
]


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type: its kind, its name in the database, and the scale of a decimal."""

    kind: Kind
    sql: str
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view of the database and its columns, in their order."""

    schema: str
    name: str
    columns: Mapping[str, ColumnType]


def tables_of(columns: Iterable[tuple[str, str, str, ColumnType]]) -> tuple[Table, ...]:
    """Return the tables of a catalogue's rows: schema, table, column and type, in their order."""
    tables: dict[tuple[str, str], dict[str, ColumnType]] = {}
    for schema, table, column, kind in columns:
        tables.setdefault((schema, table), {})[column] = kind
    return tuple(Table(schema, name, types) for (schema, name), types in tables.items())


class UnreadableColumns(Mapping[str, ColumnType]):
    """The columns of a table that exists but cannot be read: each access raises `QueryError`.

    Args:
        reason: Why the table cannot be read.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def refuse(self) -> NoReturn:
        """Raise the error."""
        raise QueryError(self._reason)

    def __getitem__(self, name: str) -> NoReturn:
        self.refuse()

    def __iter__(self) -> NoReturn:
        self.refuse()

    def __len__(self) -> NoReturn:
        raise QueryError(self._reason)


class ArrowTable(Protocol):
    """The part of `pyarrow.Table` that skillian uses; pyarrow itself carries no types."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        ...

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of Python values; decimals stay `Decimal`."""
        ...


class ArrowBatch(Protocol):
    """The part of `pyarrow.RecordBatch` that skillian uses."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def nbytes(self) -> int:
        """The memory that the rows take, in bytes."""
        ...

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of Python values; decimals stay `Decimal`."""
        ...


def path_of(url: str, folder: Path) -> Path:
    """Return the path in `scheme:///path`, relative to `folder`; with four slashes absolute."""
    return folder / url.partition("://")[2].removeprefix("/")


class Connector(Protocol):
    """One database, read only. Cancelling the task that awaits stops the statement.

    Every method raises `QueryError` for what the database refuses; the message never contains
    the URL.
    """

    @property
    def dialect(self) -> str:
        """The sqlglot dialect that statements are written in."""
        ...

    @property
    def keeps_catalog(self) -> bool:
        """Whether `catalog()` is cheap and always current, so that callers need not cache it."""
        ...

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """Return the connector of connection `name`; relative paths are relative to `folder`."""
        ...

    async def catalog(self) -> tuple[Table, ...]:
        """Return all tables and views; those of the default schema first."""
        ...

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns of a SELECT without parameters, without running it."""
        ...

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budget."""
        ...

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and yield its rows in batches, without a limit on their number.

        Rows that are not yet consumed wait in the database; closing the iterator stops the
        statement.
        """
        ...

    async def aclose(self) -> None:
        """Stop running statements and disconnect; calling it twice is safe."""
        ...
