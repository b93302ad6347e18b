"""What every database looks like to skillian: tables, types, and statements within limits."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol, runtime_checkable

from skillian.errors import QueryError, ToolError

TIMEOUT_SECONDS = 30.0
STREAM_TIMEOUT_SECONDS = 3600.0
ROW_BUDGET = 100_000
BYTE_BUDGET = 64 * 1024 * 1024
MAX_DIGITS = 38
"""The digits of the widest decimal that Arrow and most databases have."""

Kind = Literal[
    "text", "integer", "decimal", "float", "boolean", "date", "timestamp", "timestamptz", "other"
]
TEXTS = "texts"
"""The schema in which the table of a text file also has its texts, named by `text_column`."""
FRAMES = "frames"
"""The engine of the types of data frames, which have the names that DuckDB gives them."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type.

    Attributes:
        kind: Its kind.
        sql: Its name in the database.
        scale: The digits of a decimal after the point.
        wide: Whether a whole number may have more than 64 bits; results hold it as a decimal.
    """

    kind: Kind
    sql: str
    scale: int = 0
    wide: bool = field(default=False, compare=False)


def text_column(name: str) -> str:
    """The column with the texts of a column; no column of a file has a line break in its name."""
    return f"{name}\n"


Column = tuple[str, ColumnType]
"""A column of a result: its name, which may repeat, and its type."""


def columns_by_name(
    columns: Iterable[Column], *, folds_case: bool = False
) -> dict[str, ColumnType]:
    """The columns of a SELECT, none of which another one hides.

    Args:
        columns: Their names and types, in their order.
        folds_case: Whether the database does not tell names apart that differ only in case.

    Raises:
        QueryError: Two columns have the same name.
    """
    found: dict[str, ColumnType] = {}
    names: set[str] = set()
    for name, kind in columns:
        if (known := name.casefold() if folds_case else name) in names:
            raise QueryError(
                f"the query returns two columns named {name!r}; name each column once, and give"
                " one of them another name with AS"
            )
        names.add(known)
        found[name] = kind
    return found


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the catalogue says about a column, besides the type that statements read.

    Attributes:
        type: The declared type in the database's words, with length, precision and scale: the
            base type of a domain, the declaration of a SQLite column. Empty: `ColumnType.sql`.
        nullable: Whether it may hold NULL; None if the catalogue does not say.
        collation: The name of its collation; empty if it has none or the catalogue does not say.
        key: Its position in the primary key, from 1; 0 if it is not part of it.
        unreadable: Why a column of a file cannot be read, after its name, and what to do.
    """

    type: str = ""
    nullable: bool | None = None
    collation: str = ""
    key: int = 0
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view of the database and its columns, in their order.

    Attributes:
        schema: Its schema.
        name: Its name.
        columns: The types of the columns that may be read.
        declared: What else the catalogue says about columns; one that is absent has no declaration.
            It includes columns that may not be read.
        engine: Whose types the names of types are, such as `postgres`.
        inferred: Whether the types were guessed from values, as in a CSV file.
        remark: How its rows are read, where that is not obvious, such as `is read with FINAL`.
        merges: Whether ClickHouse removes rows of it when it merges parts; it is read with FINAL,
            as if all of them were merged.
        is_text: Whether it is a text file, whose texts can be read in the schema `TEXTS`.
    """

    schema: str
    name: str
    columns: Mapping[str, ColumnType]
    declared: Mapping[str, Declaration] = field(default_factory=dict[str, Declaration])
    engine: str = ""
    inferred: bool = False
    remark: str = ""
    merges: bool = False
    is_text: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether any of its columns can be read."""
        return not isinstance(self.columns, UnreadableColumns)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The columns that the user of the connection may not read, or that cannot be read."""
        return tuple(name for name in self.declared if name not in self.columns)

    def check_readable(self, name: str) -> None:
        """Raise `QueryError` for a column of a file that cannot be read, with the reason."""
        for column, declared in self.declared.items():
            if declared.unreadable and column.casefold() == name.casefold():
                what = f"column {column!r} of {self.name}"
                raise QueryError(f"{what} cannot be read: {declared.unreadable}")

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, in its order; empty if none is known."""
        keys = {each.key: name for name, each in self.declared.items() if each.key}
        return tuple(keys[position] for position in sorted(keys))

    @property
    def required_key(self) -> frozenset[str]:
        """The columns of the primary key that cannot be NULL, as in SQLite they may."""
        names = self.primary_key
        return frozenset(name for name in names if self.declared[name].nullable is False)


def tables_of(
    engine: str, columns: Iterable[tuple[str, str, str, ColumnType | None, Declaration]]
) -> tuple[Table, ...]:
    """The tables of a catalogue's rows, in their order.

    Args:
        engine: The engine that the names of types are those of.
        columns: Schema, table, column, type, and what else the catalogue says. The type is None
            for a column that may not be read.
    """
    tables: dict[tuple[str, str], tuple[dict[str, ColumnType], dict[str, Declaration]]] = {}
    for schema, table, column, kind, declaration in columns:
        kinds, declared = tables.setdefault((schema, table), ({}, {}))
        declared[column] = declaration
        if kind is not None:
            kinds[column] = kind
    return tuple(
        Table(schema, name, kinds or _no_right(schema, name), declared, engine)
        for (schema, name), (kinds, declared) in tables.items()
    )


