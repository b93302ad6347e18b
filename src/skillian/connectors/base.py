"""What every database looks like to skillian: tables, column types, and one way to run a SELECT."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self

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


class ArrowTable(Protocol):
    """The part of `pyarrow.Table` that skillian uses; pyarrow itself carries no types."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        ...

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of Python values; decimals stay `Decimal`."""
        ...


class ArrowBatch(Protocol):
    """The part of `pyarrow.RecordBatch` that skillian uses."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        ...

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of Python values; decimals stay `Decimal`."""
        ...


class Connector(Protocol):
    """One database, read only. Cancelling the task that awaits stops the statement.

    Every method raises `QueryError` for what the database refuses, never naming its URL.
    """

    @property
    def dialect(self) -> str:
        """The sqlglot dialect that statements are written in."""
        ...

    @property
    def keeps_catalog(self) -> bool:
        """Whether `catalog()` is cheap and always current, so that nobody else need keep it."""
        ...

    @classmethod
    def from_url(cls, name: str, url: str, folder: Path) -> Self:
        """Return the connector of connection `name`; relative paths are relative to `folder`."""
        ...

    async def catalog(self) -> tuple[Table, ...]:
        """Return all tables and views; those of the default schema first."""
        ...

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """Return the columns a SELECT without parameters would give, without running it."""
        ...

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowTable:
        """Run one SELECT with named parameters and return its rows, within the budgets."""
        ...

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT and give its rows in batches, however many there are.

        What is not yet asked for waits in the database; closing the iterator ends the statement.
        """
        ...

    async def aclose(self) -> None:
        """Stop what runs and let the database go; calling it twice does no harm."""
        ...