def _no_right(schema: str, table: str) -> UnreadableColumns:
    return UnreadableColumns(
        f"there is no right to read table {f'{schema}.{table}'!r}; ask for the right to SELECT"
    )


class UnreadableColumns(Mapping[str, ColumnType]):
    """The columns of a table that exists but cannot be read: each access raises `QueryError`."""

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


class ArrowBatch(Protocol):
    """The part of a `pyarrow.RecordBatch` or `pyarrow.Table` that skillian uses.

    pyarrow itself carries no types.
    """

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        ...

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of Python values; decimals stay `Decimal`."""
        ...

    @property
    def schema(self) -> Any:
        """The names and types of the columns."""
        ...

    @property
    def columns(self) -> Sequence[Any]:
        """The columns, each of which has its own `to_pylist`."""
        ...

    @property
    def nbytes(self) -> int:
        """The memory that the rows take, in bytes."""
        ...


def path_of(url: str, folder: Path) -> Path:
    """The path in `scheme:///path`, relative to `folder`; with four slashes absolute."""
    return folder / url.partition("://")[2].removeprefix("/")


class Connector(Protocol):
    """One database, read only. Cancelling the task that awaits stops the statement.

    Every method raises `QueryError` for what the database refuses; the message never contains
    the URL. A class that a scheme names has a class method `from_url(name, url, folder)`: the
    connector of connection `name`; relative paths are relative to `folder`.
    """

    @property
    def dialect(self) -> str:
        """The sqlglot dialect that statements are written in."""
        ...

    @property
    def keeps_catalog(self) -> bool:
        """Whether `catalog()` is cheap and always current, so that callers need not cache it."""
        ...

    async def catalog(self) -> tuple[Table, ...]:
        """All tables and views; those of the default schema first."""
        ...

    async def describe(self, statement: str) -> Mapping[str, ColumnType]:
        """The columns of a SELECT without parameters, without running it."""
        ...

    async def run(self, statement: str, parameters: Mapping[str, object]) -> ArrowBatch:
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


def table_within_budget(batches: Iterator[ArrowBatch], schema: Any) -> ArrowBatch:
    """All batches as one table.

    Args:
        batches: The rows; the iterator may block.
        schema: The `pyarrow.Schema` of the table, which may have no rows.

    Raises:
        QueryError: They are more than `ROW_BUDGET` rows or `BYTE_BUDGET` bytes.
    """
    from skillian.connectors.arrow import arrow  # noqa: PLC0415 - slow to load

    rows = size = 0
    kept: list[ArrowBatch] = []
    for batch in batches:
        rows += batch.num_rows
        size += batch.nbytes
        if rows > ROW_BUDGET or size > BYTE_BUDGET:
            raise QueryError(
                f"the result is larger than {ROW_BUDGET} rows or {BYTE_BUDGET >> 20} MB;"
                " narrow it with filters, or group by fewer dimensions"
            )
        kept.append(batch)
    table: ArrowBatch = arrow.Table.from_batches(kept, schema)
    return table


Stream = Callable[[str, Mapping[str, object]], AsyncGenerator[ArrowBatch]]


@runtime_checkable
class EvaluatesQueries(Protocol):
    """A connector whose database evaluates hand-written queries, and no other statements."""

    query_dialect: str

    async def view(self, query: str) -> Table:
        """The rows of a query as a table that statements can read.

        Raises `QueryError` for what the database refuses, and for two columns of one name.
        """
        ...


@runtime_checkable
class HoldsState(Protocol):
    """A connector whose database shows several statements the same state."""

    def one_state(self) -> AbstractAsyncContextManager[Connector]:
        """A connector whose streams all read the state of the first one."""
        ...


@runtime_checkable
class NoticesChanges(Protocol):
    """A connector that cannot hold a state, and knows whether files have changed."""

    def unchanged(self, tables: Collection[str], name: str) -> AbstractAsyncContextManager[None]:
        """Raise `QueryError`, which starts with `name`, at the end if a table has changed."""
        ...


class StateConnector:
    """A connector whose streams run in one transaction; everything else is as before."""

    def __init__(self, connector: Connector, stream: Stream) -> None:
        self.dialect = connector.dialect
        self.keeps_catalog = connector.keeps_catalog
        self.catalog = connector.catalog
        self.describe = connector.describe
        self.run = connector.run
        self.aclose = connector.aclose
        self._stream = stream

    def stream(
        self, statement: str, parameters: Mapping[str, object]
    ) -> AsyncGenerator[ArrowBatch]:
        """Run one SELECT in the transaction, after those before it have ended."""
        return self._stream(statement, parameters)


@asynccontextmanager
async def same_version(
    before: object, now: Callable[[], Awaitable[object]], name: str
) -> AsyncGenerator[None]:
    """Raise `QueryError` if `now` does not return `before`, also in place of another error."""
    try:
        yield
    except ToolError:
        await _check(before, now, name)
        raise
    await _check(before, now, name)


async def _check(before: object, now: Callable[[], Awaitable[object]], name: str) -> None:
    try:
        if await now() == before:
            return
    except (OSError, ToolError):  # it is gone
        pass
    raise QueryError(
        f"{name} changed while it was compared, so there is no result; compare again when nothing"
        " writes to it, or compare a copy"
    )
